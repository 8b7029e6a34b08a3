"""What every dataflow takes and returns: the loop nest, the array, and the fold of one command over it.

A matmul-like einsum ``O[batch, m, n] += A[batch, m, k] * B[batch, k, n]`` is laid over an array of R x C
processing elements (PEs). Whatever does not fit at once is cut into **folds** that run one after the other.
A dataflow is one file with one pure function ``fold`` from a nest, its extents and an array to cycles, the
elements that cross the array's edge and the actions inside; compiler and machine call the same function.

Counts are exact integers in **elements**; the caller multiplies with element sizes. Partial folds take the
time of full ones, but only PEs with work act and are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, TypedDict

from archsim.base.errors import ConfigError, ModelError


@dataclass(frozen=True, slots=True)
class Nest:
    """Which loop dims play which part in ``O[batch, m, n] += A[batch, m, k] * B[batch, k, n]``.

    ``m``: output rows (for a convolution n, p, q); ``n``: output columns (output channels); ``k``: reduction
    (c, r, s; the first one is the dim that a dot product spreads over its lanes); ``batch``: dims of all
    three tensors (groups, heads, the channels of a depthwise layer). An empty part has extent 1.
    """

    batch: tuple[str, ...]
    m: tuple[str, ...]
    n: tuple[str, ...]
    k: tuple[str, ...]

    def __post_init__(self) -> None:
        """Raise ModelError when a dim plays two parts."""
        dims = self.batch + self.m + self.n + self.k
        if len(set(dims)) != len(dims):
            raise ModelError(f"loop nest: a dim is used twice among {', '.join(dims)}")


class NestSizes(NamedTuple):
    """Extents of the four parts of a nest: products over their dims."""

    batch: int
    m: int
    n: int
    k: int

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the whole command."""
        return self.batch * self.m * self.n * self.k


def sizes(nest: Nest, extents: Mapping[str, int]) -> NestSizes:
    """Extents of batch, m, n, k; raises ModelError when a dim has no extent or one below 1."""
    return NestSizes(
        _product(nest.batch, extents),
        _product(nest.m, extents),
        _product(nest.n, extents),
        _product(nest.k, extents),
    )


def _product(dims: tuple[str, ...], extents: Mapping[str, int]) -> int:
    product = 1
    for dim in dims:
        extent = extents.get(dim, 0)
        if extent < 1:
            raise ModelError(f"loop nest: dim '{dim}' needs an extent >= 1, found {extents.get(dim)}")
        product *= extent
    return product


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """The array as a dataflow sees it: R x C PEs, MACs per PE and cycle, and what overlaps.

    ``rate`` = MACs per PE and cycle at the dtype pair in use, any positive rational, met in two ways: a PE
    multiplies ``pack = ceil(rate)`` neighbours along the reduction in one step (their registers are as wide)
    and starts a step every ``pack / rate`` cycles. So 1/2 takes two cycles a MAC, 2 packs two MACs a cycle,
    3/2 packs two every 4/3 cycles; a run of n steps occupies a PE for ceil(n * pack / rate) cycles.
    ``weight_double_buffer``: a second register for the stationary operand. ``fold_overlap``: the next fold
    enters while the one before still leaves. Raises ConfigError for sizes below 1 or a rate <= 0.
    """

    rows: int
    cols: int
    rate: Fraction = Fraction(1)
    weight_double_buffer: bool = False
    fold_overlap: bool = False
    pack: int = field(init=False, compare=False)  # reduction elements that one PE takes in one step: ceil(rate)

    def __post_init__(self) -> None:
        """Raise ConfigError for an impossible shape or rate."""
        object.__setattr__(self, "pack", ceil_div(self.rate.numerator, self.rate.denominator))
        if self.rows < 1 or self.cols < 1:
            raise ConfigError(f"array shape must be at least 1 x 1, found {self.rows} x {self.cols}")
        if self.rate <= 0:
            raise ConfigError(f"array rate must be > 0 MACs per PE and cycle, found {self.rate}")

    @property
    def macs_per_cycle(self) -> Fraction:
        """Peak of the array at this rate, MACs per cycle."""
        return self.rows * self.cols * self.rate

    def run_cycles(self, steps: int) -> int:
        """Cycles that ``steps`` consecutive steps occupy one PE: ceil(steps * pack / rate)."""
        return ceil_div(steps * self.pack * self.rate.denominator, self.rate.numerator)

    def refuse(self, dataflow: str, *options: str) -> None:
        """Raise ConfigError when an option is set that ``dataflow`` gives no meaning to."""
        for option in options:
            if getattr(self, option):
                raise ConfigError(f"array option '{option}: true' has no meaning for dataflow '{dataflow}'")


class EdgeStream(NamedTuple):
    """Elements of one operand that cross the array's edge; one access moves one element.

    ``direction`` as the memory outside sees it: read (into the array) or write (out of it).
    """

    accesses: int
    direction: str


class ArrayMoves(NamedTuple):
    """Uses of one operand inside the array, in elements: register reads, register writes, PE-to-PE hops."""

    reads: int
    writes: int
    hops: int


@dataclass(frozen=True, slots=True)
class Fold:
    """One command on one array: cycles, edge traffic, inner actions.

    ``cycles_load``: the operand that stays is shifted in and nothing hides it (``weight_load``); ``cycles_fill``:
    the skew until the first column runs over all rows; ``cycles_stream``: MACs run at the array's pace (this is
    where edge underfill shows); ``cycles_drain``: the skew until the last column is done. ``streams``: ``a`` and
    ``b`` (the two factors) and ``acc_read``, ``acc_write`` (sums from and to the accumulators outside).
    ``inner_actions``: ``mac`` and, for each operand x of a, b, acc, ``register_read.x``, ``register_write.x``,
    ``wire.x`` (one hop from a PE, or from the edge, to the next PE). A register that feeds the MAC and the neighbour
    in one cycle is read once.
    """

    cycles_load: int
    cycles_fill: int
    cycles_stream: int
    cycles_drain: int
    streams: Mapping[str, EdgeStream]
    inner_actions: Mapping[str, int]

    @property
    def cycles(self) -> int:
        """Length of the command in cycles of the array's clock."""
        return self.cycles_load + self.cycles_fill + self.cycles_stream + self.cycles_drain


class FanoutSpec(TypedDict):
    """One axis of an array: ``size`` PEs, the roles multicast to all of them, the roles reduced over them.

    In a systolic array both happen by shifting from PE to PE.
    """

    axis: str
    size: int
    multicast: tuple[str, ...]
    reduce: tuple[str, ...]


class RegisterSpec(TypedDict):
    """One register file of every PE: the roles it keeps and its size."""

    name: str
    keeps: tuple[str, ...]
    size_bytes: int


def fanouts_of(
    rows: int, cols: int, over_rows: Mapping[str, tuple[str, ...]], over_cols: Mapping[str, tuple[str, ...]]
) -> tuple[FanoutSpec, ...]:
    """The two axes of a rows x cols array; ``over_*`` = {"multicast": roles, "reduce": roles}."""
    return tuple(
        FanoutSpec(axis=axis, size=size, multicast=use.get("multicast", ()), reduce=use.get("reduce", ()))
        for axis, size, use in (("rows", rows, over_rows), ("cols", cols, over_cols))
    )


def registers_of(bits: Mapping[str, int], entries: Mapping[str, int]) -> tuple[RegisterSpec, ...]:
    """Register files of a PE: ``entries`` values of ``bits[role]`` bits each, for each role in turn."""
    return tuple(
        RegisterSpec(name=f"{role}_register", keeps=(role,), size_bytes=ceil_div(bits[role] * count, 8))
        for role, count in entries.items()
    )


def streams_of(*, a: int, b: int, acc_read: int, acc_write: int) -> dict[str, EdgeStream]:
    """The four edge streams from their element counts."""
    return {
        "a": EdgeStream(a, "read"),
        "b": EdgeStream(b, "read"),
        "acc_read": EdgeStream(acc_read, "read"),
        "acc_write": EdgeStream(acc_write, "write"),
    }


def actions_of(macs: int, *, a: ArrayMoves, b: ArrayMoves, acc: ArrayMoves) -> dict[str, int]:
    """The inner actions from the MAC count and the moves of the three operands."""
    return {
        "mac": macs,
        "register_read.a": a.reads,
        "register_write.a": a.writes,
        "wire.a": a.hops,
        "register_read.b": b.reads,
        "register_write.b": b.writes,
        "wire.b": b.hops,
        "register_read.acc": acc.reads,
        "register_write.acc": acc.writes,
        "wire.acc": acc.hops,
    }


def ceil_div(total: int, part: int) -> int:
    """Smallest integer >= total / part, for total >= 0 and part > 0."""
    return -(-total // part)
