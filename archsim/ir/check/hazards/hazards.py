"""Hazards inside one tensor or ring, for every token-legal interleaving at once.

Three rules, in this order; each assumes the ones before it:

1. **race**: of two commands of different queues that touch the same bytes, one of them writing, one happens-before
   the other;
2. **reuse**: before the writer of a ring goes around to a byte again, every reader that had it earlier has finished;
3. **unwritten**: the writes that happen-before a read cover its bytes (tensors that are preloaded hold data already).

They are asked of all stores together first: of what a queue reads or writes of a store as a whole, then access by
access. What that leaves open is asked store by store.

Where tensors and rings share addresses, all accesses of the earlier one happen before every write of the later one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from archsim.base.arrays import IntArray
from archsim.base.errors import ProgramError
from archsim.ir.check.form.declarations import describe
from archsim.ir.check.hazards.accesses import READS, AccessTable, CheckedStore, QueueAccesses, pairs_below
from archsim.ir.check.hazards.bytes import owned_apart
from archsim.ir.check.hazards.intervals import SingleAccesses, check_race, check_reuse, check_written, leave_open
from archsim.ir.check.tokens.run import HappensBefore
from archsim.ir.program import PlacedTensor


def check_hazards(uses: AccessTable, order: HappensBefore) -> None:
    """Raise ProgramError for the first race, early reuse or read of unwritten bytes."""
    left, single = leave_open(uses, order), SingleAccesses(uses, order)
    for number, pairs in _by_store(uses, single.racing(_turned(uses, _unowned(uses, left.races)))):
        _check_races(uses, order, number, pairs)
    reused = set(uses.groups.store[left.reused[single.reused(left.reused)]].tolist())
    unsure = dict(_by_store(uses, left.unsure[single.unsure(left.unsure)]))
    for number in sorted(reused | unsure.keys()):
        store = uses.store(number)
        if number in reused:
            check_reuse(store, order)
        for group in unsure.get(number, ()):
            check_written(store, order, uses.accesses(int(group)))


def _unowned(uses: AccessTable, pairs: IntArray) -> IntArray:
    """Pairs of groups without those of tensors of which each queue keeps to bytes of its own."""
    shared = np.array([isinstance(item, PlacedTensor) for item in uses.items], dtype=np.bool_)[
        uses.groups.store[pairs[:, 0]]
    ]
    open_ = [part for number, part in _by_store(uses, pairs[shared]) if not owned_apart(uses, number, np.unique(part))]
    return np.concatenate([pairs[~shared], *open_])


def _by_store(uses: AccessTable, groups: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Rows of ``groups`` (or pairs of them) by the number of their store."""
    stores = uses.groups.store[groups if groups.ndim == 1 else groups[:, 0]]
    begins = np.flatnonzero(np.diff(stores, prepend=-1))
    for begin, rows in zip(begins.tolist(), np.split(groups, begins[1:]), strict=False):
        yield int(stores[begin]), rows


def _turned(uses: AccessTable, pairs: IntArray) -> IntArray:
    """Pairs in order, one that writes first; of two that write, the one of the lower queue."""
    kind, queue = uses.groups.kind, uses.groups.queue
    turned = (kind[pairs[:, 0]] == READS) | (queue[pairs[:, 0]] > queue[pairs[:, 1]])
    both = np.where(turned[:, None], pairs[:, ::-1], pairs)
    found: IntArray = both[np.lexsort((both[:, 1], both[:, 0]))]
    return found


def _check_races(uses: AccessTable, order: HappensBefore, number: int, pairs: IntArray) -> None:
    store = uses.store(number)
    for writes, others in pairs.tolist():
        verb = "reads" if uses.groups.kind[others] == READS else "writes"
        check_race(store, order, uses.accesses(writes), uses.accesses(others), verb)


def check_overlap(uses: AccessTable, order: HappensBefore) -> None:
    """Raise ProgramError for two stores of one memory that share bytes while both are in use."""
    inside: dict[str, list[int]] = {}
    for number, item in enumerate(uses.items):
        inside.setdefault(item.memory, []).append(number)
    for numbers in inside.values():
        _check_memory(uses, sorted(numbers, key=lambda number: uses.items[number].base), order)


def _check_memory(uses: AccessTable, numbers: Sequence[int], order: HappensBefore) -> None:
    """Stores ``numbers`` of one memory by base address."""
    items = [uses.items[number] for number in numbers]
    base = np.array([item.base for item in items])
    above = np.searchsorted(base, np.array([item.base + item.size_bytes for item in items]), side="left")
    if (above <= np.arange(1, len(items) + 1)).all():
        return
    last, first = _ends(uses, numbers, order)
    for one, two in pairs_below(above):
        rest = np.flatnonzero(~_before(last, first, one, two))
        rest = rest[~_before(last, first, two[rest], one[rest])]
        if len(rest):
            _refuse(uses.store(numbers[int(one[rest[0]])]), uses.store(numbers[int(two[rest[0]])]), order)


def _before(last: IntArray, first: IntArray, one: IntArray, two: IntArray) -> NDArray[np.bool_]:
    """Whether all uses of each of ``one`` end before ``two`` is written."""
    before = np.ones(len(one), dtype=np.bool_)
    for uses, starts in zip(last, first, strict=True):
        before &= uses[one] < starts[two]
    return before


def _ends(uses: AccessTable, numbers: Sequence[int], order: HappensBefore) -> tuple[IntArray, IntArray]:
    """By queue and store: the last command that touches it (-1: none), and how many have surely ended before anything
    is written there (-1 if it is preloaded: at time 0).

    Queues are those that use one of them, and the first.
    """
    groups = uses.groups
    row = np.full(len(uses.items), -1, dtype=np.int64)
    row[np.asarray(numbers)] = np.arange(len(numbers))
    found = np.flatnonzero(row[groups.store] >= 0)
    queues = np.union1d(groups.queue[found], np.arange(min(1, len(order.counts))))
    column = np.searchsorted(queues, groups.queue[found])
    last = np.full((len(queues), len(numbers)), -1, dtype=np.int64)
    np.maximum.at(last, (column, row[groups.store[found]]), groups.last[found])
    first = np.repeat(order.counts[queues][:, None], len(numbers), axis=1)
    changes = found[groups.kind[found] != READS]
    ended = order.ended(groups.queue[changes, None], groups.first[changes, None], queues)
    for starts, ends in zip(first, ended.T, strict=True):
        np.minimum.at(starts, row[groups.store[changes]], ends)
    first[:, [getattr(uses.items[number], "preloaded", False) for number in numbers]] = -1
    return last, first


def _refuse(one: CheckedStore, two: CheckedStore, order: HappensBefore) -> None:
    low = max(one.item.base, two.item.base)
    high = min(one.item.base + one.item.size_bytes, two.item.base + two.item.size_bytes)
    text = (
        f"overlap: {describe(one.item)} and {describe(two.item)} share bytes [{low}, {high}) of memory "
        f"'{one.item.memory}' and are in use together"
    )
    if all(isinstance(store.item, PlacedTensor) and store.item.preloaded for store in (one, two)):
        raise ProgramError(f"{text}: both are preloaded")
    raise ProgramError(text + _witness(one, two, order))


def _witness(one: CheckedStore, two: CheckedStore, order: HappensBefore) -> str:
    """A use of one that is not before a write of the other, in the order that fits them better."""
    for earlier, later in ((one, two), (two, one)):
        for writes in later.changes:
            for uses in (*earlier.reads, *earlier.changes):
                if uses.index[-1] >= order.ended(writes.queue, writes.index[0], uses.queue):
                    return _sentence(earlier, uses, later, writes)
    return ""


def _sentence(earlier: CheckedStore, uses: QueueAccesses, later: CheckedStore, writes: QueueAccesses) -> str:
    return (
        f": {earlier.who(uses, -1)} uses {describe(earlier.item)} and does not happen before "
        f"{later.who(writes, 0)} writes {describe(later.item)}"
    )
