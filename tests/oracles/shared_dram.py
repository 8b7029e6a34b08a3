"""The fast model of DRAM on rational numbers, with a heap and an object for each transfer: what it is defined by.

``archsim.memory.dram.fast_model`` says what is modelled. Patterns are measured by the same sampler.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from archsim.base.errors import SimulationError
from archsim.base.units import PS_PER_S
from archsim.facts.dram.device import AddressMap, ControllerPolicy, DramMemory
from archsim.memory.dram.fast_model import Refreshes
from archsim.memory.dram.interface import BurstAsker, DramCounters, RowList, Transfer, TransferCompletion, useful_bytes
from archsim.memory.dram.patterns import TransferPattern
from archsim.memory.dram.region_records import bursts_touched, folded, most_bursts
from archsim.memory.dram.sampling import PatternSample, PatternSampler
from archsim.sim.clock import ClockDomain


class AskersUnderWay:
    """The askers of the transfers under way. Those of one asker come one after the other, for it keeps their order."""

    def __init__(self) -> None:
        self._under_way: Counter[BurstAsker] = Counter()

    def begin(self, askers: Sequence[BurstAsker]) -> None:
        """A transfer of them comes."""
        self._under_way.update(askers)

    def end(self, askers: Sequence[BurstAsker]) -> None:
        """A transfer of them is through."""
        self._under_way.subtract(askers)
        for asker in askers:
            if not self._under_way[asker]:
                del self._under_way[asker]

    @property
    def behind_others(self) -> int:
        """Transfers that another one of their engine, or of their port, comes before."""
        behind: Counter[str] = Counter()
        for asker, transfers in self._under_way.items():
            behind[asker.name[0]] += transfers - 1
        return max(behind.values(), default=0)


SCALE = 1 << 20  # parts of a picosecond in which work is kept
REMEMBERED = 64  # ends of transfers, for those that follow them
_NONE = -1  # the pattern of a transfer of nothing
_NOTHING = PatternSample(0, 0, 0, 0, 0, 0)
NEVER_PS = 1 << 62


@dataclass(slots=True)
class _Job:
    """A transfer under way; ``pattern``: its number."""

    transfer: Transfer
    pattern: int
    useful: int
    sample: PatternSample
    start_ps: int
    asked_ps: int


class SharedDram:
    """The DRAM interface at measured rates; arguments as FastDram."""

    def __init__(
        self, dram: DramMemory, policy: ControllerPolicy, mapping: AddressMap, *, interleave_bytes: int
    ) -> None:
        self.dram = dram
        self._policy = policy
        self._clock = ClockDomain(dram.device.clock_hz)
        self._sampler = PatternSampler(dram, policy, mapping, interleave_bytes)
        self._refreshes = Refreshes(dram, policy)
        self._served: list[tuple[int, int, _Job]] = []  # by the work done in all at which they are through
        self._ending: list[tuple[int, int, TransferCompletion]] = []
        self._numbers: dict[TransferPattern, int] = {}
        self._known: list[TransferPattern] = []  # by number
        self._wholes: dict[int, PatternSample] = {}
        self._ends: dict[int, None] = {}  # where the last contiguous transfers end
        self._patterns: dict[int, int] = {}  # transfers under way of each
        self._asking = AskersUnderWay()
        self._pace: Fraction | None = None  # None: to be found
        self._paces: dict[tuple[int, tuple[tuple[int, int], ...]], Fraction] = {}  # by the transfers of each pattern
        self._work = 0  # that a transfer under way from the start would have had, in parts of a picosecond
        self._submitted = 0
        self._submitted_ps = self._reached_ps = self._now_ps = 0
        self._total = [0] * 9
        self._first_ps: int | None = None  # the first transfer came
        self._under_way_ps = 0  # time with transfers under way

    def submit(self, at_ps: int, transfers: Sequence[Transfer]) -> None:
        """Take the transfers of one instant; raises SimulationError as DramController does."""
        if at_ps < max(self._now_ps, self._submitted_ps):
            raise SimulationError(f"DRAM: transfer submitted at {at_ps} ps, after it reached {self._now_ps} ps")
        self._submitted_ps = at_ps
        if not transfers:
            return
        self._progress(at_ps)
        for transfer in transfers:
            self._begin(at_ps, transfer)

    def advance(self, until_ps: int) -> list[TransferCompletion]:
        """All completions of the first instant <= ``until_ps`` that has one, or []."""
        if until_ps < self._now_ps:
            raise SimulationError(f"DRAM: told to run to {until_ps} ps, already at {self._now_ps} ps")
        while (served_ps := self._next_served_ps()) <= min(until_ps, self._next_end_ps()):
            self._progress(served_ps)
            self._retire(served_ps)
        instant = self._next_end_ps()
        if instant > until_ps:
            self._now_ps = until_ps
            return []
        found = []
        while self._ending and self._ending[0][0] == instant:
            found.append(heapq.heappop(self._ending)[2])
        self._now_ps = instant
        return found

    def next_event_ps(self) -> int | None:
        """A lower bound of the next completion; None when nothing is under way."""
        if not self._served and not self._ending:
            return None
        return min(self._next_end_ps(), self._next_served_ps())

    def entry(self, at_ps: int, *, align: bool) -> bytes:
        """Where ``at_ps`` lies between edges, and where the last transfers ended."""
        self.advance(at_ps)
        return self._clock.phase(at_ps) + repr(list(self._ends)).encode()

    @property
    def stats(self) -> DramCounters:
        """Totals of completed transfers; rows are those of the samples in proportion."""
        reads, writes, useful_read, useful_written, hits, misses, conflicts, activates, busy = self._total
        size = self.dram.device.burst_bytes
        return DramCounters(
            reads=reads,
            writes=writes,
            read_bytes=reads * size,
            write_bytes=writes * size,
            useful_read_bytes=useful_read,
            useful_write_bytes=useful_written,
            row_hits=hits,
            row_misses=misses,
            row_conflicts=conflicts,
            activates=activates,
            refreshes=self._refreshes.until(self._now_ps),
            open_ps=self._open_ps() * self.dram.channels * self.dram.device.ranks,
            busy_ps=(busy // self.dram.channels,) * self.dram.channels,
        )

    def _open_ps(self) -> int:
        """The time in which rows are taken to be open."""
        if self._policy.rows != "open":
            return self._under_way_ps
        return 0 if self._first_ps is None else self._now_ps - self._first_ps

    # ---- sharing

    def _begin(self, at_ps: int, transfer: Transfer) -> None:
        run_bytes, extents, strides, useful = folded(transfer, self.dram.capacity_bytes)
        self._submitted += 1
        self._first_ps = at_ps if self._first_ps is None else self._first_ps
        asked_ps = _asked_ps(at_ps, transfer)
        if not useful:
            visible_ps = self._clock.edge(self._clock.cycle(at_ps + 1))
            self._end(visible_ps, _Job(transfer, _NONE, 0, _NOTHING, visible_ps, asked_ps), self._submitted)
            return
        size = self.dram.device.burst_bytes
        asked = tuple((asker.requests, asker.hz) for asker in transfer.askers)
        if transfer.rows is None:
            limit = transfer.outstanding
            limit = None if limit is None or limit >= most_bursts(transfer, useful, size) else limit
            follows = transfer.address in self._ends
            of_region = (transfer.write, transfer.address % size, run_bytes, extents, strides, follows, limit)
            pattern = self._number(TransferPattern(*of_region, asked=asked))
            sample = self._whole(pattern)
        else:
            pattern, sample = self._listed(transfer, transfer.rows, asked)
        if run_bytes == useful:
            self._ends[transfer.address + run_bytes] = None
        if len(self._ends) > REMEMBERED:
            del self._ends[next(iter(self._ends))]
        job = _Job(transfer, pattern, useful, sample, at_ps, asked_ps)
        self._patterns[pattern] = self._patterns.get(pattern, 0) + 1
        self._asking.begin(transfer.askers)
        self._pace = None
        heapq.heappush(self._served, (self._work + job.sample.work_ps * SCALE, self._submitted, job))

    def _number(self, pattern: TransferPattern) -> int:
        """The number of a pattern."""
        number = self._numbers.get(pattern)
        if number is None:
            number = self._numbers[pattern] = len(self._known)
            self._known.append(pattern)
        return number

    def _listed(
        self, transfer: Transfer, rows: RowList, asked: tuple[tuple[int, int], ...]
    ) -> tuple[int, PatternSample]:
        """The pattern of a list of rows, and the work of all of its bursts."""
        kind, bursts = self._sampler.kind(rows)
        pattern = TransferPattern(transfer.write, 0, 0, (), (), False, transfer.outstanding, kind, asked)
        sample = self._sampler.sample(pattern).scaled(bursts)
        on_pins = -(-useful_bytes(transfer) * PS_PER_S // self.dram.peak_bytes_per_s)
        return self._number(pattern), replace(sample, work_ps=max(sample.work_ps, on_pins))

    def _whole(self, number: int) -> PatternSample:
        """The work of all bursts of a pattern."""
        found = self._wholes.get(number)
        if found is None:
            pattern = self._known[number]
            _, offset, run_bytes, extents, strides, *_ = pattern
            lowest = sum(min(0, (n - 1) * s) for n, s in zip(extents, strides, strict=True))
            size = self.dram.device.burst_bytes
            bursts = bursts_touched(offset - lowest // size * size, run_bytes, extents, strides, size)
            found = self._wholes[number] = self._sampler.sample(pattern).scaled(bursts)
        return found

    def _speed(self) -> Fraction:
        """Work that each transfer under way gets in a picosecond."""
        if self._pace is None:
            crowd = tuple(sorted(self._patterns.items()))
            together = sum(self._patterns.values()) - self._asking.behind_others
            self._pace = self._paces.get((together, crowd))
            if self._pace is None:
                by_pattern = {self._known[item]: n for item, n in crowd}
                self._pace = self._paces[together, crowd] = self._pace_of(by_pattern, together)
        return self._pace

    def _pace_of(self, crowd: Mapping[TransferPattern, int], together: int) -> Fraction:
        """The same with so many transfers of each pattern under way, ``together`` of them at a time."""
        both = len({pattern.write for pattern in crowd}) == 2
        costs = (n / self._sampler.speed(pattern, together, both=both) for pattern, n in crowd.items())
        return 1 / sum(costs, Fraction(0))

    def _progress(self, to_ps: int) -> None:
        """Share out the time up to ``to_ps``, in which nobody comes or goes."""
        if self._served:
            speed = self._speed()
            self._under_way_ps += to_ps - self._reached_ps
            self._work += (to_ps - self._reached_ps) * SCALE * speed.numerator // speed.denominator
        self._reached_ps = to_ps

    def _next_served_ps(self) -> int:
        if not self._served:
            return NEVER_PS
        speed = self._speed()
        left = max(0, self._served[0][0] - self._work)
        return self._reached_ps + -(-left * speed.denominator // (SCALE * speed.numerator))

    def _retire(self, now_ps: int) -> None:
        work, order, job = heapq.heappop(self._served)
        self._work = max(self._work, work)
        self._patterns[job.pattern] -= 1
        self._asking.end(job.transfer.askers)
        self._pace = None
        if not self._patterns[job.pattern]:
            del self._patterns[job.pattern]
        self._end(now_ps + self._sampler.latency_ps[job.transfer.write], job, order)

    def _end(self, time_ps: int, job: _Job, order: int) -> None:
        transfer, sample = job.transfer, job.sample
        end_ps = self._clock.at_or_after(time_ps)
        start_ps = min(end_ps, job.start_ps + self._sampler.latency_ps[transfer.write])
        rows = (sample.hits, sample.misses, sample.conflicts)
        pin_bytes = sample.bursts * self.dram.device.burst_bytes
        done = TransferCompletion(
            transfer.id, end_ps, start_ps, transfer.write, job.useful, pin_bytes, *rows, sample.activates, job.asked_ps
        )
        heapq.heappush(self._ending, (end_ps, order, done))
        self._add(transfer.write, sample, job.useful)

    def _add(self, write: bool, sample: PatternSample, useful: int) -> None:
        bus_ps = self._clock.edge(sample.bursts * self.dram.device.burst_cycles // self.dram.device.buses)
        of_direction = (0, sample.bursts, 0, useful) if write else (sample.bursts, 0, useful, 0)
        added = (*of_direction, sample.hits, sample.misses, sample.conflicts, sample.activates, bus_ps)
        self._total = [before + more for before, more in zip(self._total, added, strict=True)]

    def _next_end_ps(self) -> int:
        return self._ending[0][0] if self._ending else NEVER_PS


def _asked_ps(at_ps: int, transfer: Transfer) -> int:
    """When the engine asks for the last row, if it never waits for one; 0 without rows."""
    if transfer.rows is None:
        return 0
    clock = ClockDomain(transfer.rows.engine_hz)
    return clock.edge(clock.cycle(at_ps) + transfer.rows.count * transfer.rows.setup_cycles)
