"""Kernel part: the commands of one burst and of refresh (rules 5, 6 and 7 of open_row)."""

from __future__ import annotations

from typing import Any

from archsim.kernels import njit
from archsim.memory.dram.records import Active, Bank, Channel, Cycles, Rank

CLOSED = -1  # no row open
HIT = -1  # no activate needed


@njit
def issue(t: Cycles, channel: Channel, ranks: Any, banks: Any, transfer: Active, local: int) -> int:
    """Place the commands of a burst accepted now and its beats on the bus; returns its column command."""
    page = local >> t.column_bits
    bank_number = page & ((1 << t.bank_bits) - 1)
    row = page >> t.bank_bits
    rank, bank = ranks[bank_number & ((1 << t.rank_bits) - 1)], banks[bank_number]
    activate = _plan_activate(t, channel, rank, bank, row)
    column = _plan_column(t, channel, bank, transfer.write, activate)
    while column >= channel.refresh_due:
        _refresh(t, channel, banks)
        activate = _plan_activate(t, channel, rank, bank, row)
        column = _plan_column(t, channel, bank, transfer.write, activate)
    _count_row(channel, transfer, activate == HIT, bank.row == CLOSED)
    if activate != HIT:
        _activate(t, rank, bank, row, activate)
    _access(t, channel, bank, transfer, column)
    return column


@njit
def _plan_activate(t: Cycles, channel: Channel, rank: Rank, bank: Bank, row: int) -> int:
    if bank.row == row:
        return HIT
    activate = max(channel.accepted, rank.activate_1 + t.rrd, rank.activate_4 + t.faw, bank.activate_ok)
    if bank.row != CLOSED:
        activate = max(activate, max(channel.accepted, bank.precharge_ok) + t.rp)
    return activate


@njit
def _plan_column(t: Cycles, channel: Channel, bank: Bank, write: int, activate: int) -> int:
    row_ready = bank.column_ok
    if activate != HIT:
        row_ready = activate + t.rcd
    if write:
        return max(channel.accepted, row_ready, channel.data_free - t.cwl, channel.read_column + t.rtw)
    return max(channel.accepted, row_ready, channel.data_free - t.cl, channel.write_end + t.wtr)


@njit
def _count_row(channel: Channel, transfer: Active, hit: bool, closed: bool) -> None:
    if hit:
        channel.hits += 1
        transfer.hits += 1
    elif closed:
        channel.misses += 1
        transfer.misses += 1
    else:
        channel.conflicts += 1
        transfer.conflicts += 1


@njit
def _activate(t: Cycles, rank: Rank, bank: Bank, row: int, activate: int) -> None:
    rank.activate_4 = rank.activate_3
    rank.activate_3 = rank.activate_2
    rank.activate_2 = rank.activate_1
    rank.activate_1 = activate
    bank.row = row
    bank.column_ok = activate + t.rcd
    bank.precharge_ok = activate + t.ras


@njit
def _access(t: Cycles, channel: Channel, bank: Bank, transfer: Active, column: int) -> None:
    if transfer.write:
        first_beat = column + t.cwl
        channel.writes += 1
        channel.write_end = first_beat + t.burst
        bank.precharge_ok = max(bank.precharge_ok, first_beat + t.burst + t.wr)
    else:
        first_beat = column + t.cl
        channel.reads += 1
        channel.read_column = column
        bank.precharge_ok = max(bank.precharge_ok, column + t.rtp)
    channel.data_free = first_beat + t.burst
    transfer.first_beat = min(transfer.first_beat, first_beat)
    transfer.last_beat = max(transfer.last_beat, first_beat + t.burst)


@njit
def _refresh(t: Cycles, channel: Channel, banks: Any) -> None:
    """Perform the refresh that is due; on a long idle channel also skip those that meet only closed rows."""
    start = channel.refresh_due
    for b in range(banks.size):
        if banks[b].row != CLOSED:
            start = max(start, max(channel.refresh_due, banks[b].precharge_ok) + t.rp)
    for b in range(banks.size):
        banks[b].row = CLOSED
        banks[b].activate_ok = start + t.rfc
    behind = max(0, (channel.accepted - channel.refresh_due) // t.refi - 1)
    channel.refreshes += 1 + behind
    channel.refresh_due += (1 + behind) * t.refi
