"""Layers of other tools as a workload file: products as ``einsum``, windows as ``conv`` or ``pool``, sums ``add``."""

from __future__ import annotations

from math import prod
from typing import Any

from archsim.base.errors import ConfigError
from archsim.frontend.foreign.emit import FlowMapping
from archsim.frontend.foreign.ledger import ImportLedger
from archsim.frontend.foreign.names import plain_name, unique
from archsim.frontend.foreign.windows import ForeignWindow, LayerRefusal, windowed
from archsim.frontend.foreign.work import ForeignLayer, ForeignModel, ForeignOperand

MOST_VALUES = 2**48  # of a tensor
SCHEMA = "archsim.workload/1"


class WrittenWorkload:
    """The document so far: ``shapes`` of the tensors that are there, by their names in the file."""

    def __init__(self) -> None:
        self.layer = ""
        self.inputs: dict[str, list[int]] = {}
        self.layers: list[dict[str, Any]] = []
        self.shapes: dict[str, tuple[int, ...]] = {}  # results of layers and inputs
        self.made: dict[str, str] = {}  # tensor of the source -> the result here that is it

    def taken(self) -> list[str]:
        """Names in use, that of the layer being written too."""
        return [*self.shapes, self.layer]

    def source(self, access: ForeignOperand, shape: tuple[int, ...], layer: str, ledger: ImportLedger) -> str:
        """The tensor that a layer reads: the result of one before it, or an input of the file."""
        made = self.made.get(access.tensor)
        if made is not None and self.shapes[made] == shape:
            return made
        if made is not None:
            ledger.assume(
                f"layers.{layer}.input",
                f"an input of its own: '{access.tensor}' is {list(shape)} here and {list(self.shapes[made])} before",
            )
        name = unique(plain_name(f"{layer}_{access.tensor}" if made else access.tensor, "input"), self.taken())
        self.inputs[name] = list(shape)
        self.shapes[name] = shape
        if made is None:
            self.made[access.tensor] = name
        return name

    def add(self, kind: str, name: str, entry: dict[str, Any], tensor: str, shape: tuple[int, ...]) -> None:
        """A layer and its result."""
        self.layers.append({kind: FlowMapping({"name": name, **entry})})
        self.shapes[name] = shape
        self.made[tensor] = name


def document(work: ForeignModel, ledger: ImportLedger) -> tuple[dict[str, Any], list[str]]:
    """The workload file of ``work``, and in words what of it could not be written.

    Raises ConfigError with the reasons where nothing could be.
    """
    written = WrittenWorkload()
    refused: list[str] = []
    for task in work.tasks:
        name = unique(plain_name(task.name, "layer"), written.taken())
        written.layer = name
        try:
            _add(written, name, task, ledger)
        except LayerRefusal as reason:
            refused.append(f"{task.mark}: {task.place}: layer '{task.name}': {reason}")
    if not written.layers:
        reasons = "\n".join(refused) or f"{work.mark}: has no layer"
        raise ConfigError(reasons)
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "name": plain_name(work.name, "workload"),
        "description": f"imported from {work.tool}",
        "source": f"{work.tool}: {work.file}",
        "inputs": written.inputs,
        "layers": written.layers,
    }
    return found, refused


def _add(written: WrittenWorkload, name: str, task: ForeignLayer, ledger: ImportLedger) -> None:
    for access in (*task.operands, task.result):
        if prod(access.shape(task.extents)) > MOST_VALUES:
            raise LayerRefusal(f"'{access.tensor}' has more than 2^48 values")
    if task.kind == "add":
        _sum(written, name, task, ledger)
    elif any(len(coordinate) > 1 for access in task.operands for coordinate in access.coordinates):
        window = windowed(task)
        (_pool if task.kind == "pool" else _conv)(written, name, task, window, ledger)
    elif task.kind == "pool":
        raise LayerRefusal("a pooling without windows")
    else:
        _product(written, name, task, ledger)


def _product(written: WrittenWorkload, name: str, task: ForeignLayer, ledger: ImportLedger) -> None:
    if len(task.operands) != 2:
        raise LayerRefusal(f"a product of {len(task.operands)} operands; archsim has products of two")
    first, second = _ordered(task)
    steps = {step for access in (first, second, task.result) for terms in access.coordinates for _, step in terms}
    if steps != {1}:
        raise LayerRefusal("a step over values that are left out; archsim's products index each value")
    if not task.result.dims <= first.dims | second.dims:
        raise LayerRefusal("an index of the result that no operand has")
    alone = sorted((first.dims ^ second.dims) - task.result.dims)
    if alone:
        raise LayerRefusal(f"a sum over '{alone[0]}', which one operand alone has; archsim sums what both have")
    entry: dict[str, Any] = {"equation": f"{_term(first)}, {_term(second)} -> {_term(task.result)}"}
    shapes = [access.shape(task.extents) for access in (first, second)]
    sources = [written.source(first, shapes[0], name, ledger)]
    if second.role == "weights" and second.tensor not in written.made:
        entry["inputs"] = sources
        entry["sizes"] = {_index(dim): task.extents[dim] for dim in _dims(second) if dim not in first.dims}
    else:
        entry["inputs"] = [*sources, written.source(second, shapes[1], name, ledger)]
    entry = {key: value for key, value in entry.items() if value}
    written.add("einsum", name, entry, task.result.tensor, task.result.shape(task.extents))


def _ordered(task: ForeignLayer) -> tuple[ForeignOperand, ForeignOperand]:
    """What is an input first."""
    first, second = task.operands
    return (second, first) if first.role == "weights" and second.role != "weights" else (first, second)


def _term(access: ForeignOperand) -> str:
    return " ".join(_index(dim) for dim in _dims(access))


def _dims(access: ForeignOperand) -> list[str]:
    found = [coordinate[0][0] for coordinate in access.coordinates]
    if len(set(found)) != len(found):
        raise LayerRefusal(f"'{access.tensor}' has one index twice, a diagonal")
    return found


def _index(dim: str) -> str:
    return plain_name(dim, "i").lower()


def _sum(written: WrittenWorkload, name: str, task: ForeignLayer, ledger: ImportLedger) -> None:
    shapes = {access.shape(task.extents) for access in (*task.operands, task.result)}
    if len(task.operands) != 2 or len(shapes) != 1:
        raise LayerRefusal("an addition of other than two tensors of one shape")
    shape = shapes.pop()
    inputs = [written.source(access, shape, name, ledger) for access in task.operands]
    if len(set(inputs)) == 1:
        raise LayerRefusal("an addition of a tensor to itself")
    written.add("add", name, {"inputs": inputs}, task.result.tensor, shape)


def _conv(written: WrittenWorkload, name: str, task: ForeignLayer, window: ForeignWindow, ledger: ImportLedger) -> None:
    entry: dict[str, Any] = {
        "input": written.source(window.image, window.input_shape, name, ledger),
        "out_channels": window.out_channels,
        **_window(window),
    }
    if window.groups > 1:
        entry["groups"] = window.groups
    entry["bias"] = False
    written.add("conv", name, entry, task.result.tensor, window.output_shape)


def _pool(written: WrittenWorkload, name: str, task: ForeignLayer, window: ForeignWindow, ledger: ImportLedger) -> None:
    if window.dilation != (1, 1):
        raise LayerRefusal("a pooling with dilated windows")
    entry = {"input": written.source(window.image, window.input_shape, name, ledger), "kind": task.pooling}
    entry |= {key: value for key, value in _window(window).items() if key != "dilation"}
    written.add("pool", name, entry, task.result.tensor, window.output_shape)


def _window(window: ForeignWindow) -> dict[str, Any]:
    found: dict[str, Any] = {"kernel": list(window.kernel), "stride": list(window.stride)}
    if window.dilation != (1, 1):
        found["dilation"] = list(window.dilation)
    if any(window.pad):
        found["pad"] = list(window.pad)
    return found
