"""Verify a model on a chip: compile it, execute the Program in numbers, compare every layer with the model.

Twice: in real numbers (single precision, whatever dtype the timing uses) against ONNX Runtime, and in the integers that
the chip's dtypes hold, bit for bit, against a plain NumPy interpreter of the quantised model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from archsim.errors import ConfigError, ModelError, ProgramError, nearest
from archsim.ir.check.program import check
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
        own = f"drawn from seed {self.seed}" if self.constants.drawn else "the model's own"
        return f"given and {own}" if self.constants.given else own

    @property
    def held(self) -> dict[str, Array]:
        """Constants that lie in memory as they are, by value."""
        names = self.lowered.values.values()
        return {name: self.constants[name] for name in names if self.graph.values[name].constant}

    @property
    def is_onnx(self) -> bool:
        """Whether ONNX Runtime can run it."""
        return self.path.suffix == ".onnx"

    @property
    def is_narrow(self) -> bool:
        """Whether the file computes in fewer bits than single precision, so that its runtime rounds more than we do."""
        nodes = [inner for node in self.graph.nodes for inner in (node, *node.fused) if inner.op == "Cast"]
        kinds = [value.dtype for value in self.graph.values.values()] + [node.text("to", "") for node in nodes]
        return any(kind in ("float16", "bfloat16") for kind in kinds)

    @property
    def is_quantised(self) -> bool:
        """Whether the file itself rounds activations to elements."""
        return any(self.graph.formats.get(value) is not None for value in self.lowered.values.values())


def verify(asked: Asked, say: Progress = quiet) -> Outcome:
    """Compile, execute, compare; raises ArchsimError's children for what cannot be verified at all."""
    model = load(asked, str(asked.job.model), say)
    job = replace(asked.job, model=model.lowered.workload, lookups={})
    say("mapping")
    built = build(job)
    check(built.program, built.architecture)
    chosen = chosen_layers(model.lowered, asked.layers)
    checks = []
    if asked.numbers in ("both", "float"):
        checks.append(check_float(model, built.program, asked, chosen, say))
    if asked.numbers in ("both", "int"):
        assert built.mapping is not None

        def compiled(elements: Mapping[str, Elements]) -> Program:
            return build(replace(job, numbers=_numbers(elements))).program

        checks += check_exact(model, compiled, built.mapping.dtypes, asked, chosen, say)
    commands = sum(len(steps) for steps in unrolled(built.program).values())
    return Outcome(built.program.name, built.architecture.name, commands, job.seed, model.weights, tuple(checks))


def load(asked: Asked, name: str, say: Progress = quiet) -> Model:
    """The model with numbers: those of its file, or drawn ones where the file only stands in for some."""
    from archsim.frontend.load import find_model, import_model

    say("reading the model")
    _, path = find_model(name)
    job = asked.job
    lowered = import_model(name, batch=job.batch, on_unsupported=job.on_unsupported, lookups=job.lookups)
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
    refuse_unknown(asked.given, [n for n, value in graph.values.items() if value.constant or n in graph.inputs])
    given = {name: array for name, array in asked.given.items() if name not in graph.inputs}
    constants = Constants(graph, stored, asked.job.seed, given)
    return Model(lowered, graph, constants, inputs_of(graph, asked.job.seed, asked.given), path, asked.job.seed)


def refuse_unknown(given: Mapping[str, Array], known: Collection[str]) -> None:
    """Raise ConfigError for the first given name that is not known."""
    for name in given:
        if name not in known:
            raise ConfigError(f"--inputs: there is no input or constant '{name}'{nearest(name, known)}")


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
    if model.is_onnx and not model.is_quantised and not model.is_narrow:
        title = runtime.version()
        say(f"running the model in {title}")
        known = runtime.run(model.path, model.constants.replaced, model.inputs, names)
    known |= model.held
    missing = [name for name in names if name not in known and name not in model.inputs]
    if missing:
        say("running the model in NumPy")
        own = reference.real(model.graph, model.constants, model.inputs)
        known |= {name: own[name] for name in missing}
    values = {**model.inputs, **known}
    expected = _expected(model, values, title, frozenset(missing), lambda _, found: TOLERANCE * found)
    constants = {name: contents(held, model.graph, model.constants) for name, held in model.lowered.contents.items()}
    precision: Arithmetic = "float64" if title == NUMPY else "float32"  # that of the reference
    made = Check(precision, title, CLOSE, asked.interleavings)
    return _executed(model, program, made, precision, expected, constants, asked, chosen, say)


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
    quantised = _calibrated(model, dtypes, given or {}, say)
    program = compiled(quantised.elements)
    say("running the quantised model in NumPy")
    values = model.held | reference.quantised(model.graph, quantised, model.inputs)
    expected = _expected(model, values, NUMPY, frozenset(), lambda _, found: 0.0, quantised.as_stored)
    made = Check(kinds, NUMPY, EQUAL, asked.interleavings)
    found = [_executed(model, program, made, "exact", expected, quantised.contents, asked, chosen, say)]
    if model.is_onnx and model.is_quantised and not chosen:
        wide = [kind for kind in dict.fromkeys(dtypes[role] for role in ("inputs", "weights")) if kind != "int8"]
        if wide:
            why = f"the file states elements of 8 bits, the Program has {', '.join(wide)}"
            return [*found, Check(kinds, runtime.version(), ONE_STEP, 0, skipped=why)]
        say("running the quantised model in ONNX Runtime")
        found.append(_against_runtime(model, quantised, values, kinds))
    return found


def _calibrated(model: Model, dtypes: Mapping[str, str], given: Mapping[str, Format], say: Progress) -> Quantised:
    """The model in elements that hold what it computes from its inputs."""
    say("calibrating")
    seen = model.held | reference.real(model.graph, model.constants, model.inputs, as_stated=True)
    return Quantised(model.lowered, model.constants, seen, dtypes, given)


def with_numbers(job: Job, say: Progress = quiet) -> Program:
    """The Program of a model that says what its elements stand for, calibrated on inputs drawn from the job's seed."""
    model = load(Asked(job), str(job.model), say)
    job = replace(job, model=model.lowered.workload, lookups={})
    mapping = build(job, say).mapping
    assert mapping is not None
    quantised = _calibrated(model, mapping.dtypes, {}, say)
    return build(replace(job, numbers=_numbers(quantised.elements))).program


def _numbers(elements: Mapping[str, Elements]) -> dict[str, tuple[float, int]]:
    return {name: (held.scale, held.zero) for name, held in elements.items()}


def _against_runtime(model: Model, quantised: Quantised, own: Mapping[str, Array], kinds: str) -> Check:
    """The interpreter that the Program equals, node by node on ONNX Runtime's values: within a step of its elements.

    From the same inputs, since a rounding that falls the other way in single precision would grow from layer to layer.
    """
    stated = {value: item.runtime_name for value, item in model.graph.formats.items() if item.runtime_name}
    known = runtime.run(model.path, model.constants.replaced, model.inputs, tuple(dict.fromkeys(stated.values())))
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
    made: Check,
    arithmetic: Arithmetic,
    expected: Mapping[str, Expected],
    constants: Mapping[str, Array],
    asked: Asked,
    chosen: frozenset[str],
    say: Progress,
) -> Check:
    """``made`` with its rows: execute its orders of commands and keep the worst row of each layer."""
    tensors = model.lowered.workload.tensors
    loaded = {name: to_memory(tensors[name], array) for name, array in constants.items()}
    roots = (name for name, tensor in tensors.items() if tensor.kind == "input" and tensor.view is None)
    loaded |= {name: expected[name].values for name in roots}
    steps = unrolled(program)
    worst: dict[str, Row] = {}
    for number in range(asked.interleavings):
        say(f"executing in {made.numbers}, interleaving {number + 1} of {asked.interleavings}")
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
            return replace(made, interleavings=number + 1, rows=tuple(worst.values()), problem=str(error))
        for name, row in observer.rows.items():
            old = worst.get(name)
            if old is None or (row.passed, -row.error) < (old.passed, -old.error):
                worst[name] = row
    missing = [layer for layer in observer.wanted if layer not in worst]
    problem = f"no command completes the result of layer {', '.join(map(repr, missing))}" if missing else ""
    return replace(made, rows=tuple(worst.values()), problem=problem)
