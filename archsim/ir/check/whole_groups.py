"""Hazards judged for whole groups: all that a queue reads, or writes, of a store, before or after all of another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.tokens import Order
from archsim.ir.check.uses import READS, WRITES, IntArray, Uses, pairs_below
from archsim.ir.program import Ring, Tensor

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Open:
    """What whole groups leave open, by group number in ascending order.

    ``races``: pairs, neither surely before the other, shape (n, 2); ``reused``: reads of rings to which the writer may
    come around; ``unsure``: reads of what may not be written yet.
    """

    races: IntArray
    reused: IntArray
    unsure: IntArray


def leave_open(uses: Uses, order: Order) -> Open:
    """Ask every pair of groups of one store of which one writes."""
    groups = uses.groups
    rings = np.array([isinstance(item, Ring) for item in uses.items], dtype=np.bool_)
    sizes = np.array([item.size_bytes for item in uses.items], dtype=np.int64)
    loaded = np.array([isinstance(item, Tensor) and item.preloaded for item in uses.items], dtype=np.bool_)
    races, reused = [np.empty((0, 2), dtype=np.int64)], np.zeros(len(groups.store), dtype=np.bool_)
    unsure = _outside(uses)
    for lower, upper in pairs_below(np.searchsorted(groups.store, groups.store, side="right")):
        keep = _near(uses, lower, upper)
        one, two = lower[keep], upper[keep]
        filled = (groups.kind[one] == READS) & (groups.kind[two] == WRITES)
        other = groups.queue[one] != groups.queue[two]
        after = _before(uses, order, two, one)
        ordered = after | _before(uses, order, one, two)
        meet = groups.low[one] < groups.high[two]
        races.append(np.stack((one, two), axis=1)[other & meet & ~ordered])
        unsure[one[filled & ~after]] = True
        store = groups.store[one]
        around = groups.high[two] - sizes[store] > groups.low[one]
        reused[one[filled & other & rings[store] & around]] = True
    unsure &= ~loaded[groups.store]
    return Open(np.concatenate(races), np.flatnonzero(reused), np.flatnonzero(unsure))


def _near(uses: Uses, one: IntArray, two: IntArray) -> BoolArray:
    """Pairs to ask about: one writes, and they may meet or reads come after what is written below their end."""
    groups = uses.groups
    filled = (groups.kind[one] == READS) & (groups.kind[two] == WRITES)
    near = (groups.low[two] < groups.high[one]) & ((groups.low[one] < groups.high[two]) | filled)
    found: BoolArray = near & (groups.kind[two] != READS)
    return found


def _before(uses: Uses, order: Order, one: IntArray, two: IntArray) -> BoolArray:
    """Whether all of group ``one`` happens before all of group ``two``."""
    groups = uses.groups
    ended = order.ended(groups.queue[two], groups.first[two], groups.queue[one])
    before: BoolArray = ended > groups.last[one]
    return before


def _outside(uses: Uses) -> BoolArray:
    """Groups of reads, some of which do not lie in one stretch of all that is written in their store, whenever."""
    outside = np.zeros(len(uses.groups.store), dtype=np.bool_)
    outside[uses.group[(uses.groups.kind == READS)[uses.group] & ~inside_written(uses)]] = True
    return outside


def inside_written(uses: Uses) -> BoolArray:
    """Whether each access lies in one stretch of all that is written in its store, whenever."""
    groups = uses.groups
    room = np.zeros(len(uses.items), dtype=np.int64)
    np.maximum.at(room, groups.store, groups.high + 1)
    base = (np.cumsum(room) - room)[groups.store][uses.group]
    low, high, writes = uses.low + base, uses.high + base, (groups.kind == WRITES)[uses.group]
    return inside_union(low[writes], high[writes], low, high)


def inside_union(low: IntArray, high: IntArray, first: IntArray, end: IntArray) -> BoolArray:
    """Whether each [``first``, ``end``) lies in one stretch of the union of all [``low``, ``high``)."""
    if not len(low):
        return np.zeros(len(first), dtype=np.bool_)
    order = np.argsort(low, kind="stable")
    low, high = low[order], np.maximum.accumulate(high[order])
    opens = np.concatenate(([True], low[1:] > high[:-1]))
    closes = np.concatenate((opens[1:], [True]))
    stretch = np.searchsorted(low[opens], first, side="right") - 1
    inside: BoolArray = (stretch >= 0) & (high[closes][stretch] >= end)
    return inside
