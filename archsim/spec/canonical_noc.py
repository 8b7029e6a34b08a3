"""Networks as canonical text states them."""

from __future__ import annotations

from archsim.base import units
from archsim.spec.canonical_values import Section, common, overrides, ratio, real
from archsim.spec.network import Level, Noc, Outer, Phy


def network(part: Level, above_hz: int) -> Section:
    """A network, or one around it."""
    return _noc(part, above_hz) if isinstance(part, Noc) else _outer(part, above_hz)


def _noc(part: Noc, above_hz: int) -> Section:
    section = common(part, above_hz) | _level(part, part.link_bytes)
    section |= {"multicast": part.multicast, "vcs": part.vcs, "buffer": part.buffer_flits}
    section |= {"routing_delay": part.routing_delay_cycles, "credit_delay": part.credit_delay_cycles}
    section |= {"vc_allocator": part.vc_allocator, "switch_allocator": part.switch_allocator}
    section |= {"speculative": part.speculative, "packet": units.exact(part.packet_bytes, units.SIZE)}
    section |= {"header": part.header_flits, "message": units.exact(part.message_bytes, units.SIZE)}
    return section | {"request": part.request_flits, "fidelity": part.fidelity} | overrides(part)


def _outer(part: Level, above_hz: int) -> Section:
    section = common(part, above_hz) | _level(part, part.width_bytes if isinstance(part, Outer) else 0)
    del section["sync_stages"]
    return section | overrides(part)


def _level(part: Level, width_bytes: int) -> Section:
    """What networks on all levels state; ``width_bytes`` of their links, 0: that follows from the phy."""
    section: Section = {"topology": part.topology, "shape": list(part.shape)}
    if width_bytes:
        section["link"] = units.exact(width_bytes, units.SIZE)
    if part.phy is not None:
        section["phy"] = _phy(part.phy)
    if part.link_delay_cycles is not None:
        section["link_delay"] = part.link_delay_cycles
    if part.links and part.phy is None:
        section["link_length"] = f"{real(part.link_mm)} mm"
    section["attach"] = {name: [list(place) for place in places] for name, places in part.attach.items()}
    return section | {"routing": part.routing}


def _phy(part: Phy) -> Section:
    section: Section = {"lanes": part.lanes, "rate": units.exact(part.transfers_per_s, units.TRANSFER_RATE)}
    section |= {"coding": ratio(part.coding), "latency": units.exact(part.latency_ps, units.TIME)}
    section["energy"] = f"{real(part.pj_per_bit.value)} pJ"
    return section | {"power": f"{real(part.static_w.value)} W"}
