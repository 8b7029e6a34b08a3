"""Explicit traffic on a network whose links are reserved packet by packet (fidelity ``link``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.errors import ConfigError
from archsim.noc.kernel import layout as k
from archsim.noc.parameters import RouterParameters
from archsim.noc.replay import Delivered, packets_of
from archsim.noc.routing import Routes
from archsim.noc.topology import Topology


def links(topology: Topology, parameters: RouterParameters) -> Any:
    """The arrays of an idle network (kernel.reserve.Links)."""
    from archsim.noc.kernel.reserve import Links

    outputs = topology.routers * topology.ports
    found = Links(
        port_free=np.zeros(outputs, np.int64),
        node_free=np.zeros(len(topology.nodes), np.int64),
        target=np.zeros(outputs, np.int64),
        port_cycles=np.zeros(outputs, np.int64),
        node_router=np.array([node.router for node in topology.nodes], np.int64),
        node_cycles=np.array([k.WIRE + node.delay_cycles for node in topology.nodes], np.int64),
        sinks=np.zeros(outputs, np.int64),
        flits=np.zeros(outputs, np.int64),
        ports=topology.ports,
        pipeline=parameters.routing_delay + (0 if parameters.speculative else 1),
    )
    for link in topology.links:
        output = link.source * topology.ports + link.source_port
        found.target[output] = link.target
        found.port_cycles[output] = k.CROSSBAR + k.WIRE + link.delay_cycles
    for node in topology.nodes:
        output = node.sink * topology.ports + node.port
        found.sinks[output] = 1
        found.port_cycles[output] = k.CROSSBAR + k.WIRE + node.delay_cycles
    return found


def reserve(topology: Topology, routes: Routes, parameters: RouterParameters, packets: Any, seed: int = 0) -> Any:
    """Fill ``started`` and ``ended`` of packets in order of time; flits by output port are returned."""
    from archsim.noc import compiled
    from archsim.noc.kernel import reserve as kernel

    found = links(topology, parameters)
    count = packets.size
    coins = np.random.default_rng(seed).integers(0, 2, count)
    times, numbers, at = (np.zeros(count, np.int64) for _ in range(3))
    kernel.reserve(found, compiled.route_table(routes), packets, times, numbers, at, coins)
    return found.flits


def replay_reserved(
    topology: Topology,
    routes: Routes,
    parameters: RouterParameters,
    times: Any,
    sources: Any,
    targets: Any,
    flits: Any,
    *,
    groups: tuple[tuple[int, ...], ...] = (),
    seed: int = 0,
) -> Delivered:
    """As ``replay.replay``, with links reserved packet by packet. Raises ConfigError for packets to several nodes."""
    if groups:
        raise ConfigError("fidelity link: packets to several nodes are not modelled; allowed with flit")
    packets = packets_of(topology, times, sources, targets, flits, groups)
    flow = reserve(topology, routes, parameters, packets, seed)
    return Delivered(
        started=packets["started"].copy(),
        ended=packets["ended"].copy(),
        link_flits=np.array(
            [flow[link.source * topology.ports + link.source_port] for link in topology.links], np.int64
        ),
        router_flits=int(flow.sum()),
        cycles=int(packets["ended"].max(initial=0)),
    )
