"""One layer as a mapping problem: grouped dims, operands with their memories, capacities.

Dims fall into four groups by the part they play: batch (B), output rows (M), output columns (N), reduction (K).
Vector and copy layers have only M (the output's dims) and K (dims that the output does not index, never tiled).
Dims that share a tensor axis with a larger dim (filter taps) are kept whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from archsim.errors import ConfigError, MappingError
from archsim.ir.dtypes import size_bytes
from archsim.ir.workload import Axis, Layer, Operand, Rows, Workload
from archsim.spec.architecture import Architecture, Memory
from mapper.looked_up import by_entries, inside_rows
from mapper.strides import row_major

GROUPS = ("B", "M", "N", "K")
BIAS, OUT, ACC = "bias", "out", "acc"


@dataclass(frozen=True, slots=True)
class OperandPlan:
    """An operand with its place: ``level`` (inner memory), ``home`` (where the tensor lives), element bytes.

    ``resident``: its tensor is pinned in ``level`` for the whole layer, so it needs neither ring nor move.
    ``buffered`` False: moved straight from or to its tensor (copies), so it needs no ring either.
    ``strides``: element steps per axis in its tensor's layout; ``pad_bytes``: left free behind each row of a slot.
    ``shape``: the tensor's axis lengths; ``axes`` as in the workload (the accumulator has the output's).
    ``rows``: one axis is looked up: its length is the number of entries, its stride 0, and its rows are never cut.
    ``cached``: they go through a cache.
    """

    name: str
    tensor: str
    role: str
    axes: tuple[Axis, ...]
    shape: tuple[int, ...]
    element_bytes: int
    dtype: str
    level: str
    home: str
    slots: int
    resident: bool
    buffered: bool = True
    strides: tuple[int, ...] = ()
    pad_bytes: int = 0
    rows: Rows | None = None
    cached: bool = False

    @property
    def dims(self) -> frozenset[str]:
        """Dims that move this operand."""
        return frozenset(dim for axis in self.axes for dim, _ in axis.terms)


@dataclass(frozen=True, slots=True)
class Problem:
    """A layer to be mapped onto ``unit`` ('array' or 'vector' engine; 'copy' uses the DMA alone)."""

    layer: Layer
    engine: str
    unit: str
    vector: str  # name of the vector unit that drains or computes ('' when the chip has none)
    dims: Mapping[str, int]
    groups: Mapping[str, tuple[str, ...]]  # group -> its dims, outermost loop first
    whole: frozenset[str]
    operands: tuple[OperandPlan, ...]
    capacity: Mapping[str, int]
    accumulates: bool  # has an accumulator ring drained by the vector unit

    def operand(self, name: str) -> OperandPlan:
        """The operand called ``name``."""
        return next(plan for plan in self.operands if plan.name == name)

    @property
    def reads(self) -> tuple[OperandPlan, ...]:
        """Operands brought in by the load engine."""
        return tuple(plan for plan in self.operands if plan.name not in (OUT, ACC))


def build(
    layer: Layer,
    workload: Workload,
    architecture: Architecture,
    dtypes: Mapping[str, str],
    capacity: Mapping[str, int],
    resident: frozenset[str],
    engine: str,
) -> Problem:
    """Problem of ``layer`` on ``engine``; ``resident`` names tensors pinned on chip, ``capacity`` the free bytes per
    memory.

    Raises MappingError when the chip lacks the unit, ConfigError when a role has no memory.
    """
    operands = [_plan(op, layer, workload, architecture, dtypes, resident) for op in (*layer.inputs, layer.output)]
    if engine == "copy":
        operands = _unbuffered(operands)
    if layer.kind == "matmul":
        operands.append(_accumulator(operands[-1], architecture, dtypes, engine))
    dims = dict(layer.dims)
    whole = frozenset(layer.whole) | _coupled(layer) | _broadcast_reductions(layer) | inside_rows(layer)
    return Problem(
        layer,
        engine,
        _unit(layer, architecture, engine),
        _drainer(layer, architecture, engine),
        dims,
        _groups(layer),
        whole,
        tuple(operands),
        dict(capacity),
        layer.kind == "matmul",
    )


def _unit(layer: Layer, architecture: Architecture, engine: str) -> str:
    if engine == "copy":
        return architecture.dma.name
    parts = architecture.arrays if engine == "array" else architecture.vectors
    if not parts:
        raise MappingError(
            f"layer '{layer.name}' ({layer.op}) needs {'an array' if engine == 'array' else 'a vector unit'}; chip "
            f"'{architecture.name}' has none"
        )
    return parts[0].name


def _drainer(layer: Layer, architecture: Architecture, engine: str) -> str:
    return "" if engine == "copy" else _unit(layer, architecture, "vector")


def _plan(
    operand: Operand,
    layer: Layer,
    workload: Workload,
    architecture: Architecture,
    dtypes: Mapping[str, str],
    resident: frozenset[str],
) -> OperandPlan:
    tensor = workload.tensors[operand.tensor]
    role = port_role(operand)
    level = inner(architecture, role)
    dtype = operand_dtype(operand, dtypes)
    home = architecture.outer(home_role(tensor.kind, operand.role))
    strides = tensor.view.strides if tensor.view is not None else row_major(tensor.shape, 1)
    shape, strides = by_entries(operand, layer, tensor.shape, strides)
    return OperandPlan(
        operand.name,
        operand.tensor,
        operand.role,
        operand.axes,
        shape,
        size_bytes(dtype),
        dtype,
        level.name,
        home.name,
        level.slots.get(role, 2),
        base_of(workload, operand.tensor) in resident,
        strides=strides,
        pad_bytes=pad_bytes(level, role),
        rows=operand.rows,
        cached=operand.rows is not None and architecture.cache(operand.role) is not None,
    )


def pad_bytes(memory: Memory, role: str) -> int:
    """Bytes left free behind each row of a role's tiles and tensors in a memory."""
    return memory.padding_words.get(role, 0) * memory.word_bytes


def _unbuffered(operands: list[OperandPlan]) -> list[OperandPlan]:
    """A copy passes through one ring (its input's), or none when either end is on chip."""
    direct = any(plan.resident for plan in operands)
    return [replace(plan, buffered=plan.name != OUT and not direct) for plan in operands]


def inner(architecture: Architecture, role: str) -> Memory:
    """The one on-chip memory of ``role``; raises MappingError when the chip has more explicit levels than that."""
    path = architecture.path(role)
    if not path:
        raise ConfigError(f"chip '{architecture.name}': no memory keeps '{role}'")
    if len(path) > 2:
        names = ", ".join(memory.name for memory in path)
        raise MappingError(
            f"role '{role}' has {len(path)} explicit memories on its path ({names}); this version maps one DRAM and "
            "one on-chip memory per role"
        )
    return path[-1]


def port_role(operand: Operand) -> str:
    """The role whose memory feeds the unit: the second matmul operand always comes over the weights' path; rows of a
    table come in as inputs.
    """
    if operand.name in ("b", BIAS):
        return "weights"
    return "outputs" if operand.name == OUT else ("weights" if operand.role == "weights" else "inputs")


def home_role(kind: str, role: str = "") -> str:
    """The role whose outermost memory holds a tensor of this kind that is read as ``role``."""
    return ("tables" if role == "tables" else "weights") if kind == "weight" else "inputs"


def operand_dtype(operand: Operand, dtypes: Mapping[str, str]) -> str:
    """dtype of an operand: bias has the accumulator's width, activations the inputs'."""
    if operand.name == BIAS:
        return dtypes["accumulate"]
    if operand.role in ("weights", "tables", "kv"):
        return dtypes.get(operand.role, dtypes["weights"])
    return dtypes["inputs"]


def base_of(workload: Workload, tensor: str) -> str:
    """The tensor that owns the storage behind ``tensor`` (itself, or the base of its chain of views)."""
    found = workload.tensors[tensor]
    while found.view is not None:
        found = workload.tensors[found.view.base]
    return found.name


def _accumulator(out: OperandPlan, architecture: Architecture, dtypes: Mapping[str, str], engine: str) -> OperandPlan:
    """The accumulator's tile: a ring between array and vector unit, or one block that the vector unit alone uses."""
    level = inner(architecture, "partials")
    dtype = dtypes["accumulate"]
    slots = level.slots.get("partials", 2) if engine == "array" else 1
    return OperandPlan(
        ACC,
        "",
        "partials",
        out.axes,
        out.shape,
        size_bytes(dtype),
        dtype,
        level.name,
        level.name,
        slots,
        False,
        strides=out.strides,
        pad_bytes=pad_bytes(level, "partials"),
    )


def _coupled(layer: Layer) -> frozenset[str]:
    """Dims that share an axis with a larger one: filter taps beside the output position."""
    small: set[str] = set()
    for operand in (*layer.inputs, layer.output):
        for axis in operand.axes:
            moving = [dim for dim, _ in axis.terms if layer.dims[dim] > 1]
            if len(moving) > 1:
                reductions = [dim for dim in moving if dim in _reductions(layer)]
                keep = reductions or sorted(moving, key=lambda dim: (layer.dims[dim], dim))[:-1]
                small.update(keep)
    return frozenset(small)


def _reductions(layer: Layer) -> frozenset[str]:
    out = {dim for axis in layer.output.axes for dim, _ in axis.terms}
    return frozenset(dim for dim in layer.dims if dim not in out)


def _broadcast_reductions(layer: Layer) -> frozenset[str]:
    """Reductions outside a matmul are never cut: a vector command makes its outputs at once."""
    return frozenset() if layer.kind == "matmul" else _reductions(layer)


def _groups(layer: Layer) -> dict[str, tuple[str, ...]]:
    if layer.kind == "matmul":
        weights = next(operand for operand in layer.inputs if operand.name == "b")
        rows, sums = _in_memory_order(layer.m, layer.output, layer), _in_memory_order(layer.k, weights, layer)
        return {"B": layer.batch, "M": rows, "N": layer.n, "K": sums}
    reductions = _reductions(layer)
    outputs = tuple(dim for dim in _memory_order(layer.output, layer.dims) if dim not in reductions)
    return {"B": (), "M": outputs, "N": (), "K": tuple(dim for dim in layer.dims if dim in reductions)}


def _memory_order(operand: Operand, dims: Mapping[str, int]) -> tuple[str, ...]:
    order = [dim for axis in operand.axes for dim, _ in axis.terms]
    return tuple(dict.fromkeys(order + [dim for dim in dims if dim not in order]))


def _in_memory_order(names: tuple[str, ...], operand: Operand, layer: Layer) -> tuple[str, ...]:
    """Dims in the order in which an operand's memory has them: runs stay long when the outer ones are cut."""
    return tuple(dim for dim in _memory_order(operand, layer.dims) if dim in names)
