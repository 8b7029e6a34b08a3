"""What a network could carry at best: loads of links that its routes and a traffic pattern imply."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from archsim.facts.noc.routers import CROSSBAR, WIRE
from archsim.facts.noc.routing import NONE, RoutingTable
from archsim.facts.noc.topology import FULL_RATE, Topology
from archsim.noc.parameters import RouterParameters
from archsim.noc.traffic import TrafficPattern
from archsim.noc.ways import ShortestWays


def link_loads(topology: Topology, routes: RoutingTable, traffic: TrafficPattern) -> Any:
    """Flits through each link, in the topology's order, when every node sends one; of two equal ways half each."""
    flow = np.zeros((topology.routers, topology.ports))
    ahead = np.zeros((topology.routers, topology.ports), np.int64)
    for link in topology.links:
        ahead[link.source, link.source_port] = link.target
    sinks = np.array([node.sink for node in topology.nodes])
    waiting = np.zeros((topology.routers, len(topology.nodes)))  # by where it is and where it goes
    for source, target, share in _pairs(traffic, len(topology.nodes)):
        waiting[topology.nodes[source].router, target] += share
    waiting[sinks, np.arange(len(sinks))] = 0.0
    while waiting.any():
        waiting, before = np.zeros_like(waiting), waiting
        routers, targets = np.nonzero(before)
        other = routes.other_port[routers, targets]
        two = other != NONE
        part = before[routers, targets] / (1 + two)
        for ports, on in ((routes.port[routers, targets], slice(None)), (other, two)):
            np.add.at(flow, (routers[on], ports[on]), part[on])
            np.add.at(waiting, (ahead[routers[on], ports[on]], targets[on]), part[on])
        waiting[sinks, np.arange(len(sinks))] = 0.0
    return np.array([flow[link.source, link.source_port] for link in topology.links])


def ideal_rate(topology: Topology, routes: RoutingTable, traffic: TrafficPattern) -> float:
    """Flits per node and cycle at which the busiest link, or node, is never idle. Beyond it packets that need it
    wait without end, others may still be served. Source: Dally, Towles: Principles and Practices of Interconnection
    Networks, section 3.3.1."""
    arriving = np.zeros(len(topology.nodes))
    for _, target, share in _pairs(traffic, len(topology.nodes)):
        arriving[target] += share
    busiest = max(1.0, float(arriving.max(initial=0.0)), float(link_loads(topology, routes, traffic).max(initial=0.0)))
    return 1.0 / busiest


def _pairs(traffic: TrafficPattern, nodes: int) -> list[tuple[int, int, float]]:
    if traffic.targets:
        return [(source, target, 1.0) for source, target in enumerate(traffic.targets)]
    share = 1.0 / len(traffic.drawn)
    return [(source, target, share) for source in range(nodes) for target in traffic.drawn]


def lone_cycles(
    topology: Topology, routes: RoutingTable, parameters: RouterParameters, source: int, target: int, flits: int
) -> int:
    """Cycles of a lone packet from its making to its last flit's arrival (``Ways.lone_cycles``)."""
    return ShortestWays(topology, routes).lone_cycles(parameters, source, target, flits)


def hops(topology: Topology, routes: RoutingTable, source: int, target: int) -> int:
    """Links on the way from one node to another, of two equal ones the first."""
    return len(ShortestWays(topology, routes).links(source, target))


def unthrottled(topology: Topology, parameters: RouterParameters) -> int:
    """Flits of a buffer that keep any link busy: as many as leave until the first one's credit is back."""
    links = [(link.delay_cycles, link.period) for link in topology.links]
    nodes = [(node.delay_cycles, FULL_RATE) for node in topology.nodes]
    rest = CROSSBAR + 2 * WIRE + parameters.credit_delay + parameters.head_cycles
    return max(ceil((rest + 2 * delay + ceil(period) - 1) / period) for delay, period in links + nodes)
