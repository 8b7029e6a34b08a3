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

from archsim.base.arrays import BoolArray, IntArray
from archsim.base.errors import ProgramError
from archsim.ir.check.form.declarations import describe
from archsim.ir.check.hazards.accesses import (
    READS,
    AccessGroups,
    AccessTable,
    CheckedStore,
    QueueAccesses,
    pairs_below,
)
from archsim.ir.check.hazards.bytes import owned_apart
from archsim.ir.check.hazards.collect import OperandTable, collect
from archsim.ir.check.hazards.intervals import (
    SingleAccesses,
    check_race,
    check_reuse,
    check_written,
    inside_written,
    leave_open,
    outside_written,
)
from archsim.ir.check.hazards.protocol import rightly_used
from archsim.ir.check.tokens.run import HappensBefore
from archsim.ir.program import PlacedTensor


def check_hazards(table: OperandTable, order: HappensBefore) -> None:
    """Raise ProgramError for the first race, early reuse or read of unwritten bytes."""
    uses = collect(table.of_stores(open_stores(table, order)))
    left, single = leave_open(uses.items, uses.groups, order, outside_written(uses)), SingleAccesses(uses, order)
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


def open_stores(table: OperandTable, order: HappensBefore) -> BoolArray:
    """Stores whose accesses are to be looked at: rings that their protocol does not prove, and tensors of which the
    order of all that queues do with them leaves anything open."""
    tensors = len(table.items) - len(table.ledger.program.rings)
    found = np.append(np.zeros(tensors, dtype=np.bool_), ~rightly_used(table))
    groups = table.groups.pick(table.groups.store < tensors)
    left = leave_open(table.items, groups, order, _outside(table, groups))
    found[groups.store[left.races[:, 0]]] = True
    found[groups.store[left.unsure]] = True
    return found


def _outside(table: OperandTable, groups: AccessGroups) -> BoolArray:
    """Groups of reads of tensors, some of which do not lie in one stretch of all that is written there, whenever."""
    written = np.zeros(len(table.items), dtype=np.bool_)
    written[[number for number, item in enumerate(table.items) if not getattr(item, "preloaded", False)]] = True
    sizes = groups.end - groups.begin
    rows = table.order[np.arange(int(sizes.sum())) + np.repeat(groups.begin - (np.cumsum(sizes) - sizes), sizes)]
    group = np.repeat(np.arange(len(sizes)), sizes)
    keep = written[groups.store[group]]
    which, low, high = table.intervals(rows[keep])
    group = group[keep][which]
    outside = np.zeros(len(groups.store), dtype=np.bool_)
    reads = groups.kind[group] == READS
    outside[group[reads & ~inside_written(groups, group, low, high)]] = True
    return outside


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


def check_overlap(table: OperandTable, order: HappensBefore) -> None:
    """Raise ProgramError for two stores of one memory that share bytes while both are in use."""
    inside: dict[str, list[int]] = {}
    for number, item in enumerate(table.items):
        inside.setdefault(item.memory, []).append(number)
    crowded = []
    for numbers in inside.values():
        numbers.sort(key=lambda number: table.items[number].base)
        above = _above([table.items[number] for number in numbers])
        if (above > np.arange(1, len(numbers) + 1)).any():
            crowded.append((np.array(numbers), above))
    for (numbers, above), (last, first) in zip(crowded, _ends(table, [stores for stores, _ in crowded], order), strict=True):
        _check_memory(table, numbers, above, (last, first), order)


def _above(items: Sequence[PlacedTensor | Ring]) -> IntArray:
    """Of items by base address: the number of the first one that lies above each."""
    base = np.array([item.base for item in items])
    return np.searchsorted(base, np.array([item.base + item.size_bytes for item in items]), side="left")


def _check_memory(
    table: OperandTable, stores: IntArray, above: IntArray, ends: tuple[IntArray, IntArray], order: HappensBefore
) -> None:
    """``stores`` of one memory by base address; ``ends`` of them."""
    last, first = ends
    for one, two in pairs_below(above):
        rest = np.flatnonzero(~_before(last, first, one, two))
        rest = rest[~_before(last, first, two[rest], one[rest])]
        if len(rest):
            _refuse(table, int(stores[one[rest[0]]]), int(stores[two[rest[0]]]), order)


def _before(last: IntArray, first: IntArray, one: IntArray, two: IntArray) -> NDArray[np.bool_]:
    """Whether all uses of each of ``one`` end before ``two`` is written."""
    before = np.ones(len(one), dtype=np.bool_)
    for uses, starts in zip(last, first, strict=True):
        before &= uses[one] < starts[two]
    return before


def _ends(
    table: OperandTable, memories: Sequence[IntArray], order: HappensBefore
) -> Iterator[tuple[IntArray, IntArray]]:
    """Of the stores of each memory, by queue and store: the last command that touches it (-1: none), and how many have
    surely ended before anything is written there (-1 if it is preloaded: at time 0).

    Queues are those that use one of them, and the first.
    """
    groups = table.groups
    place, memory = np.zeros(len(table.items), dtype=np.int64), np.full(len(table.items), -1, dtype=np.int64)
    for number, stores in enumerate(memories):
        memory[stores], place[stores] = number, np.arange(len(stores))
    by_memory = np.argsort(memory[groups.store], kind="stable")
    begins = np.searchsorted(memory[groups.store][by_memory], np.arange(len(memories) + 1))
    used = [by_memory[begins[number] : begins[number + 1]] for number in range(len(memories))]
    queues = [np.union1d(groups.queue[found], np.arange(min(1, len(order.counts)))) for found in used]
    changes = [found[groups.kind[found] != READS] for found in used]
    sizes = [len(change) * len(queue) for change, queue in zip(changes, queues, strict=True)]
    asking = _joined([np.repeat(change, len(queue)) for change, queue in zip(changes, queues, strict=True)])
    others = _joined([np.tile(queue, len(change)) for change, queue in zip(changes, queues, strict=True)])
    ended = order.ended(groups.queue[asking], groups.first[asking], others)
    parts = np.split(ended, np.cumsum(sizes))
    for stores, found, queue, change, part in zip(memories, used, queues, changes, parts, strict=False):
        column = np.searchsorted(queue, groups.queue[found])
        last = np.full((len(queue), len(stores)), -1, dtype=np.int64)
        np.maximum.at(last, (column, place[groups.store[found]]), groups.last[found])
        first = np.repeat(order.counts[queue][:, None], len(stores), axis=1)
        for starts, ends in zip(first, part.reshape(len(change), len(queue)).T, strict=True):
            np.minimum.at(starts, place[groups.store[change]], ends)
        first[:, [getattr(table.items[number], "preloaded", False) for number in stores.tolist()]] = -1
        yield last, first


def _joined(parts: Sequence[IntArray]) -> IntArray:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _refuse(table: OperandTable, first: int, second: int, order: HappensBefore) -> None:
    wanted = np.zeros(len(table.items), dtype=np.bool_)
    wanted[[first, second]] = True
    uses = collect(table.of_stores(wanted))
    one, two = uses.store(first), uses.store(second)
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
