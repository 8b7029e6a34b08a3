"""Explicit traffic: a list of packets from node to node, or to several nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from archsim.base.errors import ConfigError, SimulationError
from archsim.base.progress import stretch
from archsim.facts.noc.routing import RoutingTable
from archsim.facts.noc.topology import Topology
from archsim.noc.compiled.records import ARRIVED, COMING, MESSAGE, NO_INDEX, NONE
from archsim.noc.engine import MulticastTrees, NocEngine, engine, now, send_all, under_way, with_records
from archsim.noc.parameters import RouterParameters
from archsim.noc.ways import ShortestWays

STUCK_CYCLES = 1 << 22  # without an arrival: more than any route, buffer and rival can explain


@dataclass(frozen=True, slots=True, eq=False)
class DeliveredPackets:
    """Of each packet, in the order given: the cycles at which its first flit left its node and its last one reached its
    (last) node. ``link_flits``: by link of the topology; ``router_flits``: flits times the routers that they have
    entered, as of NetworkStats; ``cycles``: until the last arrival."""

    started: Any
    ended: Any
    link_flits: Any
    router_flits: int
    cycles: int


def replay(
    topology: Topology,
    routes: RoutingTable,
    parameters: RouterParameters,
    times: Any,
    sources: Any,
    targets: Any,
    flits: Any,
    *,
    groups: tuple[tuple[int, ...], ...] = (),
    fidelity: str = "flit",
    seed: int = 0,
) -> DeliveredPackets:
    """Send packet i at ``times[i]``, never falling, from node ``sources[i]``: ``flits[i]`` >= 1 of them to node
    ``targets[i]``, or from len(nodes) on to all nodes of ``groups[targets[i] - len(nodes)]``.

    Raises ConfigError on times that fall and nodes that are not there, SimulationError when packets stand still.
    """
    packets = packets_of(topology, times, sources, targets, flits, groups)
    found = engine(fidelity, topology, routes, parameters, seed=seed)
    if fidelity == "flit":
        _check_fit(packets, len(topology.nodes), parameters)
    _aim(packets, MulticastTrees(found, ShortestWays(topology, routes)), len(topology.nodes), groups)
    found.state = with_records(found.state, packets)
    send_all(found.state)
    received = int(packets["flits"] @ packets["left"])
    with stretch("sending", "flits", received, done=lambda: int(found.state.counts[ARRIVED])):
        finish(found, topology.name)
    flow = found.flits()
    return DeliveredPackets(
        started=packets["started"].copy(),
        ended=packets["ended"].copy(),
        link_flits=through_links(topology, flow),
        router_flits=through_routers(topology, flow),
        cycles=int(packets["ended"].max(initial=0)),
    )


def through_links(topology: Topology, flow: Any) -> Any:
    """Of flits by output port: those of each link of the topology."""
    return flow[[link.source * topology.ports + link.source_port for link in topology.links]]


def through_routers(topology: Topology, flow: Any) -> int:
    """Of flits by output port, then by node: into all routers, from nodes and over links; one that leaves a router by
    several outputs has passed one router."""
    return int(flow[topology.routers * topology.ports :].sum() + through_links(topology, flow).sum())


def finish(found: NocEngine, name: str) -> None:
    """Run until every message has ended. Raises SimulationError when those under way stand still."""
    while found.state.counts[COMING] != NONE:
        found.advance(int(found.state.messages["time"][-1]) + 1, stops=False)
    while under_way(found.state):
        before = int(found.state.counts[ARRIVED]), under_way(found.state)
        found.advance(now(found.state) + STUCK_CYCLES, stops=False)
        if before == (int(found.state.counts[ARRIVED]), under_way(found.state)):
            raise SimulationError(f"network {name}: {before[1]} packets stand still: routes block one another")


def packets_of(
    topology: Topology, times: Any, sources: Any, targets: Any, flits: Any, groups: tuple[tuple[int, ...], ...]
) -> Any:
    """The compiled code's records, each a message of one packet. Raises ConfigError for the first that cannot be."""
    nodes = len(topology.nodes)
    found = np.zeros(len(times), MESSAGE)
    for name, field, values, least, most in (
        ("time", "time", times, 0, 1 << 61),
        ("source", "source", sources, 0, nodes - 1),
        ("target", "where", targets, 0, nodes + len(groups) - 1),
        ("flits", "flits", flits, 1, 1 << 30),
    ):
        wrong = np.flatnonzero((np.asarray(values) < least) | (np.asarray(values) > most))
        if wrong.size:
            place = int(wrong[0])
            raise ConfigError(f"packet {place}: {name}: found {values[place]}; allowed {least} to {most}")
        found[field] = values
    falls = np.flatnonzero(np.diff(found["time"]) < 0)
    if falls.size:
        place = int(falls[0]) + 1
        raise ConfigError(f"packet {place}: time: found {times[place]}; allowed times that do not fall")
    found["rest"], found["left"], found["whole"] = found["flits"], 1, np.arange(found.size)
    found["then"], found["parts"] = NO_INDEX, 1
    found["ended"] = found["started"] = NONE
    return found


def _check_fit(packets: Any, nodes: int, parameters: RouterParameters) -> None:
    long = np.flatnonzero((packets["where"] >= nodes) & (packets["flits"] > parameters.vc_buffer))
    if long.size:
        place = int(long[0])
        raise ConfigError(
            f"packet {place}: flits: found {packets['flits'][place]} to several nodes; allowed at most "
            f"{parameters.vc_buffer}, a virtual channel's buffer"
        )


def _aim(packets: Any, trees: MulticastTrees, nodes: int, groups: tuple[tuple[int, ...], ...]) -> None:
    """Give packets to groups their trees."""
    for place in np.flatnonzero(packets["where"] >= nodes).tolist():
        group = groups[int(packets["where"][place]) - nodes]
        packets["where"][place] = trees.where(int(packets["source"][place]), group)
        packets["left"][place] = len(group)
