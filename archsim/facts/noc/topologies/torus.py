"""Torus: a mesh whose rows and columns are closed to rings; folded, so that its links are twice as long."""

from __future__ import annotations

from collections.abc import Sequence

from archsim.facts.noc.grid import grid
from archsim.facts.noc.topology import Topology


def build(shape: Sequence[int], link_delay_cycles: int = 2) -> Topology:
    """``shape``: routers along each dimension, a ring where it is > 2. Links take two cycles by default: folded, a
    link spans two routers."""
    return grid("torus", shape, wraps=True, link_delay_cycles=link_delay_cycles)
