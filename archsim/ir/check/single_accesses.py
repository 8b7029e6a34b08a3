"""Hazards judged access by access, of all stores at once: clears most of what whole groups leave open.

The questions are those of ``access_pairs``, asked of bounding intervals; what they leave is asked there store by store.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.tokens import Order
from archsim.ir.check.uses import WRITES, IntArray, Uses, pairs_within
from archsim.ir.check.whole_groups import inside_written

BoolArray = NDArray[np.bool_]


class SingleAccesses:
    """The accesses of ``uses`` in their ``order``."""

    def __init__(self, uses: Uses, order: Order) -> None:
        self.uses, self.order = uses, order
        self._stride = int(order.counts.max(initial=0)) + 1

    def racing(self, pairs: IntArray) -> IntArray:
        """Of ``pairs`` of groups (one that writes, another), shape (n, 2), those that an order of their accesses and
        their bytes do not clear."""
        groups, uses, order = self.uses.groups, self.uses, self.order
        found = np.zeros(len(pairs), dtype=np.bool_)
        writes, others = pairs[:, 0], pairs[:, 1]
        pair, row = self._rows(others)
        ended = order.ended(groups.queue[others][pair], uses.index[row], groups.queue[writes][pair])
        begin = np.searchsorted(self._index_keys, writes[pair] * self._stride + ended, side="left")
        of, at = self._rows(writes)
        started = order.ended(groups.queue[writes][of], uses.index[at], groups.queue[others][of])
        end = np.searchsorted(of * self._stride + started, pair * self._stride + uses.index[row], side="right")
        sizes = groups.end[writes] - groups.begin[writes]
        end += (groups.begin[writes] - (np.cumsum(sizes) - sizes))[pair]
        for other, write in pairs_within(begin, end):
            close = (uses.low[write] < uses.high[row[other]]) & (uses.low[row[other]] < uses.high[write])
            found[pair[other[close]]] = True
        return pairs[found]

    def reused(self, reads: IntArray) -> BoolArray:
        """Groups of reads of rings whose bytes a writer may come around to too early."""
        groups, uses = self.uses.groups, self.uses
        found = np.zeros(len(reads), dtype=np.bool_)
        which, writes = self._writes_of(reads)
        other = groups.queue[writes] != groups.queue[reads[which]]
        which, writes = which[other], writes[other]
        sizes = np.array([item.size_bytes for item in uses.items], dtype=np.int64)[groups.store]
        pair, row = self._rows(writes)
        group = reads[which[pair]]
        last = self._last_below(group, uses.high[row] - sizes[group])
        ended = self.order.ended(groups.queue[writes[pair]], uses.index[row], groups.queue[group])
        late = (last >= 0) & (ended <= uses.index[last])
        found[which[pair[late]]] = True
        return found

    def unsure(self, reads: IntArray) -> BoolArray:
        """Groups of reads some of which may come before what they read is written."""
        groups, uses = self.uses.groups, self.uses
        which, rows = self._rows(reads)
        missing, same = ~self._inside[rows], np.zeros(len(rows), dtype=np.bool_)
        sizes = groups.end[reads] - groups.begin[reads]
        firsts = np.cumsum(sizes) - sizes
        of, writes = self._writes_of(reads)
        for pair, at in pairs_within(firsts[of], (firsts + sizes)[of]):
            row, write, queue = rows[at], writes[pair], groups.queue[reads[of[pair]]]
            ended = self.order.ended(queue, uses.index[row], groups.queue[write])
            last, first = self._last_below(write, uses.high[row]), self._first_same(write, row)
            missing[at[(last >= 0) & (uses.index[last] >= ended)]] = True
            same[at[(first >= 0) & (uses.index[first] < ended)]] = True
        found = np.zeros(len(reads), dtype=np.bool_)
        found[which[missing & ~same]] = True
        return found

    @cached_property
    def _inside(self) -> BoolArray:
        return inside_written(self.uses)

    @cached_property
    def _index_keys(self) -> IntArray:
        """Group and command of every row in one number, ascending."""
        keys: IntArray = self.uses.group * self._stride + self.uses.index
        return keys

    @cached_property
    def _lows(self) -> tuple[IntArray, IntArray]:
        """All first bytes in order; and of each row its group and the least place there from it on, ascending."""
        ordered = np.unique(self.uses.low)
        keys = self.uses.group * (len(ordered) + 1) + np.searchsorted(ordered, self.uses.low)
        return ordered, np.minimum.accumulate(keys[::-1])[::-1]

    def _last_below(self, group: IntArray, bound: IntArray) -> IntArray:
        """Row of the last access of each ``group`` that begins below each ``bound``; -1 for none."""
        ordered, keys = self._lows
        wanted = group * (len(ordered) + 1) + np.searchsorted(ordered, bound, side="left")
        last = np.searchsorted(keys, wanted, side="left") - 1
        return np.where(last < self.uses.groups.begin[group], -1, last)

    @cached_property
    def _intervals(self) -> tuple[IntArray, IntArray, IntArray]:
        """A number of each row's interval; and the rows by group and interval in one number, ascending, in order."""
        _, low = np.unique(self.uses.low, return_inverse=True)
        _, high = np.unique(self.uses.high, return_inverse=True)
        _, number = np.unique(low * (len(high) + 1) + high, return_inverse=True)
        keys = self.uses.group * (len(number) + 1) + number
        rows = np.argsort(keys, kind="stable")
        return number, keys[rows], rows

    def _first_same(self, group: IntArray, row: IntArray) -> IntArray:
        """The first access of each ``group`` with exactly the interval of each ``row``; -1 for none."""
        number, keys, rows = self._intervals
        wanted = group * (len(number) + 1) + number[row]
        at = np.minimum(np.searchsorted(keys, wanted, side="left"), len(keys) - 1)
        return np.where(keys[at] == wanted, rows[at], -1)

    def _rows(self, groups: IntArray) -> tuple[IntArray, IntArray]:
        """Place in ``groups`` and row of each of their accesses."""
        begin = self.uses.groups.begin[groups]
        sizes = self.uses.groups.end[groups] - begin
        which = np.repeat(np.arange(len(groups)), sizes)
        return which, np.arange(len(which)) + (begin - (np.cumsum(sizes) - sizes))[which]

    def _writes_of(self, reads: IntArray) -> tuple[IntArray, IntArray]:
        """Place in ``reads`` and group of all that writes their stores."""
        groups = self.uses.groups
        key, wanted = groups.store * 4 + groups.kind, groups.store[reads] * 4 + WRITES
        begin = np.searchsorted(key, wanted, side="left")
        sizes = np.searchsorted(key, wanted, side="right") - begin
        which = np.repeat(np.arange(len(reads)), sizes)
        return which, np.arange(len(which)) + (begin - (np.cumsum(sizes) - sizes))[which]
