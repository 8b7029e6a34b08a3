"""What the topology of a network says about a chip: its cores, routers, links, and what each router joins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from archsim.base.errors import ConfigError, NotBuiltError
from archsim.facts.noc import catalogue
from archsim.facts.noc.topology import Topology


class TopologyFacts(NamedTuple):
    """``places``: what `attach` calls each router: its coordinates, or [number] where there are none.

    ``ports``: of each router (inputs, outputs) to links and nodes; ``most_ports``: the numbers that its ports have;
    ``sinks``: the router from which packets come to a router's nodes. ``links``: one for each direction, as are
    ``bisection_links``, 0 where not known; ``rings``: links close to rings; ``ordered``: packets pass dimensions in an
    order.
    """

    cores: int
    places: tuple[tuple[int, ...], ...]
    ports: tuple[tuple[int, int], ...]
    sinks: tuple[int, ...]
    most_ports: int
    links: int
    bisection_links: int
    rings: bool
    ordered: bool


def fabric(topology: str, shape: Sequence[int]) -> TopologyFacts:
    """Of a topology and a shape. Raises ConfigError that begins with the key: ``shape: found ...``."""
    if catalogue.takes_links(topology):
        others = ", ".join(name for name in catalogue.names() if not catalogue.takes_links(name))
        raise NotBuiltError(
            f"topology: '{topology}' needs a list of links, which chips cannot state yet; it has: {others}"
        )
    catalogue.check_size(topology, shape)
    try:
        found = catalogue.build(topology, shape)
    except ConfigError as error:
        raise ConfigError(str(error).removeprefix(f"topology {topology}: ")) from None
    nodes = len(found.nodes)
    return TopologyFacts(
        cores=nodes,
        places=found.coordinates or tuple((router,) for router in range(found.routers)),
        ports=_ports(found),
        sinks=_sinks(found),
        most_ports=found.ports,
        links=len(found.links),
        bisection_links=found.bisection_links,
        rings=any(found.wraps),
        ordered=bool(found.order),
    )


def _ports(found: Topology) -> tuple[tuple[int, int], ...]:
    inputs, outputs = [0] * found.routers, [0] * found.routers
    for link in found.links:
        outputs[link.source] += 1
        inputs[link.target] += 1
    for node in found.nodes:
        inputs[node.router] += 1
        outputs[node.sink] += 1
    return tuple(zip(inputs, outputs, strict=True))


def _sinks(found: Topology) -> tuple[int, ...]:
    sinks = {node.router: node.sink for node in found.nodes}
    return tuple(int(sinks.get(router, router)) for router in range(found.routers))
