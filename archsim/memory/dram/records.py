"""Memory layout of the ``open_row`` kernel: records of 64-bit integers, declared once for type checker and compiler."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.memory.dram.interface import MAX_OUTER_EXTENTS

OuterLoops = Any  # the loops of a region outside the innermost one, outermost first


class Cycles:
    """Structure and timing of a DRAM in clock cycles; ``*_bits`` are shifts."""

    channels: int
    granule_bits: int
    interleave_bits: int
    column_bits: int
    bank_bits: int
    rank_bits: int
    window: int
    turn: int
    burst: int
    rcd: int
    rp: int
    ras: int
    rtp: int
    cl: int
    cwl: int
    wr: int
    wtr: int
    rtw: int
    rrd: int
    faw: int
    rfc: int
    refi: int


class Channel:
    """One channel. Lists of transfers are linked through Cursor.following; the ready list is circular."""

    number: int
    ready_tail: int
    pending_head: int
    pending_tail: int
    turn: int  # bursts the head of the ready list has had in its turn
    accepted: int  # cycle of the last acceptance
    next_accept: int
    window_at: int
    data_free: int
    read_column: int  # last read command
    write_end: int  # end of the last write beat
    refresh_due: int
    refreshes: int
    reads: int
    writes: int
    hits: int
    misses: int
    conflicts: int


class Rank:
    """The last four activates of a rank, latest first."""

    activate_1: int
    activate_2: int
    activate_3: int
    activate_4: int


class Bank:
    """One bank and the earliest cycles of its next commands."""

    row: int
    column_ok: int
    precharge_ok: int
    activate_ok: int


class Active:
    """One transfer under way; the innermost of its loops is here, the others are in State.extents and strides."""

    write: int
    visible: int
    order: int
    address: int
    run_bytes: int
    extent: int
    stride: int
    outer_extents: OuterLoops
    outer_strides: OuterLoops
    open_channels: int
    first_beat: int
    last_beat: int
    hits: int
    misses: int
    conflicts: int
    ends_before: int  # the slot of the next completion


class Cursor:
    """Where one channel stands in one transfer: burst numbers [local, stop) of the current run on this channel."""

    following: int
    index: int  # of the innermost loop
    outer_indices: OuterLoops  # all 0 before and after a transfer
    run_address: int
    last_granule: int
    local: int
    stop: int


def _record(layout: type) -> np.dtype[np.void]:
    outer = (MAX_OUTER_EXTENTS - 1,)
    shapes = {name: outer if kind == "OuterLoops" else () for name, kind in layout.__annotations__.items()}
    return np.dtype([(name, np.int64, shape) for name, shape in shapes.items()])


CYCLES, CHANNEL, RANK, BANK, ACTIVE, CURSOR = map(_record, (Cycles, Channel, Rank, Bank, Active, Cursor))


class State(NamedTuple):
    """All arrays of the model. C channels, R ranks, B banks, W window, S slots for transfers under way."""

    timing: Any  # (1,) Cycles
    channels: Any  # (C,) Channel
    ranks: Any  # (C, R) Rank
    banks: Any  # (C, B) Bank
    window: Any  # (C, W) column commands of the last W bursts
    transfers: Any  # (S,) Active
    cursors: Any  # (C, S) Cursor
    ending: Any  # (1,) the slot of the first completion to come
    done: Any  # (S,) slots that completed
