"""Constant-rate memory on rational numbers, with an object for each transfer: what the compiled one is defined by.

``archsim.memory.dram.constant`` says what is modelled.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from archsim.base.errors import ConfigError, SimulationError
from archsim.base.units import PS_PER_S
from archsim.memory.dram.interface import DramCounters, RowList, Transfer, TransferCompletion, useful_bytes
from archsim.sim.clock import ClockDomain

NEVER_PS = 1 << 62


@dataclass(slots=True)
class _UnderWay:
    """A list of rows: the next one, when it is asked for, and when those end that are under way."""

    transfer: Transfer
    rows: RowList
    order: int
    sizes: list[list[int]]
    asked_ps: int
    row: int = -1
    first_ps: int | None = None
    last_ps: int = 0
    ends_ps: deque[int] = field(default_factory=deque)

    def step(self) -> None:
        """On to the next row."""
        clock = ClockDomain(self.rows.engine_hz)
        edge = clock.cycle(self.asked_ps) + self.rows.setup_cycles
        if len(self.ends_ps) == self.transfer.outstanding:
            edge = max(edge, clock.cycle(self.ends_ps.popleft()))
        self.asked_ps = clock.edge(edge)
        self.row += 1


class ConstantRateOracle:
    """The DRAM interface with a constant rate: what exact relations of a pipeline are tested on.

    ``bytes_per_ps``: exact rate of the port shared by reads and writes, None for infinite; ``latency_ps`` is
    added to each transfer without holding the port. Raises ConfigError on a rate <= 0 or a negative latency.
    """

    fidelity: ClassVar[str] = "constant_rate"

    def __init__(self, bytes_per_ps: Fraction | None, latency_ps: int = 0) -> None:
        if bytes_per_ps is not None and bytes_per_ps <= 0:
            raise ConfigError(
                f"constant-rate memory: bytes_per_ps: found {bytes_per_ps}; allowed > 0, or None for infinite"
            )
        if latency_ps < 0:
            raise ConfigError(f"constant-rate memory: latency_ps: found {latency_ps}; allowed >= 0")
        self._ps_per_byte = Fraction(0) if bytes_per_ps is None else 1 / Fraction(bytes_per_ps)
        self._latency_ps = latency_ps
        self._port_free = Fraction(0)
        self._port_busy = Fraction(0)
        self._submitted_ps = self._now_ps = 0
        self._submitted = 0
        self._ending: list[tuple[int, int, TransferCompletion]] = []
        self._asking: list[tuple[int, int, _UnderWay]] = []
        self._moved = {False: 0, True: 0}
        self._count = {False: 0, True: 0}

    @property
    def peak_bytes_per_s(self) -> Fraction | None:
        """Of the port; None when infinite."""
        return PS_PER_S / self._ps_per_byte if self._ps_per_byte else None

    def least_ps(self, size_bytes: int, *, write: bool) -> int:
        """At the port's rate."""
        return math.floor(size_bytes * self._ps_per_byte)

    def submit(self, at_ps: int, transfers: Sequence[Transfer]) -> None:
        """Queue the transfers on the port in the given order; raises SimulationError when ``at_ps`` is in the past."""
        reached_ps = max(self._now_ps, self._submitted_ps)
        if at_ps < reached_ps:
            raise SimulationError(f"memory: transfer submitted at {at_ps} ps, after it reached {reached_ps} ps")
        self._submitted_ps = at_ps
        self._ask(at_ps)
        for transfer in transfers:
            if transfer.rows is not None:
                self._begin(at_ps, transfer, transfer.rows)
                self._ask(at_ps)
            else:
                self._end(self._submitted, self._serve(at_ps, transfer))
            self._submitted += 1

    def advance(self, until_ps: int) -> list[TransferCompletion]:
        """All completions of the first instant <= ``until_ps`` that has one, or []."""
        if until_ps < self._now_ps:
            raise SimulationError(f"memory: told to run to {until_ps} ps, already at {self._now_ps} ps")
        while self._asking and self._asking[0][0] <= min(until_ps, self._first_end_ps()):
            self._ask(self._asking[0][0])
        instant = self._first_end_ps()
        if instant > until_ps:
            self._now_ps = until_ps
            return []
        completions = []
        while self._ending and self._ending[0][0] == instant:
            completions.append(heapq.heappop(self._ending)[2])
        for completion in completions:
            self._moved[completion.write] += completion.useful_bytes
            self._count[completion.write] += 1
        self._now_ps = instant
        return completions

    def next_event_ps(self) -> int | None:
        """A lower bound of the next completion; None when nothing is under way."""
        if not self._ending and not self._asking:
            return None
        return min([self._first_end_ps(), *(asking[0] for asking in self._asking[:1])])

    @property
    def rank_refreshes(self) -> int:
        """It has none."""
        return 0

    def entry(self, at_ps: int, *, align: bool) -> bytes:
        """For how long the port is still busy."""
        self.advance(at_ps)
        return str(max(Fraction(0), self._port_free - at_ps)).encode()

    @property
    def stats(self) -> DramCounters:
        """Totals of completed transfers; a transfer counts as one burst and its pins carry the useful bytes alone."""
        return DramCounters(
            reads=self._count[False],
            writes=self._count[True],
            read_bytes=self._moved[False],
            write_bytes=self._moved[True],
            useful_read_bytes=self._moved[False],
            useful_write_bytes=self._moved[True],
            row_hits=0,
            row_misses=0,
            row_conflicts=0,
            activates=0,
            refreshes=0,
            open_ps=0,
            busy_ps=(math.ceil(self._port_busy),),
        )

    def _first_end_ps(self) -> int:
        return self._ending[0][0] if self._ending else NEVER_PS

    def _begin(self, at_ps: int, transfer: Transfer, rows: RowList) -> None:
        sizes: list[list[int]] = [[] for _ in range(rows.count)]
        for row, size_bytes in zip(rows.row.tolist(), rows.sizes.tolist(), strict=True):
            sizes[row].append(size_bytes)
        job = _UnderWay(transfer, rows, self._submitted, sizes, at_ps)
        job.step()
        heapq.heappush(self._asking, (job.asked_ps, job.order, job))

    def _ask(self, until_ps: int) -> None:
        """Serve the rows that are asked for up to ``until_ps``."""
        while self._asking and self._asking[0][0] <= until_ps:
            at_ps, order, job = heapq.heappop(self._asking)
            ended_ps = at_ps
            for size_bytes in job.sizes[job.row]:
                start, end = self._on_port(at_ps, size_bytes)
                ended_ps = math.ceil(end) + self._latency_ps
                job.first_ps = math.ceil(start) + self._latency_ps if job.first_ps is None else job.first_ps
            job.last_ps = max(job.last_ps, ended_ps)
            job.ends_ps.append(ended_ps)
            if job.row + 1 < job.rows.count:
                job.step()
                heapq.heappush(self._asking, (job.asked_ps, order, job))
            else:
                first_ps = job.last_ps if job.first_ps is None else job.first_ps
                size = useful_bytes(job.transfer)
                self._end(order, _completion(job.transfer, size, first_ps, job.last_ps, at_ps))

    def _end(self, order: int, completion: TransferCompletion) -> None:
        heapq.heappush(self._ending, (completion.time_ps, order, completion))

    def _on_port(self, at_ps: int, size_bytes: int) -> tuple[Fraction, Fraction]:
        """From when to when bytes are on the port."""
        start = Fraction(at_ps)
        if size_bytes:
            start = max(start, self._port_free)
            self._port_free = start + size_bytes * self._ps_per_byte
            self._port_busy += size_bytes * self._ps_per_byte
        return start, start + size_bytes * self._ps_per_byte

    def _serve(self, at_ps: int, transfer: Transfer) -> TransferCompletion:
        size_bytes = useful_bytes(transfer)
        start, end = self._on_port(at_ps, size_bytes)
        latency_ps = self._latency_ps
        return _completion(transfer, size_bytes, math.ceil(start) + latency_ps, math.ceil(end) + latency_ps, 0)


def _completion(transfer: Transfer, size_bytes: int, first_ps: int, last_ps: int, asked_ps: int) -> TransferCompletion:
    return TransferCompletion(
        id=transfer.id,
        time_ps=last_ps,
        first_beat_ps=first_ps,
        write=transfer.write,
        useful_bytes=size_bytes,
        pin_bytes=size_bytes,
        row_hits=0,
        row_misses=0,
        row_conflicts=0,
        activates=0,
        asked_ps=asked_ps,
    )
