"""The network of a resolved chip: routers, links, what they carry, and who stands at which router.

Below the network everything exists once for each of its cores; what stands above it is shared and reached through the
ports that ``attach`` names. Networks around it have copies of it at their nodes: chiplets of a package, or chips of a
board. The annotations are the keys of chip files (``keys``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Annotated

from archsim.base import units
from archsim.base.units import PS_PER_S
from archsim.spec import value_domains as d
from archsim.spec.keys import Key, SectionOf, TableOf
from archsim.spec.part import Part, SourcedNumber, sourced

ALLOCATORS = ("islip", "separable_input_first", "wavefront", "max_size")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phy:
    """A physical link between two chips, one direction. ``coding``: share of its bits that is payload; ``latency_ps``:
    beyond the time that bits take it; energy per bit of payload."""

    lanes: Annotated[int, Key("lanes", d.count(1, 4096), "data lanes of the link")]
    transfers_per_s: Annotated[int, Key("rate", d.whole(units.TRANSFER_RATE, "1 MT/s", "1000 GT/s"), "bits of a lane")]
    coding: Annotated[
        Fraction,
        Key(
            "coding",
            d.ratio("1/64", "1"),
            "share of the bits that is payload of the link: 128/130",
            default=Fraction(1),
        ),
    ]
    latency_ps: Annotated[
        int,
        Key(
            "latency",
            d.whole(units.TIME, "0 s", "1 ms"),
            "from one router's wire to the other one, beyond the time that a flit takes the link",
        ),
    ]
    pj_per_bit: Annotated[
        SourcedNumber, sourced("energy", d.real(units.ENERGY, "0 pJ", "1 nJ"), "of a bit, sent and received")
    ]
    static_w: Annotated[
        SourcedNumber,
        sourced(
            "power",
            d.real(units.POWER, "0 W", "1000 W"),
            "static, of one direction with both its ends",
            default=0.0,
        ),
    ]

    @property
    def bytes_per_s(self) -> Fraction:
        """Of payload."""
        return self.lanes * self.transfers_per_s * self.coding / 8


def _width(flit_bytes: int, level: NetworkLevel) -> int | None:
    """What a file states as the width of a link: of the innermost network a flit, of others their own, if any."""
    return (level.width_bytes or None) if isinstance(level, OuterNetwork) else flit_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkLevel(Part):
    """One of the networks of a chip. ``link_bytes``: one flit; ``period``: cycles of the innermost network's clock for
    which it takes a link. ``attach``: part above, or network around it -> the places (coordinates of a router) of its
    ports. ``link_delay_cycles``: of its own clock, None: the topology's own; ``link_mm``: between neighbours.

    As the topology's file says: ``ports`` of each router (inputs, outputs), to links, nodes and attached parts;
    ``links`` and ``bisection_links`` (0: not known) of one direction each. As the innermost network says: ``vcs`` and
    ``buffer_flits`` of each virtual channel; ``far_buffer_flits``: behind links between chips, where it is more.
    """

    topology: Annotated[str, Key("topology", d.name("the name of a topology"), "mesh, torus, ring, crossbar, ...")]
    shape: Annotated[tuple[int, ...], Key("shape", d.sequence((1, 4), 1, 4096), "size along each dimension")]
    link_bytes: Annotated[
        int,
        Key(
            "link",
            d.whole(units.SIZE, "1 B", "16 TiB"),
            "width of a link: the bytes that pass in a cycle; of the innermost network those of a flit, "
            "needed there even with `phy`; of others needed without it",
            default=None,
            write=_width,
        ),
    ]
    phy: Annotated[
        Phy | None,
        Key(
            "phy",
            SectionOf("Phy", Phy),
            "physical link between chips, in place of wires on a chip: the name of a preset, or its keys",
        ),
    ] = None
    link_delay_cycles: Annotated[
        int | None,
        Key("link_delay", d.count(1, 1024), "cycles of a flit on a link; the topology's own unless stated"),
    ] = None
    link_mm: Annotated[
        float,
        Key(
            "link_length",
            d.real(units.LENGTH, "0 mm", "1000 mm"),
            "of a link between routers, for its energy; refused where there are none",
            when=lambda level: bool(level.links) and level.phy is None,
        ),
    ] = 1.0
    attach: Annotated[
        Mapping[str, tuple[tuple[int, ...], ...]],
        Key(
            "attach",
            TableOf(d.name(), d.places()),
            "part above the network to the routers where its ports are: `{l2: [[0, 0], [0, 3]]}`; the network "
            "around this one to the router that is joined to it: `{package: [[0, 0]]}`",
            default={},
        ),
    ]
    routing: Annotated[
        str,
        Key(
            "routing",
            d.choice("xy", "yx"),
            "order of dimensions, first to last or last to first; other topologies have routes of their own",
        ),
    ] = "xy"
    ports: tuple[tuple[int, int], ...] = ()
    links: int = 0
    bisection_links: int = 0
    period: Fraction = Fraction(1)
    vcs: int = 4
    buffer_flits: int = 8
    far_buffer_flits: int = 0

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
    those of a copy one after the other. ``outer``: the networks around it, from the inside out. ``inside``: the
    memories below, of which each core has its own.
    """

    cores: int
    inside: tuple[str, ...]
    outer: tuple[OuterNetwork, ...] = ()
    multicast: Annotated[
        bool,
        Key("multicast", d.flag(), "routers copy packets to several nodes; without it each gets its own"),
    ] = True
    vcs: Annotated[int, Key("vcs", d.count(1, 32), "virtual channels of a port")] = 4
    buffer_flits: Annotated[
        int,
        Key(
            "buffer",
            d.count(1, 65536),
            "flits that a virtual channel holds; behind a phy at least as many as keep its link busy",
        ),
    ] = 8
    routing_delay_cycles: Annotated[
        int, Key("routing_delay", d.count(0, 64), "cycles to find a route; 0: found ahead")
    ] = 1
    credit_delay_cycles: Annotated[
        int, Key("credit_delay", d.count(0, 64), "cycles of a credit beyond its way back")
    ] = 0
    vc_allocator: Annotated[str, Key("vc_allocator", d.choice(*ALLOCATORS), "who gets a channel")] = "islip"
    switch_allocator: Annotated[str, Key("switch_allocator", d.choice(*ALLOCATORS), "who passes the switch")] = "islip"
    speculative: Annotated[
        bool, Key("speculative", d.flag(), "a head asks for the switch while it asks for a channel")
    ] = False
    packet_bytes: Annotated[int, Key("packet", d.whole(units.SIZE, "1 B", "16 TiB"), "payload of a packet at most")] = (
        64
    )
    header_flits: Annotated[int, Key("header", d.count(0, 16), "flits of a packet beside its payload")] = 1
    message_bytes: Annotated[
        int,
        Key(
            "message",
            d.whole(units.SIZE, "1 B", "16 TiB"),
            "what a move sends at once from a port at most; a message leaves when it has been read whole",
        ),
    ] = 4096
    request_flits: Annotated[
        int,
        Key(
            "request",
            d.count(0, 64),
            "flits that ask a port for all that a move reads there; 0: the port knows",
        ),
    ] = 1
    fidelity: Annotated[
        str,
        Key(
            "fidelity",
            d.choice("flit", "link"),
            "timing model: flit, router by router; link, packets reserve links one after another",
        ),
    ] = "flit"

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
