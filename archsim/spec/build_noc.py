"""The sections of a chip's networks to one Noc with the networks around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from archsim.spec import links, schema
from archsim.spec.fabric import Fabric
from archsim.spec.network import Noc, Outer

Stated = tuple[schema.Noc, dict[str, Any], Fabric]  # a section, the fields of every part, what its topology says


def noc(levels: Sequence[Stated], inside: tuple[str, ...], sources: Mapping[str, str]) -> Noc:
    """``levels``: outermost first; ``inside``: the memories below the innermost one."""
    spec, base, found = levels[-1]
    copies = 1
    outer = []
    for level in levels[:-1]:
        fields = _level(level, levels[-1], sources) | {"copies": copies}
        width = 0 if level[0].link is None else level[0].link
        outer.append(Outer(**fields, nodes=level[2].cores, width_bytes=width))
        copies *= level[2].cores
    return Noc(
        **_level(levels[-1], levels[-1], sources) | {"copies": copies},
        cores=found.cores * copies,
        inside=inside,
        outer=tuple(reversed(outer)),
        multicast=spec.multicast,
        routing_delay_cycles=spec.routing_delay,
        credit_delay_cycles=spec.credit_delay,
        vc_allocator=spec.vc_allocator,
        switch_allocator=spec.switch_allocator,
        speculative=spec.speculative,
        packet_bytes=spec.packet,
        header_flits=spec.header,
        message_bytes=spec.message,
        request_flits=spec.request,
        fidelity=spec.fidelity,
    )


def _level(level: Stated, innermost: Stated, sources: Mapping[str, str]) -> dict[str, Any]:
    """What every level has; its routers are those of the innermost one."""
    spec, base, found = level
    inner, network_hz = innermost[0], innermost[1]["clock_hz"]
    flit, period, far = inner.link or 0, Fraction(1), 0
    if level is not innermost or spec.phy is not None:
        period = links.period(flit, network_hz, links.bytes_per_s(spec, base["clock_hz"]))
        far = max(inner.buffer, links.busy_flits(inner, links.delay_cycles(spec, base["clock_hz"], network_hz), period))
    return base | {
        "topology": spec.topology,
        "shape": spec.shape,
        "link_bytes": flit,
        "attach": spec.attach,
        "ports": _with_attached(found, spec),
        "links": found.links,
        "bisection_links": found.bisection_links,
        "phy": links.phy(spec, sources),
        "period": period,
        "link_delay_cycles": spec.link_delay,
        "link_mm": spec.link_length,
        "routing": spec.routing,
        "vcs": inner.vcs,
        "buffer_flits": inner.buffer,
        "far_buffer_flits": far,
    }


def _with_attached(found: Fabric, spec: schema.Noc) -> tuple[tuple[int, int], ...]:
    """Ports of each router, with a way in, and one out where its nodes have theirs, for each place in `attach`."""
    at = [found.places.index(place) for places in spec.attach.values() for place in places]
    into, out = Counter(at), Counter(found.sinks[router] for router in at)
    return tuple((ins + into[router], outs + out[router]) for router, (ins, outs) in enumerate(found.ports))
