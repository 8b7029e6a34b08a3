"""The operands of a layer with their places: where each tensor lies, and the on-chip memories that its tiles pass.

One plan for each edge: ``a`` is what the unit reads from the innermost memory; ``a@l2`` stages it in a memory further
out, from where the tiles of ``a`` are filled. Outputs go the same way outwards: ``out``, then ``out@l2``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from archsim.facts.number_formats import ElementFormat
from archsim.ir.dtypes import size_bytes, sum_dtype
from archsim.ir.workload import Axis, Layer, Operand, Rows, Workload
from archsim.spec.architecture import Architecture
from archsim.spec.memories import Memory
from mapper.problem.formats import FACTORS, engine_pair, operand_dtype, operand_format
from mapper.problem.looked_up import by_entries
from mapper.problem.packed import SCALE, Groups, base_of, groups_of, packed_format
from mapper.problem.strides import row_major

BIAS, OUT, ACC = "bias", "out", "acc"
EPILOGUE = "epilogue"  # of a matmul: what its drain adds to the sums or multiplies them by
FINISHED = (OUT, EPILOGUE)  # moved by those alone that finish outputs
STAGE = "@"
STORED = "stored"  # behind the name of a factor: its tiles as they are stored, where the array reads converted ones


@dataclass(frozen=True, slots=True)
class OperandPlan:
    """An operand on one edge: ``level`` (the memory of its tiles), ``home`` (the memory beyond), element bytes.

    ``beyond``: the plan whose tiles lie in ``home``, '' where the tensor itself does.
    ``edge``: on-chip memories further out on its path, so 0 for what comes from DRAM.
    ``resident``: its tensor is pinned in ``level`` for the whole layer, so it needs neither ring nor move.
    ``buffered`` False: moved straight from or to its tensor (copies), so it needs no ring either.
    ``strides``: element steps per axis in its tensor's layout; ``pad_bytes``: left free behind each row of a slot.
    ``shape``: the tensor's axis lengths; ``axes`` as in the workload (the accumulator has the output's).
    ``rows``: one axis is looked up: its length is the number of entries, its stride 0. On the outermost
    edge alone: further in a tile has its rows side by side.
    ``cached``: they go through a cache. ``first``: of packed ones, the group that they begin with in their base.
    ``made_of``: the plans of whose tiles a VECTOR command makes this one's, in so many ``passes``, from
    the format that they are ``stored`` in. ``follows``: the
    plan whose Keep is this one's too; where tiles are converted none slide (``still``).
    ``dims``: those that move this operand; ``operand``: the layer's that it is, or stages.
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
    first: int | None = None
    made_of: tuple[str, ...] = ()
    passes: int = 0
    stored: str = ""
    follows: str = ""
    still: bool = False
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
    """An operand's plans, the one that the unit reads first, then those of its tiles as they are stored and of their
    scales, the innermost first; ``pinned``: tensor -> memory of those on chip; ``is_copied``: it is moved between
    memories, so only the outermost of its memories matters.

    Raises ConfigError when its role has no memory, or the array no rate for types that hold its values.
    """
    found = _chain(operand, layer, workload, architecture, dtypes, pinned, is_copied)
    if layer.kind != "matmul" or operand.name not in FACTORS:
        return found
    wanted = engine_pair(layer, workload, architecture, dtypes)[FACTORS.index(operand.name)]
    stored = operand_format(operand, workload, dtypes)
    return found if str(stored) == wanted else _converted(found, operand, layer, workload, wanted, stored)


def _converted(
    chain: list[OperandPlan],
    operand: Operand,
    layer: Layer,
    workload: Workload,
    wanted: str,
    stored: ElementFormat,
) -> list[OperandPlan]:
    """A factor that the array reads as ``wanted``: its tiles, then the ``chain`` of those that they are made of."""
    inner = chain[0]
    own = [replace(plan, name=_stored_name(plan, inner), still=True) for plan in chain]
    scales: list[OperandPlan] = []
    if packed_format(workload, operand.tensor) is not None:
        groups = groups_of(operand, layer, workload)
        own = [_in_groups(plan, groups) for plan in own]
        if groups.scale_bytes:
            scales = [_scale(plan, operand, base_of(workload, operand.tensor), groups.scale_bytes) for plan in own]
    made_of = (own[0].name, *(plan.name for plan in scales[:1]))
    made = replace(
        inner, element_bytes=size_bytes(wanted), dtype=wanted, home=inner.level, resident=False, beyond="", edge=0,
        made_of=made_of, passes=stored.passes, stored=str(stored), follows=own[0].name, still=True,
    )  # fmt: skip
    return [made, *own, *scales]


def _in_groups(plan: OperandPlan, groups: Groups) -> OperandPlan:
    return replace(
        plan, axes=groups.axes, shape=groups.shape, strides=groups.strides, first=groups.first,
        element_bytes=groups.own_bytes, pad_bytes=0,
    )  # fmt: skip


def _stored_name(plan: OperandPlan, inner: OperandPlan) -> str:
    return f"{plan.name}{STAGE}{STORED}" if plan is inner else plan.name


def _scale(plan: OperandPlan, operand: Operand, base: str, scale_bytes: int) -> OperandPlan:
    """The scales of the tiles of a plan, on the same edge."""
    name = f"{operand.name}{SCALE}"
    staged = {f"{operand.name}{STAGE}{plan.level}": f"{name}{STAGE}{plan.level}"}
    beyond = plan.beyond and f"{name}{STAGE}{plan.home}"
    return replace(
        plan, name=staged.get(plan.name, name), tensor=f"{base}{SCALE}", element_bytes=scale_bytes, beyond=beyond,
        follows=plan.name,
    )  # fmt: skip


def _chain(
    operand: Operand,
    layer: Layer,
    workload: Workload,
    architecture: Architecture,
    dtypes: Mapping[str, str],
    pinned: Mapping[str, str],
    is_copied: bool,
) -> list[OperandPlan]:
    """An operand's plans as it is stored, the innermost first."""
    tensor, role = workload.tensors[operand.tensor], port_role(operand)
    home = pinned.get(base_of(workload, operand.tensor))
    outermost = architecture.outer(home_role(tensor.kind, operand.role)).name
    passed = architecture.inside(role, outermost)
    names = [memory.name for memory in passed]
    resident = home is not None and (is_copied or home == names[-1])
    behind = _behind(passed, home)
    if is_copied:
        behind = behind[:1] if home is None else [architecture.memory(home)]
    dtype = operand_dtype(operand, workload, dtypes)
    strides = tensor.view.strides if tensor.view is not None else row_major(tensor.shape, 1)
    shape, strides = by_entries(operand, layer, tensor.shape, strides)
    found: list[OperandPlan] = []
    for number, level in enumerate(behind):
        is_inner, rows = number == len(behind) - 1, operand.rows if number == 0 else None
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
                strides=strides if rows == operand.rows else row_major(shape, 1),
                pad_bytes=pad_bytes(level, role),
                rows=rows,
                cached=rows is not None and architecture.cache(operand.role) is not None,
                beyond=found[-1].name if number else "",
                edge=0 if rows is not None else names.index(level.name),
            )
        )
    return found[::-1]


def _behind(passed: tuple[Memory, ...], home: str | None) -> list[Memory]:
    """The memories whose rings an operand passes: those inside ``home``, or the one where it lies if that is last."""
    names = [memory.name for memory in passed]
    inside = passed[names.index(home) + 1 :] if home is not None else passed
    return list(inside or passed[-1:])


def accumulator(
    out: OperandPlan, architecture: Architecture, dtypes: Mapping[str, str], engine: str, pair: tuple[str, str]
) -> OperandPlan:
    """The accumulator's tile: a ring between array and vector unit, or one block that the vector unit alone uses.

    Products of a ``pair`` of floats add up to floats.
    """
    level = architecture.inner("partials")
    dtype = sum_dtype(pair[0], dtypes["accumulate"])
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
