"""Rules on networks in networks, and on links between chips: what each level states, and how fast its links are."""

from __future__ import annotations

from collections.abc import Iterator

from archsim.base import units
from archsim.facts.noc.catalogue import MOST_NODES
from archsim.spec import schema
from archsim.spec.declared import Declared, File, clocks
from archsim.spec.fabric import Fabric
from archsim.spec.links import MOST_DELAY, MOST_PERIOD, MOST_TERM, bytes_per_s, delay_cycles, period

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

_Noc = Declared[schema.Noc]


def check(file: File, inner: _Noc) -> None:
    """Add a problem for every broken rule on what the levels state."""
    for part in file.of(schema.Noc):
        _links(file, part, inner)
        if part is not inner:
            _keys(file, part, inner)
    if inner.spec.link is not None:
        for part in file.of(schema.Noc):
            _rates(file, part, inner, inner.spec.link)


def around(file: File, part: _Noc) -> _Noc | None:
    """The network around a network; None of the outermost one."""
    found = list(file.of(schema.Noc))
    place = next(number for number, other in enumerate(found) if other is part)
    return found[place - 1] if place else None


def check_nodes(file: File, inner: _Noc, cores: int) -> None:
    """No more cores in all copies than tables have room for."""
    if around(file, inner) is not None and cores > MOST_NODES:
        file.add(inner, "shape", f"found {cores} cores in all copies of the network; allowed at most {MOST_NODES}")


def check_gateway(file: File, part: _Noc, found: Fabric) -> None:
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


def check_between(file: File, inner: _Noc) -> bool:
    """Whether no memory stands between networks, of which each chiplet would have its own."""
    places = [number for number, part in enumerate(file.parts) if isinstance(part.spec, schema.Noc)]
    found = [
        part for part in file.parts[places[0] : places[-1]] if isinstance(part.spec, (schema.Storage, schema.Cache))
    ]
    outer = file.parts[places[0]].spec.name
    for part in found:
        message = f"a {part.at.kind} between the networks '{outer}' and '{inner.spec.name}' is not built yet"
        hint = f"allowed above '{outer}' or below '{inner.spec.name}'"
        file.problems.not_built(part.at.mark, part.spec.name, f"{message}; {hint}")
    return not found


def _links(file: File, part: _Noc, inner: _Noc) -> None:
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


def _keys(file: File, part: _Noc, inner: _Noc) -> None:
    """What only the innermost network states: routers, packets and fidelity are the same on all levels."""
    allowed = (*_OF_ALL, *_OF_LINKS)
    for key in _stated(part, [key for key in schema.Noc.model_fields if key not in allowed]):
        file.add(part, key, f"is stated by the innermost network, for all levels; allowed as {inner.spec.name}.{key}")
    if part.spec.phy is not None and part.spec.clock is not None:
        file.add(part, "clock", "has no meaning beside `phy`, which states its own rate; allowed on the parts below")


def _stated(part: _Noc, keys: list[str] | tuple[str, ...]) -> Iterator[str]:
    return (key for key in keys if key in part.spec.model_fields_set)


def _rates(file: File, part: _Noc, inner: _Noc, flit: int) -> None:
    """A flit takes a link a cycle of the network or more, an exact ratio that the kernel can count."""
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
