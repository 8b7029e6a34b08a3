"""Networks by the name of their topology."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from archsim import registry
from archsim.errors import ConfigError
from archsim.noc import deadlock, routing
from archsim.noc.routing import Routes
from archsim.noc.topology import Topology
from archsim.spec.fabric import check_size

PACKAGE = "archsim.noc.topologies"
ORDERS = ("xy", "yx")


def names() -> list[str]:
    """Of all topologies, plugins' too."""
    return list(registry.modules(PACKAGE))


def network(
    topology: str,
    shape: Sequence[int],
    *,
    link_delay_cycles: int | None = None,
    order: str = "xy",
    links: Sequence[Sequence[int]] | None = None,
) -> tuple[Topology, Routes]:
    """The topology and its routes, without a deadlock.

    ``link_delay_cycles``: None for the topology's own. ``order``: of dimensions, first to last (``xy``) or last to
    first (``yx``). ``links``: pairs of nodes, of a topology that is such a list. Raises ConfigError for an unknown
    name, a value that it cannot have, and routes that can block one another.
    """
    build = registry.load(PACKAGE, topology).build
    check_size(topology, shape)
    options: dict[str, Any] = {}
    if link_delay_cycles is not None:
        if not 1 <= link_delay_cycles <= 1024:
            raise ConfigError(f"topology {topology}: link delay: found {link_delay_cycles} cycles; allowed 1 to 1024")
        options["link_delay_cycles"] = link_delay_cycles
    if links is not None:
        if "links" not in inspect.signature(build).parameters:
            raise ConfigError(f"topology {topology}: links: found a list; allowed with point_to_point")
        options["links"] = links
    found = cast(Topology, build(shape, **options))
    if order not in ORDERS:
        raise ConfigError(f"routing: found '{order}'; allowed {', '.join(ORDERS)}")
    if order == "yx":
        if not found.order:
            raise ConfigError(f"topology {topology}: routing: found 'yx'; allowed with a mesh, a torus or a ring")
        found = replace(found, order=found.order[::-1])
    routes = routing.routes(found)
    deadlock.check(found, routes)
    return found, routes
