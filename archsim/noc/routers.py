"""The routers flit by flit (fidelity ``flit``), behind the frame of ``engine``."""

from __future__ import annotations

from typing import Any

from archsim.facts.noc.routing import RoutingTable
from archsim.facts.noc.topology import Topology
from archsim.noc import network_records
from archsim.noc.compiled import run, serving
from archsim.noc.parameters import PacketFormat, RouterParameters


class Routers:
    """An ``engine.Engine`` of virtual-channel routers."""

    def __init__(
        self, topology: Topology, routes: RoutingTable, parameters: RouterParameters, packets: PacketFormat, seed: int
    ) -> None:
        self._compiled = run
        self.advances: Any = serving.advance_flits
        self.state: Any = network_records.initial(topology, routes, parameters, seed, packets)

    def advance(self, until: int, *, stops: bool) -> tuple[int, int]:
        """See ``Engine.advance``."""
        return self._compiled.advance(self.state, until, stops=stops)

    def make_room(self) -> None:
        """There is always room: a flit is in a buffer."""

    def flits(self) -> Any:
        """See ``Engine.flits``."""
        return network_records.flits_by_port(self.state)
