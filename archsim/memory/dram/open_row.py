"""Kernel of the ``open_row`` DRAM model: compiled, event-skipping, all in clock cycles of the DRAM.

Modelled: channels, ranks, banks with open rows, tRCD tRP tRAS tRTP tCL tCWL tWR tWTR tRTW tRRD tFAW, all-bank
refresh, the data bus, a look-ahead window, several transfers in turns. Not modelled: reordering (bursts keep
their order on a channel), tCCD_L (bank groups are assumed interleaved, bursts follow each other seamlessly),
command bus conflicts, rank-to-rank bubbles, per-bank refresh, power-down.

The rules, which a second implementation must share to be equal bit for bit:

1. Address. granule = address / burst bytes; block = granule / interleave; channel = block mod channels; the
   granules of a channel are numbered in address order, and that number is, from its lowest bit: column, bank,
   row. The lowest bits of the bank number choose the rank.
2. Bursts. A run covers every granule it touches; when its first granule is the last granule of the run before
   it, that granule is not moved again. Each channel walks the region's runs in order and takes its own
   granules.
3. Turns. Transfers wait on each channel in the order they become visible (then of submission). The one at the
   head is served for up to ``turn`` bursts, then goes to the tail, behind those that became visible
   meanwhile.
4. Window. Burst i of a channel is accepted at the latest of: acceptance of burst i-1, the column command of
   burst i-``window``, and the edge at which a transfer is visible. Its commands are placed when it is
   accepted.
5. Row. In an open row: nothing. Else an activate at the latest of: acceptance, tRRD after the rank's last
   activate, tFAW after its fourth last, the bank's earliest activate; and, when another row is open, tRP
   after the precharge, which is issued at the latest of acceptance, activate + tRAS, last read + tRTP, last
   write beat + tWR.
6. Column command: the latest of acceptance, activate + tRCD, the data bus being free at its first beat, and
   for a write tRTW after the last read command, for a read tWTR after the last write beat. Beats follow tCL
   or tCWL later.
7. Refresh is due every tREFI. A burst whose column command would not be issued before it is due waits: all
   open banks are precharged together as soon as legal from the due time on, tRP later (at once when all were
   closed) the refresh takes tRFC, all rows are closed, and the burst's commands are placed anew.
8. A transfer ends with the last beat of its last burst; an empty one when it becomes visible.
"""

from __future__ import annotations

from typing import Any

from archsim.kernels import njit
from archsim.memory.dram.bursts import rewind, seek
from archsim.memory.dram.commands import issue
from archsim.memory.dram.records import Active, Channel, Cycles, State

NEVER = 1 << 62
NONE = -1  # no slot in a list


@njit
def advance(state: State, fresh: Any, fresh_count: int, until: int) -> tuple[int, int]:
    """Take in the transfers of slots ``fresh[:fresh_count]``, then run to the first completion at or before
    ``until``.

    Returns how many slots of ``state.done`` completed at that instant, 0 when none did, and the cycle before
    which nothing can happen from here on.
    """
    timing, channels, ranks, banks, window, transfers, cursors, ending, done = state
    t = timing[0]
    for i in range(fresh_count):
        _arrive(t, channels, window, transfers, cursors, ending, fresh[i])
    horizon = _horizon(t, channels, _first_completion(transfers, ending), until)
    while horizon >= 0:
        for c in range(t.channels):
            if channels[c].next_accept <= horizon:
                _serve(t, channels[c], ranks[c], banks[c], window[c], transfers, cursors[c], ending, horizon)
        horizon = _horizon(t, channels, _first_completion(transfers, ending), until)
    count = _collect(transfers, ending, done, until)
    return count, min(_first_accept(channels), _first_completion(transfers, ending))


@njit
def _horizon(t: Cycles, channels: Any, first_completion: int, until: int) -> int:
    """The cycle up to which channels may run unordered, or -1 when nothing may happen before a completion.

    A burst accepted at cycle a cannot end before a + min(CL, CWL) + burst, so no completion that is not yet
    known comes before the first acceptance plus that.
    """
    limit = min(until, first_completion)
    first = _first_accept(channels)
    if first > limit:
        return -1
    if t.channels == 1:
        return limit
    return min(limit, first + min(t.cl, t.cwl) + t.burst)


@njit
def _first_accept(channels: Any) -> int:
    first = NEVER
    for c in range(channels.size):
        first = min(first, channels[c].next_accept)
    return first


@njit
def _collect(transfers: Any, ending: Any, done: Any, until: int) -> int:
    count = 0
    instant = _first_completion(transfers, ending)
    while instant <= until and _first_completion(transfers, ending) == instant:
        done[count] = ending[0]
        ending[0] = transfers[ending[0]].ends_before
        count += 1
    return count


# ---- transfers: arrival, turns, end ------------------------------------------------------------------------------


@njit
def _arrive(t: Cycles, channels: Any, window: Any, transfers: Any, cursors: Any, ending: Any, slot: int) -> None:
    transfer = transfers[slot]
    for c in range(t.channels):
        channel, cursor = channels[c], cursors[c, slot]
        rewind(t, channel, transfer, cursor)
        if seek(t, channel, transfer, cursor):
            transfer.open_channels += 1
            _append_pending(channel, cursors[c], slot)
            _plan_accept(channel, transfers, window[c, channel.window_at])
    if transfer.open_channels == 0:
        transfer.first_beat = transfer.last_beat = transfer.visible
        _insert_ending(transfers, ending, slot)


@njit
def _append_pending(channel: Channel, cursors: Any, slot: int) -> None:
    cursors[slot].following = NONE
    if channel.pending_head == NONE:
        channel.pending_head = slot
    else:
        cursors[channel.pending_tail].following = slot
    channel.pending_tail = slot


@njit
def _admit(channel: Channel, transfers: Any, cursors: Any) -> None:
    """Move the transfers visible now to the tail of the ready list."""
    while channel.pending_head != NONE and transfers[channel.pending_head].visible <= channel.accepted:
        slot = channel.pending_head
        channel.pending_head = cursors[slot].following
        if channel.ready_tail == NONE:
            cursors[slot].following = slot
        else:
            cursors[slot].following = cursors[channel.ready_tail].following
            cursors[channel.ready_tail].following = slot
        channel.ready_tail = slot


@njit
def _remove_head(channel: Channel, cursors: Any, head: int) -> None:
    channel.turn = 0
    if head == channel.ready_tail:
        channel.ready_tail = NONE
    else:
        cursors[channel.ready_tail].following = cursors[head].following


@njit
def _plan_accept(channel: Channel, transfers: Any, window_free: int) -> None:
    at = NEVER
    if channel.ready_tail != NONE:
        at = channel.accepted
    elif channel.pending_head != NONE:
        at = max(channel.accepted, transfers[channel.pending_head].visible)
    channel.next_accept = max(at, window_free)


@njit
def _serve(
    t: Cycles,
    channel: Channel,
    ranks: Any,
    banks: Any,
    window: Any,
    transfers: Any,
    cursors: Any,
    ending: Any,
    horizon: int,
) -> None:
    """Accept bursts on one channel up to ``horizon``, or to the first completion found on the way."""
    while channel.next_accept <= horizon:
        channel.accepted = channel.next_accept
        if channel.pending_head != NONE:
            _admit(channel, transfers, cursors)
        if channel.turn >= t.turn:
            channel.ready_tail = cursors[channel.ready_tail].following
            channel.turn = 0
        channel.turn += 1
        slot = cursors[channel.ready_tail].following
        transfer, cursor = transfers[slot], cursors[slot]
        window[channel.window_at] = issue(t, channel, ranks, banks, transfer, cursor.local)
        channel.window_at = (channel.window_at + 1) % t.window
        cursor.local += 1
        if cursor.local >= cursor.stop and not seek(t, channel, transfer, cursor):
            _remove_head(channel, cursors, slot)
            transfer.open_channels -= 1
            if transfer.open_channels == 0:
                _insert_ending(transfers, ending, slot)
                horizon = min(horizon, transfer.last_beat)
        _plan_accept(channel, transfers, window[channel.window_at])


# ---- completions to come: a list sorted by (time, order), its head in ``ending[0]`` ------------------------------


@njit
def _first_completion(transfers: Any, ending: Any) -> int:
    if ending[0] == NONE:
        return NEVER
    first: Active = transfers[ending[0]]
    return first.last_beat


@njit
def _insert_ending(transfers: Any, ending: Any, slot: int) -> None:
    """Short at all times: a transfer is in the list from the acceptance of its last burst to its last beat."""
    transfer = transfers[slot]
    before, after = NONE, ending[0]
    while after != NONE and _ends_first(transfers[after], transfer):
        before, after = after, transfers[after].ends_before
    transfer.ends_before = after
    if before == NONE:
        ending[0] = slot
    else:
        transfers[before].ends_before = slot


@njit
def _ends_first(one: Active, other: Active) -> bool:
    return one.last_beat < other.last_beat or (one.last_beat == other.last_beat and one.order < other.order)
