"""What one queue reads or writes of a tensor or ring, as bounding byte intervals in its order.

A ring is seen as an endless **tape**: slot after slot, each ``slot_bytes`` long, beginning ``retain`` bytes before the
end of the previous one where its taker is flagged ``retains``. Tape byte t lies at ring byte t mod the ring's bytes.
So a halo is the same tape bytes for both slots, and a byte is reused when the tape has gone once around.

All accesses of a Program stand in columns, so that a question is asked of all tensors and rings at once; those of rings
with the place on the tape where the slot begins that their queue holds. Rows are sorted by store, kind and queue; such
a **group** is what one queue reads, or writes, of one store, in its order. Most questions are settled for whole groups;
``store`` gives the few others their accesses one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from archsim.base.arrays import IntArray
from archsim.base.errors import ProgramError
from archsim.base.ragged import Picked
from archsim.ir.check.form.declarations import describe
from archsim.ir.check.tokens.ledger import TokenLedger
from archsim.ir.check.tokens.unrolled import NestText
from archsim.ir.program import PlacedTensor, Region, Ring
from archsim.ir.unroll import Step


@dataclass(frozen=True, slots=True)
class QueueAccesses:
    """Reads, or writes, of one store by one queue, in order: command ``index``, bytes [``low``, ``high``), operand.

    Bytes are tensor bytes or tape bytes; ``region`` numbers into ``Store.regions``.
    """

    queue: int
    index: IntArray
    low: IntArray
    high: IntArray
    region: IntArray

    def pick(self, keep: NDArray[np.bool_]) -> QueueAccesses:
        """Those where ``keep`` holds."""
        return QueueAccesses(self.queue, self.index[keep], self.low[keep], self.high[keep], self.region[keep])


@dataclass(frozen=True, slots=True)
class CheckedStore:
    """One tensor or ring and who reads and writes it, by queue.

    ``scatters``: what may be written, but need not be: the rows of a table.
    """

    item: PlacedTensor | Ring
    ledger: TokenLedger
    regions: Sequence[Region]
    reads: Sequence[QueueAccesses]
    writes: Sequence[QueueAccesses]
    scatters: Sequence[QueueAccesses]

    @property
    def changes(self) -> list[QueueAccesses]:
        """All that writes or may write."""
        return [*self.writes, *self.scatters]

    def step(self, accesses: QueueAccesses, at: int) -> Step:
        """The concrete command of access number ``at``."""
        return self.ledger.steps[accesses.queue][int(accesses.index[at])]

    def who(self, accesses: QueueAccesses, at: int) -> str:
        """Command with loop indices and queue of access number ``at``, for messages."""
        return f"{self.step(accesses, at).where} of {self.ledger.name(accesses.queue)}"

    def bytes_text(self, low: int, high: int) -> str:
        """``bytes [0, 64) of tensor 'x'``; for rings the slot number and its own bytes."""
        if isinstance(self.item, PlacedTensor):
            return f"bytes [{low}, {high}) of {describe(self.item)}"
        starts = slot_starts(self.item, self.ledger)
        slot = max(int(np.searchsorted(starts, low, side="right")) - 1, 0)
        start = int(starts[slot])
        return f"bytes [{low - start}, {high - start}) of slot {slot} of {describe(self.item)}"


def slot_starts(ring: Ring, ledger: TokenLedger) -> IntArray:
    """Tape byte at which each slot begins, in the order in which the writer takes them."""
    writer = ledger.steps[ledger.numbers[ring.writer]]
    claims = ledger.slots(ledger.numbers[ring.writer], ring)[0]
    retains = np.isin(claims, writer.retaining)
    if ring.retain and claims and retains[0]:
        raise ProgramError(
            f"{writer[claims[0]].where} of {ring.writer} takes the first slot of {describe(ring)} and is flagged "
            "'retains'; there is nothing to retain yet"
        )
    return np.concatenate(([0], np.cumsum(ring.slot_bytes - ring.retain * retains[1:])))


@dataclass(frozen=True, slots=True)
class GroupHeads:
    """Numbers of ``store`` and ``queue`` of groups of accesses."""

    store: IntArray
    queue: IntArray


def slot_begins(
    ledger: TokenLedger, items: Sequence[PlacedTensor | Ring], heads: GroupHeads, index: IntArray, group: IntArray
) -> IntArray:
    """Tape byte of the current slot at each access, by command ``index`` in its ``group``; 0 for tensors.

    Below 0 where no slot of a ring is taken yet. Rings are the last of ``items``.
    """
    slot = _slots(ledger, items, heads, index, group)
    wide = np.array([item.slot_bytes if isinstance(item, Ring) else 0 for item in items], dtype=np.int64)
    begins: IntArray = slot * wide[heads.store][group]
    retaining = np.array([isinstance(item, Ring) and item.retain > 0 for item in items], dtype=np.bool_)
    for number in np.flatnonzero(retaining[heads.store]).tolist():
        item = items[int(heads.store[number])]
        if isinstance(item, Ring):
            rows = slice(*np.searchsorted(group, (number, number + 1)).tolist())
            begins[rows] = np.where(slot[rows] < 0, slot[rows], slot_starts(item, ledger)[slot[rows]])
    return begins


def _slots(
    ledger: TokenLedger, items: Sequence[PlacedTensor | Ring], heads: GroupHeads, index: IntArray, group: IntArray
) -> IntArray:
    """Number of the slot that is held at each access, -1 if none; 0 for tensors."""
    rings = ledger.program.rings
    ring = heads.store - (len(items) - len(rings))
    writer = np.array([ledger.numbers[item.writer] for item in rings], dtype=np.int64)
    on = np.flatnonzero(ring >= 0)
    takes = 2 * ring[on] + (heads.queue[on] != writer[ring[on]])
    sides = ledger.taken.find(heads.queue[on] * ledger.taken.tokens + takes)
    slot = np.zeros(len(index), dtype=np.int64)
    begin, end = (np.searchsorted(group, on, side=side).tolist() for side in ("left", "right"))
    for first, last, side in zip(begin, end, sides.tolist(), strict=True):
        slot[first:last] = np.searchsorted(ledger.taken.commands_of(side), index[first:last], side="right") - 1
    return slot


AccessKind = Literal[0, 1, 2]
READS: AccessKind = 0
WRITES: AccessKind = 1
SCATTERS: AccessKind = 2  # may write, but need not: the rows of a table
AT_ONCE = 1 << 16  # pairs that are expanded together: bounds the memory of a question


@dataclass(frozen=True, slots=True)
class AccessGroups:
    """``store``, ``kind`` and ``queue`` of each, its rows [``begin``, ``end``), and the ends of what it spans:
    commands ``first`` to ``last``, bytes [``low``, ``high``).
    """

    store: IntArray
    kind: IntArray
    queue: IntArray
    begin: IntArray
    end: IntArray
    first: IntArray
    last: IntArray
    low: IntArray
    high: IntArray

    def pick(self, keep: NDArray[np.bool_] | IntArray) -> AccessGroups:
        """Those where ``keep`` holds, or of these numbers."""
        return AccessGroups(*(getattr(self, name)[keep] for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class AccessTable:
    """``index`` of the command, bytes [``low``, ``high``) and operand (number into ``regions``) of each access.

    ``items``: tensors and rings by store number. ``texts``: the command text of each operand. ``group``: the group of
    each row.
    """

    ledger: TokenLedger
    items: Sequence[PlacedTensor | Ring]
    regions: Picked[Region]
    texts: Picked[NestText]
    index: IntArray
    low: IntArray
    high: IntArray
    region: IntArray
    group: IntArray
    groups: AccessGroups

    def accesses(self, group: int) -> QueueAccesses:
        """The accesses of one group."""
        rows = slice(int(self.groups.begin[group]), int(self.groups.end[group]))
        queue = int(self.groups.queue[group])
        return QueueAccesses(queue, self.index[rows], self.low[rows], self.high[rows], self.region[rows])

    def store(self, number: int) -> CheckedStore:
        """One store with its accesses by kind, each by queue."""
        found: tuple[list[QueueAccesses], list[QueueAccesses], list[QueueAccesses]] = ([], [], [])
        for group in self.of_store(number):
            found[int(self.groups.kind[group])].append(self.accesses(group))
        return CheckedStore(self.items[number], self.ledger, self.regions, *found)

    def of_store(self, number: int) -> range:
        """Numbers of the groups of one store."""
        return range(*np.searchsorted(self.groups.store, (number, number + 1)).tolist())


def pairs_below(end: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """All (i, j) with i < j < ``end[i]``, in order and not too many at a time."""
    yield from pairs_within(np.arange(1, len(end) + 1), end)


def pairs_within(begin: IntArray, end: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """All (i, j) with ``begin[i]`` <= j < ``end[i]``, in order and not too many at a time."""
    sizes = np.maximum(end - begin, 0)
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    for first in range(0, total, AT_ONCE):
        pairs = np.arange(first, min(first + AT_ONCE, total))
        one = np.searchsorted(ends, pairs, side="right")
        yield one, begin[one] + pairs - (ends - sizes)[one]
