"""One validated section to one part of the Architecture: units become integers, sugar the expanded form."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from archsim.base.units import PS_PER_S
from archsim.spec import architecture as a
from archsim.spec import memories as m
from archsim.spec import schema
from archsim.spec.domains import Measured
from archsim.spec.dtypes import BITS
from archsim.spec.expand import Facts
from archsim.spec.part import Sourced
from archsim.spec.rules_parts import CONSTANT, dataflow_name
from archsim.spec.sources import lookup

_SYNC_STAGES: int = schema.Part.model_fields["sync_stages"].default


def common(spec: schema.Part, kind: str, clock_hz: int, sources: Mapping[str, str]) -> dict[str, Any]:
    """The fields that every part has."""

    def sourced(key: str, value: float) -> Sourced:
        return Sourced(value, lookup(sources, f"{spec.name}.{key}"))

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


def array(spec: schema.Array, base: dict[str, Any], facts: Facts) -> a.Array:
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


def cycles(amount: Measured, clock_hz: int) -> int:
    """A duration in whole cycles of a clock, rounded up."""
    if amount.per == "ps":
        return -(-amount.value * clock_hz // PS_PER_S)
    return -(-amount.value // 1)


def _bytes_per_cycle(bandwidth: Measured | None, clock_hz: int) -> Fraction | None:
    if bandwidth is None or bandwidth.per == "B/cycle":
        return None if bandwidth is None else bandwidth.value
    return bandwidth.value / clock_hz
