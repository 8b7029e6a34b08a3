"""A network's routers, links and nodes, before anything moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from archsim.base.errors import ConfigError

NODE_DIM = -1  # of a port to a node, or of a link without classes of channels: it lies in no dimension
GATEWAY = -1  # level of the wires between an inner network and its router of the outer one
FULL_RATE = Fraction(1)  # a flit a cycle


@dataclass(frozen=True, slots=True)
class Link:
    """One direction: from a router's output port to another one's input port of any number.

    ``dim``: the dimension in which it runs (ports of one dimension keep a packet's class of virtual channels);
    ``sign``: +1 or -1 along it, 0 where there is no such order. ``period``: cycles for which a flit takes it, >= 1;
    ``buffer_flits``: of a virtual channel at its end, 0: as at all ports. ``level``: of nested networks, the one that
    it belongs to, or GATEWAY.
    """

    source: int
    source_port: int
    target: int
    target_port: int
    delay_cycles: int = 1
    dim: int = 0
    sign: int = 0
    period: Fraction = FULL_RATE
    buffer_flits: int = 0
    level: int = 0


@dataclass(frozen=True, slots=True)
class NetworkNode:
    """What sends and receives packets: through the input of a port and the output of the same number, of the same
    router unless ``sink_router`` says another."""

    router: int
    port: int
    delay_cycles: int = 1
    sink_router: int | None = None

    @property
    def sink(self) -> int:
        """The router from which packets come to it."""
        return self.router if self.sink_router is None else self.sink_router


@dataclass(frozen=True, slots=True)
class Topology:
    """``coordinates[r][d]``: the place of router r in dimension d of ``shape``, where it has one; a dimension that
    ``wraps`` is a ring. ``order``: the dimensions in the order in which packets pass them. ``route[r][n]``: the output
    port of router r towards node n, where a topology has routes of its own. ``bisection_links``: in one direction,
    between two halves of the nodes, the fewest; 0: not known. ``levels[r]``: of nested networks, the one to which
    router r belongs, 0 the innermost; empty: all to one. ``within[r]``: then its place in its own network, that of this
    network in the one around it, and so on; ``coordinates`` are those of a drawing."""

    name: str
    routers: int
    ports: int
    links: tuple[Link, ...]
    nodes: tuple[NetworkNode, ...]
    shape: tuple[int, ...] = ()
    coordinates: tuple[tuple[int, ...], ...] = ()
    wraps: tuple[bool, ...] = ()
    order: tuple[int, ...] = ()
    route: tuple[tuple[int, ...], ...] = ()
    bisection_links: int = 0
    levels: tuple[int, ...] = ()
    within: tuple[tuple[tuple[int, ...], ...], ...] = ()

    def outgoing(self) -> list[list[Link]]:
        """Links by the router that they leave, in order of their ports."""
        found: list[list[Link]] = [[] for _ in range(self.routers)]
        for link in sorted(self.links, key=lambda link: (link.source, link.source_port)):
            found[link.source].append(link)
        return found


def check_shape(name: str, shape: Sequence[int], dims: tuple[int, ...], least: int = 1) -> tuple[int, ...]:
    """The shape as a tuple. Raises ConfigError unless it has one of ``dims`` dimensions, each >= ``least``."""
    if len(shape) not in dims or any(size < least for size in shape):
        allowed = " or ".join(str(number) for number in dims)
        found = "x".join(str(size) for size in shape) or "nothing"
        raise ConfigError(f"topology {name}: shape: found {found}; allowed {allowed} dimension(s), each >= {least}")
    return tuple(shape)
