"""Rows by index: GATHER on a load engine, SCATTER on a store engine.

A row is a DRAM transfer of its own at its real address, so a row that does not fill or meet whole bursts pays for
them. The engine works through the rows in order: a descriptor each (``row_setup``), then its transfer, while at most
``outstanding`` rows are under way; rows are retired in order, so that one more is issued when the oldest has ended. All
the while the other side streams through its ports, as of a MOVE: at the peak rate of the DRAM or the ports', if lower,
and no faster than the descriptors. The command ends at the first edge at or after both.

Rows of a role that a cache keeps go through it (``archsim.memory.cache``). A table on the chip is read and written
through its ports. ``combine`` reads what it combines with: a scatter reads each row before it writes it.

Not modelled: how the engine comes by the indices (part of ``row_setup``); conflicts of the rows in the banks of on-chip
memories.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from archsim.errors import ProgramError
from archsim.ir.footprint import Footprint, footprint
from archsim.ir.program import Region
from archsim.ir.streams import rows_of
from archsim.ir.unroll import Step
from archsim.memory.cache import TableCache
from archsim.memory.offchip import OffChip, Shape
from archsim.ops.lru.lines import BoolArray, IntArray, Touches
from archsim.sim.clock import Clock
from archsim.sim.engine import Demand, Execution, Outcome, Streams
from archsim.sim.kernel import Event
from archsim.sim.machine import Surroundings
from archsim.sim.tally import Entry, memory_entries
from archsim.spec.architecture import Dma

Piece = tuple[Shape, int]  # a transfer and its address
Wait = Iterator[Event]


@dataclass(slots=True)
class Task:
    """One command: transfers of each row in order (``first``, then ``after`` it the write of a combining scatter).

    ``demands`` on ports, ``entries`` of the books, DRAM bytes to be ``moved`` (read and written).
    """

    dram: OffChip | None
    first: list[list[Piece]]
    after: list[list[Piece]] = field(default_factory=list)
    demands: list[Demand] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    moved: int = 0


class RowEngine:
    """Runs GATHER and SCATTER for a DMA engine. ``port``: the engine's rank; ``caches``: by the role that they keep."""

    def __init__(
        self,
        around: Surroundings,
        spec: Dma,
        drams: Mapping[str, OffChip],
        caches: Mapping[str, TableCache],
        port: int,
    ) -> None:
        self._around = around
        self._storage = around.storage.seen_by("dma")
        self._spec = spec
        self._clock = Clock(spec.clock_hz, spec.sync_stages)
        self._drams = drams
        self._caches = caches
        self._port = port

    def run(self, step: Step) -> Execution:
        """Descriptor of the command, tags, then rows and on-chip streams at once, to the end of both."""
        around, command = self._around, step.command
        kernel = around.kernel
        yield from self._pause(self._spec.setup_cycles)
        if not all(step.extents.values()):
            return Outcome((("sram_port", kernel.now),))
        cache = self._cache(step)
        task = self._task(step, cache)
        if cache is not None:
            answered_ps = self._clock.at_or_after(cache.answered_ps(kernel.now))
            yield kernel.timeout(answered_ps - kernel.now)
        start_ps = kernel.now
        streams = self._streams(task)
        flow = streams.begin()
        yield from self._issue(step, task)
        last_beat_ps = kernel.now
        if not flow.ended:
            yield flow.event
        for part, action, amount in (*task.entries, *memory_entries(task.demands)):
            around.tally.add(command.layer, part, action, amount)
        around.tally.streamed(streams.demands, start_ps, flow.end_ps)
        if not any(task.first):
            return Outcome((("sram_port", kernel.now),))
        return Outcome((("dram", last_beat_ps), ("sram_port", kernel.now)))

    # what there is to do

    def _cache(self, step: Step) -> TableCache | None:
        table = _table(step)
        off_chip = self._around.stores.memory(step, table) in self._drams
        return self._caches.get(self._around.stores.role(step, table)) if off_chip else None

    def _task(self, step: Step, cache: TableCache | None) -> Task:
        command, table = step.command, _table(step)
        row = footprint(table, step)
        rows = rows_of(step)
        memory = self._around.stores.memory(step, table)
        dram = self._drams.get(memory)
        task = Task(dram, [[] for _ in rows])
        self._other_side(step, task)
        writes, combines = command.op == "SCATTER", bool(command.combine)
        if dram is None:
            for write in (*((False,) if not writes or combines else ()), *((True,) if writes else ())):
                task.demands.append(self._on_chip(memory, row, len(rows), write=write))
            return task
        assert command.index is not None
        start = self._around.stores.address(step, table) + row.offset
        addresses = start + rows * command.index.row_bytes
        if not writes:
            task.first = self._read(task, dram, addresses, row, cache)
        elif combines:
            task.first = self._read(task, dram, addresses, row, cache)
            task.after = self._written(task, dram, addresses, row, cache)
        else:
            task.first = self._written(task, dram, addresses, row, cache)
        return task

    def _other_side(self, step: Step, task: Task) -> None:
        """The ring or tensor that the rows go to or come from."""
        command = step.command
        sides = [(region, False) for region in command.reads] + [(region, True) for region in command.writes]
        for region, write in sides:
            if region is command.table:
                continue
            memory = self._around.stores.memory(step, region)
            if memory in self._drams:
                what = f"{step.where} of {step.queue}: operand '{region.operand}'"
                raise ProgramError(f"{what} lies in DRAM; of a {command.op} only the table may")
            touched = footprint(region, step)
            task.demands.append(self._on_chip(memory, touched, 1, write=write))
            if write and command.combine:
                task.demands.append(self._on_chip(memory, touched, 1, write=False))

    def _on_chip(self, memory: str, touched: Footprint, times: int, *, write: bool) -> Demand:
        storage = self._storage
        accesses = touched.accesses(storage.word_bytes(memory)) * times
        return storage.demand(memory, touched.size_bytes * times, write=write, accesses=accesses)

    def _read(
        self, task: Task, dram: OffChip, addresses: IntArray, row: Footprint, cache: TableCache | None
    ) -> list[list[Piece]]:
        """Transfers that bring the rows: themselves, or the lines that the cache lacks."""
        if cache is None:
            shape = dram.shape(row, write=False)
            self._books(task, dram, "read_bytes", row.size_bytes * len(addresses))
            return [[(shape, address)] for address in addresses.tolist()]
        asked = cache.touches(addresses, row)
        hits = cache.read(dram.name, asked)
        self._used(task, cache, asked, hits, write=False)
        missing = asked.line[~hits]
        self._fill(task, cache, len(missing))
        self._books(task, dram, "read_bytes", cache.line_bytes * len(missing))
        pieces: list[list[Piece]] = [[] for _ in addresses]
        for place, first, count in _stretches(asked.row[~hits], missing):
            shape = dram.shape(Footprint(0, count * cache.line_bytes, ()), write=False)
            pieces[place].append((shape, first * cache.line_bytes))
        return pieces

    def _written(
        self, task: Task, dram: OffChip, addresses: IntArray, row: Footprint, cache: TableCache | None
    ) -> list[list[Piece]]:
        """Transfers that write the rows; lines that the cache holds are written too."""
        shape = dram.shape(row, write=True)
        self._books(task, dram, "write_bytes", row.size_bytes * len(addresses))
        if cache is not None:
            asked = cache.touches(addresses, row)
            self._used(task, cache, asked, cache.write(dram.name, asked), write=True)
        return [[(shape, address)] for address in addresses.tolist()]

    def _books(self, task: Task, dram: OffChip, action: str, size_bytes: int) -> None:
        task.moved += size_bytes
        if size_bytes:
            task.entries.append(Entry(dram.name, action, size_bytes))

    def _used(self, task: Task, cache: TableCache, asked: Touches, hits: BoolArray, *, write: bool) -> None:
        """Tag look-ups, and the bytes and words that hits read or write."""
        size, words = int(asked.size_bytes[hits].sum()), int(asked.words[hits].sum())
        task.entries.append(Entry(cache.name, "lookups", len(hits)))
        task.demands.append(self._storage.demand(cache.name, size, write=write, accesses=words))

    def _fill(self, task: Task, cache: TableCache, lines: int) -> None:
        words = lines * -(-cache.line_bytes // cache.word_bytes)
        demand = self._storage.demand(cache.name, lines * cache.line_bytes, write=True, accesses=words)
        task.demands.append(demand)

    # doing it

    def _streams(self, task: Task) -> Streams:
        storage, clock = self._storage, self._clock
        cycles = max(storage.shortest(task.demands, clock), Fraction(len(task.first) * self._spec.row_setup_cycles))
        if task.dram is not None and task.dram.peak_bytes_per_s is not None:
            cycles = max(cycles, task.moved * clock.hz / task.dram.peak_bytes_per_s)
        return storage.streams(task.demands, cycles, clock)

    def _issue(self, step: Step, task: Task) -> Wait:
        under_way: deque[list[Event]] = deque()
        written: list[Event] = []
        retired = issued = 0

        def retire() -> Any:
            nonlocal retired, issued
            for event in under_way.popleft():
                self._charge(step, task, (yield event))
            if task.after:
                written.extend(self._submit(step, task, task.after[retired], issued))
                issued += len(task.after[retired])
            retired += 1

        for pieces in task.first:
            yield from self._pause(self._spec.row_setup_cycles)
            if len(under_way) == self._spec.outstanding:
                yield from retire()
            under_way.append(self._submit(step, task, pieces, issued))
            issued += len(pieces)
        while under_way:
            yield from retire()
        for event in written:
            self._charge(step, task, (yield event))

    def _submit(self, step: Step, task: Task, pieces: list[Piece], issued: int) -> list[Event]:
        if task.dram is None:
            return []
        order = (self._port, step.index)
        return [
            task.dram.submit((*order, issued + number), shape, address, self._clock)
            for number, (shape, address) in enumerate(pieces)
        ]

    def _charge(self, step: Step, task: Task, completion: Any) -> None:
        assert task.dram is not None
        task.dram.charge(step.command.layer, completion)

    def _pause(self, cycles: int) -> Wait:
        if cycles:
            kernel, clock = self._around.kernel, self._clock
            yield kernel.timeout(clock.edge(clock.cycle(kernel.now) + cycles) - kernel.now)


def _table(step: Step) -> Region:
    table = step.command.table
    if table is None:
        raise ProgramError(f"{step.where} of {step.queue}: {step.command.op} without index")
    return table


def _stretches(rows: IntArray, lines: IntArray) -> Iterator[tuple[int, int, int]]:
    """(row, first line, lines) of neighbouring lines of one row."""
    if not len(lines):
        return
    breaks = np.flatnonzero((np.diff(rows) != 0) | (np.diff(lines) != 1)) + 1
    starts = np.concatenate(([0], breaks))
    counts = np.diff(np.concatenate((starts, [len(lines)])))
    yield from zip(rows[starts].tolist(), lines[starts].tolist(), counts.tolist(), strict=True)
