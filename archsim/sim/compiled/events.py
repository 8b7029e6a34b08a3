"""What is to happen, by time; of one instant in the order in which it was put there."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import njit
from archsim.sim.compiled import layout as k


@njit
def put(m: Any, time_ps: int, kind: int, what: int, version: int) -> None:
    """Let something happen at ``time_ps``."""
    m[k.ORDER] += 1
    _put(m, time_ps, m[k.ORDER], kind, what, version)


@njit
def put_first(m: Any, time_ps: int, kind: int, what: int) -> None:
    """Let something happen at ``time_ps``, before all that is not put there so."""
    m[k.ORDER] += 1
    _put(m, time_ps, m[k.ORDER] - k.NEVER, kind, what, 0)


@njit
def _put(m: Any, time_ps: int, order: int, kind: int, what: int, version: int) -> None:
    place, events = m[k.EVENT_COUNT], m[k.EVENTS_AT]
    if place >= m[k.EVENT_ROOM]:
        m[k.FAILED] = k.LOST
        return
    m[k.EVENT_COUNT] += 1
    row = events + place * k.EVENT_WIDTH
    while place:
        place = (place - 1) >> 1
        above = events + place * k.EVENT_WIDTH
        if m[above] < time_ps or (m[above] == time_ps and m[above + 1] < order):
            break
        _copy(m, above, row)
        row = above
    m[row], m[row + 1], m[row + 2], m[row + 3], m[row + 4] = time_ps, order, kind, what, version


@njit
def drop_first(m: Any) -> None:
    """Take the first event away, which the caller has read."""
    m[k.EVENT_COUNT] -= 1
    count, events = m[k.EVENT_COUNT], m[k.EVENTS_AT]
    last = events + count * k.EVENT_WIDTH
    row, child = events, 1
    while child < count:
        below = events + child * k.EVENT_WIDTH
        if child + 1 < count and _before(m, below + k.EVENT_WIDTH, below):
            child += 1
            below += k.EVENT_WIDTH
        if not _before(m, below, last):
            break
        _copy(m, below, row)
        row = below
        child = 2 * child + 1
    _copy(m, last, row)


@njit
def _before(m: Any, row: int, other: int) -> bool:
    return bool(m[row] < m[other] or (m[row] == m[other] and m[row + 1] < m[other + 1]))


@njit
def _copy(m: Any, source: int, target: int) -> None:
    for column in range(k.EVENT_WIDTH):
        m[target + column] = m[source + column]
