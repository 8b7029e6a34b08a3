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
from archsim.ir.check.hazards.accesses import READS, SCATTERS, AccessTable, CheckedStore, QueueAccesses
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
    """First byte of read number ``at`` that none of ``writes`` covers, or None."""
    low = min([int(reads.low[at]), *(int(part.low.min()) for part in writes if len(part.index))])
    high = max([int(reads.high[at]), *(int(part.high.max()) for part in writes if len(part.index))])
    wanted = np.zeros(high - low, dtype=np.bool_)
    _paint(wanted, low, store, reads, at, True)
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


def owned_apart(uses: AccessTable, number: int, groups: IntArray) -> bool:
    """Whether no two of ``groups`` of store ``number``, of different queues, meet where one writes.

    False where that is not so, and where it is not found out: for rings, lookups and large tensors.
    """
    item = uses.items[number]
    kinds = uses.groups.kind[groups]
    if not isinstance(item, PlacedTensor) or (kinds == SCATTERS).any():
        return False
    writes = _by_shape(uses, groups[kinds != READS].tolist())
    reads = _by_shape(uses, groups[kinds == READS].tolist())
    grain = _grain([*writes, *reads])
    if item.size_bytes // grain > MOST_GRAINS:
        return False
    owner = np.full(item.size_bytes // grain + 1, NOBODY, dtype=np.int32)
    for at, queue in _grains(writes, grain):
        owner[at] = queue
    if any((owner[at] != queue).any() for at, queue in _grains(writes, grain)):
        return False
    return not any(((owner[at] != queue) & (owner[at] != NOBODY)).any() for at, queue in _grains(reads, grain))


def _by_shape(uses: AccessTable, groups: Iterable[int]) -> list[PaintedBytes]:
    """The accesses of some groups by the shape of what they touch."""
    found: dict[RunShape, tuple[list[IntArray], list[IntArray]]] = {}
    known: dict[tuple[int, ...], RunShapes] = {}
    for group in groups:
        accesses = uses.accesses(group)
        for number in np.unique(accesses.region).tolist():
            text, low = uses.texts[number], accesses.low[accesses.region == number]
            shapes, which = _shapes(uses, accesses.queue, number, known)
            if len(shapes) > 1:
                places = accesses.index[accesses.region == number] - text.begin
                which = which[np.searchsorted(text.nest.runs[text.number].at, places)]
            for rank, shape in enumerate(shapes):
                some = low[which == rank] if len(shapes) > 1 else low
                lows, queues = found.setdefault(shape, ([], []))
                lows.append(some)
                queues.append(np.full(len(some), accesses.queue))
    joined = ((np.concatenate(lows), np.concatenate(queues), shape) for shape, (lows, queues) in found.items())
    return [(lows, queues, shape) for lows, queues, shape in joined if len(lows)]


def _shapes(uses: AccessTable, queue: int, number: int, known: dict[tuple[int, ...], RunShapes]) -> RunShapes:
    """What the runs of an operand's text touch from their first byte on; ``known``: of those without clips and lookups,
    by the parts of commands that tell, which cores share."""
    region, text = uses.regions[number], uses.texts[number]
    parts = (id(text.nest), text.number, id(text.command.extents), id(region.strides), region.element_bytes)
    plain = not region.clips and text.command.index is None
    if plain and parts in known:
        return known[parts]
    numbers: dict[RunShape, int] = {}
    which: list[int] = []
    for place in text.nest.runs[text.number].at.tolist():
        touched = reachable(region, uses.ledger.steps[queue][text.begin + place])
        which.append(numbers.setdefault((touched.run_bytes, touched.outer), len(numbers)))
    shapes = list(numbers), np.array(which, dtype=np.int64)
    if plain:
        known[parts] = shapes
    return shapes


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
