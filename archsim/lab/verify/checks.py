"""The two checks of a Program against its model: in real numbers, and in the integers that the chip's dtypes hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy.typing as npt

from archsim.base.errors import ProgramError
from archsim.base.progress import each
from archsim.frontend.catalogue import NativeRuntime
from archsim.graph.numeric import reference
from archsim.graph.numeric.contents import contents, to_memory
from archsim.graph.numeric.formats import LIMITS, Elements
from archsim.graph.numeric.quantise import Quantised
from archsim.graph.sort import APPEND
from archsim.ir.graph import ValueFormat
from archsim.ir.program import Program
from archsim.ir.workload import Layer, Workload
from archsim.lab.run.job import Progress
from archsim.lab.verify.inside import Inside
from archsim.lab.verify.judge import EqualJudge, NearJudge, VerifyJudge
from archsim.lab.verify.numbered import NumberedModel, VerifyOptions
from archsim.lab.verify.observe import NO_WINDOWS, ExecutionObserver, differences
from archsim.lab.verify.outcome import CLOSE, EQUAL, ONE_STEP, VerifyCheck, VerifyRow
from mapper.execute.run import Executor, unrolled
from mapper.execute.run import Numbers as Arithmetic
from mapper.groups.windows import WindowPlan

Array = npt.NDArray[Any]
NUMPY = "NumPy, node by node"
NOTHING: Mapping[str, Array] = MappingProxyType({})


def check_float(
    model: NumberedModel,
    program: Program,
    asked: VerifyOptions,
    chosen: frozenset[str],
    say: Progress,
    packed: Mapping[str, Array] = NOTHING,
    windows: Mapping[str, WindowPlan] = NO_WINDOWS,
) -> VerifyCheck:
    """Real numbers against the model's own runtime; where it has none, in double precision against NumPy.

    ``packed``: bytes of weights and scales in their places, by tensor, in memory order; ``windows``: of tensors
    that groups of layers make and read.
    """
    names = tuple(dict.fromkeys(model.lowered.values.values()))
    known: dict[str, Array] = {}
    title = NUMPY
    native = model.native
    is_told = not model.constants.is_remade  # of numbers in the place of its own
    if native is not None and is_told and not model.is_quantised and not model.is_narrow:
        title = native.runtime()
        say(f"running the model in {title}")
        known = native.execute(model.path, model.constants.replaced, model.inputs, names)
    known |= model.held
    missing = [name for name in names if name not in known and name not in model.inputs]
    if missing:
        say("running the model in NumPy")
        own = reference.real(model.graph, model.constants, model.inputs, known=known)
        known |= {name: own[name] for name in missing}
    values = {**model.inputs, **known}
    precision: Arithmetic = "float64" if title == NUMPY else "float32"  # that of the reference
    in_numpy = frozenset(missing) if title != NUMPY else frozenset(values)
    references = {name: NUMPY if name in in_numpy else title for name in values}
    theirs = {name: "float64" if name in in_numpy else "float32" for name in values}
    judge = NearJudge(model, values, references, precision, theirs)
    constants = {name: contents(held, model.graph, model.constants) for name, held in model.lowered.contents.items()}
    made = VerifyCheck(precision, title, CLOSE, asked.interleavings)
    loaded = _loaded(model, constants, lambda tensor: values[model.lowered.values[tensor]])
    loaded |= packed
    watched = _with_sources(model.lowered.workload, chosen)
    return _executed(model, program, made, precision, judge, loaded, asked, chosen, watched, windows)


def check_exact(
    model: NumberedModel,
    compiled: Callable[[Mapping[str, Elements]], Program],
    dtypes: Mapping[str, str],
    asked: VerifyOptions,
    chosen: frozenset[str],
    say: Progress,
    given: Mapping[str, ValueFormat] | None = None,
    windows: Mapping[str, WindowPlan] = NO_WINDOWS,
) -> list[VerifyCheck]:
    """Integers, bit for bit. ``compiled``: the Program for the elements of its tensors; ``given``: fixed beforehand."""
    kinds = "/".join(dict.fromkeys((dtypes["inputs"], dtypes["weights"])))
    if any(dtypes[role] not in LIMITS for role in ("inputs", "weights", "accumulate")):
        return [VerifyCheck(kinds, NUMPY, EQUAL, 0, skipped=f"{kinds} are not integers; verified in real numbers only")]
    quantised = calibrated(model, dtypes, given or {}, say)
    program = compiled(quantised.elements)
    say("running the quantised model in NumPy")
    values = model.held | reference.quantised(model.graph, quantised, model.inputs)
    judge = EqualJudge(_expected(model, values, quantised.as_stored), NUMPY, Inside(model.lowered.workload))
    made = VerifyCheck(kinds, NUMPY, EQUAL, asked.interleavings)
    loaded = _loaded(
        model, quantised.contents, lambda tensor: quantised.as_stored(tensor, values[model.lowered.values[tensor]])
    )
    found = [_executed(model, program, made, "exact", judge, loaded, asked, chosen, chosen, windows)]
    native = model.native
    if native is not None and model.is_quantised and not chosen:
        wide = [kind for kind in dict.fromkeys(dtypes[role] for role in ("inputs", "weights")) if kind != "int8"]
        if wide:
            why = f"the file states elements of 8 bits, the Program has {', '.join(wide)}"
            return [*found, VerifyCheck(kinds, native.runtime(), ONE_STEP, 0, skipped=why)]
        say(f"running the quantised model in {native.runtime()}")
        found.append(_against_runtime(model, native, quantised, values, kinds))
    return found


def calibrated(
    model: NumberedModel, dtypes: Mapping[str, str], given: Mapping[str, ValueFormat], say: Progress
) -> Quantised:
    """The model in elements that hold what it computes from its inputs."""
    say("calibrating")
    seen = model.held | reference.real(model.graph, model.constants, model.inputs, as_stated=True)
    return Quantised(model.lowered, model.constants, seen, dtypes, given)


def _against_runtime(
    model: NumberedModel, native: NativeRuntime, quantised: Quantised, own: Mapping[str, Array], kinds: str
) -> VerifyCheck:
    """The interpreter that the Program equals, node by node on the runtime's values: within a step of its elements.

    From the same inputs, since a rounding that falls the other way in single precision would grow from layer to layer.
    """
    stated = {value: item.runtime_name for value, item in model.graph.formats.items() if item.runtime_name}
    known = native.execute(model.path, model.constants.replaced, model.inputs, tuple(dict.fromkeys(stated.values())))
    values = {value: known[name] for value, name in stated.items() if name in known}
    values |= {name: own[name] for name in model.graph.inputs if name not in values}
    rows, title = [], native.runtime()
    for name, computed in reference.apart(model.graph, quantised, values).items():
        node = next(node for node in model.graph.nodes if name in node.outputs)
        elements = quantised.of_value(name)
        if stated.get(name) in known and elements is not None:
            error, different, most = differences(computed, elements.rounded(values[name]))
            passed = most < 1.5 * elements.scale
            rows.append(VerifyRow(node.name, node.op, name, computed.size, error, different, passed, title, False))
    return VerifyCheck(kinds, title, ONE_STEP, 1, tuple(rows))


def _expected(
    model: NumberedModel, values: Mapping[str, Array], stored: Callable[[str, Array], Array]
) -> dict[str, Array]:
    """By tensor of the Workload, in memory order. ``stored``: what the tensor makes of the numbers."""
    tensors = model.lowered.workload.tensors
    return {
        tensor: to_memory(tensors[tensor], stored(tensor, values[value]))
        for tensor, value in model.lowered.values.items()
        if value in values
    }


def _loaded(model: NumberedModel, constants: Mapping[str, Array], inputs: Callable[[str], Array]) -> dict[str, Array]:
    """What lies in memory before the run, by tensor, in memory order: of a state the rows that are there then.

    ``inputs``: of a tensor's, logical.
    """
    tensors = model.lowered.workload.tensors
    loaded = {name: to_memory(tensors[name], array) for name, array in constants.items()}
    roots = [name for name, tensor in tensors.items() if tensor.kind in ("input", "state") and tensor.view is None]
    loaded |= {name: to_memory(tensors[name], inputs(name)) for name in roots}
    rows = {name: state for name in roots if (state := tensors[name].state) is not None}
    return loaded | {name: loaded[name].take(range(state.past), state.axis) for name, state in rows.items()}


def _with_sources(workload: Workload, chosen: frozenset[str]) -> frozenset[str]:
    """The chosen layers and all that their inputs come from, since a result is judged by what it was made of."""
    writers: dict[str, list[Layer]] = {}
    for layer in workload.layers:
        writers.setdefault(_root(workload, layer.output.tensor), []).append(layer)
    found: dict[str, Layer] = {}
    waiting = [layer for layer in workload.layers if layer.name in chosen]
    while waiting:
        layer = waiting.pop()
        if layer.name not in found:
            found[layer.name] = layer
            roots = (_root(workload, operand.tensor) for operand in layer.inputs)
            waiting += [writer for root in roots for writer in writers.get(root, ())]
    return frozenset(found)


def _root(workload: Workload, tensor: str) -> str:
    view = workload.tensors[tensor].view
    return tensor if view is None else view.base


def _executed(
    model: NumberedModel,
    program: Program,
    made: VerifyCheck,
    arithmetic: Arithmetic,
    judge: VerifyJudge,
    loaded: Mapping[str, Array],
    asked: VerifyOptions,
    chosen: frozenset[str],
    watched: frozenset[str],
    windows: Mapping[str, WindowPlan],
) -> VerifyCheck:
    """``made`` with its rows: execute its orders of commands and keep the worst row of each layer.

    ``watched``: the chosen layers and those before them that a judgement of them needs; of the latter only rows that
    fail are kept. Without chosen layers all are.
    """
    workload = model.lowered.workload
    wanted = [layer.name for layer in workload.layers if not chosen or layer.name in chosen]
    held = {tensor.name for tensor in program.tensors}
    appended = [node.outputs[0] for node in model.graph.nodes if node.op == APPEND]
    steps = unrolled(program)
    worst: dict[str, VerifyRow] = {}
    for number in each(range(asked.interleavings), f"executing in {made.numbers}", "orders of commands"):
        executor = Executor(program, numbers=arithmetic, seed=asked.job.seed + number, steps=steps)
        for name, values in loaded.items():
            if name in held:
                executor.fill(name, values)
        observer = ExecutionObserver(workload, program, steps, watched or wanted, not chosen, appended, windows)
        problem = ""
        try:
            executor.run(observer)
            observer.finish(executor)
        except ProgramError as error:
            problem = str(error)
        rows = (judge.row(found, observer.executed) for found in observer.found.values())
        _keep_worst(worst, [row for row in rows if not chosen or row.name in chosen or not row.passed])
        if problem:
            return replace(made, interleavings=number + 1, rows=tuple(worst.values()), problem=problem)
    missing = [name for name in wanted if name not in worst]
    problem = f"no command completes the result of layer {', '.join(map(repr, missing))}" if missing else ""
    return replace(made, rows=tuple(worst.values()), problem=problem)


def _keep_worst(worst: dict[str, VerifyRow], rows: list[VerifyRow]) -> None:
    for row in rows:
        old = worst.get(row.name)
        if old is None or (row.passed, -row.share, -row.error) < (old.passed, -old.share, -old.error):
            worst[row.name] = row
