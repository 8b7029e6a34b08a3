"""Tensors and rings that share addresses: all accesses of the earlier one happen before every write of the later."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from archsim.errors import ProgramError
from archsim.ir.check.accesses import Accesses, Store
from archsim.ir.check.declarations import describe
from archsim.ir.check.tokens import Order
from archsim.ir.program import Program, Tensor

IntArray = NDArray[np.int64]


def check_overlap(program: Program, stores: Sequence[Store], order: Order) -> None:
    """Raise ProgramError for two stores of one memory that share bytes while both are in use."""
    memories = dict.fromkeys(store.item.memory for store in stores)
    for memory in memories:
        inside = [store for store in stores if store.item.memory == memory]
        _check_memory(sorted(inside, key=lambda store: store.item.base), order)


def _check_memory(stores: Sequence[Store], order: Order) -> None:
    """``stores`` of one memory by base address."""
    queues = len(order.clocks)
    last = np.array([_last_use(store, queues) for store in stores]).reshape(-1, queues)
    first = np.array([_before_first_write(store, order) for store in stores]).reshape(-1, queues)
    bases = np.array([store.item.base for store in stores])
    for number, store in enumerate(stores):
        end = int(np.searchsorted(bases, store.item.base + store.item.size_bytes, side="left"))
        above = slice(number + 1, end)
        ordered = np.all(last[number] < first[above], axis=1) | np.all(last[above] < first[number], axis=1)
        if not ordered.all():
            _refuse(store, stores[number + 1 + int(np.argmin(ordered))], order)


def _last_use(store: Store, queues: int) -> IntArray:
    """Index of the last command of each queue that touches the store; -1 for none."""
    last = np.full(queues, -1, dtype=np.int64)
    for accesses in (*store.reads, *store.changes):
        if len(accesses.index):
            last[accesses.queue] = max(last[accesses.queue], accesses.index[-1])
    return last


def _before_first_write(store: Store, order: Order) -> IntArray:
    """How many commands of each queue have surely ended before anything is written; at time 0 if preloaded."""
    if isinstance(store.item, Tensor) and store.item.preloaded:
        return np.full(len(order.clocks), -1, dtype=np.int64)
    rows = [order.clocks[item.queue][item.index[0]] for item in store.changes if len(item.index)]
    never = np.array([len(clock) for clock in order.clocks], dtype=np.int64)
    earliest: IntArray = np.min([never, *rows], axis=0)
    return earliest


def _refuse(one: Store, two: Store, order: Order) -> None:
    low = max(one.item.base, two.item.base)
    high = min(one.item.base + one.item.size_bytes, two.item.base + two.item.size_bytes)
    text = (
        f"overlap: {describe(one.item)} and {describe(two.item)} share bytes [{low}, {high}) of memory "
        f"'{one.item.memory}' and are in use together"
    )
    if all(isinstance(store.item, Tensor) and store.item.preloaded for store in (one, two)):
        raise ProgramError(f"{text}: both are preloaded")
    raise ProgramError(text + _witness(one, two, order))


def _witness(one: Store, two: Store, order: Order) -> str:
    """A use of one that is not before a write of the other, in the order that fits them better."""
    for earlier, later in ((one, two), (two, one)):
        for writes in later.changes:
            for uses in (*earlier.reads, *earlier.changes):
                if not len(uses.index) or not len(writes.index):
                    continue
                if uses.index[-1] >= order.clocks[writes.queue][writes.index[0], uses.queue]:
                    return _sentence(earlier, uses, later, writes)
    return ""


def _sentence(earlier: Store, uses: Accesses, later: Store, writes: Accesses) -> str:
    return (
        f": {earlier.who(uses, -1)} uses {describe(earlier.item)} and does not happen before "
        f"{later.who(writes, 0)} writes {describe(later.item)}"
    )
