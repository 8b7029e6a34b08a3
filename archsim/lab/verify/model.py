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
from archsim.lab.verify.observe import Expected, Observer, differences, magnitude
from archsim.lab.verify.outcome import CLOSE, EQUAL, ONE_STEP, TOLERANCE, Check, Outcome, Row
from archsim.ops.graph.nodes import Format, Graph
from archsim.ops.lowering.lower import Lowered
from archsim.ops.numeric import reference
from archsim.ops.numeric.constants import Constants, inputs_of
from archsim.ops.numeric.contents import contents, to_memory
from archsim.ops.numeric.formats import LIMITS, Elements
from archsim.ops.numeric.quantise import Quantised
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

    @property
    def is_quantised(self) -> bool:
        """Whether the file itself rounds activations to elements."""
        return any(self.graph.formats.get(value) is not None for value in self.lowered.values.values())


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

        def with_numbers(elements: Mapping[str, Elements]) -> Program:
            numbers = {name: (held.scale, held.zero) for name, held in elements.items()}
            return build(replace(job, numbers=numbers)).program

        checks += check_exact(model, with_numbers, built.mapping.dtypes, asked, chosen, say)
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
    given = {name: array for name, array in asked.given.items() if name not in graph.inputs}
    constants = Constants(graph, stored, asked.job.seed, given)
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
    """Real numbers against the model's own runtime; where it has none, in double precision against NumPy."""
    names = tuple(dict.fromkeys(model.lowered.values.values()))
    known: dict[str, Array] = {}
    title = NUMPY
    if model.is_onnx and not model.is_quantised:
        title = runtime.version()
        say(f"running the model in {title}")
        known = runtime.run(model.path, model.constants.drawn, model.inputs, names)
    missing = [name for name in names if name not in known and name not in model.inputs]
    if missing:
        say("running the model in NumPy")
        own = reference.real(model.graph, model.constants, model.inputs)
        known |= {name: own[name] for name in missing}
    values = {**model.inputs, **known}
    expected = _expected(model, values, title, frozenset(missing), lambda _, found: TOLERANCE * found)
    constants = {
        name: contents(held, model.graph, model.constants) for name, held in model.lowered.contents.items()
    }
    precision: Arithmetic = "float64" if title == NUMPY else "float32"  # that of the reference
    check = Check(precision, title, CLOSE, asked.interleavings)
    return _executed(model, program, check, precision, expected, constants, asked, chosen, say)


def check_exact(
    model: Model,
    compiled: Callable[[Mapping[str, Elements]], Program],
    dtypes: Mapping[str, str],
    asked: Asked,
    chosen: frozenset[str],
    say: Progress,
    given: Mapping[str, Format] | None = None,
) -> list[Check]:
    """Integers, bit for bit. ``compiled``: the Program for the elements of its tensors; ``given``: fixed beforehand."""
    kinds = "/".join(dict.fromkeys((dtypes["inputs"], dtypes["weights"])))
    if any(dtypes[role] not in LIMITS for role in ("inputs", "weights", "accumulate")):
        return [Check(kinds, NUMPY, EQUAL, 0, skipped=f"{kinds} are not integers; verified in real numbers only")]
    say("calibrating")
    seen = reference.real(model.graph, model.constants, model.inputs, as_stated=True)
    quantised = Quantised(model.lowered, model.constants, seen, dtypes, given or {})
    program = compiled(quantised.elements)
    say("running the quantised model in NumPy")
    values = reference.quantised(model.graph, quantised, model.inputs)
    expected = _expected(model, values, NUMPY, frozenset(), lambda _, found: 0.0, quantised.as_stored)
    check = Check(kinds, NUMPY, EQUAL, asked.interleavings)
    found = [_executed(model, program, check, "exact", expected, quantised.contents, asked, chosen, say)]
    if model.is_onnx and model.is_quantised and not chosen:
        say("running the quantised model in ONNX Runtime")
        found.append(_against_runtime(model, quantised, values, kinds))
    return found


def _against_runtime(model: Model, quantised: Quantised, own: Mapping[str, Array], kinds: str) -> Check:
    """The interpreter that the Program equals, node by node on ONNX Runtime's values: within a step of its elements.

    From the same inputs, since a rounding that falls the other way in single precision would grow from layer to layer.
    """
    stated = {value: item.runtime_name for value, item in model.graph.formats.items() if item.runtime_name}
    known = runtime.run(model.path, model.constants.drawn, model.inputs, tuple(dict.fromkeys(stated.values())))
    values = {value: known[name] for value, name in stated.items() if name in known}
    values |= {name: own[name] for name in model.graph.inputs if name not in values}
    rows, title = [], runtime.version()
    for name, computed in reference.apart(model.graph, quantised, values).items():
        node = next(node for node in model.graph.nodes if name in node.outputs)
        elements = quantised.of_value(name)
        if stated.get(name) in known and elements is not None:
            error, different, most = differences(computed, elements.rounded(values[name]))
            passed = most < 1.5 * elements.scale
            rows.append(Row(node.name, node.op, name, computed.size, error, different, passed, title, False))
    return Check(kinds, title, ONE_STEP, 1, tuple(rows))


def _expected(
    model: Model,
    values: Mapping[str, Array],
    title: str,
    in_numpy: frozenset[str],
    allowed: Callable[[str, float], float],
    stored: Callable[[str, Array], Array] = lambda tensor, array: array,
) -> dict[str, Expected]:
    """By tensor of the Workload, in memory order. ``allowed``: difference, from tensor and largest magnitude;
    ``stored``: what the tensor makes of the numbers.
    """
    tensors = model.lowered.workload.tensors
    found = {}
    for tensor, value in model.lowered.values.items():
        if value in values:
            array = to_memory(tensors[tensor], stored(tensor, values[value]))
            said_by = NUMPY if value in in_numpy else title
            found[tensor] = Expected(array, said_by, allowed(tensor, magnitude(array)))
    return found


def _executed(
    model: Model,
    program: Program,
    check: Check,
    arithmetic: Arithmetic,
    expected: Mapping[str, Expected],
    constants: Mapping[str, Array],
    asked: Asked,
    chosen: frozenset[str],
    say: Progress,
) -> Check:
    """``check`` made: execute its orders of commands and keep the worst row of each layer."""
    tensors = model.lowered.workload.tensors
    loaded = {name: to_memory(tensors[name], array) for name, array in constants.items()}
    roots = (name for name, tensor in tensors.items() if tensor.kind == "input" and tensor.view is None)
    loaded |= {name: expected[name].values for name in roots}
    steps = unrolled(program)
    worst: dict[str, Row] = {}
    for number in range(asked.interleavings):
        say(f"executing in {check.numbers}, interleaving {number + 1} of {asked.interleavings}")
        executor = Executor(program, numbers=arithmetic, seed=asked.job.seed + number, steps=steps)
        held = {tensor.name for tensor in program.tensors}
        for name, values in loaded.items():
            if name in held:
                executor.fill(name, values)
        observer = Observer(model.lowered.workload, program, steps, expected, chosen)
        try:
            executor.run(observer)
            observer.finish(executor)
        except ProgramError as error:
            return replace(check, interleavings=number + 1, rows=tuple(worst.values()), problem=str(error))
        for name, row in observer.rows.items():
            old = worst.get(name)
            if old is None or (row.passed, -row.error) < (old.passed, -old.error):
                worst[name] = row
    return replace(check, rows=tuple(worst.values()))
