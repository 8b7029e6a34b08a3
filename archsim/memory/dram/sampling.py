"""Rates of the exact DRAM model, measured on the first bursts of each pattern of transfers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from itertools import count, islice
from random import Random

import numpy as np

from archsim.base.measured import MeasuredIntegers, MeasuredModel
from archsim.base.units import PS_PER_S
from archsim.facts.dram.device import AddressMap, ControllerPolicy, DramMemory
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.interface import MAX_OUTER_EXTENTS, RowList, Transfer, TransferCompletion, useful_bytes
from archsim.memory.dram.patterns import RowListKind, TransferPattern, askers_of, first_of, rows_sha256
from archsim.memory.dram.patterns import reach as reach_of
from archsim.memory.dram.region_records import bursts_of_rows, bursts_touched
from archsim.sim.clock import ClockDomain

MEASURED = MeasuredModel(
    "dram", "DRAM", ("archsim.memory.dram", "archsim.facts.dram", "archsim.sim.clock", "archsim.base.jit")
)
SAMPLE_BURSTS = 2048
CROWDS = (64, 16, 8, 4, 2)  # transfers of a pattern at once
OPENED = 256  # rows that are opened all over the memory before a pattern is measured
ROUNDS = 4  # of as many transfers as are under way
MORE_PLACES = 8  # times as many of an eighth where few bursts are under way: which banks they meet in decides
TURNS = 2  # on each channel that a transfer of a crowd has at least, if it is so long: in them it closes others' rows
_SCATTER = 0x9E3779B1  # a place far away
REFRESHES = 4  # a stream that spans so many tells what they cost
_FAR_PS = 10**15
RATIO, SAMPLE, LATENCY = (1, 1), (1, 1, 0, 0, 0, 0), (0,)  # the least numbers that a measurement can have


@dataclass(frozen=True, slots=True)
class PatternSample:
    """What the exact model made of the first bursts of a pattern: time beyond the latency, and its rows."""

    bursts: int
    work_ps: int
    hits: int
    misses: int
    conflicts: int
    activates: int

    def scaled(self, bursts: int) -> PatternSample:
        """The same of another number of bursts."""
        numbers = (self.work_ps, self.hits, self.misses, self.activates)
        work_ps, hits, misses, activates = (round(Fraction(n * bursts, self.bursts)) for n in numbers)
        return PatternSample(bursts, work_ps, hits, misses, bursts - hits - misses, activates)


class PatternSampler:
    """Measures patterns on the exact model, each once (of all runs: see Measured).

    ``latency_ps`` of one burst but for its time on the bus, by direction (True: write); ``pace``: the share of time
    that refreshes leave a stream.
    """

    def __init__(self, dram: DramMemory, policy: ControllerPolicy, mapping: AddressMap, interleave_bytes: int) -> None:
        self._dram, self._mapping, self._interleave_bytes = dram, mapping, interleave_bytes
        self._policy, self._quiet = policy, replace(policy, refresh="none")
        self._clock = ClockDomain(dram.device.clock_hz)
        self._measured = MeasuredIntegers(MEASURED, (dram, policy, mapping, interleave_bytes))
        self._samples: dict[TransferPattern, PatternSample] = {}
        self._rows: dict[RowListKind, RowList] = {}
        self.latency_ps = {write: self._latency(write) for write in (False, True)}
        device = dram.device
        intervals = {"all_bank": device.refresh_cycles, "per_bank": device.bank_refresh_cycles * device.all_banks}
        self._interval_cycles = intervals.get(policy.refresh, 0)
        self._interval_ps = self._clock.edge(self._interval_cycles)
        self.pace = Fraction(*self._measured.numbers("pace", lambda: self._refreshing().as_integer_ratio(), RATIO))
        self._speeds: dict[tuple[TransferPattern, int, bool], Fraction] = {}

    def kind(self, rows: RowList) -> tuple[RowListKind, int]:
        """The kind of a list, and its bursts."""
        bursts = int(bursts_of_rows(rows, self._dram.device.burst_bytes).sum())
        kind = RowListKind(-(-8 * bursts // rows.count), rows.setup_cycles, rows.engine_hz)
        if kind not in self._rows:
            self._rows[kind] = rows
        return kind, bursts

    def sample(self, pattern: TransferPattern) -> PatternSample:
        """What the exact model makes of a pattern."""
        found = self._samples.get(pattern)
        if found is None:
            what = ("sample", *self._told(pattern))
            told = self._measured.numbers(what, lambda: astuple(self._measure(pattern)), SAMPLE)
            found = self._samples[pattern] = PatternSample(*told)
        return found

    def speed(self, pattern: TransferPattern, transfers: int, *, both: bool) -> Fraction:
        """Speed of the memory with refreshes under so many transfers of a pattern against one at a time without.

        ``both`` read and written. Several are slower than one where they close one another's rows, and faster where
        they use different channels or banks, or where an engine leaves the memory idle.
        """
        crowd = next((level for level in CROWDS if level <= transfers), 1)
        found = self._of_crowd(pattern, crowd, both=both)
        if not pattern.is_paced or crowd == transfers or crowd == CROWDS[0]:
            return found
        above = next(level for level in reversed(CROWDS) if level > transfers)  # each one more brings as much, at most
        return min(found * transfers / crowd, max(found, self._of_crowd(pattern, above, both=both)))

    def share(self, count: int, run_bytes: int, stride: int, apart_bytes: int = 0) -> Fraction:
        """What is left of the peak to ``count`` reads at a time of runs that are ``stride`` bytes apart; those that
        begin together lie ``apart_bytes`` from one another (0: anywhere)."""
        size = SAMPLE_BURSTS * self._dram.device.burst_bytes
        extents, strides = [1] * MAX_OUTER_EXTENTS, [0] * MAX_OUTER_EXTENTS
        extents[-1], strides[-1] = max(1, size // run_bytes), stride if run_bytes < size else 0
        pattern = TransferPattern(False, 0, run_bytes, tuple(extents), tuple(strides), apart_bytes=apart_bytes)
        useful_ps = run_bytes * extents[-1] * PS_PER_S / Fraction(self._dram.peak_bytes_per_s)
        whole = self.sample(pattern).scaled(extents[-1] * -(-run_bytes // self._dram.device.burst_bytes))
        return useful_ps * self.speed(pattern, count, both=False) / whole.work_ps

    def _of_crowd(self, pattern: TransferPattern, crowd: int, *, both: bool) -> Fraction:
        key = (pattern, crowd, both and crowd > 1)
        if key not in self._speeds:
            told = ("speed", *self._told(pattern), *key[1:])
            self._speeds[key] = Fraction(
                *self._measured.numbers(told, lambda: self._measure_crowd(*key).as_integer_ratio(), RATIO)
            )
        return self._speeds[key]

    def _told(self, pattern: TransferPattern) -> tuple[TransferPattern, str]:
        """All that decides what is measured of a pattern."""
        return pattern, "" if pattern.kind is None else rows_sha256(self._rows[pattern.kind])

    def _measure_crowd(self, pattern: TransferPattern, crowd: int, both: bool) -> Fraction:
        transfers = self._crowd(pattern, crowd, both)
        gain = Fraction(1) if crowd == 1 else min(self._gain(pattern, transfers, crowd), self._most(pattern))
        return gain * self._left(pattern, transfers, crowd)

    def _measure(self, pattern: TransferPattern) -> PatternSample:
        size = self._dram.device.burst_bytes
        one = self._first_of(pattern, SAMPLE_BURSTS)
        before = Transfer(
            1, False, 0, size, (OPENED,), (_SCATTER * size % self._dram.capacity_bytes // OPENED // size * size,)
        )
        if pattern.follows:
            before, one = one, replace(one, address=one.address + one.run_bytes)
        model = self._model(one)
        model.submit(0, [before])
        (ended,) = model.advance(_FAR_PS)
        model.submit(ended.time_ps, [one])
        (done,) = model.advance(_FAR_PS)
        work_ps = max(self._on_pins(one), done.time_ps - ended.time_ps - self.latency_ps[pattern.write])
        rows = (done.row_hits, done.row_misses, done.row_conflicts)
        return PatternSample(done.pin_bytes // size, work_ps, *rows, activates=done.activates)

    def _crowd(self, pattern: TransferPattern, crowd: int, both: bool) -> list[Transfer]:
        """Transfers of a pattern at many places, for ``crowd`` of them under way at a time."""
        places = MORE_PLACES if pattern.outstanding is not None and crowd > 1 else 1
        turns = min(SAMPLE_BURSTS, TURNS * self._policy.turn_bursts * self._dram.channels)
        bursts = SAMPLE_BURSTS if pattern.apart_bytes else max(turns, SAMPLE_BURSTS // crowd)
        one = self._first_of(pattern, bursts // places)
        reach = reach_of(one) if one.rows is None else 0
        transfers = []
        addresses = self._places(pattern, crowd, reach, one.run_bytes)
        for i, place in enumerate(islice(addresses, ROUNDS * places * crowd)):
            write = pattern.write != (both and i % 2 == 1)
            transfers.append(replace(self._moved(one, place, i, write), askers=askers_of(pattern, i)))
        return transfers

    def _places(self, pattern: TransferPattern, crowd: int, reach: int, run_bytes: int) -> Iterator[int]:
        """Addresses of a pattern's transfers, each with its ``reach``: each anywhere, or on streams, which begin
        anywhere or as far apart as the pattern says."""
        rng, size = Random(crowd), self._dram.device.burst_bytes
        room = max(1, self._dram.capacity_bytes - reach) // size
        streams, step = [rng.randrange(room) * size for _ in range(crowd)], run_bytes
        if pattern.apart_bytes:
            streams, step = [at * pattern.apart_bytes for at in range(crowd)], reach
        moves_on = pattern.follows or pattern.apart_bytes
        for i in count():
            yield streams[i % crowd] + i // crowd * step if moves_on else rng.randrange(room) * size

    def _gain(self, pattern: TransferPattern, transfers: Sequence[Transfer], crowd: int) -> Fraction:
        """Speed with ``crowd`` of the transfers under way against their work alone, both without refreshes."""
        latency = sum(self.latency_ps[each.write] for each in transfers)
        least = len(transfers) * self._on_pins(transfers[0])
        together = max(least, self._in_turns(transfers, crowd) - latency // crowd)
        return Fraction(self._alone(pattern, transfers), together)

    def _alone(self, pattern: TransferPattern, transfers: Sequence[Transfer]) -> int:
        """Work of the transfers as it is counted: as many bursts of the pattern."""
        if pattern.is_paced:
            latency = sum(self.latency_ps[each.write] for each in transfers)
            return max(len(transfers) * self._on_pins(transfers[0]), self._in_turns(transfers, 1) - latency)
        one, size = transfers[0], self._dram.device.burst_bytes
        bursts = bursts_touched(pattern.offset, one.run_bytes, one.extents, one.strides, size)
        return len(transfers) * self.sample(pattern).scaled(bursts).work_ps

    def _most(self, pattern: TransferPattern) -> Fraction:
        """Speed at which the work of a pattern keeps the data pins busy all the time."""
        sample = self.sample(pattern)
        bus = self._clock.edge(sample.bursts * self._dram.device.burst_cycles)
        return Fraction(sample.work_ps * self._dram.channels * self._dram.device.buses, max(1, bus))

    def _left(self, pattern: TransferPattern, transfers: Sequence[Transfer], crowd: int) -> Fraction:
        """The share of their time that refreshes leave transfers.

        Paced ones have some of the refreshes in the time in which the memory is idle: their share is
        measured, on as many of them as span some intervals. All others have that of a stream.
        """
        if self._interval_ps == 0 or not pattern.is_paced:
            return self.pace
        quiet_ps = self._in_turns(transfers, crowd)
        if quiet_ps < REFRESHES * self._interval_ps:
            transfers = [*transfers] * -(-REFRESHES * self._interval_ps // quiet_ps)
            quiet_ps = self._in_turns(transfers, crowd)
        return min(Fraction(1), Fraction(quiet_ps, self._in_turns(transfers, crowd, self._policy)))

    def _first_of(self, pattern: TransferPattern, most_bursts: int) -> Transfer:
        """The first bursts of a pattern, about ``most_bursts``."""
        size = self._dram.device.burst_bytes
        if pattern.kind is None:
            return first_of(pattern, most_bursts, size)
        rows = self._rows[pattern.kind]
        count = max(1, min(rows.count, int(np.searchsorted(np.cumsum(bursts_of_rows(rows, size)), most_bursts))))
        runs = max(1, int(np.searchsorted(rows.row, count)))
        count = max(count, int(rows.row[runs - 1]) + 1)
        first = replace(
            rows, count=count, addresses=rows.addresses[:runs], sizes=rows.sizes[:runs], row=rows.row[:runs]
        )
        askers = askers_of(pattern, 0)
        return Transfer(0, pattern.write, 0, 0, outstanding=pattern.outstanding, rows=first, askers=askers)

    def _moved(self, transfer: Transfer, place: int, number: int, write: bool) -> Transfer:
        """The same ``place`` bytes further on; rows at the end of the memory come round to its start."""
        rows, size = transfer.rows, self._dram.device.burst_bytes
        if rows is not None:
            room = (self._dram.capacity_bytes - int(rows.sizes.max())) // size * size
            rows, place = replace(rows, addresses=(rows.addresses + place) % room), 0
        region = transfer.run_bytes, transfer.extents, transfer.strides
        return Transfer(number, write, transfer.address + place, *region, transfer.outstanding, rows)

    def _on_pins(self, transfer: Transfer) -> int:
        """What the useful bytes of a transfer take on the data pins, in ps."""
        return max(1, useful_bytes(transfer) * PS_PER_S // self._dram.peak_bytes_per_s)

    def _in_turns(self, transfers: Sequence[Transfer], most: int, policy: ControllerPolicy | None = None) -> int:
        """The end of all, with ``most`` under way at any time; without refreshes but for a ``policy`` that has them."""
        return self._model(*transfers, policy=policy).in_turns(transfers, most)

    def _exact(self, *transfers: Transfer, policy: ControllerPolicy | None = None) -> list[TransferCompletion]:
        model = self._model(*transfers, policy=policy)
        model.submit(0, transfers)
        found: list[TransferCompletion] = []
        while model.next_event_ps() is not None:
            found += model.advance(_FAR_PS)
        return found

    def _model(self, *transfers: Transfer, policy: ControllerPolicy | None = None) -> DramController:
        """An exact controller with room for ``transfers``."""
        dram = replace(self._dram, capacity_bytes=max([self._dram.capacity_bytes, *map(reach_of, transfers)]))
        return DramController(dram, policy or self._quiet, self._mapping, interleave_bytes=self._interleave_bytes)

    def _latency(self, write: bool) -> int:
        return self._measured.numbers(f"latency {write}", lambda: (self._first(write),), LATENCY)[0]

    def _first(self, write: bool) -> int:
        """The latency of one burst but for its time on the bus."""
        (done,) = self._exact(Transfer(0, write, 0, self._dram.device.burst_bytes))
        return done.time_ps - self._clock.edge(self._dram.device.burst_cycles)

    def _refreshing(self) -> Fraction:
        """The share of time that refreshes leave a stream."""
        if not self._interval_ps:
            return Fraction(1)
        device = self._dram.device
        bursts = REFRESHES * self._interval_cycles // device.burst_cycles * device.buses * self._dram.channels
        stream = Transfer(0, False, 0, bursts * device.burst_bytes)
        with_refresh = self._exact(stream, policy=self._policy)[0].time_ps
        return Fraction(self._exact(stream)[0].time_ps, with_refresh)
