"""Networks by the name of their topology."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, Protocol, cast

from archsim.base import registry
from archsim.base.errors import ConfigError
from archsim.facts.noc import deadlock, routing
from archsim.facts.noc.routing import RoutingTable
from archsim.facts.noc.topology import Topology


class TopologyMaker(Protocol):
    """What the file of a topology defines.

    ``build`` may also take ``links``, pairs of nodes, where a topology is a list of them.
    """

    def build(self, shape: Sequence[int], link_delay_cycles: int = 1) -> Topology:
        """The routers, links and nodes of a ``shape``, as many sizes as the topology has dimensions; each link takes
        ``link_delay_cycles``, by default what is usual for the topology.

        Raises ConfigError for a shape that the topology cannot have (``topology.check_shape``).
        """


class CountedNodes(Protocol):
    """What the file of a topology may define as well, where the nodes are not the product of the shape's sizes."""

    def nodes(self, shape: Sequence[int]) -> int:
        """How many nodes a shape has, before anything of it is built."""


KIND = registry.Kind("topology", "archsim.facts.noc.topologies", "topologies", "build", TopologyMaker, (CountedNodes,))
ORDERS = ("xy", "yx")
MOST_NODES = 1024  # tables of routes have an entry for each router and node


def names() -> list[str]:
    """Of all topologies, plugins' too."""
    return list(registry.modules(KIND))


def network(
    topology: str,
    shape: Sequence[int],
    *,
    link_delay_cycles: int | None = None,
    order: str = "xy",
    links: Sequence[Sequence[int]] | None = None,
) -> tuple[Topology, RoutingTable]:
    """The topology and its routes, without a deadlock.

    ``link_delay_cycles``: None for the topology's own. ``order``: of dimensions, first to last (``xy``) or last to
    first (``yx``). ``links``: pairs of nodes, of a topology that is such a list. Raises ConfigError for an unknown
    name, a value that it cannot have, and routes that can block one another.
    """
    check_size(topology, shape)
    options: dict[str, Any] = {}
    if link_delay_cycles is not None:
        if not 1 <= link_delay_cycles <= 1024:
            raise ConfigError(f"topology {topology}: link delay: found {link_delay_cycles} cycles; allowed 1 to 1024")
        options["link_delay_cycles"] = link_delay_cycles
    if links is not None:
        if not takes_links(topology):
            others = ", ".join(name for name in names() if takes_links(name))
            raise ConfigError(f"topology {topology}: links: found a list; allowed with {others}")
        options["links"] = links
    found = build(topology, shape, **options)
    if order not in ORDERS:
        raise ConfigError(f"routing: found '{order}'; allowed {', '.join(ORDERS)}")
    if order == "yx":
        if not found.order:
            raise ConfigError(f"topology {topology}: routing: found 'yx'; allowed with a mesh, a torus or a ring")
        found = replace(found, order=found.order[::-1])
    routes = routing.routes(found)
    deadlock.check(found, routes)
    return found, routes


def build(topology: str, shape: Sequence[int], **options: Any) -> Topology:
    """The topology of a name and shape; raises ConfigError for a name or a shape that there is not."""
    return cast(Topology, registry.load(KIND, topology).build(shape, **options))


def takes_links(topology: str) -> bool:
    """Whether a topology is a list of links that a user states."""
    return "links" in inspect.signature(registry.load(KIND, topology).build).parameters


def check_size(topology: str, shape: Sequence[int]) -> None:
    """Before anything is built. Raises ConfigError for too many nodes."""
    nodes = getattr(registry.load(KIND, topology), "nodes", prod)(shape)
    if nodes > MOST_NODES:
        found = "x".join(str(size) for size in shape)
        raise ConfigError(f"shape: found {found}; allowed at most {MOST_NODES} nodes")
