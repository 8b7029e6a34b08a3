"""The DRAM controller, command by command, behind the co-simulation interface.

Time inside is counted in DRAM clock cycles by compiled code (compiled/serve.py states the rules); this class keeps
the slots of the transfers under way, turns picoseconds into edges and back, and grows every array before it is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

from archsim.base.errors import ConfigError, SimulationError
from archsim.base.units import PS_PER_S
from archsim.facts.dram.address import DEFAULT, by_name
from archsim.facts.dram.device import AddressMap, ControllerPolicy, DramMemory
from archsim.memory.dram import state
from archsim.memory.dram.compiled.records import ASKER, ASKERS, NEVER, NONE, REQUEST_WORDS, RUN
from archsim.memory.dram.free_ranges import FreeEntries
from archsim.memory.dram.interface import BurstAsker, DramCounters, Transfer, TransferCompletion
from archsim.memory.dram.region_records import bursts_of_rows, bursts_touched, folded, most_bursts
from archsim.sim.clock import ClockDomain


class DramController:
    """All channels of a DRAM part (fidelity ``exact``).

    ``interleave_bytes``: contiguous bytes on one channel, a power of two >= the burst; default one burst, so that the
    lowest address bits above the burst choose the channel. ``log``: keep every command (``commands``). Raises
    ConfigError on a value that cannot work.
    """

    fidelity: ClassVar[str] = "exact"

    def __init__(
        self,
        dram: DramMemory,
        policy: ControllerPolicy | None = None,
        mapping: AddressMap | None = None,
        *,
        interleave_bytes: int | None = None,
        log: bool = False,
    ) -> None:
        from archsim.memory.dram.compiled import serve

        policy = policy or ControllerPolicy()
        interleave = dram.device.burst_bytes if interleave_bytes is None else interleave_bytes
        _check_options(dram, interleave, policy)
        self.dram = dram
        self.policy = policy
        self.mapping = mapping or by_name(DEFAULT, dram.device)
        self._clock = ClockDomain(dram.device.clock_hz)
        self._compiled, self._turns, self._layout = serve, serve, state
        self._state = state.initial(dram, self.policy, self.mapping, interleave, log=log)
        self._rows = state.table(self._state.transfers)
        self._results = state.results()
        self._fresh = state.padded(self._state.done[:0], state.FIRST_SLOTS)
        self._fresh_count = 0
        self._free = list(range(state.FIRST_SLOTS - 1, -1, -1))
        self._transfers: list[Transfer | None] = [None] * state.FIRST_SLOTS
        self._useful = [0] * state.FIRST_SLOTS
        self._pool = FreeEntries(state.FIRST_WORDS)
        self._words: dict[int, tuple[int, int]] = {}  # by slot: first and number
        self._askers: dict[BurstAsker, int] = {}  # first words
        self._useful_total = [0, 0]
        self._submitted = 0
        self._next_end: int = NEVER
        self._submitted_ps = self._now_ps = 0

    @property
    def peak_bytes_per_s(self) -> Fraction:
        """Of the data pins of all channels."""
        return Fraction(self.dram.peak_bytes_per_s)

    def least_ps(self, size_bytes: int, *, write: bool) -> int:
        """No transfer of ``size_bytes`` ends sooner after it was submitted: queued writes may serve or absorb some."""
        device = self.dram.device
        absorbed = self.dram.channels * self.policy.write_queue * device.burst_bytes
        first = self._clock.edge((device.write_latency if write else device.read_latency) + device.burst_cycles)
        return first - self._clock.edge(1) + max(0, size_bytes - absorbed) * PS_PER_S // self.dram.peak_bytes_per_s

    def submit(self, at_ps: int, transfers: Sequence[Transfer]) -> None:
        """Hand over all transfers of the instant ``at_ps``, in service order; seen at the first edge after it.

        Raises SimulationError when ``at_ps`` is before the time reached or before an earlier submit, or a transfer is
        malformed or outside the memory.
        """
        reached_ps = max(self._now_ps, self._submitted_ps)
        if at_ps < reached_ps:
            raise SimulationError(f"DRAM: transfer submitted at {at_ps} ps, after the memory reached {reached_ps} ps")
        self._submitted_ps = at_ps
        visible = self._clock.cycle(at_ps + 1)
        for transfer in transfers:
            self._take_in(transfer, at_ps, visible)
        if transfers:
            self._next_end = min(self._next_end, visible)

    def advance(self, until_ps: int) -> list[TransferCompletion]:
        """Run to the first instant <= ``until_ps`` with a completion and return all of that instant, or []."""
        if until_ps < self._now_ps:
            raise SimulationError(f"DRAM: told to run to {until_ps} ps, already at {self._now_ps} ps")
        until = min(self._clock.cycle(until_ps + 1) - 1, NEVER - 1)
        count, self._next_end = self._compiled.advance(self._state, self._fresh, self._fresh_count, until)
        self._fresh_count = 0
        if not count:
            self._now_ps = until_ps
            return []
        completions = [self._complete(slot) for slot in self._state.done[:count].tolist()]
        self._now_ps = completions[0].time_ps
        return completions

    def in_turns(self, transfers: Sequence[Transfer], most: int) -> int:
        """The end of all of ``transfers``, in ps, with ``most`` under way at a time from time 0 on.

        As submitting each when one before it has ended, in one run of the compiled code: nothing else may have been
        submitted, and no completions are told.
        """
        for transfer in transfers:
            self._take_in(transfer, 0, self._clock.cycle(1))
        return self._clock.edge(self._turns.in_turns(self._state, self._fresh, self._fresh_count, most))

    def next_event_ps(self) -> int | None:
        """A lower bound of the next completion; None when nothing is under way."""
        if self._next_end == NEVER:
            return None
        return self._clock.edge(self._next_end)

    @property
    def stats(self) -> DramCounters:
        """Totals since time 0 (see DramStats for when each is counted)."""
        channels, device = self._state.channels, self.dram.device
        reads, writes, activates, refreshes = self._layout.issued(channels)
        bursts = (reads + writes).tolist()
        hits, misses, conflicts = (int(channels[name].sum()) for name in ("hits", "misses", "conflicts"))
        return DramCounters(
            reads=int(reads.sum()),
            writes=int(writes.sum()),
            read_bytes=int(reads.sum()) * device.burst_bytes,
            write_bytes=int(writes.sum()) * device.burst_bytes,
            useful_read_bytes=self._useful_total[0],
            useful_write_bytes=self._useful_total[1],
            row_hits=hits,
            row_misses=misses,
            row_conflicts=conflicts,
            activates=int(activates.sum()),
            refreshes=int(refreshes.sum()),
            open_ps=self._clock.edge(self._layout.opened(channels, self._clock.cycle(self._now_ps))),
            busy_ps=tuple(self._clock.edge(n * device.burst_cycles // device.buses) for n in bursts),
        )

    @property
    def rank_refreshes(self) -> int:
        """Refreshes since time 0 in whole ranks."""
        return self.policy.in_ranks(self.dram.device, self.stats.refreshes)

    def entry(self, at_ps: int, *, align: bool) -> bytes:
        """Bring the idle controller to ``at_ps`` and say in which state it is, relative to then."""
        self.advance(at_ps)
        if self._next_end != NEVER:
            raise SimulationError("DRAM: asked for its state while transfers are under way")
        now = self._clock.cycle(at_ps)
        if align:
            self._compiled.realign(self._state, now)
        return self._layout.relative(self._state, self._askers.values(), now) + self._clock.phase(at_ps)

    @property
    def commands(self) -> Sequence[Any]:
        """(n, 5) cycle, command, bank, row and column by channel; raises SimulationError when there were too many."""
        return self._layout.commands(self._state)

    def _take_in(self, transfer: Transfer, at_ps: int, visible: int) -> None:
        run_bytes, extents, strides, useful = folded(transfer, self.dram.capacity_bytes)
        if not self._free:
            self._grow()
        slot = self._free.pop()
        rows = transfer.rows
        paced, runs = self._paced(slot, transfer, useful)
        self._rows[slot] = (
            transfer.write, visible, self._submitted, transfer.address, run_bytes,
            extents[-1] if rows is None else runs, strides[-1], *extents[:-1], *strides[:-1], *paced,
            *self._asked(transfer, (run_bytes, extents, strides), useful),
            0, visible, NONE, 0, 0, NEVER, 0, 0, 0, 0, 0, at_ps if rows else 0, NONE,
        )  # fmt: skip
        self._transfers[slot] = transfer
        self._useful[slot] = useful
        self._fresh[self._fresh_count] = slot
        self._fresh_count += 1
        self._submitted += 1

    def _paced(self, slot: int, transfer: Transfer, useful: int) -> tuple[tuple[int, ...], int]:
        """The fields ``most`` to ``engine_hz`` of a transfer, and how many runs its rows have."""
        rows, burst_bytes = transfer.rows, self.dram.device.burst_bytes
        if rows is not None:
            most = min(transfer.outstanding or rows.count, rows.count)
            runs = len(rows.addresses)
            first = self._take_words(slot, REQUEST_WORDS * most + RUN * runs + rows.count)
            listed, sizes = first + REQUEST_WORDS * most, first + REQUEST_WORDS * most + RUN * runs
            table = self._state.words[listed:sizes].reshape(runs, RUN)
            table[:, 0], table[:, 1], table[:, 2] = rows.addresses, rows.sizes, rows.row
            self._state.words[sizes : sizes + rows.count] = bursts_of_rows(rows, burst_bytes)
            return (most, rows.count, first, listed, sizes, rows.setup_cycles, rows.engine_hz), runs
        most = transfer.outstanding or 0
        if not useful or most >= most_bursts(transfer, useful, burst_bytes):
            return (0, 0, 0, NONE, 0, 0, 0), 0
        first = self._take_words(slot, REQUEST_WORDS * most) if most else 0
        return (most, NEVER, first, NONE, 0, 0, 0), 0

    def _asked(
        self, transfer: Transfer, region: tuple[int, tuple[int, ...], tuple[int, ...]], useful: int
    ) -> tuple[int, ...]:
        """The fields ``bursts`` to ``bases`` of a transfer."""
        askers = [self._asker(asker) for asker in transfer.askers] if useful else []
        bursts, size = 0, self.dram.device.burst_bytes
        if askers and transfer.rows is not None:
            bursts = int(bursts_of_rows(transfer.rows, size).sum())
        elif askers:
            bursts = bursts_touched(transfer.address, *region, size)
        return (bursts, *askers, *[NONE] * (ASKERS - len(askers)), *[0] * ASKERS)

    def _asker(self, asker: BurstAsker) -> int:
        """The first word of an asker, of whom nothing has come yet when it is new."""
        first = self._askers.get(asker)
        if first is None:
            first = self._askers[asker] = self._stretch(ASKER + asker.requests)
            self._state.words[first : first + ASKER] = (asker.requests, asker.hz, 0, 0, 0)
        return first

    def _take_words(self, slot: int, count: int) -> int:
        first = self._stretch(count)
        self._words[slot] = first, count
        return first

    def _stretch(self, count: int) -> int:
        """The first of as many words that nobody has."""
        first = self._pool.take(count)
        if first is None:
            size = self._pool.size
            self._pool.give(size, max(size, count))
            words = self._layout.padded(self._state.words, max(size, count))
            self._state = self._state._replace(words=words)
            return self._stretch(count)
        return first

    def _complete(self, slot: int) -> TransferCompletion:
        first_beat, last_beat, hits, misses, conflicts, activates, asked_ps = self._rows[slot, self._results].tolist()
        transfer = self._transfers[slot]
        if transfer is None:
            raise SimulationError(f"DRAM: slot {slot} completed without a transfer")
        self._transfers[slot] = None
        if slot in self._words:
            self._pool.give(*self._words.pop(slot))
        self._free.append(slot)
        write, useful, clock = transfer.write, self._useful[slot], self._clock
        self._useful_total[write] += useful
        first_ps, last_ps = clock.edge(first_beat), clock.edge(last_beat)
        pin_bytes = (hits + misses + conflicts) * self.dram.device.burst_bytes
        rows = hits, misses, conflicts, activates
        return TransferCompletion(transfer.id, last_ps, first_ps, write, useful, pin_bytes, *rows, asked_ps)

    def _grow(self) -> None:
        """Double the number of slots; every array whose size depends on it grows here."""
        slots = len(self._transfers)
        self._state = self._layout.grown(self._state, slots)
        self._rows = self._layout.table(self._state.transfers)
        self._fresh = self._layout.padded(self._fresh, slots)
        self._transfers += [None] * slots
        self._useful += [0] * slots
        self._free += range(2 * slots - 1, slots - 1, -1)


def warm_up(dram: DramMemory) -> None:
    """Compile the compiled code, or load it from the cache, by moving one burst; seconds on an empty cache."""
    controller = DramController(dram)
    controller.submit(0, [Transfer(id=0, write=False, address=0, run_bytes=dram.device.burst_bytes)])
    while controller.next_event_ps() is not None:
        controller.advance(PS_PER_S)


def _check_options(dram: DramMemory, interleave_bytes: int, policy: ControllerPolicy) -> None:
    burst_bytes = dram.device.burst_bytes
    if interleave_bytes < burst_bytes or interleave_bytes & (interleave_bytes - 1):
        raise ConfigError(f"dram interleave: found {interleave_bytes} B; allowed powers of two >= {burst_bytes} B")
    if policy.turn_bursts < 1:
        raise ConfigError(f"dram turn_bursts: found {policy.turn_bursts}; allowed >= 1")
