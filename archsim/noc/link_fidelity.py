"""The network as links that packets reserve (fidelity ``link``), behind the frame of ``engine``."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.base.errors import SimulationError
from archsim.facts.noc.routers import CROSSBAR, WIRE, port_words
from archsim.facts.noc.routing import RoutingTable
from archsim.facts.noc.topology import Topology
from archsim.noc import network_records
from archsim.noc.compiled import records as k
from archsim.noc.compiled import records as r
from archsim.noc.compiled.knuth import generator
from archsim.noc.parameters import PacketFormat, RouterParameters

FIRST_TURNS = 4096
NO_TURN = np.array((k.NO_INDEX, k.NO_INDEX), r.LANE)


class Reserved:
    """An ``engine.Engine`` of reservations."""

    def __init__(
        self, topology: Topology, routes: RoutingTable, parameters: RouterParameters, packets: PacketFormat, seed: int
    ) -> None:
        from archsim.noc.compiled import reserve, serving  # the compiler is slow to import: only now

        self._compiled = reserve
        self.advances: Any = serving.advance_links
        self.state = _initial(topology, routes, parameters, packets, seed)

    def advance(self, until: int, *, stops: bool) -> tuple[int, int]:
        """See ``Engine.advance``."""
        count, bound = self._compiled.advance(self.state, until, stops, True)
        while bound == r.FULL:
            self.make_room()
            count, bound = self._compiled.advance(self.state, until, stops, False)
        return count, bound if stops else k.NEVER

    def flits(self) -> Any:
        """See ``Engine.flits``."""
        return np.concatenate([self.state.outputs["flits"], self.state.entries["flits"]])

    def make_room(self) -> None:
        """Twice as many turns; the new ones are unused."""
        state, turns, free = self.state, self.state.turns.size, r.FREE
        more = max(FIRST_TURNS, turns, len(state.nodes))
        self._check(turns + more + len(state.nodes))
        state = self.state = state._replace(
            turns=_padded(state.turns, more),
            late_times=_padded(state.late_times, more),
            late_entries=_padded(state.late_entries, more),
        )
        state.turns["next"][turns:] = [*range(turns + 1, turns + more), int(state.sizes[free])]
        state.sizes[free] = turns

    def _check(self, count: int) -> None:
        most = 1 << r.NUMBER_BITS
        if count >= most:
            raise SimulationError(f"network: room for {count} packets under way; allowed fewer than {most}")


def _padded(array: Any, count: int) -> Any:
    return np.concatenate([array, np.zeros(count, array.dtype)])


def _initial(
    topology: Topology, routes: RoutingTable, parameters: RouterParameters, packets: PacketFormat, seed: int
) -> Any:
    none, nodes = np.zeros(0, np.int64), len(topology.nodes)
    is_star = topology.routers == 1 and len({node.delay_cycles for node in topology.nodes}) == 1
    found = r.Reservations(
        rules=network_records.rules_of(topology, routes, parameters, packets, switched=False),
        routes=network_records.route_table(routes),
        trees=np.zeros((0, topology.routers, 2, port_words(topology.ports)), np.int64),
        messages=np.zeros(0, k.MESSAGE),
        done=np.zeros(1, k.INDEX),
        sending=np.zeros(1 + nodes, k.INDEX),
        nodes=network_records.idle_nodes(nodes, parameters.vcs),
        entries=np.zeros(nodes, r.ENTRY),
        outputs=np.zeros(topology.routers * topology.ports, r.OUTPUT),
        turns=np.zeros(0, r.TURN),
        lanes=np.full(r.SPAN, NO_TURN, r.LANE),
        listed=np.zeros(r.WORDS, np.int64),
        ring=np.zeros((r.SPAN, nodes + 1) if is_star else (0, 0), k.INDEX),
        late_times=none,
        late_entries=none,
        sizes=np.zeros(r.SIZES, np.int64),
        streams=generator(seed),
        counts=network_records.idle_counts(),
        pipeline=parameters.head_cycles,
        is_star=int(is_star),
    )
    _connect(found, topology)
    return found


def _connect(state: Any, topology: Topology) -> None:
    for link in topology.links:
        output = state.outputs[link.source * topology.ports + link.source_port]
        output["to"], output["cycles"] = link.target, CROSSBAR + WIRE + link.delay_cycles
        if link.period != 1:
            output["slow"] = 1
            output["numerator"], output["denominator"] = link.period.as_integer_ratio()
    for number, node in enumerate(topology.nodes):
        output = state.outputs[node.sink * topology.ports + node.port]
        output["sink"], output["cycles"] = 1, CROSSBAR + WIRE + node.delay_cycles
        state.entries[number]["router"], state.entries[number]["cycles"] = node.router, WIRE + node.delay_cycles
