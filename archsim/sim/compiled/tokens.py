"""Tokens at run time (``archsim.sim.tokens``): who lacks some, who gives some, what was seen last."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import njit
from archsim.sim.compiled import layout as k
from archsim.sim.compiled.clocks import cycle_at, edge
from archsim.sim.compiled.events import put


@njit
def lacks(m: Any, q: int, command: int) -> bool:
    """Whether queue ``q`` lacks tokens for its command; it is told when they are there."""
    lacking = 0
    for wait in range(m[command + k.WAITS], m[command + k.WAITS_END]):
        row = m[k.WAITS_AT] + wait * k.WAIT_WIDTH
        if m[m[k.QUEUES_AT] + q * k.QUEUE_WIDTH + k.BITS] & m[row] == m[row + 1]:
            counter = m[k.COUNTERS_AT] + m[row + 2] * k.COUNTER_WIDTH
            if m[counter + k.TOKENS_COUNT] < m[row + 3]:
                m[counter + k.NEED] = m[row + 3]
                lacking += 1
    m[m[k.QUEUES_AT] + q * k.QUEUE_WIDTH + k.LACKING] = lacking
    return lacking > 0


@njit
def take(m: Any, q: int, command: int) -> None:
    """Take the tokens of a command, which are there; of those seen last the one of the lowest unit and number."""
    queue = m[k.QUEUES_AT] + q * k.QUEUE_WIDTH
    m[queue + k.LAST_PS], m[queue + k.LAST_UNIT], m[queue + k.LAST_INDEX] = -1, -1, -1
    for wait in range(m[command + k.WAITS], m[command + k.WAITS_END]):
        row = m[k.WAITS_AT] + wait * k.WAIT_WIDTH
        if m[queue + k.BITS] & m[row] != m[row + 1]:
            continue
        counter = m[k.COUNTERS_AT] + m[row + 2] * k.COUNTER_WIDTH
        m[counter + k.TAKEN] += m[row + 3]
        m[counter + k.TOKENS_COUNT] -= m[row + 3]
        last = (m[counter + k.TOKENS_HEAD] + m[row + 3] - 1) % m[counter + k.TOKENS_ROOM]
        m[counter + k.TOKENS_HEAD] = (last + 1) % m[counter + k.TOKENS_ROOM]
        token = m[k.TOKENS_AT] + (m[counter + k.TOKENS_FIRST] + last) * k.TOKEN_WIDTH
        if m[token] > m[queue + k.LAST_PS] or (
            m[token] == m[queue + k.LAST_PS]
            and (m[token + 1], m[token + 2]) < (m[queue + k.LAST_UNIT], m[queue + k.LAST_INDEX])
        ):
            m[queue + k.LAST_PS], m[queue + k.LAST_UNIT], m[queue + k.LAST_INDEX] = m[token], m[token + 1], m[token + 2]


@njit
def give_all(m: Any, q: int, command: int) -> None:
    """Give the signals of a command that ends now."""
    queue, now = m[k.QUEUES_AT] + q * k.QUEUE_WIDTH, m[k.NOW]
    for signal in range(m[command + k.SIGNALS], m[command + k.SIGNALS_END]):
        row = m[k.SIGNALS_AT] + signal * k.SIGNAL_WIDTH
        if m[queue + k.BITS] & m[row] != m[row + 1]:
            continue
        if m[row + 5] == k.NONE:
            give(m, m[row + 2], m[row + 3], m[row + 4], now, m[queue + k.UNIT_RANK], m[queue + k.INDEX])
        else:
            _cross(m, row, now, queue)


@njit
def _cross(m: Any, row: int, now: int, queue: int) -> None:
    """A signal into another clock domain is seen later (``ClockDomain.seen``)."""
    crossing = m[k.CROSSING_FREE]
    if crossing == k.NONE:
        m[k.FAILED] = k.LOST
        return
    under_way = m[k.CROSSINGS_AT] + crossing * k.CROSSING_WIDTH
    m[k.CROSSING_FREE] = m[under_way + 6]
    clock = m[row + 5]
    seen_ps = edge(m, clock, cycle_at(m, clock, now + 1) + m[m[k.CLOCKS_AT] + clock * k.CLOCK_WIDTH + k.SYNC_STAGES])
    m[under_way], m[under_way + 1], m[under_way + 2], m[under_way + 3] = m[row + 2], m[row + 3], m[row + 4], seen_ps
    m[under_way + 4], m[under_way + 5] = m[queue + k.UNIT_RANK], m[queue + k.INDEX]
    put(m, seen_ps, k.TOKEN_SEEN, crossing, 0)


@njit
def arrive(m: Any, crossing: int) -> None:
    """A signal is seen in its clock domain."""
    row = m[k.CROSSINGS_AT] + crossing * k.CROSSING_WIDTH
    m[row + 6], m[k.CROSSING_FREE] = m[k.CROSSING_FREE], crossing
    give(m, m[row], m[row + 1], m[row + 2], m[row + 3], m[row + 4], m[row + 5])


@njit
def give(m: Any, kind: int, sink: int, count: int, seen_ps: int, unit: int, index: int) -> None:
    """Tokens come to a sink, seen now."""
    if kind == k.TO_COUNTER:
        add(m, sink, count, seen_ps, unit, index)
    elif kind == k.TO_RELEASE:
        _release(m, sink, count, seen_ps, unit, index)
    elif kind == k.TO_GUARD:
        guard = m[k.GUARDS_AT] + sink * k.GUARD_WIDTH
        m[guard + 1] += count
        if m[guard + 1] > m[m[k.COUNTERS_AT] + m[guard] * k.COUNTER_WIDTH + k.TAKEN]:
            m[k.FAILED] = k.UNDERFLOW
    else:
        ask(m, k.TOKEN_OUT, sink, count, seen_ps, unit, index)


@njit
def add(m: Any, number: int, count: int, seen_ps: int, unit: int, index: int) -> None:
    """Tokens come to a counter; its queue goes on once it lacks none."""
    counter = m[k.COUNTERS_AT] + number * k.COUNTER_WIDTH
    room = m[counter + k.TOKENS_ROOM]
    if m[counter + k.TOKENS_COUNT] + count > room:
        m[k.FAILED] = k.LOST
        return
    for _ in range(count):
        place = (m[counter + k.TOKENS_HEAD] + m[counter + k.TOKENS_COUNT]) % room
        token = m[k.TOKENS_AT] + (m[counter + k.TOKENS_FIRST] + place) * k.TOKEN_WIDTH
        m[token], m[token + 1], m[token + 2] = seen_ps, unit, index
        m[counter + k.TOKENS_COUNT] += 1
    if m[counter + k.NEED] and m[counter + k.TOKENS_COUNT] >= m[counter + k.NEED]:
        m[counter + k.NEED] = 0
        queue = m[k.QUEUES_AT] + m[counter + k.COUNTER_QUEUE] * k.QUEUE_WIDTH
        m[queue + k.LACKING] -= 1
        if m[queue + k.LACKING] == 0 and m[queue + k.STATE] == k.BLOCKED:
            put(m, m[k.NOW], k.QUEUE_STARTS, m[counter + k.COUNTER_QUEUE], 0)


@njit
def _release(m: Any, number: int, count: int, seen_ps: int, unit: int, index: int) -> None:
    """A reader has signalled slots of a ring; those are free that all of its readers have signalled."""
    release = m[k.RELEASES_AT] + number * k.RELEASE_WIDTH
    ring = m[k.RINGS_AT] + m[release] * k.RING_WIDTH
    before = m[release + 1]
    m[release + 1] += count
    if before > m[ring + k.FREED]:
        return
    m[ring + k.HOLDING] -= 1
    if m[ring + k.HOLDING]:
        return
    freed = k.NEVER
    for reader in range(m[ring + k.RELEASES], m[ring + k.RELEASES_END]):
        freed = min(freed, m[m[k.RELEASES_AT] + reader * k.RELEASE_WIDTH + 1])
    for reader in range(m[ring + k.RELEASES], m[ring + k.RELEASES_END]):
        m[ring + k.HOLDING] += m[m[k.RELEASES_AT] + reader * k.RELEASE_WIDTH + 1] == freed
    more = freed - m[ring + k.FREED]
    m[ring + k.FREED] = freed
    add(m, m[ring + k.FREE_COUNTER], more, seen_ps, unit, index)


@njit
def ask(m: Any, kind: int, what: int, a: int, b: int, c: int, d: int) -> None:
    """Ask Python for something before the instant is over."""
    number = m[k.ASKED_COUNT]
    if number >= m[k.ASKED_ROOM]:
        m[k.FAILED] = k.LOST
        return
    m[k.ASKED_COUNT] = number + 1
    row = m[k.ASKED_AT] + number * k.ASKED_WIDTH
    m[row], m[row + 1], m[row + 2], m[row + 3], m[row + 4], m[row + 5] = kind, what, a, b, c, d
