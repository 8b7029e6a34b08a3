"""Mesh: routers in a grid of any number of dimensions, one node each, links between neighbours."""

from __future__ import annotations

from collections.abc import Sequence

from archsim.facts.noc.grid import grid
from archsim.facts.noc.topology import Topology


def build(shape: Sequence[int], link_delay_cycles: int = 1) -> Topology:
    """``shape``: routers along each dimension; router and node x + X y + XY z. Links take one cycle by default."""
    return grid("mesh", shape, wraps=False, link_delay_cycles=link_delay_cycles)
