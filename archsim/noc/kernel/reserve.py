"""The network as reservations: each link serves heads in the order in which they reach its router.

A packet of L flits holds a link for L cycles from when its head passes the switch; buffers and virtual channels have no
end. Without rivals it is exact; under load it leaves out what waits for buffers and allocators.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from archsim.kernels import inlined, njit
from archsim.noc.kernel.layout import NO_PORT


class Links(NamedTuple):
    """Arrays of a network: the cycle from which each output port and node is free; where each leads and how long it
    takes; ``sinks``: of output ports to nodes. ``pipeline``: cycles of a head in a router before the switch."""

    port_free: Any
    node_free: Any
    target: Any  # router, by output port
    port_cycles: Any
    node_router: Any
    node_cycles: Any
    sinks: Any
    flits: Any
    ports: int
    pipeline: int


@njit
def reserve(links: Any, routes: Any, packets: Any, heap_time: Any, heap_packet: Any, at: Any, coins: Any) -> None:
    """Deliver all ``packets``, in order of time; ``at`` and the heap are scratch of as many entries."""
    size = 0
    following = 0
    count = packets.size
    while following < count or size:
        if following < count and (size == 0 or packets[following].time <= heap_time[0]):
            packet = packets[following]
            node = packet.source
            start = max(packet.time, links.node_free[node])
            links.node_free[node] = start + packet.flits
            packet.started = start
            at[following] = links.node_router[node]
            size = _push(heap_time, heap_packet, size, start + links.node_cycles[node], following)
            following += 1
            continue
        time, number = heap_time[0], heap_packet[0]
        size = _pop(heap_time, heap_packet, size)
        packet = packets[number]
        router = at[number]
        route = routes[router, packet.target]
        output = router * links.ports + (
            route.other_port if route.other_port != NO_PORT and coins[number] else route.port
        )
        passes = max(time + links.pipeline, links.port_free[output])
        links.port_free[output] = passes + packet.flits
        links.flits[output] += packet.flits
        reached = passes + links.port_cycles[output]
        if links.sinks[output]:
            packet.ended = reached + packet.flits - 1
        else:
            at[number] = links.target[output]
            size = _push(heap_time, heap_packet, size, reached, number)


@inlined
def _before(times: Any, packets: Any, a: int, b: int) -> bool:
    sooner: bool = times[a] < times[b] or (times[a] == times[b] and packets[a] < packets[b])
    return sooner


@inlined
def _swap(times: Any, packets: Any, a: int, b: int) -> None:
    times[a], times[b] = times[b], times[a]
    packets[a], packets[b] = packets[b], packets[a]


@njit
def _push(times: Any, packets: Any, size: int, time: int, packet: int) -> int:
    times[size], packets[size] = time, packet
    place = size
    while place and _before(times, packets, place, (place - 1) // 2):
        _swap(times, packets, place, (place - 1) // 2)
        place = (place - 1) // 2
    return size + 1


@njit
def _pop(times: Any, packets: Any, size: int) -> int:
    size -= 1
    times[0], packets[0] = times[size], packets[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            return size
        if child + 1 < size and _before(times, packets, child + 1, child):
            child += 1
        if not _before(times, packets, child, place):
            return size
        _swap(times, packets, child, place)
        place = child
