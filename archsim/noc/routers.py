"""The routers flit by flit (fidelity ``flit``), behind the frame of ``engine``."""

from __future__ import annotations

from typing import Any

from archsim.facts.noc.routing import Routes
from archsim.facts.noc.topology import Topology
from archsim.noc import network_records
from archsim.noc.parameters import Packets, RouterParameters


class Routers:
    """An ``engine.Engine`` of virtual-channel routers."""

    def __init__(
        self, topology: Topology, routes: Routes, parameters: RouterParameters, packets: Packets, seed: int
    ) -> None:
        from archsim.noc.compiled import run  # the compiler is slow to import: only now

        self._kernel = run
        self.state: Any = network_records.initial(topology, routes, parameters, seed, packets)

    def advance(self, until: int, *, stops: bool) -> tuple[int, int]:
        """See ``Engine.advance``."""
        return self._kernel.advance(self.state, until, stops=stops)

    def flits(self) -> Any:
        """See ``Engine.flits``."""
        return network_records.flits_by_port(self.state)
