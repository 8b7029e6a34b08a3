"""Verify a model on a chip: compile it, execute the Program in numbers, compare every layer with the model.

Twice: in real numbers (single precision, whatever dtype the timing uses) against ONNX Runtime, and in the integers that
the chip's dtypes hold, bit for bit, against a plain NumPy interpreter of the quantised model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from archsim.base.errors import ConfigError
from archsim.graph.numeric.formats import Elements
from archsim.ir.check.program import check
from archsim.ir.program import Program
from archsim.lab.run.job import BuiltJob, Job, Progress, build, quiet
from archsim.lab.verify.checks import NUMPY, calibrated, check_exact, check_float
from archsim.lab.verify.held_weights import held_weights
from archsim.lab.verify.numbered import VerifyOptions, chosen_layers, load
from archsim.lab.verify.outcome import EQUAL, VerifyCheck, VerifyOutcome
from mapper.execute.run import unrolled
from mapper.groups.plan import engines_of, planned
from mapper.groups.windows import WindowPlan


def verify(asked: VerifyOptions, say: Progress = quiet) -> VerifyOutcome:
    """Compile, execute, compare; raises ArchsimError's children for what cannot be verified at all."""
    model = load(asked, str(asked.job.model), say)
    job = replace(asked.job, model=model.lowered.workload, lookups={}, parameters={})
    say("mapping")
    built = build(job)
    assert built.workload is not None
    held = held_weights(model, built.workload)
    if held.rounded:
        model = load(replace(asked, given={**asked.given, **held.rounded}), str(asked.job.model), say)
    check(built.program, built.architecture)
    chosen = chosen_layers(model.lowered, asked.layers)
    windows = _windows(built)
    checks = []
    if asked.numbers in ("both", "float"):
        checks.append(check_float(model, built.program, asked, chosen, say, held.stored, windows))
    if asked.numbers in ("both", "int") and held.kinds:
        why = f"weights are {held.kinds}, no integers; verified in real numbers only"
        checks.append(VerifyCheck(held.kinds, NUMPY, EQUAL, 0, skipped=why))
    elif asked.numbers in ("both", "int"):
        assert built.mapping is not None

        def compiled(elements: Mapping[str, Elements]) -> Program:
            return build(replace(job, numbers=_numbers(elements))).program

        checks += check_exact(model, compiled, built.mapping.dtypes, asked, chosen, say, windows=windows)
    commands = sum(len(steps) for steps in unrolled(built.program).values())
    return VerifyOutcome(built.program.name, built.architecture.name, commands, job.seed, model.weights, tuple(checks))


def _windows(built: BuiltJob) -> dict[str, WindowPlan]:
    """The windows of groups, by the tensors that lie there alone."""
    assert built.mapping is not None and built.workload is not None
    engines = engines_of(built.mapping.layers, built.architecture)
    plans = planned(built.mapping.groups, built.workload, built.architecture, built.mapping.dtypes, engines)
    return {window.tensor.name: window for plan in plans for window in plan.windows}


def with_numbers(job: Job, say: Progress = quiet) -> Program:
    """The Program of a model that says what its elements stand for, calibrated on inputs drawn from the job's seed."""
    model = load(VerifyOptions(job), str(job.model), say)
    job = replace(job, model=model.lowered.workload, lookups={}, parameters={})
    built = build(job, say)
    mapping = built.mapping
    assert mapping is not None and built.workload is not None
    if held_weights(model, built.workload).kinds:
        raise ConfigError("--numbers: weights in blocks or small floats say by themselves what they stand for")
    quantised = calibrated(model, mapping.dtypes, {}, say)
    return build(replace(job, numbers=_numbers(quantised.elements))).program


def _numbers(elements: Mapping[str, Elements]) -> dict[str, tuple[float, int]]:
    return {name: (held.scale, held.zero) for name, held in elements.items()}
