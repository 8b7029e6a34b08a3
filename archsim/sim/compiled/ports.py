"""On-chip ports that concurrent commands share at max-min fair rates (``archsim.memory.chip_ports`` says what is so).

A flow is a command on its ports. Whoever comes or goes marks the ports that may be overfull; once nothing more happens
in an instant these are settled: all flows that overfull ports tie to one another get their paces anew, by water
filling, and those whose pace changes end at another edge.

Of a port with flows that load its banks unevenly, banks that are overfull limit its flows like ports of their own.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.sim.compiled import layout as k
from archsim.sim.compiled.clocks import cycle_at, edge
from archsim.sim.compiled.events import put_end
from archsim.sim.compiled.exact import Exact, whole
from archsim.sim.compiled.text import address

ROUNDING = 1e-6
FULL = 1.0 - ROUNDING


@inlined
def absolute(m: Any, port: int, core: int) -> int:
    """The port that a share means to ``core``."""
    return port if port >= 0 else m[k.OWN_PORTS] + core * m[k.PORTS_OF_CORE] - port - 1


@inlined
def load(x: Any, r: Any, number: int) -> Exact:
    """An exact number."""
    return x[2 * number], x[2 * number + 1], r[number]


@inlined
def store(x: Any, r: Any, number: int, value: Exact) -> None:
    """Keep an exact number."""
    x[2 * number], x[2 * number + 1], r[number] = value


@njit
def begin(m: Any, x: Any, r: Any, f: int, stream: int, core: int, clock: int, q: int) -> None:
    """Start a flow at the present instant, an edge of its clock. ``q``: whose command it is, NONE of others."""
    flow, row, numbers = m[k.FLOWS_AT] + f * k.FLOW_WIDTH, m[k.STREAMS_AT] + stream * k.STREAM_WIDTH, _numbers(m, f)
    first = cycle_at(m, clock, m[k.NOW])
    m[flow + k.FLOW_STREAM], m[flow + k.FLOW_CORE], m[flow + k.FLOW_CLOCK] = stream, core, clock
    m[flow + k.FLOW_END_PS] = edge(m, clock, first + m[row + k.WHOLE_CYCLES])
    m[flow + k.FLOW_VERSION] += 1
    m[flow + k.FLOW_ACTIVE] = 1
    m[k.FLOWS_BEGUN] += 1
    m[flow + k.FLOW_ORDER] = m[k.FLOWS_BEGUN]
    store(x, r, numbers + k.DONE, whole(0))
    store(x, r, numbers + k.PACE, whole(1))
    store(x, r, numbers + k.SINCE, whole(first))
    turned = m[k.TURNS_AT] + f * m[k.MOST_TURNS]
    for share in range(m[row + k.SHARES], m[row + k.SHARES_END]):
        turned = _turn(m, share, q, turned)
        _join(m, x, f, share, core)
    put_end(m, f)


@inlined
def _numbers(m: Any, f: int) -> int:
    """The first exact number of a flow."""
    return int(m[k.FLOW_NUMBERS] + 3 * f)


@inlined
def _turn(m: Any, share: int, q: int, turned: int) -> int:
    """Write from ``turned`` on by how many banks the streams of a share lie further on; where the next ones go."""
    row = m[k.SHARES_AT] + share * k.SHARE_WIDTH
    for number in range(m[row + k.CONFLICTS], m[row + k.CONFLICTS_END]):
        conflict = m[k.CONFLICTS_AT] + number * k.CONFLICT_WIDTH
        turn = m[conflict + k.CONFLICT_SHIFT]
        if m[conflict + k.CONFLICT_OPERAND] != k.NONE:
            command = m[k.COMMANDS_AT] + m[m[k.QUEUES_AT] + q * k.QUEUE_WIDTH + k.CURRENT] * k.COMMAND_WIDTH
            turn += address(m, q, m[command + k.OPERANDS] + m[conflict + k.CONFLICT_OPERAND])
            turn = turn // m[conflict + k.CONFLICT_GRANULE] % m[conflict + k.CONFLICT_PERIOD]
        m[turned] = turn
        turned += 1
    return turned


@inlined
def is_uneven(m: Any, share: int) -> bool:
    """Whether a share has streams that load some banks more than others."""
    row = m[k.SHARES_AT] + share * k.SHARE_WIDTH
    return bool(m[row + k.CONFLICTS] < m[row + k.CONFLICTS_END])


@njit
def _join(m: Any, x: Any, f: int, share: int, core: int) -> None:
    """Put a flow on the port of a share."""
    flow = m[k.FLOWS_AT] + f * k.FLOW_WIDTH
    number = absolute(m, m[m[k.SHARES_AT] + share * k.SHARE_WIDTH + k.PORT], core)
    port, loads = m[k.PORTS_AT] + number * k.PORT_WIDTH, 2 * (m[k.PORT_NUMBERS] + number)
    first = m[m[k.STREAMS_AT] + m[flow + k.FLOW_STREAM] * k.STREAM_WIDTH + k.SHARES]
    member = m[k.MEMBERS_AT] + (f * m[k.MOST_SHARES] + share - first) * k.MEMBER_WIDTH
    m[member], m[member + 1], m[member + 2], m[member + 3] = f, share, k.NONE, m[port + k.PORT_FIRST]
    if m[port + k.PORT_FIRST] != k.NONE:
        m[m[port + k.PORT_FIRST] + 2] = member
    m[port + k.PORT_FIRST] = member
    m[port + k.PORT_FLOWS] += 1
    numbers = 2 * (m[k.SHARE_NUMBERS] + 4 * share)
    x[loads] += x[numbers + 2 * k.SHARE]
    if is_uneven(m, share):
        m[port + k.PORT_UNEVEN] += 1
        x[loads + 1] += x[numbers + 2 * k.PEAK]
    _mark(m, x, number)


@inlined
def _mark(m: Any, x: Any, number: int) -> None:
    """A port that may be overfull is to be settled."""
    port, loads = m[k.PORTS_AT] + number * k.PORT_WIDTH, 2 * (m[k.PORT_NUMBERS] + number)
    if x[loads] + x[loads + 1] >= FULL and m[port + k.PORT_DIRTY] == 0:
        m[port + k.PORT_DIRTY] = 1
        m[m[k.DIRTY_AT] + m[k.DIRTY_COUNT]] = number
        m[k.DIRTY_COUNT] += 1


@njit
def end(m: Any, x: Any, f: int) -> None:
    """Take a flow off its ports, at its end."""
    flow = m[k.FLOWS_AT] + f * k.FLOW_WIDTH
    m[flow + k.FLOW_ACTIVE] = 0
    stream = m[k.STREAMS_AT] + m[flow + k.FLOW_STREAM] * k.STREAM_WIDTH
    for share in range(m[stream + k.SHARES], m[stream + k.SHARES_END]):
        number = absolute(m, m[m[k.SHARES_AT] + share * k.SHARE_WIDTH + k.PORT], m[flow + k.FLOW_CORE])
        port, loads = m[k.PORTS_AT] + number * k.PORT_WIDTH, 2 * (m[k.PORT_NUMBERS] + number)
        _mark(m, x, number)
        member = m[k.MEMBERS_AT] + (f * m[k.MOST_SHARES] + share - m[stream + k.SHARES]) * k.MEMBER_WIDTH
        before, after = m[member + 2], m[member + 3]
        if before == k.NONE:
            m[port + k.PORT_FIRST] = after
        else:
            m[before + 3] = after
        if after != k.NONE:
            m[after + 2] = before
        m[port + k.PORT_FLOWS] -= 1
        numbers = 2 * (m[k.SHARE_NUMBERS] + 4 * share)
        x[loads] = x[loads] - x[numbers + 2 * k.SHARE] if m[port + k.PORT_FLOWS] else 0.0
        if is_uneven(m, share):
            m[port + k.PORT_UNEVEN] -= 1
            x[loads + 1] = x[loads + 1] - x[numbers + 2 * k.PEAK] if m[port + k.PORT_UNEVEN] else 0.0
