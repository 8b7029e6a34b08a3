"""The fast model of DRAM: transfers share the memory's time at rates that were measured on the exact model.

A pattern is what decides a transfer's rate: direction, run, loops, where its first byte lies in a burst, and whether
it goes on where another one ended. The first bursts of each pattern (sampling.SAMPLE_BURSTS) are given to the exact
controller once, alone and without refresh; the time that they take beyond the latency of one burst is the work of so
many bursts. Transfers under way share the memory equally (processor sharing), which works at the harmonic mean of the
speeds that it was measured to have under as many transfers of each pattern, and end a latency after their work is
done. Refreshes take the share that they take of a long stream. A limit of bursts or rows under way is part of the
pattern, so that what it costs is measured too: bursts x size / latency at most; and with refreshes, part of which fall
into time in which the engine leaves the memory idle. Bursts that are offered so
many a cycle are paced alike; transfers of one asker come one after the other. Of lists of rows of as many bursts a
row, the first one met is measured for all. Rows are taken to be open in all ranks from the first transfer on where they
are left open, else while transfers are under way.

Time is shared out in whole numbers by compiled code (compiled/share.py), as the rational numbers of the paces say; this
class tells it what it does not know: patterns and crowds that it meets for the first time.

Not modelled: which rows earlier transfers left open, what unlike transfers cost one another beyond that mean, bursts
that are served from queued writes. docs/dram.md states the error against the exact model, which the tests assert.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from archsim.base.errors import SimulationError
from archsim.base.units import PS_PER_S
from archsim.facts.dram.device import AddressMap, ControllerPolicy, DramMemory
from archsim.memory.dram import fast_state
from archsim.memory.dram.compiled import fast_records as k
from archsim.memory.dram.compiled.records import NONE, USEFUL_READ, USEFUL_WRITTEN
from archsim.memory.dram.in_code import DramPartInCode
from archsim.memory.dram.interface import BurstAsker, DramCounters, RowList, Transfer, useful_bytes
from archsim.memory.dram.patterns import TransferPattern
from archsim.memory.dram.region_records import bursts_touched, folded, most_bursts, region_at_0
from archsim.memory.dram.sampling import PatternSample, PatternSampler
from archsim.sim.clock import ClockDomain

_NOTHING = PatternSample(0, 0, 0, 0, 0, 0)


class FastDram(DramPartInCode):
    """The DRAM interface at measured rates (fidelity ``fast``); arguments as DramController."""

    fidelity: ClassVar[str] = "fast"

    def __init__(
        self, dram: DramMemory, policy: ControllerPolicy, mapping: AddressMap, *, interleave_bytes: int
    ) -> None:
        from archsim.memory.dram.compiled import share  # the compiler is slow to import: only now

        self._policy = policy
        self._clock = ClockDomain(dram.device.clock_hz)
        self._sampler = PatternSampler(dram, policy, mapping, interleave_bytes)
        self._refreshes = Refreshes(dram, policy)
        self._of_shape: list[Transfer] = []  # one of each, by number
        self._kinds = 0
        self._numbers: dict[TransferPattern, int] = {}
        self._known: list[TransferPattern] = []  # by number
        self._lists: dict[int, tuple[Transfer, RowList]] = {}  # that have been submitted and not been taken
        self._listed: dict[tuple[int, ...], int] = {}  # the kinds of lists, by all that their rows say
        self._groups: dict[str, int] = {}
        self._paces: list[Fraction] = []  # of crowds
        self._words = 0  # of them
        latency_ps = self._sampler.latency_ps
        initial = fast_state.initial(dram, (latency_ps[False], latency_ps[True]))
        super().__init__(dram, initial, (share.submit, share.advance))

    def least_ps(self, size_bytes: int, *, write: bool) -> int:
        """Nothing is known but by the rates, with which the next completion is found."""
        return 0

    @property
    def rank_refreshes(self) -> int:
        """Refreshes since time 0 in whole ranks."""
        return self._policy.in_ranks(self.dram.device, self._refreshes.until(self._now_ps))

    def entry(self, at_ps: int, *, align: bool) -> bytes:
        """Where ``at_ps`` lies between edges, and where the last transfers ended."""
        self.advance(at_ps)
        return self._clock.phase(at_ps) + repr(fast_state.ends(self._state)).encode()

    @property
    def stats(self) -> DramCounters:
        """Totals of completed transfers; rows are those of the samples in proportion."""
        header = self._state.header
        reads, writes, *rows, busy_ps = header[k.READS : k.BUSY_PS + 1].tolist()
        hits, misses, conflicts, activates = rows
        size = self.dram.device.burst_bytes
        return DramCounters(
            reads=reads,
            writes=writes,
            read_bytes=reads * size,
            write_bytes=writes * size,
            useful_read_bytes=int(header[USEFUL_READ]),
            useful_write_bytes=int(header[USEFUL_WRITTEN]),
            row_hits=hits,
            row_misses=misses,
            row_conflicts=conflicts,
            activates=activates,
            refreshes=self._refreshes.until(self._now_ps),
            open_ps=self._open_ps() * self.dram.channels * self.dram.device.ranks,
            busy_ps=(busy_ps // self.dram.channels,) * self.dram.channels,
        )

    def _open_ps(self) -> int:
        """The time in which rows are taken to be open."""
        header = self._state.header
        if self._policy.rows != "open":
            return int(header[k.UNDER_WAY_PS])
        return 0 if header[k.FIRST_PS] == NONE else self._now_ps - int(header[k.FIRST_PS])

    # ---- what the compiled code asks for

    def _make_room(self) -> None:
        state = self._state
        lacks = int(state.header[k.LACKS])
        if lacks == k.SLOTS:
            self._tell(fast_state.with_slots(state))
        elif lacks == k.TRACE:
            self._tell(fast_state.with_trace(state))
        elif lacks == k.KINDS:
            self._find_kind(*state.header[k.LACK_WHAT : k.LACK_FOLLOWS + 1].tolist())
        elif lacks == k.LISTS:
            self._find_list(int(state.header[k.LACK_WHAT]))
        elif lacks == k.CROWDS:
            self._find_crowd()
        else:
            self._divide()

    def _add_shape(self, number: int, transfer: Transfer) -> None:
        run_bytes, _, _, useful, below, above = region_at_0(transfer)
        self._of_shape.append(transfer)
        row = below, above, useful, run_bytes if 0 < run_bytes == useful else NONE
        self._tell(fast_state.with_shape(self._state, number, row))

    def _staged(self, transfer: Transfer, rows: RowList) -> int:
        folded(transfer, self.dram.capacity_bytes)
        number = next(n for n in range(len(self._lists) + 1) if n not in self._lists)
        self._lists[number] = transfer, rows
        self._tell(fast_state.with_list(self._state, number))
        return number

    def _find_kind(self, shape: int, offset: int, follows: int) -> None:
        """Transfers of a shape whose first byte lies there in a burst, and that follow others or do not."""
        transfer, size = self._of_shape[shape], self.dram.device.burst_bytes
        run_bytes, extents, strides, useful, *_ = region_at_0(transfer)
        pattern, sample = NONE, _NOTHING
        if useful:
            limit = transfer.outstanding
            limit = None if limit is None or limit >= most_bursts(transfer, useful, size) else limit
            of_region = (transfer.write, offset, run_bytes, extents, strides, bool(follows), limit)
            found = TransferPattern(*of_region, asked=_asked(transfer))
            lowest = sum(min(0, (n - 1) * s) for n, s in zip(extents, strides, strict=True))
            bursts = bursts_touched(offset - lowest // size * size, run_bytes, extents, strides, size)
            pattern, sample = self._number(found), self._sampler.sample(found).scaled(bursts)
        found_by = int(self._state.header[k.LACK_HASH]), shape, offset, follows
        self._add_kind(found_by, pattern, self._facts(transfer, sample, useful))

    def _find_list(self, number: int) -> None:
        """A list of rows that is the next one to be taken."""
        transfer, rows = self._lists.pop(number)
        pattern, sample, useful = NONE, _NOTHING, useful_bytes(transfer)
        if useful:
            kind, bursts = self._sampler.kind(rows)
            found = TransferPattern(transfer.write, 0, 0, (), (), False, transfer.outstanding, kind, _asked(transfer))
            on_pins = -(-useful * PS_PER_S // self.dram.peak_bytes_per_s)
            pattern, sample = self._number(found), self._sampler.sample(found).scaled(bursts)
            sample = replace(sample, work_ps=max(sample.work_ps, on_pins))
        facts = *self._facts(transfer, sample, useful), rows.count * rows.setup_cycles, rows.engine_hz
        if (pattern, *facts) not in self._listed:
            self._listed[pattern, *facts] = self._add_kind((self._kinds, NONE, 0, 0), pattern, facts)
        self._state.listed[number] = self._listed[pattern, *facts]

    def _number(self, pattern: TransferPattern) -> int:
        """The number of a pattern."""
        number = self._numbers.get(pattern)
        if number is None:
            number = self._numbers[pattern] = len(self._known)
            self._known.append(pattern)
        return number

    def _facts(self, transfer: Transfer, sample: PatternSample, useful: int) -> tuple[int, ...]:
        """The columns of a kind from its work on, as far as they are not those of a list."""
        device = self.dram.device
        work = sample.work_ps * k.SCALE
        if work > k.MOST_WORK:
            raise SimulationError(
                f"DRAM: a transfer of {useful} B takes {sample.work_ps} ps; the fast model allows less than 1.1 s: "
                "move it in smaller parts, or use --fidelity exact"
            )
        bus_ps = self._clock.edge(sample.bursts * device.burst_cycles // device.buses)
        rows = sample.hits, sample.misses, sample.conflicts, sample.activates
        askers = (*[self._asker(asker) for asker in transfer.askers], NONE, NONE)[:2]
        return work, transfer.write, useful, sample.bursts * device.burst_bytes, *rows, bus_ps, *askers

    def _add_kind(self, found_by: tuple[int, ...], pattern: int, facts: tuple[int, ...]) -> int:
        """Tell the compiled code of a kind; ``found_by``: hash, shape (NONE: of a list), offset, whether it follows."""
        number, self._kinds = self._kinds, self._kinds + 1
        row = (*found_by, pattern, *facts)
        row += (0,) * (k.KIND_WIDTH - len(row))
        self._tell(fast_state.with_kind(self._state, number, row))
        return number

    def _asker(self, asker: BurstAsker) -> int:
        """The number of an asker."""
        number = self._askers.get(asker)
        if number is None:
            number = self._askers[asker] = len(self._askers)
            group = self._groups.setdefault(asker.name[0], len(self._groups))
            self._tell(fast_state.with_asker(self._state, number, group))
        return number

    def _find_crowd(self) -> None:
        """The pace of the transfers that are under way."""
        state = self._state
        together, patterns = int(state.header[k.TOGETHER]), int(state.header[k.PRESENT])
        crowd = state.present[:patterns].tolist()
        pace = self._pace_of({self._known[pattern]: n for pattern, n in crowd}, together)
        words = [together, patterns, *[word for pair in crowd for word in pair]]
        self._tell(fast_state.with_crowd(state, len(self._paces), self._words, words, pace))
        self._paces.append(pace)
        self._words += len(words)

    def _pace_of(self, crowd: Mapping[TransferPattern, int], together: int) -> Fraction:
        """Work that each transfer gets in a picosecond, with so many of each pattern under way, ``together`` of them
        at a time."""
        both = len({pattern.write for pattern in crowd}) == 2
        costs = (n / self._sampler.speed(pattern, together, both=both) for pattern, n in crowd.items())
        return 1 / sum(costs, Fraction(0))

    def _divide(self) -> None:
        """What a number times the present rate is, where that is too near to a whole number."""
        header = self._state.header
        rate, factor, side = int(header[k.PACE]), int(header[k.DIVIDED]), int(header[k.DIVIDED_SIDE])
        value = self._paces[rate] * k.SCALE
        whole, rest = divmod(factor * (1 / value if side == k.INVERSE else value), 1)
        at = k.ANSWERS + (k.ANSWER_WIDTH if side == k.INVERSE else 0)
        header[at : at + k.ANSWER_WIDTH] = rate, factor, whole, rest > 0


def _asked(transfer: Transfer) -> tuple[tuple[int, int], ...]:
    """Requests and clock of the askers of a transfer."""
    return tuple((asker.requests, asker.hz) for asker in transfer.askers)


class Refreshes:
    """Refresh commands of all channels, one after another at their interval."""

    def __init__(self, dram: DramMemory, policy: ControllerPolicy) -> None:
        device = dram.device
        self._clock = ClockDomain(device.clock_hz)
        intervals = {"all_bank": device.refresh_cycles, "per_bank": device.bank_refresh_cycles}
        self._interval = intervals.get(policy.refresh, 0)
        self._each = dram.channels * (device.ranks if policy.refresh == "all_bank" else 1)

    def until(self, time_ps: int) -> int:
        """Those due up to ``time_ps``."""
        return self._clock.cycle(time_ps) // self._interval * self._each if self._interval else 0
