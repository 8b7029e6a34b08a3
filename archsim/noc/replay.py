"""Explicit traffic: a list of packets from node to node, or to several nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from archsim.errors import ConfigError, SimulationError
from archsim.noc import compiled, multicast
from archsim.noc.kernel.layout import NONE, PACKET, UNDER_WAY
from archsim.noc.parameters import RouterParameters
from archsim.noc.routing import Routes
from archsim.noc.topology import Topology

_SPAN_CYCLES = 1 << 20  # between two looks whether all has arrived
_STUCK_CYCLES = 1 << 22  # without an arrival: more than any route, buffer and rival can explain


@dataclass(frozen=True, slots=True, eq=False)
class Delivered:
    """Of each packet, in the order given: the cycles at which its first flit left its node and its last one reached its
    (last) node. ``link_flits``: by link of the topology; ``cycles``: until the last arrival."""

    started: Any
    ended: Any
    link_flits: Any
    router_flits: int
    cycles: int


def replay(
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
    """Send packet i at ``times[i]``, never falling, from node ``sources[i]``: ``flits[i]`` >= 1 of them to node
    ``targets[i]``, or from len(nodes) on to all nodes of ``groups[targets[i] - len(nodes)]``.

    Raises ConfigError on times that fall and nodes that are not there, SimulationError when packets stand still.
    """
    from archsim.noc.kernel import run  # the compiler is slow to import: only now

    packets = packets_of(topology, times, sources, targets, flits, groups)
    trees, packets["tree"], packets["left"] = multicast.trees(topology, routes, parameters, packets, groups)
    state = compiled.initial(topology, routes, parameters, seed)._replace(packets=packets, trees=trees)
    if packets.size:
        run.advance(state, packets.size, int(packets["time"][-1]) + 1)
    waited, before = 0, -1
    while state.counts[UNDER_WAY]:
        run.advance(state, packets.size, int(state.counts[0]) + _SPAN_CYCLES)
        waited = 0 if before != state.counts[UNDER_WAY] else waited + _SPAN_CYCLES
        before = int(state.counts[UNDER_WAY])
        if waited > _STUCK_CYCLES:
            raise SimulationError(f"network {topology.name}: {before} packets stand still: routes block one another")
    flow = compiled.flits_by_port(state)
    return Delivered(
        started=packets["started"].copy(),
        ended=packets["ended"].copy(),
        link_flits=np.array(
            [flow[link.source * topology.ports + link.source_port] for link in topology.links], np.int64
        ),
        router_flits=int(flow.sum()),
        cycles=int(packets["ended"].max(initial=0)),
    )


def packets_of(
    topology: Topology, times: Any, sources: Any, targets: Any, flits: Any, groups: tuple[tuple[int, ...], ...]
) -> Any:
    """The kernel's records. Raises ConfigError for the first packet that cannot be."""
    nodes = len(topology.nodes)
    found = np.zeros(len(times), PACKET)
    for name, values, least, most in (
        ("time", times, 0, 1 << 61),
        ("source", sources, 0, nodes - 1),
        ("target", targets, 0, nodes + len(groups) - 1),
        ("flits", flits, 1, 1 << 30),
    ):
        wrong = np.flatnonzero((np.asarray(values) < least) | (np.asarray(values) > most))
        if wrong.size:
            place = int(wrong[0])
            raise ConfigError(f"packet {place}: {name}: found {values[place]}; allowed {least} to {most}")
        found[name] = values
    falls = np.flatnonzero(np.diff(found["time"]) < 0)
    if falls.size:
        place = int(falls[0]) + 1
        raise ConfigError(f"packet {place}: time: found {times[place]}; allowed times that do not fall")
    found["ended"] = found["started"] = NONE
    return found
