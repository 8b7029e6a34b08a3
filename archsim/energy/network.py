"""Prices of a network, or of one around others: a flit through a router, and over a link; area and leakage of all
routers.

    router: bits x (write + read of a flip-flop + (inputs + outputs) x bits x track x wire) x (1 + arbitration)
    link:   bits x length x wire; between chips bits x the energy of a bit of the phy

A flit is written to an input buffer and read from it, and drives one input line and one output line of a matrix
crossbar, which span all its outputs and all its inputs; routers of different size are priced at their mean. Source of
the form: H. Wang et al., "Orion", MICRO 2002. Area: the buffers' flip-flops, and inputs x outputs x (bits x track)^2 of
wires for each crossbar; leakage: the buffers, and the static power of each direction of a phy. Not priced: clock
trees, allocators' area, wires between a router and its nodes or the network around it, area of phys.
"""

from __future__ import annotations

from archsim.energy.parts import Context, Priced, Rate
from archsim.spec.network import Level
from archsim.spec.part import Sourced


def price_noc(part: Level, context: Context) -> Priced:
    """``router_flits``: flits times the routers that they passed; ``link_flits``: times the links between routers."""
    technology = context.technology
    wire, bit = context.dynamic(technology.wire_pj_per_bit_mm), context.dynamic(technology.register_pj_per_bit)
    track, share = technology.crossbar_track_um, technology.arbitration_share
    lines = sum(inputs + outputs for inputs, outputs in part.ports) / len(part.ports)
    lines_mm = lines * part.link_bits * track.value * 1e-3
    router_pj = part.link_bits * (2 * bit.value + lines_mm * wire.value) * (1 + share.value)
    text = f"buffer: {bit.source}; crossbar of {lines_mm:.3g} mm: {wire.source}; track: {track.source}"
    buffers = _buffers(part, context)
    return Priced(
        {
            "router": Rate({"router_flits": router_pj}, f"{text}; arbitration: {share.source}"),
            "link": _link(part, wire),
        },
        (),
        _static_w(part, context.logic_leakage_w(buffers)),
        Sourced(buffers.value + _crossbars_mm2(part, track.value), f"buffers: {buffers.source}; track: {track.source}"),
    )


def _link(part: Level, wire: Sourced) -> Rate:
    if part.phy is not None:
        return Rate({"link_flits": part.link_bits * part.phy.pj_per_bit.value}, part.phy.pj_per_bit.source)
    return Rate({"link_flits": part.link_bits * part.link_mm * wire.value}, f"{wire.source}; x length")


def _static_w(part: Level, leakage: Sourced) -> Sourced:
    if part.phy is None:
        return leakage
    text = f"buffers: {leakage.source}; {part.links} links: {part.phy.static_w.source}"
    return Sourced(leakage.value + part.links * part.phy.static_w.value, text)


def _buffers(part: Level, context: Context) -> Sourced:
    """mm2 of the flip-flops of all input buffers."""
    per_bit = context.technology.register_um2_per_bit
    inputs = sum(inputs for inputs, _ in part.ports)
    deeper = max(0, part.far_buffer_flits - part.buffer_flits)
    flits = part.vcs * (inputs * part.buffer_flits + part.links * deeper)
    return Sourced(flits * part.link_bits * per_bit.value * 1e-6, per_bit.source)


def _crossbars_mm2(part: Level, track_um: float) -> float:
    crossings = sum(inputs * outputs for inputs, outputs in part.ports)
    return crossings * (part.link_bits * track_um * 1e-3) ** 2
