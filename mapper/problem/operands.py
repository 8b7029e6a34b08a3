"""The operands of a layer with their places: where each tensor lies, and the on-chip memories that its tiles pass.

One plan for each edge: ``a`` is what the unit reads from the innermost memory; ``a@l2`` stages it in a memory further
out, from where the tiles of ``a`` are filled. Outputs go the same way outwards: ``out``, then ``out@l2``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from archsim.ir.dtypes import size_bytes
from archsim.ir.workload import Axis, Layer, Operand, Rows, Workload
from archsim.spec.architecture import Architecture
from archsim.spec.memories import Memory
from mapper.problem.looked_up import by_entries
from mapper.problem.strides import row_major

BIAS, OUT, ACC = "bias", "out", "acc"
STAGE = "@"


@dataclass(frozen=True, slots=True)
class OperandPlan:
    """An operand on one edge: ``level`` (the memory of its tiles), ``home`` (the memory beyond), element bytes.

    ``beyond``: the plan whose tiles lie in ``home``, '' where the tensor itself does.
    ``edge``: on-chip memories further out on its path, so 0 for what comes from DRAM.
    ``resident``: its tensor is pinned in ``level`` for the whole layer, so it needs neither ring nor move.
    ``buffered`` False: moved straight from or to its tensor (copies), so it needs no ring either.
    ``strides``: element steps per axis in its tensor's layout; ``pad_bytes``: left free behind each row of a slot.
    ``shape``: the tensor's axis lengths; ``axes`` as in the workload (the accumulator has the output's).
    ``rows``: one axis is looked up: its length is the number of entries, its stride 0, and its rows are never cut.
    ``cached``: they go through a cache. ``dims``: those that move this operand; ``operand``: the layer's that it is, or
    stages.
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
    beyond: str = ""
    edge: int = 0
    dims: frozenset[str] = field(init=False, repr=False, compare=False)
    operand: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Work out what is asked again and again."""
        object.__setattr__(self, "dims", frozenset([dim for axis in self.axes for dim, _ in axis.terms]))
        object.__setattr__(self, "operand", self.name.partition(STAGE)[0])

    @property
    def is_stage(self) -> bool:
        """Whether it stages an operand in a memory that the unit does not reach."""
        return STAGE in self.name


def plans(
    operand: Operand,
    layer: Layer,
    workload: Workload,
    architecture: Architecture,
    dtypes: Mapping[str, str],
    pinned: Mapping[str, str],
    is_copied: bool,
) -> list[OperandPlan]:
    """An operand's plans, the innermost first; ``pinned``: tensor -> memory of those on chip; ``is_copied``: it is
    moved between memories, so only the outermost of its memories matters.

    Raises ConfigError when its role has no memory.
    """
    tensor, role = workload.tensors[operand.tensor], port_role(operand)
    home = pinned.get(base_of(workload, operand.tensor))
    outermost = architecture.outer(home_role(tensor.kind, operand.role)).name
    passed = architecture.inside(role, outermost)
    names = [memory.name for memory in passed]
    resident = home is not None and (is_copied or home == names[-1])
    behind = _behind(passed, home)
    if is_copied:
        behind = behind[:1] if home is None else [architecture.memory(home)]
    elif operand.rows is not None:
        behind = behind[-1:]
    dtype = operand_dtype(operand, dtypes)
    strides = tensor.view.strides if tensor.view is not None else row_major(tensor.shape, 1)
    shape, strides = by_entries(operand, layer, tensor.shape, strides)
    found: list[OperandPlan] = []
    for number, level in enumerate(behind):
        is_inner = number == len(behind) - 1
        found.append(
            OperandPlan(
                operand.name if is_inner else f"{operand.name}{STAGE}{level.name}",
                operand.tensor,
                operand.role,
                operand.axes,
                shape,
                size_bytes(dtype),
                dtype,
                level.name,
                behind[number - 1].name if number else home or outermost,
                level.slots.get(role, 2),
                resident,
                strides=strides,
                pad_bytes=pad_bytes(level, role),
                rows=operand.rows,
                cached=operand.rows is not None and architecture.cache(operand.role) is not None,
                beyond=found[-1].name if number else "",
                edge=0 if operand.rows is not None else names.index(level.name),
            )
        )
    return found[::-1]


def _behind(passed: tuple[Memory, ...], home: str | None) -> list[Memory]:
    """The memories whose rings an operand passes: those inside ``home``, or the one where it lies if that is last."""
    names = [memory.name for memory in passed]
    inside = passed[names.index(home) + 1 :] if home is not None else passed
    return list(inside or passed[-1:])


def accumulator(out: OperandPlan, architecture: Architecture, dtypes: Mapping[str, str], engine: str) -> OperandPlan:
    """The accumulator's tile: a ring between array and vector unit, or one block that the vector unit alone uses."""
    level = architecture.inner("partials")
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


def pad_bytes(memory: Memory, role: str) -> int:
    """Bytes left free behind each row of a role's tiles and tensors in a memory."""
    return memory.padding_words.get(role, 0) * memory.word_bytes


def port_role(operand: Operand) -> str:
    """The role whose memory feeds the unit: the second matmul operand always comes over the weights' path; rows of a
    table come in as inputs.
    """
    if operand.name in ("b", BIAS):
        return "weights"
    return "outputs" if operand.name == OUT else ("weights" if operand.role == "weights" else "inputs")


def home_role(kind: str, role: str = "") -> str:
    """The role whose outermost memory holds a tensor of this kind that is read as ``role``."""
    if kind == "state":
        return "kv"
    return ("tables" if role == "tables" else "weights") if kind == "weight" else "inputs"


def operand_dtype(operand: Operand, dtypes: Mapping[str, str]) -> str:
    """dtype of an operand: a stored bias has the accumulator's width, activations the inputs'."""
    if operand.name == BIAS and operand.role == "weights":
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
