"""The ``open_row`` DRAM controller behind the co-simulation interface.

Time inside is counted in DRAM clock cycles by a compiled kernel (open_row, which states the rules); this
class keeps the slots of the transfers under way, turns picoseconds into edges and back, and grows every array
before it is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from archsim.errors import ConfigError, SimulationError
from archsim.memory.dram import records
from archsim.memory.dram.interface import MAX_OUTER_EXTENTS, Completion, DramStats, Transfer
from archsim.memory.dram.timing import DramTiming, edge_after, edge_ps

__all__ = ["Completion", "DramController", "DramStats", "Transfer"]

WINDOW_BURSTS = 32  # look-ahead per channel: the queue depth of the reference controllers
TURN_BURSTS = 16  # bursts of one transfer before the next has its turn on a channel


class DramController:
    """Channels with banks and open rows, bursts in order, look-ahead for row commands (fidelity
    ``open_row``).

    ``interleave_bytes``: contiguous bytes on one channel, a power of two >= the burst; default one burst, so
    that the lowest address bits above the burst choose the channel. Raises ConfigError on a value that cannot
    work.
    """

    fidelity: ClassVar[str] = "open_row"

    def __init__(
        self,
        timing: DramTiming,
        *,
        interleave_bytes: int | None = None,
        window_bursts: int = WINDOW_BURSTS,
        turn_bursts: int = TURN_BURSTS,
    ) -> None:
        from archsim.memory.dram import open_row, state  # the compiler is slow to import: only now

        interleave = timing.burst_bytes if interleave_bytes is None else interleave_bytes
        _check_options(timing, interleave, window_bursts, turn_bursts)
        self.timing = timing
        self._kernel, self._layout = open_row, state
        self._state = state.initial(timing, interleave, window_bursts, turn_bursts)
        self._rows = state.table(self._state.transfers)
        self._results = state.columns(records.ACTIVE, "first_beat", "conflicts")
        self._fresh = state.padded(np.zeros(0, np.int64), state.FIRST_SLOTS)
        self._fresh_count = 0
        self._free = list(range(state.FIRST_SLOTS - 1, -1, -1))
        self._transfers: list[Transfer | None] = [None] * state.FIRST_SLOTS
        self._useful = [0] * state.FIRST_SLOTS
        self._useful_total = [0, 0]
        self._submitted = 0
        self._next_event: int = open_row.NEVER
        self._submitted_ps = self._now_ps = 0

    def submit(self, at_ps: int, transfers: Sequence[Transfer]) -> None:
        """Hand over all transfers of the instant ``at_ps``, in service order; seen at the first edge after
        it.

        Raises SimulationError when ``at_ps`` is before the time reached or before an earlier submit, or a transfer is
        malformed or outside the memory.
        """
        reached_ps = max(self._now_ps, self._submitted_ps)
        if at_ps < reached_ps:
            raise SimulationError(f"DRAM: transfer submitted at {at_ps} ps, after the memory reached {reached_ps} ps")
        self._submitted_ps = at_ps
        visible = edge_after(at_ps, self.timing.clock_hz)
        for transfer in transfers:
            self._take_in(transfer, visible)
        if transfers:
            self._next_event = min(self._next_event, visible)

    def advance(self, until_ps: int) -> list[Completion]:
        """Run to the first instant <= ``until_ps`` with a completion and return all of that instant, or []."""
        if until_ps < self._now_ps:
            raise SimulationError(f"DRAM: told to run to {until_ps} ps, already at {self._now_ps} ps")
        until = min(edge_after(until_ps, self.timing.clock_hz) - 1, self._kernel.NEVER - 1)
        count = 0
        if self._next_event <= until:
            count, self._next_event = self._kernel.advance(self._state, self._fresh, self._fresh_count, until)
            self._fresh_count = 0
        completions = [self._complete(int(slot)) for slot in self._state.done[:count]]
        self._now_ps = completions[0].time_ps if completions else until_ps
        return completions

    def next_event_ps(self) -> int | None:
        """A lower bound of the next time at which anything could happen; None when nothing is under way."""
        if self._next_event == self._kernel.NEVER:
            return None
        return edge_ps(self._next_event, self.timing.clock_hz)

    @property
    def stats(self) -> DramStats:
        """Totals since time 0 (see DramStats for when each is counted)."""
        channels = self._state.channels
        total = {name: int(channels[name].sum()) for name in ("reads", "writes", "hits", "misses", "conflicts")}
        bursts = channels["reads"] + channels["writes"]
        burst_bytes, clock_hz = self.timing.burst_bytes, self.timing.clock_hz
        return DramStats(
            reads=total["reads"],
            writes=total["writes"],
            read_bytes=total["reads"] * burst_bytes,
            write_bytes=total["writes"] * burst_bytes,
            useful_read_bytes=self._useful_total[0],
            useful_write_bytes=self._useful_total[1],
            row_hits=total["hits"],
            row_misses=total["misses"],
            row_conflicts=total["conflicts"],
            activates=total["misses"] + total["conflicts"],
            refreshes=self._refreshes() * self.timing.ranks,
            busy_ps=tuple(edge_ps(int(n) * self.timing.cycles(self.timing.t_burst_ps), clock_hz) for n in bursts),
        )

    def _refreshes(self) -> int:
        if self.timing.t_refi_ps == 0:
            return 0
        interval = self.timing.cycles(self.timing.t_refi_ps)
        now = edge_after(self._now_ps, self.timing.clock_hz) - 1
        performed = 0
        for channel in self._state.channels:
            overdue = max(0, (now - int(channel["refresh_due"])) // interval + 1)
            performed += int(channel["refreshes"]) + overdue
        return performed

    def _take_in(self, transfer: Transfer, visible: int) -> None:
        run_bytes, extents, strides, useful = _normalised(transfer, self.timing.capacity_bytes)
        if not self._free:
            self._grow()
        slot = self._free.pop()
        self._rows[slot] = (
            transfer.write, visible, self._submitted, transfer.address, run_bytes, extents[-1], strides[-1],
            *extents[:-1], *strides[:-1], 0, self._kernel.NEVER, 0, 0, 0, 0, self._kernel.NONE,
        )  # fmt: skip
        self._transfers[slot] = transfer
        self._useful[slot] = useful
        self._fresh[self._fresh_count] = slot
        self._fresh_count += 1
        self._submitted += 1

    def _complete(self, slot: int) -> Completion:
        first_beat, last_beat, hits, misses, conflicts = self._rows[slot, self._results].tolist()
        transfer = self._transfers[slot]
        if transfer is None:
            raise SimulationError(f"DRAM: slot {slot} completed without a transfer")
        self._transfers[slot] = None
        self._free.append(slot)
        self._useful_total[transfer.write] += self._useful[slot]
        return Completion(
            id=transfer.id,
            time_ps=edge_ps(last_beat, self.timing.clock_hz),
            first_beat_ps=edge_ps(first_beat, self.timing.clock_hz),
            write=transfer.write,
            useful_bytes=self._useful[slot],
            pin_bytes=(hits + misses + conflicts) * self.timing.burst_bytes,
            row_hits=hits,
            row_misses=misses,
            row_conflicts=conflicts,
        )

    def _grow(self) -> None:
        """Double the number of slots; every array whose size depends on it grows here."""
        slots = len(self._transfers)
        self._state = self._layout.grown(self._state, slots)
        self._rows = self._layout.table(self._state.transfers)
        self._fresh = self._layout.padded(self._fresh, slots)
        self._transfers += [None] * slots
        self._useful += [0] * slots
        self._free += range(2 * slots - 1, slots - 1, -1)


def warm_up(timing: DramTiming) -> None:
    """Compile the kernel, or load it from the cache, by moving one burst; seconds on an empty cache."""
    controller = DramController(timing)
    controller.submit(0, [Transfer(id=0, write=False, address=0, run_bytes=timing.burst_bytes)])
    while controller.next_event_ps() is not None:
        controller.advance(edge_ps(1 << 40, timing.clock_hz))


def _normalised(transfer: Transfer, capacity_bytes: int) -> tuple[int, tuple[int, ...], tuple[int, ...], int]:
    """Run, extents and strides with loops of one trip and contiguous inner loops folded away, and the useful bytes."""
    _check_shape(transfer)
    run_bytes = useful = transfer.run_bytes
    low = high = transfer.address
    loops: list[tuple[int, int]] = []
    for extent, stride in zip(reversed(transfer.extents), reversed(transfer.strides), strict=True):
        useful *= extent
        reach = (extent - 1) * stride
        low, high = low + min(0, reach), high + max(0, reach)
        if stride == run_bytes and not loops:
            run_bytes *= extent
        elif extent != 1:
            loops.append((extent, stride))
    if useful == 0:
        return 0, (1,) * MAX_OUTER_EXTENTS, (0,) * MAX_OUTER_EXTENTS, 0
    if low < 0 or high + transfer.run_bytes > capacity_bytes:
        raise SimulationError(f"DRAM: {transfer} touches [{low}, {high + transfer.run_bytes}) of {capacity_bytes} B")
    loops += [(1, 0)] * (MAX_OUTER_EXTENTS - len(loops))
    extents, strides = zip(*reversed(loops), strict=True)
    return run_bytes, extents, strides, useful


def _check_shape(transfer: Transfer) -> None:
    loops = len(transfer.extents)
    if loops != len(transfer.strides) or loops > MAX_OUTER_EXTENTS:
        raise SimulationError(f"DRAM: malformed {transfer}; allowed up to {MAX_OUTER_EXTENTS} extents, a stride each")
    if transfer.run_bytes < 0 or min(transfer.extents, default=0) < 0:
        raise SimulationError(f"DRAM: malformed {transfer}; allowed run_bytes >= 0, extents >= 0")


def _check_options(timing: DramTiming, interleave_bytes: int, window_bursts: int, turn_bursts: int) -> None:
    if interleave_bytes < timing.burst_bytes or interleave_bytes & (interleave_bytes - 1):
        raise ConfigError(
            f"dram interleave_bytes: found {interleave_bytes}; allowed powers of two >= {timing.burst_bytes} B"
        )
    if window_bursts < 1 or turn_bursts < 1:
        raise ConfigError(f"dram window_bursts, turn_bursts: found {window_bursts}, {turn_bursts}; allowed >= 1")
