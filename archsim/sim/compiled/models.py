"""Models beside the queues, DRAMs and networks, called by their addresses (``archsim.base.served``).

What moves ask of them in an instant is handed over at its end, sorted; a model is run as far as nothing can ask it for
more, and what it completes happens at the first edge of who asked, before anything else of that instant: the rules of
``archsim.sim.events``, which also runs the models that are in Python alone.
"""

from __future__ import annotations

from typing import Any

from archsim.base import served
from archsim.base.addressed import address_of, call, word_at
from archsim.base.jit import njit
from archsim.sim.compiled import layout as k
from archsim.sim.compiled.clocks import cycle_at, edge
from archsim.sim.compiled.events import put_first
from archsim.sim.compiled.tokens import ask


@njit
def begun(m: Any, q: int, plan: int) -> int:
    """The row of BEGUN of a plan on queue ``q``, NONE where it has not been begun yet."""
    mask = m[k.BEGUN_MASK]
    place = (q * k.BEGUN_HASH + plan) & mask
    while m[m[k.BEGUN_TABLE_AT] + place] != k.NONE:
        row = m[k.BEGUN_AT] + m[m[k.BEGUN_TABLE_AT] + place] * k.BEGUN_WIDTH
        if m[row + k.BEGUN_QUEUE] == q and m[row + k.BEGUN_PLAN] == plan:
            return int(row)
        place = (place + 1) & mask
    return k.NONE


@njit
def begin(m: Any, q: int, row: int, address: int) -> None:
    """Ask the models for what the move of queue ``q`` does outside its core, as a row of BEGUN says."""
    queue = m[k.QUEUES_AT] + q * k.QUEUE_WIDTH
    plan = m[k.PLANS_AT] + m[queue + k.PLAN] * k.PLAN_WIDTH
    layer = m[m[k.COMMANDS_AT] + m[queue + k.CURRENT] * k.COMMAND_WIDTH + k.LAYER]
    first, last = m[row + k.PARCELS], m[row + k.PARCELS_END]
    m[queue + k.PENDING] += last - first - m[plan + k.LEGS] - m[plan + k.TRAVELS]
    for place in range(first, last):
        parcel = m[k.PARCELS_AT] + place * k.PARCEL_WIDTH
        found = request(m, m[parcel + k.PARCEL_MODEL], m[parcel + k.PARCEL_ENDS], q)
        m[found + served.RANK], m[found + served.INDEX] = m[row + k.BEGUN_RANK], m[queue + k.INDEX]
        m[found + served.NUMBER], m[found + served.LAYER] = m[parcel + k.PARCEL_NUMBER], layer
        m[found + served.WHAT], m[found + served.ID] = m[parcel + k.PARCEL_WHAT], k.NONE
        m[found + served.WHERE] = m[parcel + k.PARCEL_SHIFT] + address


@njit
def request(m: Any, model: int, kind: int, what: int) -> int:
    """The row of a request of this instant, with a ticket that says what its end is to whom."""
    number, ticket = m[k.REQUEST_COUNT], m[k.FREE_TICKET]
    if number >= m[k.REQUEST_ROOM] or ticket == k.NONE:
        m[k.FAILED] = k.LOST
        return int(m[k.REQUESTS_AT])
    m[k.REQUEST_COUNT] = number + 1
    m[k.TICKETS_OUT] += 1
    row = m[k.TICKETS_AT] + ticket * k.TICKET_WIDTH
    m[k.FREE_TICKET] = m[row + k.TICKET_NEXT]
    m[row + k.TICKET_KIND], m[row + k.TICKET_WHAT] = kind, what
    found = m[k.REQUESTS_AT] + number * served.REQUEST_WIDTH
    m[found + served.MODEL], m[found + served.TICKET] = model, ticket
    return int(found)


@njit
def hand_over(m: Any) -> None:
    """Give the models the requests of this instant, each its own in their order."""
    first, count, width = m[k.REQUESTS_AT], m[k.REQUEST_COUNT], served.REQUEST_WIDTH
    _sort(m, first, count)
    done = 0
    while done < count:
        row = first + done * width
        model, last = m[row], done + 1
        while last < count and m[first + last * width] == model:
            last += 1
        at = m[k.MODELS_AT] + model * k.MODEL_WIDTH
        taken = call(m[at + k.SUBMIT], m[at + k.TABLE], m[k.NOW], address_of(m, row), last - done)
        done += taken
        if done < last:
            m[k.FAILED], m[k.SHORT_MODEL] = k.MODEL_FULL, model
            break
    for place in range(first, first + (count - done) * width):
        m[place] = m[place + done * width]
    m[k.REQUEST_COUNT] = count - done


@njit
def _sort(m: Any, first: int, count: int) -> None:
    """Sort requests by model and order; they come nearly so."""
    width, spare = served.REQUEST_WIDTH, first + m[k.REQUEST_ROOM] * served.REQUEST_WIDTH
    for number in range(1, count):
        row = first + number * width
        if not _before(m, row, row - width):
            continue
        _copy(m, row, spare)
        while row > first and _before(m, spare, row - width):
            _copy(m, row - width, row)
            row -= width
        _copy(m, spare, row)


@njit
def _before(m: Any, row: int, other: int) -> bool:
    for column in range(served.NUMBER + 1):  # model, rank, index, number
        if m[row + column] != m[other + column]:
            return bool(m[row + column] < m[other + column])
    return False


@njit
def _copy(m: Any, source: int, target: int) -> None:
    for column in range(served.REQUEST_WIDTH):
        m[target + column] = m[source + column]


@njit
def first_ps(m: Any) -> int:
    """Before when no model completes anything."""
    found = k.NEVER
    for model in range(m[k.MODEL_COUNT]):
        found = min(found, word_at(m[m[k.MODELS_AT] + model * k.MODEL_WIDTH + k.NEXT_PS_AT]))
    return int(found)


@njit
def run_first(m: Any, bound_ps: int) -> None:
    """Run the model that may complete something first, up to the bound or to where another one may."""
    best, best_ps, limit_ps = 0, k.NEVER, bound_ps
    for model in range(m[k.MODEL_COUNT]):
        next_ps = word_at(m[m[k.MODELS_AT] + model * k.MODEL_WIDTH + k.NEXT_PS_AT])
        if next_ps < best_ps:
            limit_ps = min(limit_ps, best_ps)
            best, best_ps = model, next_ps
        else:
            limit_ps = min(limit_ps, next_ps)
    row = m[k.MODELS_AT] + best * k.MODEL_WIDTH
    count = call(m[row + k.ADVANCE], m[row + k.TABLE], limit_ps, 0, 0)
    if count < 0:
        m[k.FAILED], m[k.SHORT_MODEL] = k.MODEL_FULL if count == served.NO_ROOM else k.MODEL_STUCK, best
    for place in range(count):
        _complete(m, best, place, m[row + k.COMPLETIONS] + 8 * place * served.COMPLETION_WIDTH)


@njit
def _complete(m: Any, model: int, place: int, row: int) -> None:
    """Let what waits for a request go on at the first edge of its clock, or tell Python, which waits for it."""
    ticket, time_ps = word_at(row + 8 * served.COMPLETED), word_at(row + 8 * served.TIME_PS)
    at = m[k.TICKETS_AT] + ticket * k.TICKET_WIDTH
    kind, what = m[at + k.TICKET_KIND], m[at + k.TICKET_WHAT]
    m[at + k.TICKET_NEXT] = m[k.FREE_TICKET]
    m[k.FREE_TICKET] = ticket
    m[k.TICKETS_OUT] -= 1
    if kind == k.FOR_PYTHON:
        ask(m, k.COMPLETED, model, what, place, 0, 0)
    else:
        clock = m[m[k.QUEUES_AT] + what * k.QUEUE_WIDTH + k.CLOCK]
        put_first(m, edge(m, clock, cycle_at(m, clock, time_ps)), kind, what)
