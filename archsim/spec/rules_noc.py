"""Rules on networks: what they join, where shared memories are attached, and what fits in their routers.

For networks in networks and for links between chips: what each level states, and how fast its links are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from archsim.base import units
from archsim.base.errors import ConfigError, NotBuiltError, nearest
from archsim.facts.noc.catalogue import MOST_NODES, names
from archsim.facts.noc.routers import MOST_PORTS
from archsim.spec import schema
from archsim.spec.declared import DeclaredPart, File, clocks, explicit
from archsim.spec.dtypes import ROLES
from archsim.spec.links import MOST_DELAY, MOST_PERIOD, MOST_TERM, bytes_per_s, delay_cycles, period
from archsim.spec.network import Noc
from archsim.spec.nodes import Mark
from archsim.spec.topology import network
from archsim.spec.topology_facts import TopologyFacts, fabric

_NEEDS = {"cache": "a cache in a chip with a network", "dram": "a dram below a network"}
_KEYS = ("topology", "shape")


def check(file: File) -> list[TopologyFacts]:
    """Add a problem for every broken rule; what the topologies say, outermost first: nothing without a network or with
    one that is wrong."""
    networks = list(file.of(schema.NOC))
    if not networks:
        return []
    inner = networks[-1]
    if not check_between(file, inner):
        return []
    for rule in (_kinds, _keepers, _ports_of_cores, _packets, check_levels):
        rule(file, inner)
    found = [fabric for part in networks if (fabric := _fabric(file, part)) is not None]
    if len(found) != len(networks):
        return []
    check_nodes(file, inner, prod(each.cores for each in found))
    for part, each in zip(networks, found, strict=True):
        for routed in (_routes, _attached, _unattached, _switches):
            routed(file, part, each)
    return found


def check_routes(file: File, fabrics: list[TopologyFacts], noc: Noc) -> None:
    """Add a problem where packets to the ports, or between networks, can block one another.

    Routes that pass dimensions in an order, and those on rings, never do.
    """
    if all(each.ordered or each.rings for each in fabrics):
        return
    try:
        network(noc)
    except ConfigError as error:
        found = str(error).partition("; allowed")[0]
        file.add(list(file.of(schema.NOC))[-1], "attach", f"{found}; allowed other routers, or another topology")


def below(file: File) -> list[DeclaredPart]:
    """The parts that each core has, the DMA's engines among them; none without a network."""
    at = max((n for n, part in enumerate(file.parts) if isinstance(part.spec, schema.NOC)), default=None)
    if at is None:
        return []
    dma = [part for part in file.parts[:at] if isinstance(part.spec, schema.DMA)]
    return dma + [part for part in file.parts[at + 1 :] if not isinstance(part.spec, schema.HOST)]


def _split(file: File) -> tuple[list[DeclaredPart], list[DeclaredPart]]:
    """Explicit memories above the network, and below it."""
    inner = {part.spec.name for part in below(file)}
    found = [part for part in file.of(schema.STORAGE) if explicit(part)]
    return [part for part in found if part.spec.name not in inner], [part for part in found if part.spec.name in inner]


def _kinds(file: File, _: DeclaredPart) -> None:
    inner = {part.spec.name for part in below(file)}
    for part in file.parts:
        kind = part.at.kind
        if isinstance(part.spec, schema.CACHE) or (isinstance(part.spec, schema.DRAM) and part.spec.name in inner):
            message = f"{_NEEDS[kind]} is not built yet; allowed drams above it, and no cache"
            file.problems.not_built(part.at.mark, part.spec.name, message)


def _keepers(file: File, noc: DeclaredPart) -> None:
    """Each core computes from memories of its own."""
    above, inner = _split(file)
    for role in ROLES:
        outer = [part for part in above if role in part.spec.keeps and not isinstance(part.spec, schema.DRAM)]
        if outer and not any(role in part.spec.keeps for part in inner):
            name = noc.spec.name
            message = f"'{role}' has no keeper below the network '{name}'; allowed an sram below it that keeps it too"
            file.add(outer[-1], "keeps", message)


def _ports_of_cores(file: File, _: DeclaredPart) -> None:
    for part in _split(file)[0]:
        for engine in ("array", "vector"):
            if isinstance(part.spec, schema.SRAM) and getattr(part.spec.ports, engine) is not None:
                message = "has no meaning above a network, below which arrays and vector units are"
                file.add(part, f"ports.{engine}", f"{message}; allowed in an sram below it")


def _packets(file: File, part: DeclaredPart) -> None:
    spec, flit = part.spec, part.spec.link
    if flit is None:
        return
    link, packet, message = (units.exact(size, units.SIZE) for size in (flit, spec.packet, spec.message))
    if spec.packet < flit:
        file.add(part, "packet", f"found {packet}; allowed at least {link}, one flit")
    if spec.message < spec.packet:
        file.add(part, "message", f"found {message}; allowed at least {packet}, the packet")
    flits = -(-spec.packet // flit)
    if spec.multicast and flits + spec.header > spec.buffer:
        file.add(
            part,
            "buffer",
            f"found {spec.buffer} flits; a packet of {packet} is {flits} flits of {link} and {spec.header} of header; "
            f"allowed at least {flits + spec.header}, or `multicast: false`, of which packets need not fit",
        )


def _fabric(file: File, part: DeclaredPart) -> TopologyFacts | None:
    """What the topology says of the shape; None, with a problem at the key, when there is no such network."""
    name, known = part.spec.topology, names()
    if name not in known:
        file.add(part, "topology", f"found '{name}'; allowed {', '.join(known)}{nearest(name, known)}")
        return None
    try:
        return fabric(part.spec.topology, part.spec.shape)
    except NotBuiltError as error:
        file.problems.not_built(part.mark("topology"), f"{part.spec.name}.topology", _rest(str(error), "topology"))
    except ConfigError as error:
        key = next((key for key in _KEYS if str(error).startswith(f"{key}: ")), "topology")
        file.add(part, key, _rest(str(error), key))
    return None


def _rest(message: str, key: str) -> str:
    return message.removeprefix(f"{key}: ")


def _routes(file: File, part: DeclaredPart, found: TopologyFacts) -> None:
    """Keys that this topology would ignore, or cannot do with."""
    spec = part.spec
    if spec.routing == "yx" and not found.ordered:
        file.add(part, "routing", f"found 'yx', which has no meaning for a {spec.topology}; allowed xy")
    inner = list(file.of(schema.NOC))[-1]
    if found.rings and inner.spec.vcs < 2:
        message = "allowed at least 2, without which packets of a ring block one another"
        file.add(inner, "vcs", f"found {inner.spec.vcs}; {message}")
    if not found.links and "link_length" in spec.model_fields_set:
        file.add(part, "link_length", f"has no meaning for a {spec.topology}, which has no links between routers")
    if not found.links and spec.phy is not None:
        file.add(part, "phy", f"has no meaning for a {spec.topology}, which has no links between routers")
    if spec.speculative and {spec.vc_allocator, spec.switch_allocator} != {"islip"}:
        file.add(part, "speculative", "found true with another allocator; allowed with islip for both")


def _attached(file: File, part: DeclaredPart, found: TopologyFacts) -> None:
    named = {other.spec.name: other for other in file.parts}
    allowed = _attachable(file, part)
    for name, places in part.spec.attach.items():
        if name not in allowed:
            _not_attachable(file, part, name, named.get(name), allowed)
        for index, place in enumerate(places):
            if place not in found.places:
                first, last = (list(found.places[end]) for end in (0, -1))
                what = f"a router of the {part.spec.topology}"
                _at(file, part, name, index, f"found {list(place)}; allowed {first} to {last}, {what}")


def _attachable(file: File, part: DeclaredPart) -> list[str]:
    """What has ports at a network: the network around it, or of the outermost one the memories above."""
    outer = around(file, part)
    return [memory.spec.name for memory in _split(file)[0]] if outer is None else [outer.spec.name]


def _not_attachable(file: File, part: DeclaredPart, name: str, other: DeclaredPart | None, allowed: list[str]) -> None:
    outer = around(file, part)
    what = "the network around it" if outer is not None else "explicit memories above the network"
    hint = f"allowed {what}: {', '.join(allowed) or 'none'}"
    key = f"attach.{name}"
    if other is None:
        file.add(part, key, f"no part '{name}'; {hint}{nearest(name, allowed)}")
    elif isinstance(other.spec, schema.HOST):
        message = f"a host at a port of a network is not built yet; {hint}"
        file.problems.not_built(part.mark(key), f"{part.spec.name}.{key}", message)
    elif other in below(file) and not isinstance(other.spec, schema.DMA):
        file.add(part, key, f"found '{name}', which is below the network: every core has its own; {hint}")
    else:
        file.add(part, key, f"found '{name}', a {other.at.kind}; {hint}")


def _at(file: File, part: DeclaredPart, name: str, index: int, message: str) -> None:
    """A problem with one place of a part's ports."""
    node = part.at.node.mapping["attach"].mapping[name]
    mark: Mark = node.items[index].mark if index < len(node.items) else node.mark
    file.problems.add(mark, f"{part.spec.name}.attach.{name}[{index}]", message)


def _unattached(file: File, part: DeclaredPart, found: TopologyFacts) -> None:
    """What sends to memories below the network, or receives from them, needs a port."""
    if around(file, part) is not None:
        check_gateway(file, part, found)
        return
    above, inner = _split(file)
    sending: dict[str, list[str]] = {}
    for role in ROLES:
        last = [memory for memory in above if role in memory.spec.keeps][-1:]
        if last and any(role in memory.spec.keeps for memory in inner):
            sending.setdefault(last[0].spec.name, []).append(role)
    for name, roles in sending.items():
        if name not in part.spec.attach:
            example = f"{name}: [{list(found.places[0])}]"
            message = f"no port of '{name}', through which {', '.join(roles)} pass"
            file.add(part, "attach", f"{message}; allowed `{example}` or other routers")


def _switches(file: File, part: DeclaredPart, found: TopologyFacts) -> None:
    """Routers that the compiled code can hold: where flits ask for a switch, its ports are bits of one word."""
    spec = part.spec
    inner = list(file.of(schema.NOC))[-1].spec
    if inner.fidelity != "flit":
        return
    at_one = Counter(place for places in spec.attach.values() for place in places)
    ports = found.most_ports + max(at_one.values(), default=0)
    if ports > MOST_PORTS:
        message = f"found a router of {ports} ports, attached ones among them; allowed at most {MOST_PORTS}"
        file.add(part, "shape", f"{message}, or `fidelity: link`")


_OF_ALL = (
    "name",
    "source",
    "sources",
    "clock",
    "energy",
    "area",
    "leakage",
    "idle",
    "topology",
    "shape",
    "attach",
    "routing",
)
_OF_LINKS = ("link", "phy", "link_delay", "link_length")
_WIRES = ("link_delay", "link_length")  # have no meaning beside a phy


def check_levels(file: File, inner: DeclaredPart) -> None:
    """Add a problem for every broken rule on what the levels state."""
    for part in file.of(schema.NOC):
        _links(file, part, inner)
        if part is not inner:
            _keys(file, part, inner)
    if inner.spec.link is not None:
        for part in file.of(schema.NOC):
            _rates(file, part, inner, inner.spec.link)


def around(file: File, part: DeclaredPart) -> DeclaredPart | None:
    """The network around a network; None of the outermost one."""
    found = list(file.of(schema.NOC))
    place = next(number for number, other in enumerate(found) if other is part)
    return found[place - 1] if place else None


def check_nodes(file: File, inner: DeclaredPart, cores: int) -> None:
    """No more cores in all copies than tables have room for."""
    if around(file, inner) is not None and cores > MOST_NODES:
        file.add(inner, "shape", f"found {cores} cores in all copies of the network; allowed at most {MOST_NODES}")


def check_gateway(file: File, part: DeclaredPart, found: TopologyFacts) -> None:
    """A network inside another one is joined to it at one router."""
    outer = around(file, part)
    if outer is None:
        return
    name = outer.spec.name
    places = part.spec.attach.get(name, ())
    if not places:
        message = f"no router that is joined to the network '{name}' around it"
        file.add(part, "attach", f"{message}; allowed `{name}: [{list(found.places[0])}]` or another router")
    if len(places) > 1:
        message = f"{len(places)} routers joined to the network around it are not built yet; this version has one"
        file.problems.not_built(part.mark(f"attach.{name}"), f"{part.spec.name}.attach.{name}", message)


def check_between(file: File, inner: DeclaredPart) -> bool:
    """Whether no memory stands between networks, of which each chiplet would have its own."""
    places = [number for number, part in enumerate(file.parts) if isinstance(part.spec, schema.NOC)]
    found = [
        part for part in file.parts[places[0] : places[-1]] if isinstance(part.spec, (schema.STORAGE, schema.CACHE))
    ]
    outer = file.parts[places[0]].spec.name
    for part in found:
        message = f"a {part.at.kind} between the networks '{outer}' and '{inner.spec.name}' is not built yet"
        hint = f"allowed above '{outer}' or below '{inner.spec.name}'"
        file.problems.not_built(part.at.mark, part.spec.name, f"{message}; {hint}")
    return not found


def _links(file: File, part: DeclaredPart, inner: DeclaredPart) -> None:
    """Width, or physical link, of each level."""
    spec = part.spec
    if part is inner and spec.link is None:
        file.add(part, "link", "missing; allowed the bytes of a flit, also beside `phy`")
    elif part is not inner and spec.phy is None and spec.link is None:
        file.add(part, "link", "missing; allowed the bytes that a link carries in a cycle, or `phy`")
    elif part is not inner and spec.phy is not None and spec.link is not None:
        file.add(part, "link", f"has no meaning beside `phy`; a flit is one of '{inner.spec.name}'")
    for key in _stated(part, _WIRES) if spec.phy is not None else ():
        file.add(part, key, "has no meaning beside `phy`; allowed `phy.latency`, `phy.energy`")


def _keys(file: File, part: DeclaredPart, inner: DeclaredPart) -> None:
    """What only the innermost network states: routers, packets and fidelity are the same on all levels."""
    allowed = (*_OF_ALL, *_OF_LINKS)
    for key in _stated(part, [key for key in schema.NOC.model_fields if key not in allowed]):
        file.add(part, key, f"is stated by the innermost network, for all levels; allowed as {inner.spec.name}.{key}")
    if part.spec.phy is not None and part.spec.clock is not None:
        file.add(part, "clock", "has no meaning beside `phy`, which states its own rate; allowed on the parts below")


def _stated(part: DeclaredPart, keys: list[str] | tuple[str, ...]) -> Iterator[str]:
    return (key for key in keys if key in part.spec.model_fields_set)


def _rates(file: File, part: DeclaredPart, inner: DeclaredPart, flit: int) -> None:
    """A flit takes a link a cycle of the network or more, an exact ratio that the compiled code can count."""
    if part.spec.phy is None and (part is inner or part.spec.link is None):
        return
    hertz = clocks(file)
    network_hz = hertz[inner.spec.name]
    rate = bytes_per_s(part.spec, hertz[part.spec.name])
    found, key = period(flit, network_hz, rate), "phy" if part.spec.phy is not None else "link"
    asks = f"a flit of {units.exact(flit, units.SIZE)} at {units.exact(network_hz, units.FREQUENCY)}"
    text = f"found a link of {units.si(float(rate), 'B/s')}, which {asks} takes for {float(found):.4g} cycles"
    if found < 1:
        file.add(part, key, f"{text}; allowed at least 1: fewer lanes, or a wider {inner.spec.name}.link")
    elif found > MOST_PERIOD or max(found.as_integer_ratio()) > MOST_TERM:
        allowed = f"at most {MOST_PERIOD}, a ratio of whole numbers to {MOST_TERM}"
        file.add(part, key, f"{text} ({found}); allowed {allowed}: a narrower {inner.spec.name}.link or other clocks")
    delay = delay_cycles(part.spec, hertz[part.spec.name], network_hz)
    if delay > MOST_DELAY:
        late = "phy.latency" if part.spec.phy is not None else "link_delay"
        file.add(part, late, f"found {delay} cycles of the network; allowed at most {MOST_DELAY}")
