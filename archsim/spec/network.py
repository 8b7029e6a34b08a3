"""The network of a resolved chip: routers, links, what they carry, and who stands at which router.

Below the network everything exists once for each of its cores; what stands above it is shared and reached through the
ports that ``attach`` names. Networks around it have copies of it at their nodes: chiplets of a package, or chips of a
board.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil

from archsim.base.units import PS_PER_S
from archsim.spec.part import Part, SourcedNumber


@dataclass(frozen=True, slots=True)
class Phy:
    """A physical link between two chips, one direction. ``coding``: share of its bits that is payload; ``latency_ps``:
    beyond the time that bits take it; energy per bit of payload."""

    lanes: int
    transfers_per_s: int
    coding: Fraction
    latency_ps: int
    pj_per_bit: SourcedNumber
    static_w: SourcedNumber

    @property
    def bytes_per_s(self) -> Fraction:
        """Of payload."""
        return self.lanes * self.transfers_per_s * self.coding / 8


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkLevel(Part):
    """One of the networks of a chip. ``link_bytes``: one flit; ``period``: cycles of the innermost network's clock for
    which it takes a link. ``attach``: part above, or network around it -> the places (coordinates of a router) of its
    ports.

    As the topology's file says: ``ports`` of each router (inputs, outputs), to links, nodes and attached parts;
    ``links`` and ``bisection_links`` (0: not known) of one direction each.
    """

    topology: str
    shape: tuple[int, ...]
    link_bytes: int
    attach: Mapping[str, tuple[tuple[int, ...], ...]]
    ports: tuple[tuple[int, int], ...] = ()
    links: int = 0
    bisection_links: int = 0
    phy: Phy | None = None
    period: Fraction = Fraction(1)
    link_delay_cycles: int | None = None  # of its own clock; None: the topology's own
    link_mm: float = 1.0  # length of a link between neighbours
    routing: str = "xy"
    vcs: int = 4
    buffer_flits: int = 8  # of each virtual channel
    far_buffer_flits: int = 0  # behind links between chips, where it is more

    @property
    def link_bits(self) -> int:
        """Of a flit."""
        return self.link_bytes * 8

    def delay_cycles(self, wire_cycles: int, clock_hz: int) -> int:
        """Cycles of ``clock_hz`` on a link: of its phy, or of wires that take so many of this network's clock."""
        if self.phy is None:
            return ceil(Fraction(wire_cycles * clock_hz, self.clock_hz))
        return max(1, ceil(Fraction(self.phy.latency_ps * clock_hz, PS_PER_S)))


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterNetwork(NetworkLevel):
    """A network around another one, of which it has a copy at each of its ``nodes``. ``width_bytes``: what a link
    without a phy carries in a cycle of ``clock_hz``."""

    nodes: int
    width_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Noc(NetworkLevel):
    """A network on chip. A core stands at each node of its topology, in their order; ``cores``: of all its copies,
    those of a copy one after the other. ``outer``: the networks around it, from the inside out.

    ``packet_bytes``: payload of a packet at most, beside ``header_flits``; ``message_bytes``: what a move sends at once
    from one port at most; ``request_flits``: of what asks a port for all that a move reads there. ``inside``: the
    memories below, of which each core has its own.
    """

    cores: int
    inside: tuple[str, ...]
    outer: tuple[OuterNetwork, ...] = ()
    multicast: bool = True
    routing_delay_cycles: int = 1
    credit_delay_cycles: int = 0
    vc_allocator: str = "islip"
    switch_allocator: str = "islip"
    speculative: bool = False
    packet_bytes: int = 64
    header_flits: int = 1
    message_bytes: int = 4096
    request_flits: int = 1
    fidelity: str = "flit"  # flit | link

    @property
    def levels(self) -> tuple[NetworkLevel, ...]:
        """This network and those around it, from the inside out."""
        return (self, *self.outer)

    @property
    def shared(self) -> Mapping[str, tuple[tuple[int, ...], ...]]:
        """The parts that all cores share, with the places of their ports: those of the outermost network."""
        return self.levels[-1].attach

    @property
    def packet_flits(self) -> int:
        """The longest packet with its header."""
        return -(-self.packet_bytes // self.link_bytes) + self.header_flits


def instance(memory: str, core: int) -> str:
    """The name of a core's own copy of a memory below the network: ``l1[3]``."""
    return f"{memory}[{core}]"


@cache
def part_of(memory: str) -> str:
    """The part that a memory, or a core's own copy of one, is: ``l1`` of ``l1[3]``."""
    return memory.partition("[")[0]


@cache
def core_of(memory: str) -> int | None:
    """Whose copy of a memory it is; None: all cores share it."""
    _, found, number = memory.partition("[")
    return int(number[:-1]) if found else None


def queue_core(queue: str) -> int | None:
    """The core that a queue stands in by its name: 3 of ``core[3].load``; None: in none."""
    core, found, _ = queue.rpartition(".")
    number = core.removeprefix("core[").removesuffix("]")
    return int(number) if found and number.isdecimal() and core == f"core[{int(number)}]" else None
