"""The two checks of a Program against its model: in real numbers, and in the integers that the chip's dtypes hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from archsim.errors import ProgramError
from archsim.ir.program import Program
from archsim.lab.job import Progress
from archsim.lab.verify import runtime
from archsim.lab.verify.numbered import Asked, Model
from archsim.lab.verify.observe import Expected, Observer, differences, magnitude
from archsim.lab.verify.outcome import CLOSE, EQUAL, ONE_STEP, TOLERANCE, Check, Row
from archsim.ops.graph.nodes import Format
from archsim.ops.numeric import reference
from archsim.ops.numeric.contents import contents, to_memory
from archsim.ops.numeric.formats import LIMITS, Elements
from archsim.ops.numeric.quantise import Quantised
from mapper.execute.run import Executor, unrolled
from mapper.execute.run import Numbers as Arithmetic

Array = npt.NDArray[Any]
NUMPY = "NumPy, node by node"


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
    quantised = calibrated(model, dtypes, given or {}, say)
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


def calibrated(model: Model, dtypes: Mapping[str, str], given: Mapping[str, Format], say: Progress) -> Quantised:
    """The model in elements that hold what it computes from its inputs."""
    say("calibrating")
    seen = model.held | reference.real(model.graph, model.constants, model.inputs, as_stated=True)
    return Quantised(model.lowered, model.constants, seen, dtypes, given)


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
