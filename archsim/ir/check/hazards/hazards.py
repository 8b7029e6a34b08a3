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

from collections.abc import Iterator

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
from archsim.ir.check.hazards.bytes import KnownShapes, owned_apart
from archsim.ir.check.hazards.collect import OperandTable, collect
from archsim.ir.check.hazards.intervals import (
    OpenGroups,
    SingleAccesses,
    check_race,
    check_reuse,
    check_written,
    inside_written,
    leave_open,
    outside_written,
)
from archsim.ir.check.hazards.protocol import rightly_used
from archsim.ir.check.hazards.states import is_state, states
from archsim.ir.check.tokens.clocks import Clocks
from archsim.ir.check.tokens.run import HappensBefore
from archsim.ir.program import PlacedTensor


def first_clocks(table: OperandTable, order: HappensBefore) -> Clocks:
    """What has ended when each group begins, of the queues that touch its memory: of all groups of tensors and of what
    writes to rings."""
    groups, tensors = table.groups, len(table.items) - len(table.ledger.program.rings)
    memory, memories = _memories(table)
    wanted = np.flatnonzero((groups.store < tensors) | (groups.kind != READS))
    return Clocks(order, (groups.queue, groups.first, memory[groups.store]), memories, wanted)


def _memories(table: OperandTable) -> tuple[IntArray, int]:
    """The number of the memory of each store, and how many there are."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys([item.memory for item in table.items]))}
    return np.array([numbers[item.memory] for item in table.items], dtype=np.int64), len(numbers)


def check_hazards(table: OperandTable, order: HappensBefore, clocks: Clocks) -> None:
    """Raise ProgramError for the first race, early reuse or read of unwritten bytes; ``clocks``: of the groups."""
    uses, left = _left_open(table, order, clocks)
    single = SingleAccesses(uses, order)
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


def _left_open(table: OperandTable, order: HappensBefore, clocks: Clocks) -> tuple[AccessTable, OpenGroups]:
    """The accesses of stores that leave anything open, and what: rings that their protocol does not prove, and tensors
    of which the order of all that queues do with them does not settle it."""
    tensors = len(table.items) - len(table.ledger.program.rings)
    groups = table.groups.pick(table.groups.store < tensors)
    ordered = leave_open(table.items, groups, clocks, _outside(table, groups))
    wanted = np.append(np.zeros(tensors, dtype=np.bool_), ~rightly_used(table))
    wanted[groups.store[ordered.races[:, 0]]] = True
    wanted[groups.store[ordered.unsure]] = True
    uses = collect(table.of_stores(wanted))
    rings = np.flatnonzero(uses.groups.store >= tensors)
    taped_groups = uses.groups.pick(rings)
    commands = taped_groups.queue, taped_groups.first, taped_groups.store
    taped_clocks = Clocks(order, commands, len(table.items), np.arange(len(rings)))
    taped = leave_open(uses.items, taped_groups, taped_clocks, outside_written(uses)[rings])
    place = _places(uses, groups)
    return uses, OpenGroups(
        np.concatenate((place[ordered.races], rings[taped.races])),
        rings[taped.reused],
        np.concatenate((place[ordered.unsure], rings[taped.unsure])),
    )


def _places(uses: AccessTable, groups: AccessGroups) -> IntArray:
    """Where ``groups`` of operands stand among those of accesses, as far as they do."""
    queues = len(uses.ledger.steps)
    known, wanted = ((each.store * 3 + each.kind) * queues + each.queue for each in (uses.groups, groups))
    return np.searchsorted(known, wanted)


def _outside(table: OperandTable, groups: AccessGroups) -> BoolArray:
    """Groups of reads of tensors, some of which do not lie in one stretch of all that is written there, whenever."""
    loaded = np.array([getattr(item, "preloaded", False) for item in table.items], dtype=np.bool_)
    sizes = groups.end - groups.begin
    rows = table.order[np.arange(int(sizes.sum())) + np.repeat(groups.begin - (np.cumsum(sizes) - sizes), sizes)]
    group = np.repeat(np.arange(len(sizes)), sizes)
    keep = ~loaded[groups.store[group]]
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
    known = KnownShapes(uses)
    open_ = [part for number, part in _by_store(uses, pairs[shared]) if not owned_apart(known, number, np.unique(part))]
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


def check_overlap(table: OperandTable, order: HappensBefore, clocks: Clocks) -> None:
    """Raise ProgramError for two stores of one memory that share bytes while both are in use; ``clocks``: of the
    groups."""
    items, (memory, memories) = table.items, _memories(table)
    base = np.array([item.base for item in items], dtype=np.int64)
    end = base + np.array([item.size_bytes for item in items], dtype=np.int64)
    stores = np.lexsort((base, memory))
    begins = np.searchsorted(memory[stores], np.arange(memories + 1)).tolist()
    groups = np.argsort(memory[table.groups.store], kind="stable")
    firsts = np.searchsorted(memory[table.groups.store][groups], np.arange(memories + 1)).tolist()
    for number in range(memories):
        inside = stores[begins[number] : begins[number + 1]]
        above = np.searchsorted(base[inside], end[inside], side="left")
        if (above > np.arange(1, len(inside) + 1)).any():
            used = groups[firsts[number] : firsts[number + 1]]
            ends = _ends(table, inside, used, number, order, clocks)
            _check_memory(table, inside, above, ends, order)


def _check_memory(
    table: OperandTable, stores: IntArray, above: IntArray, ends: tuple[IntArray, IntArray], order: HappensBefore
) -> None:
    """``stores`` of one memory by base address, the first one that lies ``above`` each, and their ``ends``."""
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
    table: OperandTable, stores: IntArray, used: IntArray, memory: int, order: HappensBefore, clocks: Clocks
) -> tuple[IntArray, IntArray]:
    """By queue and store: the last command that touches it (-1: none), and how many have surely ended before anything
    is written there (-1 if it is preloaded: at time 0). States are touched from time 0 on for ever.

    ``used``: the groups of these stores. Queues are those that use one of them, and the first.
    """
    groups = table.groups.pick(used)
    place = np.empty(len(table.items), dtype=np.int64)
    place[stores] = np.arange(len(stores))
    queues = clocks.queues(memory)
    last = np.full((len(queues), len(stores)), -1, dtype=np.int64)
    np.maximum.at(last, (np.searchsorted(queues, groups.queue), place[groups.store]), groups.last)
    first = np.repeat(order.counts[queues][:, None], len(stores), axis=1)
    writing = groups.kind != READS
    changes, numbers = groups.pick(writing), used[writing]
    if len(changes.store):
        by_store = np.argsort(place[changes.store], kind="stable")
        written = place[changes.store][by_store]
        begin = np.flatnonzero(np.diff(written, prepend=-1))
        ended = clocks.of(numbers[by_store], memory)
        first[:, written[begin]] = np.minimum.reduceat(ended, begin, axis=0).T
    lasting = states(table.items)[stores]
    first[:, lasting | np.array([getattr(table.items[number], "preloaded", False) for number in stores.tolist()])] = -1
    last[:, lasting] = order.counts[queues][:, None]
    return last, first


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
    lasting = next((store.item for store in (one, two) if is_state(store.item)), None)
    if lasting is not None:
        raise ProgramError(f"{text}: {describe(lasting)} is a state, which is there from the start and lives on")
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
