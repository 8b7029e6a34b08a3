"""Rows by index: GATHER on a load engine, SCATTER on a store engine.

A row is read or written at its real address, so a row that does not fill or meet whole bursts pays for them. The engine
works through the rows in order: a descriptor each (``row_setup``), then its bursts, while at most ``outstanding`` rows
are under way; rows are retired in order, so that one more is issued when the oldest has ended. All rows of a command
are one transfer of the memory model, which takes them in by that rule (``memory.dram.interface.RowList``). All the
while the other side streams through its ports, as of a MOVE: at the peak rate of the DRAM or the ports', if lower, and
no faster than the descriptors. The command ends at the first edge at or after both.

Over a network, rows go as ``archsim.memory.crossing`` says.

Rows of a role that a cache keeps go through it (``archsim.memory.cache``). A table on the chip is read and written
through its ports. ``combine`` reads what it combines with: a scatter reads each row before it writes it, a transfer
each, when the read is retired.

Not modelled: how the engine comes by the indices (part of ``row_setup``); conflicts of the rows in the banks of on-chip
memories.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from math import ceil
from typing import Any

import numpy as np

from archsim.base.arrays import BoolArray, IntArray
from archsim.base.errors import ProgramError
from archsim.facts.lru.lines import LineTouches
from archsim.ir.activity import charged_to
from archsim.ir.footprint import ByteFootprint, footprint
from archsim.ir.program import Region
from archsim.ir.streams import rows_of
from archsim.ir.unroll import Step
from archsim.memory.byte_runs import ByteRuns, dense, stretches
from archsim.memory.cache import TableCache
from archsim.memory.combined import combined
from archsim.memory.crossing import NetworkCrossings, RowCrossing
from archsim.memory.dram.interface import RowList, TransferCompletion
from archsim.memory.offchip import OffChip, asker_of
from archsim.sim.clock import ClockDomain
from archsim.sim.events import Event
from archsim.sim.protocols import CommandOutcome, CommandStreams, Demand, Execution
from archsim.sim.tally import TallyEntry, memory_entries
from archsim.sim.tile_engine import EngineSurroundings
from archsim.spec.architecture import Dma

WaitSteps = Iterator[Event]


@dataclass(slots=True)
class RowsTask:
    """One command of so many ``rows``: in DRAM those of ``first`` (of a combining scatter then of each row ``after``).

    ``demands`` on ports, ``entries`` of the books, DRAM bytes to be ``moved`` (read and written).
    """

    dram: OffChip | None
    rows: int
    first: ByteRuns | None = None
    after: ByteRuns | None = None
    demands: list[Demand] = field(default_factory=list)
    entries: list[TallyEntry] = field(default_factory=list)
    moved: int = 0

    @property
    def in_dram(self) -> bool:
        """Whether any bytes move there."""
        return any(runs is not None and len(runs.row) for runs in (self.first, self.after))


class RowEngine:
    """Runs GATHER and SCATTER for a DMA engine. ``port``: the engine's rank; ``caches``: by the role that they keep."""

    def __init__(
        self,
        around: EngineSurroundings,
        spec: Dma,
        drams: Mapping[str, OffChip],
        caches: Mapping[str, TableCache],
        port: int,
        crossings: NetworkCrossings | None = None,
    ) -> None:
        self._around = around
        self._crossing = RowCrossing(crossings, around.stores, spec) if crossings is not None else None
        self._storage = around.storage.seen_by("dma")
        self._spec = spec
        self._clock = ClockDomain(spec.clock_hz, spec.sync_stages)
        self._drams = drams
        self._caches = caches
        self._port = port
        self._asker = asker_of(spec, port)

    def run(self, step: Step) -> Execution:
        """Descriptor of the command, tags, then rows and on-chip streams at once, to the end of both."""
        around, command = self._around, step.command
        event_loop = around.event_loop
        yield from self._pause(self._spec.setup_cycles)
        if not all(step.extents.values()):
            return CommandOutcome((("noc", event_loop.now),))
        cache = self._cache(step)
        task = self._task(step, cache)
        if cache is not None:
            answered_ps = self._clock.at_or_after(cache.answered_ps(event_loop.now))
            yield event_loop.timeout(answered_ps - event_loop.now)
        start_ps = event_loop.now
        own_cycles, streams = self._streams(task)
        flow = streams.begin()
        journey = self._crossing.begin(step, _table(step), task.dram, task.first) if self._crossing else None
        if journey is None:
            yield from self._issue(step, task)
        last_beat_ps = event_loop.now if journey is None else start_ps
        if journey is not None and journey.left:
            yield journey.event
        if not flow.ended:
            yield flow.event
        for part, action, amount in (*task.entries, *memory_entries(task.demands)):
            around.tally.add(charged_to(command), part, action, amount)
        around.tally.streamed(streams.demands, start_ps, flow.end_ps)
        if journey is not None:
            reads = command.op == "GATHER" and task.in_dram
            return CommandOutcome(journey.phases(start_ps, reads=reads))
        if not task.in_dram:
            own_ps = max(last_beat_ps, self._clock.edge(self._clock.cycle(start_ps) + own_cycles))
            return CommandOutcome((("noc", own_ps), ("sram_port", event_loop.now)))
        return CommandOutcome((("dram", last_beat_ps), ("sram_port", event_loop.now)))

    # what there is to do

    def _cache(self, step: Step) -> TableCache | None:
        table = _table(step)
        off_chip = self._around.stores.memory(step, table) in self._drams
        return self._caches.get(self._around.stores.role(step, table)) if off_chip else None

    def _task(self, step: Step, cache: TableCache | None) -> RowsTask:
        command, table = step.command, _table(step)
        row = footprint(table, step)
        rows = rows_of(step)
        memory = self._around.stores.memory(step, table)
        dram = self._drams.get(memory)
        task = RowsTask(dram, len(rows))
        self._other_side(step, task)
        writes, combines = command.op == "SCATTER", bool(command.combine)
        if writes:
            task.entries += combined(self._spec, self._around.stores, step, table, row.size_bytes * len(rows))
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

    def _other_side(self, step: Step, task: RowsTask) -> None:
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
                task.entries += combined(self._spec, self._around.stores, step, region, touched.size_bytes)

    def _on_chip(self, memory: str, touched: ByteFootprint, times: int, *, write: bool) -> Demand:
        storage = self._storage
        accesses = touched.accesses(storage.word_bytes(memory)) * times
        return storage.demand(memory, touched.size_bytes * times, write=write, accesses=accesses)

    def _read(
        self, task: RowsTask, dram: OffChip, addresses: IntArray, row: ByteFootprint, cache: TableCache | None
    ) -> ByteRuns:
        """What brings the rows: themselves, or the lines that the cache lacks."""
        if cache is None:
            self._books(task, dram, "read_bytes", row.size_bytes * len(addresses))
            return dense(addresses, row, write=False)
        asked = cache.touches(addresses, row)
        hits = cache.read(dram.name, asked)
        self._used(task, cache, asked, hits, write=False)
        missing = asked.line[~hits]
        self._fill(task, cache, len(missing))
        self._books(task, dram, "read_bytes", cache.line_bytes * len(missing))
        return stretches(asked.row[~hits], missing, cache.line_bytes)

    def _written(
        self, task: RowsTask, dram: OffChip, addresses: IntArray, row: ByteFootprint, cache: TableCache | None
    ) -> ByteRuns:
        """What writes the rows; lines that the cache holds are written too."""
        self._books(task, dram, "write_bytes", row.size_bytes * len(addresses))
        if cache is not None:
            asked = cache.touches(addresses, row)
            self._used(task, cache, asked, cache.write(dram.name, asked), write=True)
        return dense(addresses, row, write=True)

    def _books(self, task: RowsTask, dram: OffChip, action: str, size_bytes: int) -> None:
        task.moved += size_bytes
        if size_bytes:
            task.entries.append(TallyEntry(dram.name, action, size_bytes))

    def _used(self, task: RowsTask, cache: TableCache, asked: LineTouches, hits: BoolArray, *, write: bool) -> None:
        """Tag look-ups, and the bytes and words that hits read or write."""
        size, words = int(asked.size_bytes[hits].sum()), int(asked.words[hits].sum())
        task.entries.append(TallyEntry(cache.name, "lookups", len(hits)))
        task.demands.append(self._storage.demand(cache.name, size, write=write, accesses=words))

    def _fill(self, task: RowsTask, cache: TableCache, lines: int) -> None:
        words = lines * -(-cache.line_bytes // cache.word_bytes)
        demand = self._storage.demand(cache.name, lines * cache.line_bytes, write=True, accesses=words)
        task.demands.append(demand)

    # doing it

    def _streams(self, task: RowsTask) -> tuple[int, CommandStreams]:
        """Cycles that the rows take alone, and their streams on chip."""
        storage, clock = self._storage, self._clock
        cycles = max(storage.shortest(task.demands, clock), Fraction(task.rows * self._spec.row_setup_cycles))
        if task.dram is not None and task.dram.peak_bytes_per_s is not None:
            cycles = max(cycles, task.moved * clock.hz / task.dram.peak_bytes_per_s)
        return ceil(cycles), storage.streams(task.demands, cycles, clock)

    def _issue(self, step: Step, task: RowsTask) -> Any:
        if task.first is None or not task.in_dram:
            yield from self._pause(task.rows * self._spec.row_setup_cycles)
        elif task.after is not None:
            yield from self._one_by_one(step, task, task.first, task.after)
        else:
            event_loop = self._around.event_loop
            done: TransferCompletion = yield self._submit(
                step, task, task.first, 0, task.rows, self._spec.row_setup_cycles
            )
            self._charge(step, task, done)
            if done.asked_ps > event_loop.now:
                yield event_loop.timeout(done.asked_ps - event_loop.now)

    def _one_by_one(self, step: Step, task: RowsTask, read: ByteRuns, write: ByteRuns) -> WaitSteps:
        """Each row is read, and written when that is retired."""
        under_way: deque[tuple[int, Event | None]] = deque()
        written: list[Event] = []
        order = count()

        def submit(runs: ByteRuns, row: int) -> Event | None:
            low, high = np.searchsorted(runs.row, (row, row + 1)).tolist()
            if low == high:
                return None
            part = ByteRuns(runs.write, runs.address[low:high], runs.size_bytes[low:high], runs.row[low:high] - row)
            return self._submit(step, task, part, next(order), 1, 0)

        def retire() -> Any:
            row, event = under_way.popleft()
            if event is not None:
                self._charge(step, task, (yield event))
            after = submit(write, row)
            if after is not None:
                written.append(after)

        for row in range(task.rows):
            yield from self._pause(self._spec.row_setup_cycles)
            if len(under_way) == self._spec.outstanding:
                yield from retire()
            under_way.append((row, submit(read, row)))
        while under_way:
            yield from retire()
        for event in written:
            self._charge(step, task, (yield event))

    def _submit(self, step: Step, task: RowsTask, runs: ByteRuns, number: int, rows: int, setup_cycles: int) -> Event:
        assert task.dram is not None
        asked = RowList(rows, runs.address, runs.size_bytes, runs.row, setup_cycles, self._clock.hz)
        limit = self._spec.outstanding
        order = (self._port, step.index, number)
        return task.dram.submit_rows(order, asked, self._clock, write=runs.write, outstanding=limit, engine=self._asker)

    def _charge(self, step: Step, task: RowsTask, completion: Any) -> None:
        assert task.dram is not None
        task.dram.charge(charged_to(step.command), completion)

    def _pause(self, cycles: int) -> WaitSteps:
        if cycles:
            event_loop, clock = self._around.event_loop, self._clock
            yield event_loop.timeout(clock.edge(clock.cycle(event_loop.now) + cycles) - event_loop.now)


def _table(step: Step) -> Region:
    table = step.command.table
    if table is None:
        raise ProgramError(f"{step.where} of {step.queue}: {step.command.op} without index")
    return table
