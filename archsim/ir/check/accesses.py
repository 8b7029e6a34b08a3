"""Every operand of every command as a bounding byte interval of its tensor or ring, checked to lie inside.

A ring is seen as an endless **tape**: slot after slot, each ``slot_bytes`` long, beginning ``retain`` bytes before the
end of the previous one where its taker is flagged ``retains``. Tape byte t lies at ring byte t mod (slots x
slot_bytes). So a halo is the same tape bytes for both slots, and a byte is reused when the tape has gone once around.
Intervals are computed for all repetitions of a command text at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from archsim.errors import ProgramError
from archsim.ir.check.declarations import describe
from archsim.ir.check.ledger import Ledger
from archsim.ir.check.repeats import Bounds, Repeats, repeats_of
from archsim.ir.program import Program, Region, Ring, Tensor
from archsim.ir.unroll import Step

IntArray = NDArray[np.int64]
Kind = Literal["reads", "writes", "scatters"]
_START = {"MATMUL": "bias", "mac": "in2"}  # what accumulates (operation or vector function): where it begins


@dataclass(frozen=True, slots=True)
class Accesses:
    """Reads, or writes, of one store by one queue, in order: command ``index``, bytes [``low``, ``high``), operand.

    Bytes are tensor bytes or tape bytes; ``region`` numbers into ``Store.regions``.
    """

    queue: int
    index: IntArray
    low: IntArray
    high: IntArray
    region: IntArray

    def pick(self, keep: NDArray[np.bool_]) -> Accesses:
        """Those where ``keep`` holds."""
        return Accesses(self.queue, self.index[keep], self.low[keep], self.high[keep], self.region[keep])


@dataclass(slots=True)
class Store:
    """One tensor or ring and who reads and writes it. ``starts``: tape byte at which each slot of a ring begins.

    ``scatters``: what may be written, but need not be: the rows of a table.
    """

    item: Tensor | Ring
    ledger: Ledger
    starts: IntArray
    reads: list[Accesses] = field(default_factory=list)
    writes: list[Accesses] = field(default_factory=list)
    scatters: list[Accesses] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)

    @property
    def changes(self) -> list[Accesses]:
        """All that writes or may write."""
        return [*self.writes, *self.scatters]

    def step(self, accesses: Accesses, at: int) -> Step:
        """The concrete command of access number ``at``."""
        return self.ledger.steps[accesses.queue][int(accesses.index[at])]

    def who(self, accesses: Accesses, at: int) -> str:
        """Command with loop indices and queue of access number ``at``, for messages."""
        return f"{self.step(accesses, at).where} of {self.ledger.name(accesses.queue)}"

    def bytes_text(self, low: int, high: int) -> str:
        """``bytes [0, 64) of tensor 'x'``; for rings the slot number and its own bytes."""
        if isinstance(self.item, Tensor):
            return f"bytes [{low}, {high}) of {describe(self.item)}"
        slot = max(int(np.searchsorted(self.starts, low, side="right")) - 1, 0)
        start = int(self.starts[slot])
        return f"bytes [{low - start}, {high - start}) of slot {slot} of {describe(self.item)}"


def collect(program: Program, ledger: Ledger) -> list[Store]:
    """All accesses by tensor and ring; raises ProgramError for one outside its store or without a slot."""
    items: list[Tensor | Ring] = [*program.tensors, *program.rings]
    stores = {item.name: Store(item, ledger, _starts(item, ledger)) for item in items}
    for queue, steps in enumerate(ledger.steps):
        found: dict[tuple[str, Kind], _Found] = {}
        for repeats in repeats_of(steps):
            for region, kind, only in _touched(repeats):
                bounds = only.bounds(region)
                if not bounds.index:
                    continue
                store = stores[region.store]
                _check_inside(store, queue, region, bounds)
                found.setdefault((region.store, kind), _Found()).add(bounds, store, region)
        for (name, kind), accesses in found.items():
            store = stores[name]
            getattr(store, kind).append(_in_order(store, queue, accesses))
    return list(stores.values())


class _Found:
    """Columns of ``Accesses`` while they are collected."""

    def __init__(self) -> None:
        self.index: list[int] = []
        self.low: list[int] = []
        self.high: list[int] = []
        self.region: list[int] = []

    def add(self, bounds: Bounds, store: Store, region: Region) -> None:
        """Append the accesses of one operand."""
        self.index += bounds.index
        self.low += bounds.low
        self.high += bounds.high
        self.region += [len(store.regions)] * len(bounds.index)
        store.regions.append(region)


def _touched(repeats: Repeats) -> Iterator[tuple[Region, Kind, Repeats]]:
    """(operand, what is done to it, the repetitions that do so)."""
    command = repeats.command
    start = _START.get(command.function or command.op)
    if start is not None:
        yield from _accumulated(repeats, start)
    for region in command.reads:
        if start is None or region.operand not in (start, "acc"):
            yield region, "reads", repeats
    for region in command.writes:
        yield region, "scatters" if region is command.table else "writes", repeats
        if command.combine:
            yield region, "reads", repeats


def _accumulated(repeats: Repeats, start: str) -> Iterator[tuple[Region, Kind, Repeats]]:
    """Where fresh, an accumulation begins from operand ``start`` (its bias), else from what it writes."""
    fresh, continued = repeats.by_fresh()
    for region in repeats.command.reads:
        if region.operand == start:
            yield region, "reads", fresh
    for region in repeats.command.writes:
        yield region, "reads", continued


def _check_inside(store: Store, queue: int, region: Region, bounds: Bounds) -> None:
    size = store.item.slot_bytes if isinstance(store.item, Ring) else store.item.size_bytes
    if min(bounds.low) >= 0 and max(bounds.high) <= size:
        return
    for index, low, high in zip(bounds.index, bounds.low, bounds.high, strict=True):
        if low < 0 or high > size:
            step = store.ledger.steps[queue][index]
            where = "a slot" if isinstance(store.item, Ring) else "the whole"
            raise ProgramError(
                f"{step.where} of {step.queue}: operand '{region.operand}' touches bytes [{low}, {high}) of "
                f"{describe(store.item)}; {where} has [0, {size})"
            )


def _in_order(store: Store, queue: int, found: _Found) -> Accesses:
    """One queue's accesses of one store by command; those of a ring on its tape."""
    index = np.array(found.index, dtype=np.int64)
    order = np.argsort(index, kind="stable")
    index = index[order]
    shift = _shift(store, queue, index)
    low = np.array(found.low, dtype=np.int64)[order] + shift
    high = np.array(found.high, dtype=np.int64)[order] + shift
    return Accesses(queue, index, low, high, np.array(found.region, dtype=np.int64)[order])


def _shift(store: Store, queue: int, index: IntArray) -> IntArray:
    """Tape byte of the current slot of ``queue`` at each command; 0 for tensors."""
    if isinstance(store.item, Tensor):
        return np.zeros(len(index), dtype=np.int64)
    commands = np.array(store.ledger.taken_slots(queue, store.item), dtype=np.int64)
    slot = np.searchsorted(commands, index, side="right") - 1
    if len(slot) and slot[0] < 0:
        step = store.ledger.steps[queue][int(index[0])]
        raise ProgramError(f"{step.where} of {step.queue} touches {describe(store.item)} before it took a slot")
    starts: IntArray = store.starts[slot]
    return starts


def _starts(item: Tensor | Ring, ledger: Ledger) -> IntArray:
    """Tape byte at which each slot begins, in the order in which the writer takes them."""
    if isinstance(item, Tensor):
        return np.zeros(1, dtype=np.int64)
    writer = ledger.numbers[item.writer]
    claims = [ledger.steps[writer][index] for index in ledger.taken_slots(writer, item)]
    if item.retain and claims and claims[0].command.retains:
        raise ProgramError(
            f"{claims[0].where} of {item.writer} takes the first slot of {describe(item)} and is flagged 'retains'; "
            "there is nothing to retain yet"
        )
    advance = [item.slot_bytes - item.retain * claim.command.retains for claim in claims[1:]]
    return np.cumsum(np.array([0, *advance], dtype=np.int64))
