"""Every operand of every command as a bounding byte interval of its tensor or ring, checked to lie inside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from archsim.errors import ProgramError
from archsim.ir.check.accesses import slot_starts
from archsim.ir.check.declarations import describe
from archsim.ir.check.ledger import Ledger
from archsim.ir.check.repeats import Bounds, Repeats, repeats_of, span
from archsim.ir.check.tapes import Heads, slot_begins
from archsim.ir.check.uses import READS, SCATTERS, WRITES, Groups, Kind, Uses
from archsim.ir.program import Command, Program, Region, Ring, Tensor
from archsim.ir.unroll import Step

IntArray = NDArray[np.int64]
Touch = tuple[Region, Kind, bool | None]  # operand, what is done to it, only if fresh (True) or not (False)
_START = {"MATMUL": "bias", "mac": "in2"}  # what accumulates (operation or vector function): where it begins


def collect(program: Program, ledger: Ledger) -> Uses:
    """All accesses by tensor and ring; raises ProgramError for one outside its store or without a slot."""
    for ring in program.rings:
        if ring.retain:
            slot_starts(ring, ledger)
    found = _Found(program, ledger)
    for queue, steps in enumerate(ledger.steps):
        before = len(found.index)
        try:
            found.add(queue, steps)
        except ProgramError:
            found.uses(before)  # what an earlier queue does wrong is said first
            raise
    return found.uses(len(found.index))


class _Found:
    """Columns while they are collected: of accesses, and of operands (``store``, ``kind``, ``queue``)."""

    def __init__(self, program: Program, ledger: Ledger) -> None:
        self.ledger = ledger
        self.items: list[Tensor | Ring] = [*program.tensors, *program.rings]
        self.numbers = {item.name: number for number, item in enumerate(self.items)}
        self.sizes = [item.slot_bytes if isinstance(item, Ring) else item.size_bytes for item in self.items]
        self.index: list[int] = []
        self.low: list[int] = []
        self.high: list[int] = []
        self.region: list[int] = []
        self.regions: list[Region] = []
        self.store: list[int] = []
        self.kind: list[int] = []
        self.queue: list[int] = []

    def add(self, queue: int, steps: Sequence[Step]) -> None:
        """Append what one queue does."""
        for same in repeats_of(steps):
            touches = _touches(same[0].command)
            if len(same) == 1:
                self._add_one(queue, same[0], touches)
            else:
                self._add_all(queue, Repeats(same[0].command, same), touches)

    def _add_one(self, queue: int, step: Step, touches: Sequence[Touch]) -> None:
        for region, kind, fresh in touches:
            if fresh is not None and fresh != step.fresh:
                continue
            low, high = span(region, step)
            if high <= low:
                continue
            store = self.numbers[region.store]
            if low < 0 or high > self.sizes[store]:
                self._refuse(step, region, low, high)
            self.index.append(step.index)
            self.low.append(low)
            self.high.append(high)
            self.region.append(self._operand(queue, region, store, kind))

    def _add_all(self, queue: int, repeats: Repeats, touches: Sequence[Touch]) -> None:
        fresh, continued = repeats.by_fresh()
        for region, kind, only in touches:
            bounds = (repeats if only is None else fresh if only else continued).bounds(region)
            if not bounds.index:
                continue
            self._check_inside(queue, region, bounds)
            self.index += bounds.index
            self.low += bounds.low
            self.high += bounds.high
            operand = self._operand(queue, region, self.numbers[region.store], kind)
            self.region += [operand] * len(bounds.index)

    def _operand(self, queue: int, region: Region, store: int, kind: Kind) -> int:
        self.regions.append(region)
        self.store.append(store)
        self.kind.append(kind)
        self.queue.append(queue)
        return len(self.regions) - 1

    def _check_inside(self, queue: int, region: Region, bounds: Bounds) -> None:
        size = self.sizes[self.numbers[region.store]]
        if min(bounds.low) >= 0 and max(bounds.high) <= size:
            return
        for index, low, high in zip(bounds.index, bounds.low, bounds.high, strict=True):
            if low < 0 or high > size:
                self._refuse(self.ledger.steps[queue][index], region, low, high)

    def _refuse(self, step: Step, region: Region, low: int, high: int) -> None:
        number = self.numbers[region.store]
        where = "a slot" if isinstance(self.items[number], Ring) else "the whole"
        raise ProgramError(
            f"{step.where} of {step.queue}: operand '{region.operand}' touches bytes [{low}, {high}) of "
            f"{describe(self.items[number])}; {where} has [0, {self.sizes[number]})"
        )

    def uses(self, count: int) -> Uses:
        """The first ``count`` accesses in their groups; those of rings on their tapes."""
        columns = (self.index, self.low, self.high, self.region)
        index, low, high, region = (np.array(column[:count], dtype=np.int64) for column in columns)
        store, kind, queue = (
            np.array(column, dtype=np.int64)[region] for column in (self.store, self.kind, self.queue)
        )
        order = np.lexsort((index, queue, kind, store))
        index, low, high, region = index[order], low[order], high[order], region[order]
        store, kind, queue = store[order], kind[order], queue[order]
        opens = np.ones(count, dtype=np.bool_)
        opens[1:] = (np.diff(store) != 0) | (np.diff(kind) != 0) | (np.diff(queue) != 0)
        begin = np.flatnonzero(opens)
        end = np.append(begin, count)[1:]
        group = np.cumsum(opens) - 1
        heads = (store[begin], kind[begin], queue[begin])
        found = np.minimum.reduceat(order, begin) if count else order
        shift = slot_begins(self.ledger, self.items, Heads(heads[0], heads[2], found), index, group)
        low, high = low + shift, high + shift
        spans = _spans(low, high, begin) if count else (low, high)
        groups = Groups(*heads, begin, end, index[begin], index[end - 1], *spans)
        return Uses(self.ledger, self.items, self.regions, index, low, high, region, group, groups)


def _spans(low: IntArray, high: IntArray, begin: IntArray) -> tuple[IntArray, IntArray]:
    return np.minimum.reduceat(low, begin), np.maximum.reduceat(high, begin)


def _touches(command: Command) -> list[Touch]:
    """What a command does to its operands.

    Where fresh, an accumulation begins from its bias, else from what it writes.
    """
    start = _START.get(command.function if command.functions else command.op)
    found: list[Touch] = []
    if start is not None:
        found += [(region, READS, True) for region in command.reads if region.operand == start]
        found += [(region, READS, False) for region in command.writes]
    for region in command.reads:
        if start is None or region.operand not in (start, "acc"):
            found.append((region, READS, None))
    for region in command.writes:
        found.append((region, SCATTERS if region is command.table else WRITES, None))
        if command.combine:
            found.append((region, READS, None))
    return found
