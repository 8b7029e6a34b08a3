"""Byte-exact comparison of the few operands whose bounding intervals do not settle a question.

Where queues write parts of one tensor in any order, each must keep to bytes of its own: the bytes are painted with the
queue that writes them, and where two write the same, one finds the other's colour. They are painted in the largest
grains that all offsets, runs and strides are multiples of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from archsim.base.arrays import BoolArray, IntArray
from archsim.base.ragged import alike, stretches
from archsim.ir.check.hazards.accesses import READS, SCATTERS, AccessTable, CheckedStore, QueueAccesses
from archsim.ir.check.hazards.states import held_at_start
from archsim.ir.footprint import reachable
from archsim.ir.program import PlacedTensor


def meet(store: CheckedStore, one: QueueAccesses, i: int, two: QueueAccesses, j: int) -> tuple[int, int] | None:
    """First stretch [low, high) of bytes that access ``i`` of ``one`` and ``j`` of ``two`` share, or None."""
    low = min(int(one.low[i]), int(two.low[j]))
    size = max(int(one.high[i]), int(two.high[j])) - low
    first, second = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    _paint(first, low, store, one, i, True)
    _paint(second, low, store, two, j, True)
    shared = first & second
    if not shared.any():
        return None
    start = int(np.argmax(shared))
    rest = shared[start:]
    length = len(rest) if rest.all() else int(np.argmin(rest))
    return low + start, low + start + length


def missing_byte(store: CheckedStore, reads: QueueAccesses, at: int, writes: Sequence[QueueAccesses]) -> int | None:
    """First byte of read number ``at`` that none of ``writes`` covers and that is not there from the start, or None."""
    low = min([int(reads.low[at]), *(int(part.low.min()) for part in writes if len(part.index))])
    high = max([int(reads.high[at]), *(int(part.high.max()) for part in writes if len(part.index))])
    wanted = np.zeros(high - low, dtype=np.bool_)
    _paint(wanted, low, store, reads, at, True)
    for first, end in zip(*held_at_start(store.item), strict=True):
        wanted[max(0, int(first) - low) : max(0, int(end) - low)] = False
    for part in writes:
        for number in range(len(part.index)):
            _paint(wanted, low, store, part, number, False)
    return low + int(np.argmax(wanted)) if wanted.any() else None


def _paint(canvas: BoolArray, origin: int, store: CheckedStore, accesses: QueueAccesses, at: int, value: bool) -> None:
    """Set the bytes that an access touches; byte ``origin`` is the canvas's first, all of them lie inside it."""
    touched = reachable(store.regions[int(accesses.region[at])], store.step(accesses, at))
    first = int(accesses.low[at]) - origin
    shape = (*(extent for extent, _ in touched.outer), touched.run_bytes)
    strides = (*(stride for _, stride in touched.outer), 1)
    as_strided(canvas[first:], shape, strides)[...] = value


MOST_GRAINS = 1 << 26  # of a tensor that is painted
AT_ONCE = 1 << 20  # grains
NOBODY = -1

RunShape = tuple[int, tuple[tuple[int, int], ...]]  # bytes of a run, (extent, stride bytes) over which it is repeated
RunShapes = tuple[list[RunShape], IntArray]  # and which of them each run of a text has
PaintedBytes = tuple[IntArray, IntArray, RunShape]  # first bytes and queues of the accesses of one shape


class KnownShapes:
    """What the runs of operands touch from their first byte on, found out once for all operands of one ``kind``: those
    of texts of one nest and number and of commands of one shape, at one place there.
    """

    def __init__(self, uses: AccessTable) -> None:
        self.uses = uses
        columns, texts = uses.ledger.columns, uses.ledger.texts
        text = uses.texts.rows
        command = texts.command[text]
        place = uses.regions.rows - columns.operands[command]
        self._first, self.kind = alike([texts.nest[text], texts.number[text], columns.shape[1][command], place])
        self._known: dict[int, RunShapes] = {}

    def of(self, kind: int) -> RunShapes:
        """The shapes of the runs of operands of a kind."""
        if kind not in self._known:
            self._known[kind] = self._found(int(self._first[kind]))
        return self._known[kind]

    def places(self, kind: int) -> IntArray:
        """Where such operands' texts run in their nest."""
        text = self.uses.texts[int(self._first[kind])]
        return text.nest.runs[text.number].at

    def _found(self, number: int) -> RunShapes:
        region, text = self.uses.regions[number], self.uses.texts[number]
        queue = self.uses.ledger.steps[int(self.uses.ledger.texts.queue[self.uses.texts.rows[number]])]
        numbers: dict[RunShape, int] = {}
        which: list[int] = []
        for place in text.nest.runs[text.number].at.tolist():
            touched = reachable(region, queue[text.begin + place])
            which.append(numbers.setdefault((touched.run_bytes, touched.outer), len(numbers)))
        return list(numbers), np.array(which, dtype=np.int64)


def owned_apart(known: KnownShapes, number: int, groups: IntArray) -> bool:
    """Whether no two of ``groups`` of store ``number``, of different queues, meet where one writes.

    False where that is not so, and where it is not found out: for rings, lookups and large tensors.
    """
    item = known.uses.items[number]
    kinds = known.uses.groups.kind[groups]
    if not isinstance(item, PlacedTensor) or (kinds == SCATTERS).any():
        return False
    writes = _by_shape(known, groups[kinds != READS])
    reads = _by_shape(known, groups[kinds == READS])
    grain = _grain([*writes, *reads])
    if item.size_bytes // grain > MOST_GRAINS:
        return False
    owner = np.full(item.size_bytes // grain + 1, NOBODY, dtype=np.int32)
    for at, queue in _grains(writes, grain):
        owner[at] = queue
    if any((owner[at] != queue).any() for at, queue in _grains(writes, grain)):
        return False
    return not any(((owner[at] != queue) & (owner[at] != NOBODY)).any() for at, queue in _grains(reads, grain))


def _by_shape(known: KnownShapes, groups: IntArray) -> list[PaintedBytes]:
    """The accesses of some groups by the shape of what they touch."""
    uses = known.uses
    begin = uses.groups.begin[groups]
    rows, which = stretches(begin, uses.groups.end[groups] - begin)
    kind = known.kind[uses.region[rows]]
    found: dict[RunShape, list[IntArray]] = {}
    for each in np.unique(kind).tolist():
        at = np.flatnonzero(kind == each)
        shapes, of = known.of(each)
        if len(shapes) > 1:
            begins = uses.ledger.texts.begin[uses.texts.rows[uses.region[rows[at]]]]
            of = of[np.searchsorted(known.places(each), uses.index[rows[at]] - begins)]
        for rank, shape in enumerate(shapes):
            found.setdefault(shape, []).append(at[of == rank] if len(shapes) > 1 else at)
    joined = ((np.concatenate(parts), shape) for shape, parts in found.items())
    return [(uses.low[rows[at]], uses.groups.queue[groups[which[at]]], shape) for at, shape in joined if len(at)]


def _grain(painted: Iterable[PaintedBytes]) -> int:
    """The largest number of bytes that divides all offsets, runs and strides."""
    grain = 0
    for lows, _, (run_bytes, outer) in painted:
        grain = gcd(grain, int(np.gcd.reduce(lows)), run_bytes, *(stride for _, stride in outer))
    return grain


def _grains(painted: Iterable[PaintedBytes], grain: int) -> Iterator[tuple[IntArray, NDArray[np.int64]]]:
    """Numbers of the grains that some accesses touch, one row each, and their queues as a column."""
    for lows, queues, (run_bytes, outer) in painted:
        inside = np.arange(run_bytes // grain)
        for extent, stride in reversed(outer):
            inside = (np.arange(extent)[:, None] * (stride // grain) + inside).ravel()
        rows = max(1, AT_ONCE // len(inside))
        for begin in range(0, len(lows), rows):
            part = slice(begin, begin + rows)
            yield (lows[part] // grain)[:, None] + inside, queues[part, None]
