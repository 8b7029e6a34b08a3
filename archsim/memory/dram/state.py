"""Building and growing the arrays of the ``open_row`` kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.memory.dram import records
from archsim.memory.dram.open_row import NEVER, NONE
from archsim.memory.dram.timing import DramTiming

FIRST_SLOTS = 16  # transfers under way before the arrays first grow
_LONG_AGO = -(1 << 40)  # cycles; before time 0 by more than any constraint
_SLOT_AXES = {"transfers": 0, "cursors": 1, "done": 0}


def initial(timing: DramTiming, interleave_bytes: int, window_bursts: int, turn_bursts: int) -> records.State:
    """The arrays of an idle DRAM at time 0: rows closed, refresh not yet due."""
    channels = timing.channels
    banks = np.zeros((channels, timing.banks), records.BANK)
    banks["row"] = NONE
    ranks = np.zeros((channels, timing.ranks), records.RANK)
    for name in records.RANK.names or ():
        ranks[name] = _LONG_AGO
    return records.State(
        timing=_cycles(timing, interleave_bytes, window_bursts, turn_bursts),
        channels=_channels(timing),
        ranks=ranks,
        banks=banks,
        window=np.zeros((channels, window_bursts), np.int64),
        transfers=np.zeros(FIRST_SLOTS, records.ACTIVE),
        cursors=np.zeros((channels, FIRST_SLOTS), records.CURSOR),
        ending=np.full(1, NONE, np.int64),
        done=np.zeros(FIRST_SLOTS, np.int64),
    )


def grown(state: records.State, slots: int) -> records.State:
    """The same state with room for ``slots`` more transfers."""
    return state._replace(**{name: padded(getattr(state, name), slots, axis) for name, axis in _SLOT_AXES.items()})


def padded(array: Any, entries: int, axis: int = 0) -> Any:
    """The array with ``entries`` more zero entries along ``axis``."""
    shape = tuple(entries if d == axis else size for d, size in enumerate(array.shape))
    return np.concatenate([array, np.zeros(shape, array.dtype)], axis)


def table(array: Any) -> Any:
    """Records of 64-bit integers as a table of the same memory: Python reads and writes a row in one go."""
    return array.view(np.int64).reshape(array.size, -1)


def columns(record: np.dtype[np.void], first: str, last: str) -> slice:
    """The table's columns that hold the fields ``first`` to ``last``."""
    offsets = {name: field[1] for name, field in (record.fields or {}).items()}
    return slice(offsets[first] // 8, offsets[last] // 8 + 1)


def _channels(timing: DramTiming) -> Any:
    channels = np.zeros(timing.channels, records.CHANNEL)
    channels["number"] = np.arange(timing.channels)
    channels["ready_tail"] = channels["pending_head"] = NONE
    channels["next_accept"] = NEVER
    channels["read_column"] = channels["write_end"] = _LONG_AGO
    channels["refresh_due"] = timing.cycles(timing.t_refi_ps) or NEVER
    return channels


def _cycles(timing: DramTiming, interleave_bytes: int, window_bursts: int, turn_bursts: int) -> Any:
    structure = {
        "channels": timing.channels,
        "granule_bits": _bits(timing.burst_bytes),
        "interleave_bits": _bits(interleave_bytes // timing.burst_bytes),
        "column_bits": _bits(timing.row_bytes // timing.burst_bytes),
        "bank_bits": _bits(timing.banks),
        "rank_bits": _bits(timing.ranks),
        "window": window_bursts,
        "turn": turn_bursts,
    }
    cycles = np.zeros(1, records.CYCLES)
    for name in records.CYCLES.names or ():
        cycles[name] = structure[name] if name in structure else timing.cycles(getattr(timing, f"t_{name}_ps"))
    return cycles


def _bits(power_of_two: int) -> int:
    return power_of_two.bit_length() - 1
