"""One validated section to one part of the Architecture: units become integers, sugar the expanded form.

The sections of a chip's networks to one Noc with the networks around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from archsim.base.units import PS_PER_S
from archsim.spec import architecture as a
from archsim.spec import links, schema
from archsim.spec import memories as m
from archsim.spec.dtypes import BITS
from archsim.spec.expand import ArrayFacts
from archsim.spec.network import Noc, OuterNetwork
from archsim.spec.part import SourcedNumber
from archsim.spec.rules_parts import CONSTANT, dataflow_name
from archsim.spec.sources import lookup
from archsim.spec.topology_facts import TopologyFacts
from archsim.spec.value_domains import MeasuredQuantity

_SYNC_STAGES: int = schema.Part.model_fields["sync_stages"].default


def common(spec: schema.Part, kind: str, clock_hz: int, sources: Mapping[str, str]) -> dict[str, Any]:
    """The fields that every part has."""

    def sourced(key: str, value: float) -> SourcedNumber:
        return SourcedNumber(value, lookup(sources, f"{spec.name}.{key}"))

    return {
        "name": spec.name,
        "kind": kind,
        "clock_hz": clock_hz,
        "sync_stages": spec.sync_stages,
        "scope": kind if kind in ("dram", "host") else "chip",
        "energy_pj": {action: sourced(f"energy.{action}", spec.energy[action]) for action in sorted(spec.energy)},
        "area_mm2": None if spec.area is None else sourced("area", spec.area),
        "leakage_w": None if spec.leakage is None else sourced("leakage", spec.leakage),
        "idle_w": None if spec.idle is None else sourced("idle", spec.idle),
        "copies": 1,
    }


def memory(spec: schema.Storage, base: dict[str, Any]) -> m.Memory:
    """A dram, sram or registers section."""
    base["keeps"] = spec.keeps
    base["slots"] = {role: spec.slots.get(role, spec.slots.get("all", 2)) for role in spec.keeps}
    if isinstance(spec, schema.Dram):
        return _dram(spec, base)
    if isinstance(spec, schema.Sram):
        return _sram(spec, base)
    if isinstance(spec, schema.Registers):
        return m.Memory(**base, capacity_bytes=spec.size, filled_by="array")
    raise TypeError(type(spec).__name__)


def _sram(spec: schema.Sram, base: dict[str, Any]) -> m.Memory:
    named = {engine: getattr(spec.ports, engine) for engine in schema.ENGINES}
    padding = {role: spec.padding.get(role, spec.padding.get("all", 0)) for role in spec.keeps}
    return m.Memory(
        **base,
        capacity_bytes=spec.size,
        filled_by=spec.filled_by,
        banks=spec.banks,
        word_bytes=spec.word,
        ports=_port_set(spec.ports, 1),
        private_ports={engine: _port_set(own, 0) for engine, own in named.items() if own is not None},
        interleave=spec.interleave if isinstance(spec.interleave, str) else "block",
        block_bytes=spec.interleave if isinstance(spec.interleave, int) else 0,
        padding_words={role: words for role, words in padding.items() if words},
    )


def _port_set(ports: schema.Ports | schema.EnginePorts, least: int) -> m.PortSet:
    """``least``: ports of a direction that is not stated."""
    if ports.shared is not None:
        return m.PortSet(ports.shared, ports.shared, shared=True)
    return m.PortSet(ports.read or least, ports.write or least)


def _dram(spec: schema.Dram, base: dict[str, Any]) -> m.Memory:
    if spec.standard != CONSTANT:
        return m.Memory(
            **base,
            capacity_bytes=spec.capacity,
            filled_by="dma",
            standard=spec.standard,
            speed_mts=(spec.speed or 0) // 10**6,
            width_bits=spec.width or 0,
            channels=spec.channels,
            fidelity=spec.fidelity,
            control=m.DramControl(
                address_map=spec.address_map,
                rows=spec.rows,
                row_timeout_ps=spec.row_timeout,
                refresh=spec.refresh,
                read_queue=spec.read_queue,
                write_queue=spec.write_queue,
                turn=spec.turn,
                requests=spec.requests,
            ),
        )
    return m.Memory(
        **base,
        capacity_bytes=spec.capacity,
        filled_by="dma",
        standard=CONSTANT,
        fidelity=CONSTANT,
        bytes_per_cycle=_bytes_per_cycle(spec.bandwidth, base["clock_hz"]),
        latency_cycles=cycles(spec.latency, base["clock_hz"]),
    )


def cache(spec: schema.Cache, base: dict[str, Any], address_bits: int) -> m.Cache:
    """A cache section in front of memories of ``address_bits`` bits of address."""
    lines = spec.size // spec.line
    return m.Cache(
        **base,
        capacity_bytes=spec.size,
        keeps=spec.keeps,
        slots={},
        filled_by="cache",
        banks=spec.banks,
        word_bytes=spec.word,
        ports=_port_set(spec.ports, 1),
        line_bytes=spec.line,
        ways=spec.ways,
        policy=spec.policy,
        hit_cycles=cycles(spec.latency, base["clock_hz"]),
        tag_bits=max(1, address_bits - (lines // spec.ways * spec.line).bit_length() + 1),
    )


def array(spec: schema.Array, base: dict[str, Any], facts: ArrayFacts) -> a.Array:
    """An array section in expanded form."""
    fanouts, registers = facts.fanouts, facts.registers
    if spec.fanouts is not None:
        fanouts = tuple(a.Fanout(item.axis, item.size, item.multicast, item.reduce) for item in spec.fanouts)
    if spec.registers is not None:
        registers = tuple(a.RegisterFile(item.name, item.keeps, item.size) for item in spec.registers)
    return a.Array(
        **base,
        rows=spec.shape[0],
        cols=spec.shape[1],
        dataflow=dataflow_name(spec),
        form=spec.kind,
        fanouts=fanouts,
        registers=registers,
        rates={pair: spec.rates[pair] for pair in sorted(spec.rates)},
        weight_double_buffer=spec.weight_double_buffer,
        fold_overlap=spec.fold_overlap,
        startup_cycles=cycles(spec.startup, base["clock_hz"]),
    )


def vector(spec: schema.Vector, base: dict[str, Any]) -> a.Vector:
    """A vector section; ``lanes: N`` means N elements of every dtype."""
    dtypes = BITS if "all" in spec.lanes else spec.lanes
    return a.Vector(
        **base,
        lanes={dtype: spec.lanes.get(dtype, spec.lanes.get("all", 0)) for dtype in sorted(dtypes)},
        function_cycles={name: spec.functions[name] for name in sorted(spec.functions)},
        startup_cycles=cycles(spec.startup, base["clock_hz"]),
    )


def dma(spec: schema.Dma, base: dict[str, Any]) -> a.Dma:
    """A dma section."""
    return a.Dma(
        **base,
        merged=spec.merged,
        channels=spec.channels,
        setup_cycles=cycles(spec.setup, base["clock_hz"]),
        run_setup_cycles=cycles(spec.run_setup, base["clock_hz"]),
        row_setup_cycles=cycles(spec.row_setup, base["clock_hz"]),
        outstanding=spec.outstanding,
        requests=spec.requests,
    )


def host(spec: schema.Host, base: dict[str, Any]) -> a.Host:
    """A host section."""
    return a.Host(
        **base,
        launch_ps=spec.launch,
        depth=spec.depth,
        issue_ps=spec.issue,
        link_bytes_per_s=spec.link,
        flops_per_s=spec.compute,
    )


def cycles(amount: MeasuredQuantity, clock_hz: int) -> int:
    """A duration in whole cycles of a clock, rounded up."""
    if amount.per == "ps":
        return -(-amount.value * clock_hz // PS_PER_S)
    return -(-amount.value // 1)


def _bytes_per_cycle(bandwidth: MeasuredQuantity | None, clock_hz: int) -> Fraction | None:
    if bandwidth is None or bandwidth.per == "B/cycle":
        return None if bandwidth is None else bandwidth.value
    return bandwidth.value / clock_hz


StatedNoc = tuple[
    schema.Noc, dict[str, Any], TopologyFacts
]  # a section, the fields of every part, what its topology says


def noc(levels: Sequence[StatedNoc], inside: tuple[str, ...], sources: Mapping[str, str]) -> Noc:
    """``levels``: outermost first; ``inside``: the memories below the innermost one."""
    spec, base, found = levels[-1]
    copies = 1
    outer = []
    for level in levels[:-1]:
        fields = _level(level, levels[-1], sources) | {"copies": copies}
        width = 0 if level[0].link is None else level[0].link
        outer.append(OuterNetwork(**fields, nodes=level[2].cores, width_bytes=width))
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


def _level(level: StatedNoc, innermost: StatedNoc, sources: Mapping[str, str]) -> dict[str, Any]:
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


def _with_attached(found: TopologyFacts, spec: schema.Noc) -> tuple[tuple[int, int], ...]:
    """Ports of each router, with a way in, and one out where its nodes have theirs, for each place in `attach`."""
    at = [found.places.index(place) for places in spec.attach.values() for place in places]
    into, out = Counter(at), Counter(found.sinks[router] for router in at)
    return tuple((ins + into[router], outs + out[router]) for router, (ins, outs) in enumerate(found.ports))
