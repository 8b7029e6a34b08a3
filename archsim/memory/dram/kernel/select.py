"""Which command comes next, and when: accesses whose row is open for them, refresh, the queue, rows left idle.

Among the commands of one buffer the first to become legal comes first, of several the oldest access. The queue is the
reads' or the writes', with hysteresis. A plan holds until an access is taken in, a refresh falls due or a command is
issued; the queue to drain is chosen in the cycle after any of those in which nothing else comes first.
"""

from __future__ import annotations

from archsim.base.jit import inlined, njit
from archsim.memory.dram.kernel.layout import (
    ACTIVE,
    CLOSING,
    COLUMN,
    DUAL,
    IDLE,
    NEVER,
    NONE,
    OPENING,
    PRE,
    READS,
    SECOND,
    SLOT_BITS,
    SPLIT,
    TIMEOUT,
    UNSIGNED,
    WRITES,
    Channel,
    Rules,
)
from archsim.memory.dram.kernel.queues import is_wanted
from archsim.memory.dram.kernel.refresh import ask, from_refresh, of_ranks
from archsim.memory.dram.kernel.timing import code_of, legal_at


@njit
def plan(rules: Rules, ch: Channel, first: int) -> None:
    """Plan the next command, not before cycle ``first``, with the refresh that is due by then."""
    if ch.refresh_due <= first:
        ask(rules, ch)
    if rules.protocol == DUAL:
        _plan_column(rules, ch, first)
        plan_row(rules, ch, first)
    elif rules.protocol == SPLIT and _half_done(rules, ch, first):
        pass
    else:
        _plan_single(rules, ch, first)
        if rules.protocol == SPLIT and ch.held != NONE and ch.planned_at > first:
            ch.planned_at, ch.planned_from, ch.planned = first, SECOND, ch.held
        if rules.row_policy == TIMEOUT and ch.planned_at > first:
            _from_idle(rules, ch, first)


@inlined
def next_at(rules: Rules, ch: Channel) -> int:
    """The cycle of the next planned command; NEVER without one."""
    if rules.protocol == DUAL:
        return min(ch.planned_at, ch.column_at)
    return ch.planned_at


@inlined
def _half_done(rules: Rules, ch: Channel, first: int) -> bool:
    """What cannot wait: the access after its CAS, and the second half of an activate at its deadline."""
    if ch.synced != NONE:
        ch.planned_at, ch.planned_from, ch.planned = first, ch.synced_from, ch.synced
        return True
    if ch.held != NONE and ch.deadline <= first:
        ch.planned_at, ch.planned_from, ch.planned = first, SECOND, ch.held
        return True
    return False


@inlined
def _plan_single(rules: Rules, ch: Channel, first: int) -> None:
    ch.planned_at, ch.planned = NEVER, NONE
    if ch.active:
        _from_active(rules, ch, first)
        if ch.planned_at == first:
            return
    if ch.refresh_asked > ch.refresh_done:
        from_refresh(rules, ch, first)
        if of_ranks(rules) or ch.planned_at == first:
            return
    choose_queue(rules, ch)
    _from_queue(rules, ch, first, COLUMN, CLOSING if ch.held != NONE else OPENING)


@inlined
def _plan_column(rules: Rules, ch: Channel, first: int) -> None:
    """The column bus: accesses whose row is open for them, then row hits."""
    ch.planned_at, ch.planned = NEVER, NONE
    if ch.active:
        _from_active(rules, ch, first)
    if ch.planned_at > first and (ch.refresh_asked == ch.refresh_done or not of_ranks(rules)):
        choose_queue(rules, ch)
        _from_queue(rules, ch, first, COLUMN, COLUMN)
    ch.column_at, ch.column_from, ch.column = ch.planned_at, ch.planned_from, ch.planned


@njit
def plan_row(rules: Rules, ch: Channel, first: int) -> None:
    """The row bus: refresh, then activates and precharges."""
    ch.planned_at, ch.planned = NEVER, NONE
    pending = ch.refresh_asked > ch.refresh_done
    if pending:
        from_refresh(rules, ch, first)
    if ch.planned_at > first and not (pending and of_ranks(rules)):
        choose_queue(rules, ch)
        _from_queue(rules, ch, first, CLOSING, OPENING)
    if rules.row_policy == TIMEOUT and ch.planned_at > first:
        _from_idle(rules, ch, first)


@inlined
def _from_active(rules: Rules, ch: Channel, first: int) -> None:
    arrived = NEVER
    for i in range(ch.active):
        slot = ch.active_order[i]
        at = max(legal_at(rules, ch, ch.code[slot]), first)
        if at < ch.planned_at or (at == ch.planned_at and ch.arrived[slot] < arrived):
            ch.planned_at, ch.planned_from, ch.planned = at, ACTIVE, slot
            arrived = ch.arrived[slot]


@njit
def _from_idle(rules: Rules, ch: Channel, first: int) -> None:
    """The row whose time is up first: open, not held, and wanted by no queued access."""
    for bank in range(rules.banks):
        row = ch.open_row[bank]
        if row == NONE or ch.holder[bank]:
            continue
        code = code_of(rules, PRE, bank)
        at = max(ch.accessed[bank] + rules.row_timeout, legal_at(rules, ch, code), first)
        if at < ch.planned_at and not is_wanted(ch, bank, row):
            ch.planned_at, ch.planned_from, ch.planned = at, IDLE, bank


@inlined
def choose_queue(rules: Rules, ch: Channel) -> None:
    """Drain writes from the high mark on or without reads, down to the low mark when reads wait."""
    if ch.writing:
        if ch.writes <= rules.write_leave and ch.reads:
            ch.writing = 0
    elif ch.writes >= rules.write_enter or ch.reads == 0:
        ch.writing = 1


@njit
def _from_queue(rules: Rules, ch: Channel, first: int, least: int, most: int) -> None:
    """The oldest of the accesses in the queue whose next command, for needs ``least`` to ``most``, is legal first."""
    queue, soonest, oldest = UNSIGNED(ch.writing), NEVER, NEVER
    for need in range(UNSIGNED(least), UNSIGNED(most + 1)):
        for i in range(UNSIGNED(ch.listed[queue, need])):
            at = max(legal_at(rules, ch, UNSIGNED(ch.codes[queue, need, i])), first)
            age = ch.ages[queue, need, i]
            if at < soonest or (at == soonest and age < oldest):
                soonest, oldest = at, age
    if soonest < ch.planned_at:
        ch.planned_at, ch.planned_from = soonest, WRITES if ch.writing else READS
        ch.planned = oldest & ((1 << SLOT_BITS) - 1)
