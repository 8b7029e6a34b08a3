"""A validated section to its part of the resolved chip: the keys that its fields name, and what the chip adds to them.

``keys.values`` reads every key. What is here follows from more than a part's own section: how often the part is there,
what a cache's tags hold, what a dataflow says of an array, and how the networks of a chip and their topologies fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from archsim.spec import links as wires
from archsim.spec import schema
from archsim.spec.architecture import Array
from archsim.spec.expand import ArrayFacts
from archsim.spec.keys import StatedSection, values
from archsim.spec.memories import Cache, Memory
from archsim.spec.network import Noc, OuterNetwork
from archsim.spec.on_die import ChipLink, ChipPower, FloorplanBlock
from archsim.spec.part import Part
from archsim.spec.platforms import Platform
from archsim.spec.sections import PartSection
from archsim.spec.sources import lookup
from archsim.spec.topology_facts import TopologyFacts

P = TypeVar("P", bound=Part)
_FILLED_BY = {"dram": "dma", "registers": "array", "cache": "cache"}  # an sram states it


class Standing(NamedTuple):
    """A section with what the chip says of its part: its kind and clock, how often it is there, sources by key path."""

    section: Any
    kind: str
    clock_hz: int
    copies: int
    sources: Mapping[str, str]


def part(resolved: type[P], at: Standing, **more: Any) -> P:
    """A part of a class; ``more``: fields that no key says, or that are not what it says."""
    name = at.section.name
    stated = StatedSection(at.section, at.clock_hz, lambda path: lookup(at.sources, f"{name}.{path}"))
    scope = at.kind if at.kind in ("dram", "host") else "chip"
    usual: dict[str, Any] = {"kind": at.kind, "scope": scope, "copies": at.copies}
    return resolved(**(usual | values(resolved, at.kind, stated) | more))


def platform(name: str, section: Any, clock_hz: int) -> Platform:
    """An entry of ``platforms`` of a chip with that clock."""
    return Platform(name=name, **values(Platform, "", StatedSection(section, clock_hz, lambda _: "")))


def memory(at: Standing) -> Memory:
    """A dram, sram or registers section."""
    return part(Memory, at, **({"filled_by": _FILLED_BY[at.kind]} if at.kind in _FILLED_BY else {}))


def power(stated: Any, sources: Mapping[str, str]) -> ChipPower:
    """What is known of a chip's power as a whole."""
    return ChipPower(**values(ChipPower, "", StatedSection(stated, 0, lambda path: lookup(sources, f"power.{path}"))))


def links(stated: Sequence[Any]) -> tuple[ChipLink, ...]:
    """The links of a chip to its host and to other chips."""
    return tuple(ChipLink(kind=link.kind, lanes=link.lanes) for link in stated)


def floorplan(stated: Mapping[str, Any]) -> dict[str, FloorplanBlock]:
    """Published blocks of the die by name."""
    return {name: FloorplanBlock(area_mm2=block.area, parts=tuple(block.parts)) for name, block in stated.items()}


def cache(at: Standing, address_bits: int) -> Cache:
    """A cache section in front of memories of ``address_bits`` bits of address."""
    size, line, ways = at.section.size, at.section.line, at.section.ways
    tag_bits = max(1, address_bits - (size // line // ways * line).bit_length() + 1)
    return part(Cache, at, slots={}, filled_by=_FILLED_BY["cache"], tag_bits=tag_bits)


def array(at: Standing, facts: ArrayFacts) -> Array:
    """An array section in expanded form: what it does not state of that is as the dataflow says."""
    missing = [key for key in ("fanouts", "registers") if getattr(at.section, key) is None]
    return part(Array, at, **{key: getattr(facts, key) for key in missing})


def noc(levels: Sequence[tuple[Standing, TopologyFacts]], inside: tuple[str, ...]) -> Noc:
    """``levels``: outermost first, each with what its topology says; ``inside``: the memories below the innermost."""
    copies = 1
    outer = []
    for at, found in levels[:-1]:
        width = at.section.link or 0
        joined = _level(at, found, levels[-1][0]) | {"copies": copies}
        outer.append(part(OuterNetwork, at, **joined, nodes=found.cores, width_bytes=width))
        copies *= found.cores
    at, found = levels[-1]
    joined = _level(at, found, at) | {"copies": copies}
    return part(Noc, at, **joined, cores=found.cores * copies, inside=inside, outer=tuple(reversed(outer)))


def _level(at: Standing, found: TopologyFacts, innermost: Standing) -> dict[str, Any]:
    """What every level has beside its keys; its routers are those of the innermost one."""
    spec, inner, network_hz = at.section, innermost.section, innermost.clock_hz
    flit, period, far = inner.link or 0, Fraction(1), 0
    if at is not innermost or spec.phy is not None:
        period = wires.period(flit, network_hz, wires.bytes_per_s(spec, at.clock_hz))
        far = max(inner.buffer, wires.busy_flits(inner, wires.delay_cycles(spec, at.clock_hz, network_hz), period))
    return {
        "link_bytes": flit,
        "ports": _with_attached(found, spec),
        "links": found.links,
        "bisection_links": found.bisection_links,
        "period": period,
        "vcs": inner.vcs,
        "buffer_flits": inner.buffer,
        "far_buffer_flits": far,
    }


def _with_attached(found: TopologyFacts, spec: Any) -> tuple[tuple[int, int], ...]:
    """Ports of each router, with a way in, and one out where its nodes have theirs, for each place in `attach`."""
    at = [found.places.index(place) for places in spec.attach.values() for place in places]
    into, out = Counter(at), Counter(found.sinks[router] for router in at)
    return tuple((ins + into[router], outs + out[router]) for router, (ins, outs) in enumerate(found.ports))


def default(kind: str) -> PartSection:
    """The section of a part that a file does not state."""
    return schema.PARTS[kind].model_validate({})
