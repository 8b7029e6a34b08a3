"""Refreshes: which is next, the command it needs, and the banks that wait for it.

A refresh of whole ranks lets the accesses finish for which a row was opened; all others wait. One of single banks keeps
the queued accesses of these banks alone waiting.
"""

from __future__ import annotations

from archsim.base.jit import inlined, njit
from archsim.memory.dram.kernel.layout import NONE, PRE, PREAB, REFAB, REFPB, REFRESH, Channel, Rules
from archsim.memory.dram.kernel.queues import reconsider
from archsim.memory.dram.kernel.timing import code_of, command_of, legal_at


@inlined
def of_ranks(rules: Rules) -> bool:
    """Whether a refresh is one of a whole rank."""
    return rules.refresh_stride == 1


@njit
def ask(rules: Rules, ch: Channel) -> None:
    """A refresh falls due: of every rank, or of the next banks."""
    ch.refresh_due += rules.refresh_interval
    ch.refresh_asked += rules.banks // rules.refresh_scope if of_ranks(rules) else 1
    suspend(rules, ch)


@njit
def suspend(rules: Rules, ch: Channel) -> None:
    """The queued accesses wait whose banks are to be refreshed next, and no others."""
    if of_ranks(rules):
        return
    low = _next_low(rules, ch) if ch.refresh_asked > ch.refresh_done else NONE
    if low != ch.refresh_low:
        _mark(rules, ch, ch.refresh_low, 0)
        _mark(rules, ch, low, 1)
        ch.refresh_low = low


@njit
def _mark(rules: Rules, ch: Channel, low: int, refreshing: int) -> None:
    for i in range(rules.refresh_scope if low != NONE else 0):
        bank = low + i * rules.refresh_stride
        ch.refreshing[bank] = refreshing
        reconsider(rules, ch, bank, bank + 1)


@njit
def skip(rules: Rules, ch: Channel, horizon: int) -> None:
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
def _next_low(rules: Rules, ch: Channel) -> int:
    """The first bank of the refresh that was asked for first."""
    stride, scope = rules.refresh_stride, rules.refresh_scope
    unit = ch.refresh_done % (rules.banks // scope)
    low: int = unit // stride * (stride * scope) + unit % stride
    return low


@njit
def refresh_code(rules: Rules, ch: Channel, low: int) -> int:
    """The code of a precharge while a bank of the unit is open, then of the refresh."""
    for i in range(rules.refresh_scope):
        bank = low + i * rules.refresh_stride
        if ch.open_row[bank] != NONE:
            return code_of(rules, PREAB, low) if of_ranks(rules) else code_of(rules, PRE, bank)
    return code_of(rules, REFAB if of_ranks(rules) else REFPB, low)


@njit
def from_refresh(rules: Rules, ch: Channel, first: int) -> None:
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
