"""All accesses of a Program in columns, so that a question is asked of all tensors and rings at once.

Rows are sorted by store, kind and queue; such a **group** is what one queue reads, or writes, of one store, in its
order. Most questions are settled for whole groups; ``store`` gives the few others their accesses one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.accesses import Accesses, Store
from archsim.ir.check.ledger import Ledger
from archsim.ir.check.unrolled import Text
from archsim.ir.program import Region, Ring, Tensor

IntArray = NDArray[np.int64]
Kind = Literal[0, 1, 2]
READS: Kind = 0
WRITES: Kind = 1
SCATTERS: Kind = 2  # may write, but need not: the rows of a table
AT_ONCE = 1 << 18  # pairs that are expanded together: bounds the memory of a question


@dataclass(frozen=True, slots=True)
class Groups:
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


@dataclass(frozen=True, slots=True)
class Uses:
    """``index`` of the command, bytes [``low``, ``high``) and operand (number into ``regions``) of each access.

    ``items``: tensors and rings by store number. ``texts``: the command text of each operand. ``group``: the group of
    each row.
    """

    ledger: Ledger
    items: Sequence[Tensor | Ring]
    regions: Sequence[Region]
    texts: Sequence[Text]
    index: IntArray
    low: IntArray
    high: IntArray
    region: IntArray
    group: IntArray
    groups: Groups

    def accesses(self, group: int) -> Accesses:
        """The accesses of one group."""
        rows = slice(int(self.groups.begin[group]), int(self.groups.end[group]))
        queue = int(self.groups.queue[group])
        return Accesses(queue, self.index[rows], self.low[rows], self.high[rows], self.region[rows])

    def store(self, number: int) -> Store:
        """One store with its accesses by kind, each by queue."""
        found: tuple[list[Accesses], list[Accesses], list[Accesses]] = ([], [], [])
        for group in self.of_store(number):
            found[int(self.groups.kind[group])].append(self.accesses(group))
        return Store(self.items[number], self.ledger, self.regions, *found)

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
