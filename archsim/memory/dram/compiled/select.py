"""Which command comes next, and when: accesses whose row is open for them, refresh, the queue, rows left idle.

Among the commands of one buffer the first to become legal comes first, of several the oldest access. The queue is the
reads' or the writes', with hysteresis. A plan holds until an access is taken in, a refresh falls due or a command is
issued; the queue to drain is chosen in the cycle after any of those in which nothing else comes first.

A refresh that is due needs its banks closed first. One of whole ranks lets the accesses finish for which a row was
opened; all others wait. One of single banks keeps the queued accesses of these banks alone waiting.
"""

from __future__ import annotations

from archsim.base.jit import inlined, njit
from archsim.memory.dram.compiled.queues import is_wanted, reconsider
from archsim.memory.dram.compiled.records import (
    ACTIVE,
    CLOSING,
    COLUMN,
    DUAL,
    IDLE,
    NEVER,
    NONE,
    OPENING,
    PRE,
    PREAB,
    READS,
    REFAB,
    REFPB,
    REFRESH,
    SECOND,
    SLOT_BITS,
    SPLIT,
    TIMEOUT,
    UNSIGNED,
    WRITES,
    ChannelRecord,
    DramRules,
)
from archsim.memory.dram.compiled.timing import code_of, command_of, legal_at


@inlined
def of_ranks(rules: DramRules) -> bool:
    """Whether a refresh is one of a whole rank."""
    return rules.refresh_stride == 1


@njit
def ask(rules: DramRules, ch: ChannelRecord) -> None:
    """A refresh falls due: of every rank, or of the next banks."""
    ch.refresh_due += rules.refresh_interval
    ch.refresh_asked += rules.banks // rules.refresh_scope if of_ranks(rules) else 1
    suspend(rules, ch)


@njit
def suspend(rules: DramRules, ch: ChannelRecord) -> None:
    """The queued accesses wait whose banks are to be refreshed next, and no others."""
    if of_ranks(rules):
        return
    low = _next_low(rules, ch) if ch.refresh_asked > ch.refresh_done else NONE
    if low != ch.refresh_low:
        _mark(rules, ch, ch.refresh_low, 0)
        _mark(rules, ch, low, 1)
        ch.refresh_low = low


@njit
def _mark(rules: DramRules, ch: ChannelRecord, low: int, refreshing: int) -> None:
    for i in range(rules.refresh_scope if low != NONE else 0):
        bank = low + i * rules.refresh_stride
        ch.refreshing[bank] = refreshing
        reconsider(rules, ch, bank, bank + 1)


@njit
def skip(rules: DramRules, ch: ChannelRecord, horizon: int) -> None:
    """Leave out refreshes that a channel with closed rows performs on time, all but the last before ``horizon``.

    No access may come to its queues before that cycle. Refreshes are performed from the longest constraint before it
    on, so that what follows is as after all of them. Those that are left out are counted, and not in the log.
    """
    skipped = (horizon - ch.refresh_due) // rules.refresh_interval - rules.refresh_reach
    if skipped <= 0 or ch.reads or ch.writes or ch.active or ch.refresh_asked > ch.refresh_done:
        return
    for bank in range(rules.banks):
        if ch.open_row[bank] != NONE:
            return
    units = rules.banks // rules.refresh_scope if of_ranks(rules) else 1
    ch.refresh_due += skipped * rules.refresh_interval
    ch.refresh_asked += skipped * units
    ch.refresh_done += skipped * units
    ch.counts[REFAB if of_ranks(rules) else REFPB] += skipped * units


@inlined
def _next_low(rules: DramRules, ch: ChannelRecord) -> int:
    """The first bank of the refresh that was asked for first."""
    stride, scope = rules.refresh_stride, rules.refresh_scope
    unit = ch.refresh_done % (rules.banks // scope)
    low: int = unit // stride * (stride * scope) + unit % stride
    return low


@njit
def refresh_code(rules: DramRules, ch: ChannelRecord, low: int) -> int:
    """The code of a precharge while a bank of the unit is open, then of the refresh."""
    for i in range(rules.refresh_scope):
        bank = low + i * rules.refresh_stride
        if ch.open_row[bank] != NONE:
            return code_of(rules, PREAB, low) if of_ranks(rules) else code_of(rules, PRE, bank)
    return code_of(rules, REFAB if of_ranks(rules) else REFPB, low)


@njit
def from_refresh(rules: DramRules, ch: ChannelRecord, first: int) -> None:
    """The refresh that was asked for first; it waits for rows that are held open."""
    stride, scope, low = rules.refresh_stride, rules.refresh_scope, _next_low(rules, ch)
    for i in range(scope):
        if ch.holder[low + i * stride]:
            return
    code = refresh_code(rules, ch, low)
    at = max(legal_at(rules, ch, code), first)
    if command_of(rules, code) == REFPB:
        for i in range(1, scope):
            at = max(at, ch.ready[code + i * stride])
    if at < ch.planned_at:
        ch.planned_at, ch.planned_from, ch.planned = at, REFRESH, low


@njit
def plan(rules: DramRules, ch: ChannelRecord, first: int) -> None:
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
def next_at(rules: DramRules, ch: ChannelRecord) -> int:
    """The cycle of the next planned command; NEVER without one."""
    if rules.protocol == DUAL:
        return min(ch.planned_at, ch.column_at)
    return ch.planned_at


@inlined
def _half_done(rules: DramRules, ch: ChannelRecord, first: int) -> bool:
    """What cannot wait: the access after its CAS, and the second half of an activate at its deadline."""
    if ch.synced != NONE:
        ch.planned_at, ch.planned_from, ch.planned = first, ch.synced_from, ch.synced
        return True
    if ch.held != NONE and ch.deadline <= first:
        ch.planned_at, ch.planned_from, ch.planned = first, SECOND, ch.held
        return True
    return False


@inlined
def _plan_single(rules: DramRules, ch: ChannelRecord, first: int) -> None:
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
def _plan_column(rules: DramRules, ch: ChannelRecord, first: int) -> None:
    """The column bus: accesses whose row is open for them, then row hits."""
    ch.planned_at, ch.planned = NEVER, NONE
    if ch.active:
        _from_active(rules, ch, first)
    if ch.planned_at > first and (ch.refresh_asked == ch.refresh_done or not of_ranks(rules)):
        choose_queue(rules, ch)
        _from_queue(rules, ch, first, COLUMN, COLUMN)
    ch.column_at, ch.column_from, ch.column = ch.planned_at, ch.planned_from, ch.planned


@njit
def plan_row(rules: DramRules, ch: ChannelRecord, first: int) -> None:
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
def _from_active(rules: DramRules, ch: ChannelRecord, first: int) -> None:
    arrived = NEVER
    for i in range(ch.active):
        slot = ch.active_order[i]
        at = max(legal_at(rules, ch, ch.code[slot]), first)
        if at < ch.planned_at or (at == ch.planned_at and ch.arrived[slot] < arrived):
            ch.planned_at, ch.planned_from, ch.planned = at, ACTIVE, slot
            arrived = ch.arrived[slot]


@njit
def _from_idle(rules: DramRules, ch: ChannelRecord, first: int) -> None:
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
def choose_queue(rules: DramRules, ch: ChannelRecord) -> None:
    """Drain writes from the high mark on or without reads, down to the low mark when reads wait."""
    if ch.writing:
        if ch.writes <= rules.write_leave and ch.reads:
            ch.writing = 0
    elif ch.writes >= rules.write_enter or ch.reads == 0:
        ch.writing = 1


@njit
def _from_queue(rules: DramRules, ch: ChannelRecord, first: int, least: int, most: int) -> None:
    """The oldest of the accesses in the queue whose next command, for needs ``least`` to ``most``, is legal first."""
    queue, soonest, oldest = UNSIGNED(ch.writing), NEVER, NEVER
    for i in range(UNSIGNED(ch.listed[queue])):
        at, need = max(legal_at(rules, ch, UNSIGNED(ch.codes[queue, i])), first), ch.needs[queue, i]
        at = at if least <= need <= most else NEVER
        age = ch.ages[queue, i]
        if at < soonest or (at == soonest and age < oldest):
            soonest, oldest = at, age
    if soonest < ch.planned_at:
        ch.planned_at, ch.planned_from = soonest, WRITES if ch.writing else READS
        ch.planned = oldest & ((1 << SLOT_BITS) - 1)
