"""The chip grammar of networks: noc, and the phy of links between chips."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from archsim.base import units
from archsim.spec import value_domains as d
from archsim.spec.schema_base import Flag, Part, Section, Size

ALLOCATORS = ("islip", "separable_input_first", "wavefront", "max_size")


class Phy(Section):
    """`phy` of a noc: the physical link between two chips or chiplets, one direction of it.

    It carries lanes x rate x coding bits a second, and a flit takes it as long as its bits do. The name of a file in
    `configs/links` stands for its numbers: `phy: ucie_advanced`.
    """

    lanes: Annotated[int, d.count(1, 4096)] = Field(description="data lanes of the link")
    rate: Annotated[int, d.whole(units.TRANSFER_RATE, "1 MT/s", "1000 GT/s")] = Field(description="bits of a lane")
    coding: Annotated[Fraction, d.ratio("1/64", "1")] = Field(
        Fraction(1), description="share of the bits that is payload of the link: 128/130"
    )
    latency: Annotated[int, d.whole(units.TIME, "0 s", "1 ms")] = Field(
        description="from one router's wire to the other one, beyond the time that a flit takes the link"
    )
    energy: Annotated[float, d.real(units.ENERGY, "0 pJ", "1 nJ")] = Field(description="of a bit, sent and received")
    power: Annotated[float, d.real(units.POWER, "0 W", "1000 W")] = Field(
        0.0, description="static, of one direction with both its ends"
    )


class Noc(Part):
    """`noc`: a network on chip. What stands below it exists once for each of its nodes: a core, or of a network around
    another one a chiplet or chip.

    What stands above it is shared, and reached through the routers that `attach` names. Of networks in networks the
    innermost one states all; those around it their topology, shape, links, attach and routing.
    """

    topology: Annotated[str, d.name("the name of a topology")] = Field(description="mesh, torus, ring, crossbar, ...")
    shape: Annotated[tuple[int, ...], d.sequence((1, 4), 1, 4096)] = Field(description="size along each dimension")
    link: Size | None = Field(
        None,
        description="width of a link: the bytes that pass in a cycle; of the innermost network those of a flit, "
        "needed there even with `phy`; of others needed without it",
    )
    phy: Phy | None = Field(
        None, description="physical link between chips, in place of wires on a chip: the name of a preset, or its keys"
    )
    link_delay: Annotated[int, d.count(1, 1024)] | None = Field(
        None, description="cycles of a flit on a link; the topology's own unless stated"
    )
    link_length: Annotated[float, d.real(units.LENGTH, "0 mm", "1000 mm")] = Field(
        1.0, description="of a link between routers, for its energy; refused where there are none"
    )
    attach: dict[Annotated[str, d.name()], Annotated[tuple[tuple[int, ...], ...], d.places()]] = Field(
        {},
        description="part above the network to the routers where its ports are: `{l2: [[0, 0], [0, 3]]}`; the network "
        "around this one to the router that is joined to it: `{package: [[0, 0]]}`",
    )
    routing: Annotated[str, d.choice("xy", "yx")] = Field(
        "xy",
        description="order of dimensions, first to last or last to first; other topologies have routes of their own",
    )
    multicast: Flag = Field(True, description="routers copy packets to several nodes; without it each gets its own")
    vcs: Annotated[int, d.count(1, 32)] = Field(4, description="virtual channels of a port")
    buffer: Annotated[int, d.count(1, 65536)] = Field(
        8, description="flits that a virtual channel holds; behind a phy at least as many as keep its link busy"
    )
    routing_delay: Annotated[int, d.count(0, 64)] = Field(1, description="cycles to find a route; 0: found ahead")
    credit_delay: Annotated[int, d.count(0, 64)] = Field(0, description="cycles of a credit beyond its way back")
    vc_allocator: Annotated[str, d.choice(*ALLOCATORS)] = Field("islip", description="who gets a channel")
    switch_allocator: Annotated[str, d.choice(*ALLOCATORS)] = Field("islip", description="who passes the switch")
    speculative: Flag = Field(False, description="a head asks for the switch while it asks for a channel")
    packet: Size = Field(64, description="payload of a packet at most")
    header: Annotated[int, d.count(0, 16)] = Field(1, description="flits of a packet beside its payload")
    message: Size = Field(
        4096, description="what a move sends at once from a port at most; a message leaves when it has been read whole"
    )
    request: Annotated[int, d.count(0, 64)] = Field(
        1, description="flits that ask a port for all that a move reads there; 0: the port knows"
    )
    fidelity: Annotated[str, d.choice("flit", "link")] = Field(
        "flit", description="timing model: flit, router by router; link, packets reserve links one after another"
    )
