"""Hazards inside one tensor or ring, for every token-legal interleaving at once.

Three rules, in this order; each assumes the ones before it:

1. **race**: of two commands of different queues that touch the same bytes, one of them writing, one happens-before
   the other;
2. **reuse**: before the writer of a ring goes around to a byte again, every reader that had it earlier has finished;
3. **unwritten**: the writes that happen-before a read cover its bytes (tensors that are preloaded hold data already).

They are asked of all stores together first: of what a queue reads or writes of a store as a whole, then access by
access. What that leaves open is asked store by store.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from archsim.ir.check.access_pairs import check_race, check_reuse, check_written
from archsim.ir.check.owners import owned_apart
from archsim.ir.check.single_accesses import SingleAccesses
from archsim.ir.check.tokens import Order
from archsim.ir.check.uses import READS, IntArray, Uses
from archsim.ir.check.whole_groups import leave_open
from archsim.ir.program import Tensor


def check_hazards(uses: Uses, order: Order) -> None:
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


def _unowned(uses: Uses, pairs: IntArray) -> IntArray:
    """Pairs of groups without those of tensors of which each queue keeps to bytes of its own."""
    shared = np.array([isinstance(item, Tensor) for item in uses.items], dtype=np.bool_)[uses.groups.store[pairs[:, 0]]]
    open_ = [part for number, part in _by_store(uses, pairs[shared]) if not owned_apart(uses, number, np.unique(part))]
    return np.concatenate([pairs[~shared], *open_])


def _by_store(uses: Uses, groups: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Rows of ``groups`` (or pairs of them) by the number of their store."""
    stores = uses.groups.store[groups if groups.ndim == 1 else groups[:, 0]]
    begins = np.flatnonzero(np.diff(stores, prepend=-1))
    for begin, rows in zip(begins.tolist(), np.split(groups, begins[1:]), strict=False):
        yield int(stores[begin]), rows


def _turned(uses: Uses, pairs: IntArray) -> IntArray:
    """Pairs in order, one that writes first; of two that write, the one of the lower queue."""
    kind, queue = uses.groups.kind, uses.groups.queue
    turned = (kind[pairs[:, 0]] == READS) | (queue[pairs[:, 0]] > queue[pairs[:, 1]])
    both = np.where(turned[:, None], pairs[:, ::-1], pairs)
    found: IntArray = both[np.lexsort((both[:, 1], both[:, 0]))]
    return found


def _check_races(uses: Uses, order: Order, number: int, pairs: IntArray) -> None:
    store = uses.store(number)
    for writes, others in pairs.tolist():
        verb = "reads" if uses.groups.kind[others] == READS else "writes"
        check_race(store, order, uses.accesses(writes), uses.accesses(others), verb)
