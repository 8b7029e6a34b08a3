"""The DRAM controller, command by command, behind the co-simulation interface.

Time inside is counted in DRAM clock cycles by compiled code (compiled/serve.py states the rules); this class tells
it shapes and askers, hands over requests, and makes every array larger that is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from archsim.base import served
from archsim.base.errors import ConfigError, SimulationError
from archsim.base.served import CompiledModel
from archsim.base.units import PS_PER_S
from archsim.facts.dram.address import DEFAULT, by_name
from archsim.facts.dram.device import AddressMap, ControllerPolicy, DramMemory
from archsim.memory.dram import state
from archsim.memory.dram.compiled.records import (
    LISTED,
    MOVED,
    NOW_PS,
    OUTSIDE,
    USEFUL_READ,
    USEFUL_WRITTEN,
    DramState,
)
from archsim.memory.dram.interface import BurstAsker, DramCounters, RowList, Transfer, TransferCompletion
from archsim.memory.dram.region_records import folded, listed_words, shape_words
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
        from archsim.base.addressed import WordTable, called  # the compiler is slow to import: only now
        from archsim.memory.dram.compiled import serve, slots

        policy = policy or ControllerPolicy()
        interleave = dram.device.burst_bytes if interleave_bytes is None else interleave_bytes
        _check_options(dram, interleave, policy)
        self.dram = dram
        self.policy = policy
        self.mapping = mapping or by_name(DEFAULT, dram.device)
        self._clock = ClockDomain(dram.device.clock_hz)
        self._layout = state
        self._table = WordTable(state.initial(dram, self.policy, self.mapping, interleave, log=log))
        self._realign, self._called = serve.realign, called
        self._addresses = self._table.entry(slots.submit), self._table.entry(serve.advance)
        self._submit, self._advance = map(called, self._addresses)
        self._shapes: dict[Any, int] = {}  # numbers
        self._askers: dict[BurstAsker, int] = {}  # first words
        self._submitted_ps = 0
        self.is_traced = False

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
        rows = np.zeros((len(transfers), served.REQUEST_WIDTH), np.int64)
        for row, transfer in zip(rows, transfers, strict=True):
            what, where, number = self.request(transfer)
            row[served.TICKET :] = number, served.NONE, what, where, number
        taken = 0
        while taken < len(rows):
            rest = rows[taken:]
            taken += self._submit(self._table.address, at_ps, rest.ctypes.data, len(rest))
            if taken < len(rows):
                folded(transfers[taken], self.dram.capacity_bytes)
                self.make_room()

    def advance(self, until_ps: int) -> list[TransferCompletion]:
        """Run to the first instant <= ``until_ps`` with a completion and return all of that instant, or []."""
        if until_ps < self._now_ps:
            raise SimulationError(f"DRAM: told to run to {until_ps} ps, already at {self._now_ps} ps")
        count = self._advance(self._table.address, until_ps, 0, 0)
        while count == served.NO_ROOM:
            self.make_room()
            count = self._advance(self._table.address, until_ps, 0, 0)
        return [_completion(*row) for row in self._state.completions[:count, :-1].tolist()]

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

    def next_event_ps(self) -> int | None:
        """A lower bound of the next completion; None when nothing is under way."""
        next_ps = int(self._state.header[served.NEXT_PS])
        return None if next_ps == served.NEVER else next_ps

    # ---- in the compiled machine (``base.served``)

    def compiled(self) -> CompiledModel:
        """Where its compiled code and its memory lie."""
        places = (int(array.ctypes.data) for array in (self._state.completions, self._state.header))
        return CompiledModel(*self._addresses, self._table.address, *places)

    def request(self, transfer: Transfer) -> tuple[int, int, int]:
        """What a request of Python's says: WHAT, WHERE and ID of its row."""
        if transfer.rows is not None:
            return LISTED, self._staged(transfer, transfer.rows), transfer.id
        return self.shape(transfer), transfer.address, transfer.id

    def completion(self, number: int, place: int) -> TransferCompletion:
        """That the transfer of this number has ended, as row ``place`` of the completions says."""
        return _completion(number, *self._state.completions[place, 1:-1].tolist())

    def charge_to(self, layers: int) -> None:
        """Charge what the machine moves to so many layers."""
        self._tell(self._layout.charging(self._state, layers, traces=self.is_traced))

    @property
    def charged(self) -> Any:
        """What was moved for layers: (layers, 6) bytes on the pins read and written, row hits, misses and conflicts,
        and activates."""
        return self._state.charged

    @property
    def moved(self) -> Any:
        """Transfers for layers, if it ``is_traced``: (transfers, 9) the fields of a Bandwidth behind its memory."""
        return self._state.moved[: int(self._state.header[MOVED])]

    def make_room(self) -> None:
        """Make what room the compiled code lacks. Raises SimulationError for a transfer that leaves the memory."""
        if self._state.header[OUTSIDE]:
            raise SimulationError(f"DRAM: a transfer leaves the memory of {self.dram.capacity_bytes} B")
        self._tell(self._layout.with_room(self._state))

    @property
    def _state(self) -> DramState:
        state: DramState = self._table.value
        return state

    def _tell(self, state: DramState) -> None:
        """Tell the compiled code where its arrays lie, if some are others now."""
        if state is not self._table.value:
            self._table.write(state)

    @property
    def _now_ps(self) -> int:
        """The time reached."""
        return int(self._state.header[NOW_PS])

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
            useful_read_bytes=int(self._state.header[USEFUL_READ]),
            useful_write_bytes=int(self._state.header[USEFUL_WRITTEN]),
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
        if self.next_event_ps() is not None:
            raise SimulationError("DRAM: asked for its state while transfers are under way")
        now = self._clock.cycle(at_ps)
        if align:
            self._called(self._table.entry(self._realign))(self._table.address, now, 0, 0)
        return self._layout.relative(self._state, self._askers.values(), now) + self._clock.phase(at_ps)

    @property
    def commands(self) -> Sequence[Any]:
        """(n, 5) cycle, command, bank, row and column by channel; raises SimulationError when there were too many."""
        return self._layout.commands(self._state)

    def shape(self, transfer: Transfer) -> int:
        """The number of the shape of a transfer, wherever it begins. Raises SimulationError for a malformed one."""
        of_region = transfer.write, transfer.run_bytes, transfer.extents, transfer.strides
        key = (*of_region, transfer.outstanding, transfer.askers)
        number = self._shapes.get(key)
        if number is None:
            words = shape_words(transfer, self.dram.device.burst_bytes, self._first_words(transfer))
            number = self._shapes[key] = len(self._shapes)
            self._tell(self._layout.with_shape(self._state, number, words))
        return number

    def _staged(self, transfer: Transfer, rows: RowList) -> int:
        """Where the words of a list begin that is submitted now, behind those that are not taken yet."""
        first = self._layout.next_staged(self._state)
        words = listed_words(transfer, rows, *self._sizes, self._first_words(transfer))
        self._tell(self._layout.with_staged(self._state, first, words))
        return first

    @property
    def _sizes(self) -> tuple[int, int]:
        return self.dram.capacity_bytes, self.dram.device.burst_bytes

    def _first_words(self, transfer: Transfer) -> list[int]:
        """The first words of the askers of a transfer, of whom nothing has come yet when they are new."""
        for asker in transfer.askers:
            if asker not in self._askers:
                state, self._askers[asker] = self._layout.with_asker(self._state, asker.requests, asker.hz)
                self._tell(state)
        return [self._askers[asker] for asker in transfer.askers]


def _completion(
    number: int, time_ps: int, first_ps: int, write: int, useful: int, pin_bytes: int, *rest: int
) -> TransferCompletion:
    return TransferCompletion(number, time_ps, first_ps, bool(write), useful, pin_bytes, *rest)


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
