"""The chip grammar of networks: noc."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from archsim import units
from archsim.spec import domains as d
from archsim.spec.schema_base import Flag, Part, Size

ALLOCATORS = ("islip", "separable_input_first", "wavefront", "max_size")


class Noc(Part):
    """`noc`: a network on chip. What stands below it exists once for each of its nodes: a core.

    What stands above it is shared, and reached through the routers that `attach` names.
    """

    topology: Annotated[str, d.name("the name of a topology")] = Field(description="mesh, torus, ring, crossbar, ...")
    shape: Annotated[tuple[int, ...], d.sequence((1, 4), 1, 4096)] = Field(description="size along each dimension")
    link: Size = Field(description="width of a link: the bytes of a flit, one of which passes in a cycle")
    link_delay: Annotated[int, d.count(1, 1024)] | None = Field(
        None, description="cycles of a flit on a link; the topology's own unless stated"
    )
    link_length: Annotated[float, d.real(units.LENGTH, "0 mm", "1000 mm")] = Field(
        1.0, description="of a link between routers, for its energy; refused where there are none"
    )
    attach: dict[Annotated[str, d.name()], Annotated[tuple[tuple[int, ...], ...], d.places()]] = Field(
        {}, description="part above the network to the routers where its ports are: `{l2: [[0, 0], [0, 3]]}`"
    )
    routing: Annotated[str, d.choice("xy", "yx")] = Field(
        "xy",
        description="order of dimensions, first to last or last to first; other topologies have routes of their own",
    )
    multicast: Flag = Field(True, description="routers copy packets to several nodes; without it each gets its own")
    vcs: Annotated[int, d.count(1, 32)] = Field(4, description="virtual channels of a port")
    buffer: Annotated[int, d.count(1, 65536)] = Field(8, description="flits that a virtual channel holds")
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
