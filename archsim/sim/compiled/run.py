"""The loop of the compiled machine: events of an instant, then its ports, then the next instant."""

from __future__ import annotations

from typing import Any

from archsim.base import served
from archsim.base.jit import entry, njit
from archsim.sim.compiled import layout as k
from archsim.sim.compiled import models, ports, tokens
from archsim.sim.compiled.clocks import cycle_at, edge
from archsim.sim.compiled.events import drop_first, put
from archsim.sim.compiled.settle import settle
from archsim.sim.compiled.text import address, find_plan, insert_plan, key_of, next_command


@entry
@njit
def run(m: Any, x: Any, r: Any, until: int, how: int) -> int:
    """Take in what Python tells of the present instant, then go on: WITHIN it; AHEAD, the instants up to ``until`` and
    the models before; or the model alone that is next, up to ``until``.

    Returns how much is asked of Python, in the present instant then. Stops early when something has FAILED; FULL: there
    is no room for what the next instant may write: make more, set it back and go on. ``m``, ``x``, ``r``: see layout.
    """
    m[k.ASKED_COUNT] = 0
    for number in range(m[k.TOLD_COUNT]):
        _take_in(m, x, r, m[k.TOLD_AT] + number * k.TOLD_WIDTH)
    m[k.TOLD_COUNT] = 0
    if how == k.MODELS_ALONE:
        models.run_first(m, until)
    while not m[k.FAILED]:
        if m[k.EVENT_COUNT] and m[m[k.EVENTS_AT]] <= m[k.NOW]:
            _happen(m, x, r)
        elif m[k.ASKED_COUNT]:
            break
        elif m[k.DIRTY_COUNT]:
            settle(m, x, r)
        elif how != k.AHEAD or not _end_instant(m, until):
            break
    m[k.SUBMITS_PS], m[k.MODELS_PS] = _submits_ps(m), models.first_ps(m)
    return int(m[k.ASKED_COUNT])


@njit
def _end_instant(m: Any, until: int) -> bool:
    """All of the present instant has happened: hand over what is asked of models, run them to the next one, and go on
    to that; whether there is one up to ``until``."""
    if m[k.REQUEST_COUNT]:
        models.hand_over(m)
        return True
    next_ps = m[m[k.EVENTS_AT]] if m[k.EVENT_COUNT] else k.NEVER
    model_ps = models.first_ps(m)
    if model_ps <= until:
        bound_ps = min(until + 1, _submits_ps(m))
        if model_ps <= bound_ps:
            models.run_first(m, bound_ps)
            return True
    if next_ps > until:
        return False
    if _short(m):
        m[k.FAILED] = k.FULL
    else:
        m[k.NOW] = next_ps
    return True


@njit
def _submits_ps(m: Any) -> int:
    """Before when nothing is asked of a DRAM or a network: a move asks when it is ready, and one that has not begun yet
    is ready its descriptor later."""
    events, first = m[k.EVENTS_AT], k.NEVER
    for event in range(m[k.EVENT_COUNT]):
        row = events + event * k.EVENT_WIDTH
        after = 0 if m[row + 2] == k.QUEUE_READY else m[k.LEAST_SETUP_PS]
        first = min(first, m[row] + after)
    return int(first)


@njit
def _short(m: Any) -> bool:
    """Whether the events of an instant might find no room for what they write."""
    most = 4 * m[k.QUEUE_COUNT] + 64
    short: bool = (
        m[k.RECORD_COUNT] + most > m[k.RECORD_ROOM]
        or m[k.PHASE_COUNT] + 5 * most > m[k.PHASE_ROOM]
        or m[k.STREAMED_COUNT] + m[k.MOST_DEMANDS] * most > m[k.STREAMED_ROOM]
        or m[k.EVENT_COUNT] + 4 * most > m[k.EVENT_ROOM]
        or m[k.REQUEST_COUNT] + m[k.MOST_PARCELS] * most > m[k.REQUEST_ROOM]
        or m[k.TICKETS_OUT] + m[k.MOST_PARCELS] * most > m[k.TICKET_ROOM]
    )
    return short


@njit
def _happen(m: Any, x: Any, r: Any) -> None:
    """The first event."""
    events = m[k.EVENTS_AT]
    kind, what, version = m[events + 2], m[events + 3], m[events + 4]
    drop_first(m)
    if kind == k.FLOW_ENDS:
        flow = m[k.FLOWS_AT] + what * k.FLOW_WIDTH
        if m[flow + k.FLOW_ACTIVE] and m[flow + k.FLOW_VERSION] == version:
            _end_flow(m, x, r, what)
    elif kind == k.TOKEN_SEEN:
        tokens.arrive(m, what)
    elif kind == k.QUEUE_READY:
        _move(m, x, r, what)
    elif kind == k.LEG_ENDS or kind == k.TRAVEL_ENDS:
        _end_parcel(m, x, r, what, kind)
    elif m[m[k.QUEUES_AT] + what * k.QUEUE_WIDTH + k.STATE] == k.IDLE or _start(m, x, r, what):
        _go_on(m, x, r, what)


@njit
def _take_in(m: Any, x: Any, r: Any, row: int) -> None:
    """What Python tells: kind, what, and more."""
    kind, what = m[row], m[row + 1]
    queue = m[k.QUEUES_AT] + what * k.QUEUE_WIDTH
    if kind == k.HAVE_PLAN:
        if find_plan(m, _known_key(m, m[row + 2])) == k.NONE:
            insert_plan(m, m[row + 2])
        if what != k.NONE:
            m[queue + k.PLAN] = m[row + 2]
            if _begin(m, x, r, what):
                _go_on(m, x, r, what)
    elif kind == k.LEG_ENDED:
        m[queue + k.BEAT_PS] = max(m[queue + k.BEAT_PS], m[k.NOW])
        _part_done(m, x, r, what)
    elif kind == k.TRAVEL_ENDED:
        m[queue + k.TRAVEL_BEAT_PS], m[queue + k.TRAVEL_FLIT_PS] = m[row + 2], m[row + 3]
        _part_done(m, x, r, what)
    elif kind == k.FOREIGN_ENDED:
        m[queue + k.RECORD] = m[queue + k.START_PS]
        for number in range(m[row + 2]):
            _phase(m, m[row + 3 + 2 * number], m[row + 4 + 2 * number], queue)
        _close(m, what, k.NONE)
        _go_on(m, x, r, what)
    elif kind == k.BEGIN_FLOW:
        ports.begin(m, x, r, what, m[row + 2], m[row + 3], m[row + 4], k.NONE)
    elif kind == k.HAVE_BEGUN:
        models.begin(m, what, models.begun(m, what, m[queue + k.PLAN]), m[row + 2])
    elif kind == k.HAVE_REQUEST:
        _request(m, what, row + 2)
    else:
        tokens.give(m, m[row + 2], what, m[row + 3], m[row + 4], m[row + 5], m[row + 6])


@njit
def _request(m: Any, model: int, row: int) -> None:
    """A request of Python's: rank, index and number, what, where and the number of it."""
    found = models.request(m, model, k.FOR_PYTHON, m[row + 5])
    m[found + served.RANK], m[found + served.INDEX], m[found + served.NUMBER] = m[row], m[row + 1], m[row + 2]
    m[found + served.WHAT], m[found + served.WHERE], m[found + served.ID] = m[row + 3], m[row + 4], m[row + 5]
    m[found + served.LAYER] = k.NONE


@njit
def _end_parcel(m: Any, x: Any, r: Any, q: int, kind: int) -> None:
    """Something that the move of queue ``q`` asked of a model has ended."""
    queue = m[k.QUEUES_AT] + q * k.QUEUE_WIDTH
    if kind == k.LEG_ENDS:
        m[queue + k.BEAT_PS] = max(m[queue + k.BEAT_PS], m[k.NOW])
    else:
        m[queue + k.TRAVEL_BEAT_PS], m[queue + k.TRAVEL_FLIT_PS] = 0, m[k.NOW]
    _part_done(m, x, r, q)


@njit
def _known_key(m: Any, plan: int) -> int:
    """Write the key of a plan to KEY; how many numbers it has."""
    known = m[k.PLAN_KEYS_AT] + plan * k.KEY_WIDTH
    for place in range(k.KEY_WIDTH):
        m[m[k.KEY] + place] = m[known + place]
    return int(m[known + k.KEY_WIDTH - 1])


@njit
def _go_on(m: Any, x: Any, r: Any, q: int) -> None:
    """Queue ``q`` has ended a command: run those that it can."""
    queue = m[k.QUEUES_AT] + q * k.QUEUE_WIDTH
    while True:
        command = next_command(m, q)
        if command == k.NONE:
            m[queue + k.STATE], m[queue + k.CURRENT] = k.ENDED, k.NONE
            return
        m[queue + k.CURRENT] = command
        m[queue + k.INDEX] += 1
        m[queue + k.HEAD_PS] = m[k.NOW]
        if tokens.lacks(m, q, m[k.COMMANDS_AT] + command * k.COMMAND_WIDTH):
            m[queue + k.STATE] = k.BLOCKED
            return
        if not _start(m, x, r, q):
            return


@njit
def _start(m: Any, x: Any, r: Any, q: int) -> bool:
    """The tokens of the command of queue ``q`` are there; whether it has ended at once."""
    queue = m[k.QUEUES_AT] + q * k.QUEUE_WIDTH
    command = m[k.COMMANDS_AT] + m[queue + k.CURRENT] * k.COMMAND_WIDTH
    tokens.take(m, q, command)
    m[queue + k.START_PS], m[queue + k.STATE] = m[k.NOW], k.RUNNING
    if m[command + k.DOES] == k.SYNC:
        _close(m, q, k.NONE)
        return True
    if m[command + k.DOES] == k.FOREIGN:
        tokens.ask(m, k.WANT_FOREIGN, q, 0, 0, 0, 0)
        return False
    size = key_of(m, q)
    plan = find_plan(m, size)
    if plan == k.NONE:
        tokens.ask(m, k.WANT_PLAN, q, 0, 0, 0, 0)
        return False
    m[queue + k.PLAN] = plan
    return _begin(m, x, r, q)


@njit
def _begin(m: Any, x: Any, r: Any, q: int) -> bool:
    """The command of queue ``q`` begins as its plan says; whether it has ended at once."""
    queue = m[k.QUEUES_AT] + q * k.QUEUE_WIDTH
    plan = m[k.PLANS_AT] + m[queue + k.PLAN] * k.PLAN_WIDTH
    if m[plan + k.PLAN_KIND] == k.MOVE and m[plan + k.SETUP]:
        now = m[k.NOW]
        ready = edge(m, m[queue + k.CLOCK], cycle_at(m, m[queue + k.CLOCK], now) + m[plan + k.SETUP])
        put(m, ready, k.QUEUE_READY, q, 0)
        return False
    if m[plan + k.PLAN_KIND] == k.LAUNCH and m[plan + k.STREAM] == k.NONE:
        _close(m, q, k.NONE)
        return True
    _move(m, x, r, q)
    return False


@njit
def _move(m: Any, x: Any, r: Any, q: int) -> None:
    """Streams on ports begin, and what goes over DRAM or network beside them."""
    queue = m[k.QUEUES_AT] + q * k.QUEUE_WIDTH
    plan = m[k.PLANS_AT] + m[queue + k.PLAN] * k.PLAN_WIDTH
    now = m[k.NOW]
    m[queue + k.MOVING_PS], m[queue + k.BEAT_PS] = now, now
    m[queue + k.PENDING] = 1 + m[plan + k.LEGS] + m[plan + k.TRAVELS]
    if m[plan + k.LEGS] or m[plan + k.TRAVELS]:
        outer, at = m[plan + k.OUTER], 0
        if outer >= 0:
            at = address(m, q, m[m[k.COMMANDS_AT] + m[queue + k.CURRENT] * k.COMMAND_WIDTH + k.OPERANDS] + outer)
        row = models.begun(m, q, m[queue + k.PLAN]) if outer != k.SEVERAL else k.NONE
        if row != k.NONE and m[row + k.BEGUN_RANK] != k.BY_PYTHON:
            models.begin(m, q, row, at)
        else:
            known = m[queue + k.PLAN] if outer != k.SEVERAL else k.NONE
            tokens.ask(m, k.WANT_TRANSFERS, q, known, at, m[queue + k.INDEX], row)
    ports.begin(m, x, r, q, m[plan + k.STREAM], m[queue + k.CORE], m[queue + k.CLOCK], q)


@njit
def _end_flow(m: Any, x: Any, r: Any, f: int) -> None:
    ports.end(m, x, f)
    if f < m[k.QUEUE_COUNT]:
        _part_done(m, x, r, f)
    else:
        tokens.ask(m, k.FLOW_ENDED, f, 0, 0, 0, 0)


@njit
def _part_done(m: Any, x: Any, r: Any, q: int) -> None:
    """A part of what the command of queue ``q`` does has ended; with the last one it ends."""
    queue = m[k.QUEUES_AT] + q * k.QUEUE_WIDTH
    m[queue + k.PENDING] -= 1
    if m[queue + k.PENDING] == 0:
        _finish(m, q)
        _go_on(m, x, r, q)


@njit
def _finish(m: Any, q: int) -> None:
    """A planned command ends now: its actions, its streams and its phases."""
    queue, now = m[k.QUEUES_AT] + q * k.QUEUE_WIDTH, m[k.NOW]
    plan = m[k.PLANS_AT] + m[queue + k.PLAN] * k.PLAN_WIDTH
    command = m[k.COMMANDS_AT] + m[queue + k.CURRENT] * k.COMMAND_WIDTH
    m[m[k.COUNTS_AT] + m[queue + k.PLAN] * m[k.LAYERS] + m[command + k.LAYER]] += 1
    begun = m[queue + k.MOVING_PS]
    ended = m[m[k.FLOWS_AT] + q * k.FLOW_WIDTH + k.FLOW_END_PS]
    for demand in range(m[plan + k.DEMANDS], m[plan + k.DEMANDS_END]):
        _stream(m, m[k.DEMANDS_AT] + demand * k.DEMAND_WIDTH, m[queue + k.CORE], begun, ended)
    m[queue + k.RECORD] = begun
    clock = m[queue + k.CLOCK]
    first = cycle_at(m, clock, begun)
    if m[plan + k.PLAN_KIND] == k.ARRAY:
        _phase(m, k.WEIGHT_LOAD, edge(m, clock, first + m[plan + k.END_1]), queue)
        _phase(m, k.FILL_DRAIN, edge(m, clock, first + m[plan + k.END_2]), queue)
        _phase(m, k.BUSY, edge(m, clock, first + m[plan + k.END_3]), queue)
        _phase(m, k.FILL_DRAIN, edge(m, clock, first + m[plan + k.END_4]), queue)
        _phase(m, k.SRAM_PORT, now, queue)
    elif m[plan + k.PLAN_KIND] == k.VECTOR:
        _phase(m, k.BUSY, edge(m, clock, first + m[plan + k.END_1]), queue)
        _phase(m, k.SRAM_PORT, now, queue)
    elif m[plan + k.PLAN_KIND] == k.LAUNCH:
        _phase(m, k.LAUNCHING, now, queue)
    else:
        _move_phases(m, queue, plan, first, now)
    _close(m, q, m[queue + k.PLAN])


@njit
def _stream(m: Any, demand: int, core: int, begun: int, ended: int) -> None:
    """Put a stream on the bandwidth trace."""
    if m[k.STREAMED_COUNT] >= m[k.STREAMED_ROOM]:
        m[k.FAILED] = k.LOST
        return
    row = m[k.STREAMED_AT] + m[k.STREAMED_COUNT] * k.STREAMED_WIDTH
    m[k.STREAMED_COUNT] += 1
    memory = m[demand]
    m[row] = memory if memory >= 0 else m[k.OWN_MEMORIES] + core * m[k.MEMORIES_OF_CORE] - memory - 1
    m[row + 1], m[row + 2], m[row + 3], m[row + 4] = begun, ended, m[demand + 2], m[demand + 1]


@njit
def _move_phases(m: Any, queue: int, plan: int, first: int, now: int) -> None:
    """Where a move's bytes were (``archsim.memory.dma``, ``archsim.memory.journey``)."""
    clock = m[queue + k.CLOCK]
    m[queue + k.RECORD] = m[queue + k.START_PS]
    if m[plan + k.TRAVELS]:
        beat, flit = m[queue + k.BEAT_PS], m[queue + k.TRAVEL_FLIT_PS]
        if m[queue + k.TRAVEL_BEAT_PS]:
            beat = max(beat, edge(m, clock, cycle_at(m, clock, m[queue + k.TRAVEL_BEAT_PS])))
        flit = edge(m, clock, cycle_at(m, clock, flit))
        if m[plan + k.READS]:
            _phase(m, k.DRAM, beat, queue)
            _phase(m, k.NOC, flit, queue)
        else:
            _phase(m, k.NOC, flit, queue)
            _phase(m, k.DRAM, beat, queue)
    elif m[plan + k.LEGS]:
        _phase(m, k.DRAM, m[queue + k.BEAT_PS], queue)
    elif m[plan + k.OWN_CYCLES]:
        _phase(m, k.NOC, edge(m, clock, first + m[plan + k.OWN_CYCLES]), queue)
    _phase(m, k.SRAM_PORT, now, queue)


@njit
def _phase(m: Any, name: int, until_ps: int, queue: int) -> None:
    """A phase of the command that ends now, unless it is empty (``Records.add``); RECORD: where the last one ended."""
    if until_ps > m[queue + k.RECORD]:
        m[queue + k.RECORD] = min(until_ps, m[k.NOW])
        if m[k.PHASE_COUNT] >= m[k.PHASE_ROOM]:
            m[k.FAILED] = k.LOST
            return
        row = m[k.PHASES_AT] + m[k.PHASE_COUNT] * k.PHASE_WIDTH
        m[k.PHASE_COUNT] += 1
        m[row], m[row + 1], m[row + 2] = m[k.RECORD_COUNT], name, m[queue + k.RECORD]


@njit
def _close(m: Any, q: int, plan: int) -> None:
    """The command of queue ``q`` ends now: record it and signal."""
    if m[k.RECORD_COUNT] >= m[k.RECORD_ROOM]:
        m[k.FAILED] = k.LOST
        return
    queue = m[k.QUEUES_AT] + q * k.QUEUE_WIDTH
    row = m[k.RECORDS_AT] + m[k.RECORD_COUNT] * k.RECORD_WIDTH
    m[k.RECORD_COUNT] += 1
    critical = m[queue + k.LAST_PS] > m[queue + k.HEAD_PS]
    m[row], m[row + 1] = q, m[m[k.COMMANDS_AT] + m[queue + k.CURRENT] * k.COMMAND_WIDTH + k.TEXT]
    m[row + 2], m[row + 3], m[row + 4] = m[queue + k.HEAD_PS], m[queue + k.START_PS], m[k.NOW]
    m[row + 5], m[row + 6] = (m[queue + k.LAST_UNIT], m[queue + k.LAST_INDEX]) if critical else (-1, 0)
    m[row + 7] = plan
    tokens.give_all(m, q, m[k.COMMANDS_AT] + m[queue + k.CURRENT] * k.COMMAND_WIDTH)
