"""The network of a resolved chip: routers, links, what they carry, and who stands at which router.

Below the network everything exists once for each of its cores; what stands above it is shared and reached through the
ports that ``attach`` names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from archsim.spec.part import Part

TOPOLOGIES = "archsim.noc.topologies"  # the package whose files they are


@dataclass(frozen=True, slots=True)
class Noc(Part):
    """A network on chip. One core stands at each node of its topology, in their order.

    ``link_bytes``: one flit, which a link carries in a cycle; ``packet_bytes``: payload of a packet at most, beside
    ``header_flits``; ``message_bytes``: what a move sends at once from one port at most; ``request_flits``: of what
    asks a port for all that a move reads there. ``attach``: part above -> the places (coordinates of a router) of its
    ports. ``inside``: the memories below, of which each core has its own.
    As the topology's file says: ``ports`` of each router (inputs, outputs), to links, nodes and attached parts;
    ``links`` and ``bisection_links`` (0: not known) of one direction each.
    """

    topology: str
    shape: tuple[int, ...]
    cores: int
    link_bytes: int
    attach: Mapping[str, tuple[tuple[int, ...], ...]]
    inside: tuple[str, ...]
    ports: tuple[tuple[int, int], ...] = ()
    links: int = 0
    bisection_links: int = 0
    link_delay_cycles: int | None = None  # None: the topology's own
    link_mm: float = 1.0  # length of a link between neighbours
    routing: str = "xy"
    multicast: bool = True
    vcs: int = 4
    buffer_flits: int = 8  # of each virtual channel
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
    def link_bits(self) -> int:
        """Wires of a link."""
        return self.link_bytes * 8

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
