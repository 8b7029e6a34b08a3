"""What every dataflow takes and returns: the loop nest, the array, and the fold of one command over it.

A matmul-like einsum ``O[batch, m, n] += A[batch, m, k] * B[batch, k, n]`` is laid over an array of R x C
processing elements (PEs). Whatever does not fit at once is cut into **folds** that run one after the other.
A dataflow is one file with one pure function ``fold`` from a nest, its extents and an array to cycles, the
elements that cross the array's edge and the actions inside; compiler and machine call the same function.

Counts are exact integers in **elements**; the caller multiplies with element sizes. Partial folds take the
time of full ones, but only PEs with work act and are counted.

**Windows.** In a convolution an output position p and a filter tap r meet in one input position, p * stride +
r * dilation: neighbouring outputs share inputs. A dataflow that makes use of this says ``WINDOWS = True`` in its
file; its nests then carry one ``Window`` for each such pair, in the memory order of the input's axes (rows first),
and ``Window.distinct`` says how many input positions a tile of outputs and taps reads. Where they come from and go:
``Layer.windows`` derives them from how a layer indexes its input; the compiler prices every tiling with them and
writes them into the MATMUL command (``window(2*p+r)`` in a listing), where the machine finds them again. Of the dims
of m and k such a dataflow may tell each one apart; of batch and n only the products count. For all other dataflows
``windows`` stays empty, the listing has no word of them and nothing depends on them. A dataflow may cut no work for
less than the whole costs: two commands for parts of a dim take and stream at least what one for all of it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd
from typing import NamedTuple, TypedDict

from archsim.base.errors import ConfigError, ModelError

USUAL = {"load_rows": 1, "block": 1}  # options of arrays that are numbers, where they mean nothing


class Window(NamedTuple):
    """An axis of the input on which an output position and a filter tap meet: position * stride + tap * dilation.

    ``output``: the dim of the output positions (among m); ``tap``: the dim of the filter taps (among k).
    """

    output: str
    tap: str
    stride: int
    dilation: int

    @property
    def pace(self) -> tuple[int, int]:
        """How many outputs further on, with how many taps fewer, the same input is read again."""
        common = gcd(self.stride, self.dilation)
        return self.dilation // common, self.stride // common

    def distinct(self, outputs: int, taps: int) -> int:
        """Input positions that ``outputs`` neighbouring positions read with ``taps`` neighbouring taps, each once.

        Of the pairs (p, r) that read one input, which lie in one line of steps (``pace``), the first one is counted.
        """
        step, back = self.pace
        return outputs * taps - max(0, outputs - step) * max(0, taps - back)


@dataclass(frozen=True, slots=True)
class Nest:
    """Which loop dims play which part in ``O[batch, m, n] += A[batch, m, k] * B[batch, k, n]``.

    ``m``: output rows (for a convolution n, p, q); ``n``: output columns (output channels); ``k``: reduction
    (c, r, s; the first one is the dim that a dot product spreads over its lanes); ``batch``: dims of all
    three tensors (groups, heads, the channels of a depthwise layer). An empty part has extent 1. ``windows``: which
    dims of m and k slide over one axis of A; empty for a dataflow that does not ask for them.
    """

    batch: tuple[str, ...]
    m: tuple[str, ...]
    n: tuple[str, ...]
    k: tuple[str, ...]
    windows: tuple[Window, ...] = ()

    def __post_init__(self) -> None:
        """Raise ModelError when a dim plays two parts, or a window is none of an output row and a reduction."""
        dims = self.batch + self.m + self.n + self.k
        if len(set(dims)) != len(dims):
            raise ModelError(f"loop nest: a dim is used twice among {', '.join(dims)}")
        check_windows(self.windows, self.m, self.k)

    def inputs(self, extents: Mapping[str, int]) -> int:
        """Distinct values of A that the whole nest reads; raises ModelError for a missing extent."""
        size = sizes(self, extents)
        found = size.batch * size.m * size.k
        for window in self.windows:
            outputs, taps = extents[window.output], extents[window.tap]
            found = found // (outputs * taps) * window.distinct(outputs, taps)
        return found


def check_windows(windows: Sequence[Window], m: Sequence[str], k: Sequence[str]) -> None:
    """Raise ModelError for a window of other dims than one of m and one of k, of a dim that another window has, or
    of a step below 1."""
    seen: set[str] = set()
    for window in windows:
        shown = f"window of '{window.output}' and '{window.tap}'"
        if window.output not in m or window.tap not in k:
            raise ModelError(
                f"loop nest: {shown}; allowed one output row ({', '.join(m)}) and one sum ({', '.join(k)})"
            )
        if seen & {window.output, window.tap}:
            raise ModelError(f"loop nest: {shown}, of which another window has one already; allowed once each")
        if min(window.stride, window.dilation) < 1:
            raise ModelError(f"loop nest: {shown} in steps of {window.stride} and {window.dilation}; allowed 1 or more")
        seen |= {window.output, window.tap}


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
    """Extents of batch, m, n, k, arrays where the extents of dims are; raises ModelError when a dim has no extent or
    one below 1."""
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
        if (extent if isinstance(extent, int) else extent.min()) < 1:
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
    ``load_rows``: rows of the stationary operand that are shifted in a cycle.
    ``block``: a PE keeps sums of so many rows and as many columns, for which operands are read once.
    ``weight_double_buffer``: a second register for the stationary operand. ``fold_overlap``: the next fold
    enters while the one before still leaves, so a command pays fill and drain once and not for each fold. Raises
    ConfigError for sizes below 1 or a rate <= 0.
    """

    rows: int
    cols: int
    rate: Fraction = Fraction(1)
    weight_double_buffer: bool = False
    fold_overlap: bool = False
    load_rows: int = 1
    block: int = 1
    pack: int = field(init=False, compare=False)  # reduction elements that one PE takes in one step: ceil(rate)

    def __post_init__(self) -> None:
        """Raise ConfigError for an impossible shape or rate."""
        object.__setattr__(self, "pack", ceil_div(self.rate.numerator, self.rate.denominator))
        if self.rows < 1 or self.cols < 1:
            raise ConfigError(f"array shape must be at least 1 x 1, found {self.rows} x {self.cols}")
        if self.rate <= 0:
            raise ConfigError(f"array rate must be > 0 MACs per PE and cycle, found {self.rate}")

    @property
    def load_cycles(self) -> int:
        """Cycles in which the stationary operand of a fold is shifted in."""
        return ceil_div(self.rows, self.load_rows)

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
            found, usual = getattr(self, option), USUAL.get(option, False)
            if found != usual:
                said, allowed = (str(value).lower() for value in (found, usual))
                raise ConfigError(
                    f"array option '{option}: {said}' has no meaning for dataflow '{dataflow}'; allowed {allowed}"
                )


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
