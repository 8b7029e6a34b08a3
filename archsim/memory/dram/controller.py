"""The DRAM controller, command by command, behind the co-simulation interface.

Time inside is counted in DRAM clock cycles by compiled code (compiled/serve.py states the rules); this class tells
it shapes and askers, hands over requests, and makes every array larger that is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from archsim.base import served
from archsim.base.errors import ConfigError, SimulationError
from archsim.base.units import PS_PER_S
from archsim.facts.dram.address import DEFAULT, by_name
from archsim.facts.dram.device import AddressMap, ControllerPolicy, DramMemory
from archsim.memory.dram import state
from archsim.memory.dram.compiled.records import (
    USEFUL_READ,
    USEFUL_WRITTEN,
)
from archsim.memory.dram.in_code import DramPartInCode
from archsim.memory.dram.interface import DramCounters, RowList, Transfer
from archsim.memory.dram.region_records import listed_words, shape_words
from archsim.sim.clock import ClockDomain


class DramController(DramPartInCode):
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
        from archsim.memory.dram.compiled import serve, slots  # the compiler is slow to import: only now

        policy = policy or ControllerPolicy()
        interleave = dram.device.burst_bytes if interleave_bytes is None else interleave_bytes
        _check_options(dram, interleave, policy)
        self.policy = policy
        self.mapping = mapping or by_name(DEFAULT, dram.device)
        self._clock = ClockDomain(dram.device.clock_hz)
        self._realign = serve.realign
        initial = state.initial(dram, policy, self.mapping, interleave, log=log)
        super().__init__(dram, initial, (slots.submit, serve.advance))

    def least_ps(self, size_bytes: int, *, write: bool) -> int:
        """No transfer of ``size_bytes`` ends sooner after it was submitted: queued writes may serve or absorb some."""
        device = self.dram.device
        absorbed = self.dram.channels * self.policy.write_queue * device.burst_bytes
        first = self._clock.edge((device.write_latency if write else device.read_latency) + device.burst_cycles)
        return first - self._clock.edge(1) + max(0, size_bytes - absorbed) * PS_PER_S // self.dram.peak_bytes_per_s

    def in_turns(self, transfers: Sequence[Transfer], most: int) -> int:
        """The end of all of ``transfers``, in ps, with ``most`` under way at a time from time 0 on: each is submitted
        when one before it has ended. Nothing else may have been submitted."""
        self.submit(0, transfers[:most])
        first, end_ps = most, 0
        while self.next_event_ps() is not None:
            ended = self.advance(served.NEVER)
            end_ps = ended[0].time_ps
            self.submit(end_ps, transfers[first : first + len(ended)])
            first += len(ended)
        return end_ps

    @property
    def stats(self) -> DramCounters:
        """Totals since time 0 (see DramStats for when each is counted)."""
        channels, device = self._state.channels, self.dram.device
        reads, writes, activates, refreshes = state.issued(channels)
        bursts = (reads + writes).tolist()
        hits, misses, conflicts = (int(channels[name].sum()) for name in ("hits", "misses", "conflicts"))
        return DramCounters(
            reads=int(reads.sum()),
            writes=int(writes.sum()),
            read_bytes=int(reads.sum()) * device.burst_bytes,
            write_bytes=int(writes.sum()) * device.burst_bytes,
            useful_read_bytes=int(self._state.header[USEFUL_READ]),
            useful_write_bytes=int(self._state.header[USEFUL_WRITTEN]),
            row_hits=hits,
            row_misses=misses,
            row_conflicts=conflicts,
            activates=int(activates.sum()),
            refreshes=int(refreshes.sum()),
            open_ps=self._clock.edge(state.opened(channels, self._clock.cycle(self._now_ps))),
            busy_ps=tuple(self._clock.edge(n * device.burst_cycles // device.buses) for n in bursts),
        )

    @property
    def rank_refreshes(self) -> int:
        """Refreshes since time 0 in whole ranks."""
        return self.policy.in_ranks(self.dram.device, self.stats.refreshes)

    def entry(self, at_ps: int, *, align: bool) -> bytes:
        """Bring the idle controller to ``at_ps`` and say in which state it is, relative to then."""
        self.advance(at_ps)
        if self.next_event_ps() is not None:
            raise SimulationError("DRAM: asked for its state while transfers are under way")
        now = self._clock.cycle(at_ps)
        if align:
            self._called(self._table.entry(self._realign))(self._table.address, now, 0, 0)
        return state.relative(self._state, self._askers.values(), now) + self._clock.phase(at_ps)

    @property
    def commands(self) -> Sequence[Any]:
        """(n, 5) cycle, command, bank, row and column by channel; raises SimulationError when there were too many."""
        return state.commands(self._state)

    def _add_shape(self, number: int, transfer: Transfer) -> None:
        words = shape_words(transfer, self.dram.device.burst_bytes, self._first_words(transfer))
        self._tell(state.with_shape(self._state, number, words))

    def _staged(self, transfer: Transfer, rows: RowList) -> int:
        """Where the words of a list begin that is submitted now, behind those that are not taken yet."""
        first = state.next_staged(self._state)
        words = listed_words(transfer, rows, *self._sizes, self._first_words(transfer))
        self._tell(state.with_staged(self._state, first, words))
        return first

    def _make_room(self) -> None:
        self._tell(state.with_room(self._state))

    @property
    def _sizes(self) -> tuple[int, int]:
        return self.dram.capacity_bytes, self.dram.device.burst_bytes

    def _first_words(self, transfer: Transfer) -> list[int]:
        """The first words of the askers of a transfer, of whom nothing has come yet when they are new."""
        for asker in transfer.askers:
            if asker not in self._askers:
                told, self._askers[asker] = state.with_asker(self._state, asker.requests, asker.hz)
                self._tell(told)
        return [self._askers[asker] for asker in transfer.askers]


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
