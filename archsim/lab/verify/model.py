"""Verify a model on a chip: compile it, execute the Program in numbers, compare every layer with the model.

Twice: in real numbers (single precision, whatever dtype the timing uses) against ONNX Runtime, and in the integers that
the chip's dtypes hold, bit for bit, against a plain NumPy interpreter of the quantised model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from archsim.errors import ConfigError, ModelError, ProgramError, nearest
from archsim.ir.program import Program
from archsim.lab.job import Job, Progress, build, quiet
from archsim.lab.verify import runtime
from archsim.lab.verify.observe import Expected, Observer
from archsim.lab.verify.outcome import Check, Outcome, Row
from archsim.ops.graph.nodes import Graph
from archsim.ops.lowering.lower import Lowered
from archsim.ops.numeric import reference
from archsim.ops.numeric.constants import Constants, inputs_of
from archsim.ops.numeric.contents import contents, to_memory
from archsim.ops.numeric.quantise import LIMITS, Quantised
from mapper.execute.run import Executor, unrolled
from mapper.execute.run import Numbers as Arithmetic

Array = npt.NDArray[Any]
NUMPY = "NumPy, node by node"
KINDS = ("both", "float", "int")


@dataclass(frozen=True)
class Asked:
    """What to verify. ``layers``: names to compare (all when empty); ``numbers``: one of KINDS.

    ``given``: inputs and weights by name, in place of drawn ones; ``against``: the model that a Program text computes.
    """

    job: Job
    layers: tuple[str, ...] = ()
    interleavings: int = 1
    numbers: str = "both"
    given: Mapping[str, Array] = field(default_factory=dict)
    against: str = ""


@dataclass(frozen=True)
class Model:
    """A model with the numbers of its inputs and constants."""

    lowered: Lowered
    graph: Graph
    constants: Constants
    inputs: Mapping[str, Array]
    path: Path
    seed: int

    @property
    def weights(self) -> str:
        """Where its constants come from, in words."""
        return f"drawn from seed {self.seed}" if self.constants.drawn else "the model's own"

    @property
    def is_onnx(self) -> bool:
        """Whether ONNX Runtime can run it."""
        return self.path.suffix == ".onnx"


def verify(asked: Asked, say: Progress = quiet) -> Outcome:
    """Compile, execute, compare; raises ArchsimError's children for what cannot be verified at all."""
    model = load(asked, str(asked.job.model), say)
    job = replace(asked.job, model=model.lowered.workload)
    say("mapping")
    built = build(job)
    chosen = chosen_layers(model.lowered, asked.layers)
    checks = []
    if asked.numbers in ("both", "float"):
        checks.append(check_float(model, built.program, asked, chosen, say))
    if asked.numbers in ("both", "int"):
        assert built.mapping is not None

        def with_numbers(scales: Mapping[str, float]) -> Program:
            return build(replace(job, numbers={name: (scale, 0) for name, scale in scales.items()})).program

        checks.append(check_exact(model, with_numbers, built.mapping.dtypes, asked, chosen, say))
    commands = sum(len(steps) for steps in unrolled(built.program).values())
    return Outcome(built.program.name, built.architecture.name, commands, job.seed, model.weights, tuple(checks))


def load(asked: Asked, name: str, say: Progress = quiet) -> Model:
    """The model with numbers: those of its file, or drawn ones where the file only stands in for some."""
    from archsim.frontend.load import find_model, import_model

    say("reading the model")
    _, path = find_model(name)
    lowered = import_model(name, batch=asked.job.batch, on_unsupported=asked.job.on_unsupported)
    graph = lowered.graph
    if graph is None:
        raise ModelError(f"{path.name}: states einsums without the operators they come from; nothing to compare with")
    on_host = [layer.name for layer in lowered.workload.layers if layer.kind == "host"]
    if on_host:
        raise ModelError(f"layer '{on_host[0]}' runs on the host, which is not computed; verify a model without such")
    stored: dict[str, Array] = {}
    if path.suffix == ".onnx":
        from archsim.frontend.onnx.numbers import load_whole, stored_arrays

        stored = stored_arrays(load_whole(path))
    stored |= {name: array for name, array in asked.given.items() if name not in graph.inputs}
    constants = Constants(graph, stored, asked.job.seed)
    if constants.drawn:
        constants = Constants(graph, stored, asked.job.seed, everything=True)
    _refuse_unknown(asked.given, graph)
    return Model(lowered, graph, constants, inputs_of(graph, asked.job.seed, asked.given), path, asked.job.seed)


def _refuse_unknown(given: Mapping[str, Array], graph: Graph) -> None:
    known = [name for name, value in graph.values.items() if value.constant or name in graph.inputs]
    for name in given:
        if name not in known:
            raise ConfigError(f"--inputs: the model has no input or constant '{name}'{nearest(name, known)}")


def chosen_layers(lowered: Lowered, names: tuple[str, ...]) -> frozenset[str]:
    """The layers to compare, by name (none: all); raises ConfigError for an unknown one."""
    known = [layer.name for layer in lowered.workload.layers]
    for name in names:
        if name not in known:
            raise ConfigError(f"--layers: the model has no layer '{name}'{nearest(name, known)}")
    return frozenset(names)


def check_float(model: Model, program: Program, asked: Asked, chosen: frozenset[str], say: Progress) -> Check:
    """Single precision against the model's own runtime (NumPy where it has none)."""
    names = tuple(dict.fromkeys(model.lowered.values.values()))
    known: dict[str, Array] = {}
    title = NUMPY
    if model.is_onnx:
        title = runtime.version()
        say(f"running the model in {title}")
        known = runtime.run(model.path, model.constants.drawn, model.inputs, names)
    missing = [name for name in names if name not in known and name not in model.inputs]
    if missing:
        say("running the model in NumPy")
        own = reference.real(model.graph, model.constants, model.inputs)
        known |= {name: own[name] for name in missing}
    expected = _expected(model, {**model.inputs, **known}, title, frozenset(missing) if model.is_onnx else frozenset())
    constants = {
        name: contents(held, model.graph, model.constants) for name, held in model.lowered.contents.items()
    }
    return _check(model, program, "float32", "float32", title, expected, constants, asked, chosen, say)


def check_exact(
    model: Model,
    compiled: Callable[[Mapping[str, float]], Program],
    dtypes: Mapping[str, str],
    asked: Asked,
    chosen: frozenset[str],
    say: Progress,
    scales: Mapping[str, float] | None = None,
) -> Check:
    """Integers, bit for bit. ``compiled``: the Program for given scales of tensors; ``scales``: fixed beforehand."""
    kinds = "/".join(dict.fromkeys((dtypes["inputs"], dtypes["weights"])))
    if any(dtypes[role] not in LIMITS for role in ("inputs", "weights", "accumulate")):
        return Check(kinds, NUMPY, 0, skipped=f"{kinds} are not integers; verified in real numbers only")
    say("calibrating")
    seen = reference.real(model.graph, model.constants, model.inputs)
    quantised = Quantised(model.lowered, model.constants, seen, dtypes, scales or {})
    program = compiled(quantised.scales)
    say("running the quantised model in NumPy")
    values = reference.quantised(model.graph, quantised, model.inputs)
    expected = _expected(model, values, NUMPY, frozenset())
    return _check(model, program, kinds, "exact", NUMPY, expected, quantised.contents, asked, chosen, say)


def _expected(
    model: Model, values: Mapping[str, Array], title: str, in_numpy: frozenset[str]
) -> dict[str, Expected]:
    """By tensor of the Workload, in memory order."""
    tensors = model.lowered.workload.tensors
    return {
        tensor: Expected(to_memory(tensors[tensor], values[value]), NUMPY if value in in_numpy else title)
        for tensor, value in model.lowered.values.items()
        if value in values
    }


def _check(
    model: Model,
    program: Program,
    kind: str,
    arithmetic: Arithmetic,
    title: str,
    expected: Mapping[str, Expected],
    constants: Mapping[str, Array],
    asked: Asked,
    chosen: frozenset[str],
    say: Progress,
) -> Check:
    """Execute ``interleavings`` orders and keep the worst row of each layer."""
    tensors = model.lowered.workload.tensors
    loaded = {name: to_memory(tensors[name], array) for name, array in constants.items()}
    roots = (name for name, tensor in tensors.items() if tensor.kind == "input" and tensor.view is None)
    loaded |= {name: expected[name].values for name in roots}
    steps = unrolled(program)
    worst: dict[str, Row] = {}
    for number in range(asked.interleavings):
        say(f"executing in {kind}, interleaving {number + 1} of {asked.interleavings}")
        executor = Executor(program, numbers=arithmetic, seed=asked.job.seed + number, steps=steps)
        held = {tensor.name for tensor in program.tensors}
        for name, values in loaded.items():
            if name in held:
                executor.fill(name, values)
        observer = Observer(model.lowered.workload, program, steps, expected, chosen, arithmetic == "exact")
        try:
            executor.run(observer)
            observer.finish(executor)
        except ProgramError as error:
            return Check(kind, title, number + 1, tuple(worst.values()), problem=str(error))
        for name, row in observer.rows.items():
            old = worst.get(name)
            if old is None or (row.passed, -row.error) < (old.passed, -old.error):
                worst[name] = row
    return Check(kind, title, asked.interleavings, tuple(worst.values()))
