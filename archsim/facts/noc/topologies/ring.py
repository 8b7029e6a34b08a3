"""Ring: routers in a circle, one node each, a link to either neighbour."""

from __future__ import annotations

from collections.abc import Sequence

from archsim.facts.noc.grid import grid
from archsim.facts.noc.topology import Topology, check_shape


def build(shape: Sequence[int], link_delay_cycles: int = 1) -> Topology:
    """``shape``: the number of routers. Links take one cycle by default."""
    return grid("ring", check_shape("ring", shape, (1,)), wraps=True, link_delay_cycles=link_delay_cycles)
