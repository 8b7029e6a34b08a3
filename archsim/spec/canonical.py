"""The Architecture as text: the resolved chip in the grammar of chip files; it loads to an equal one.

Values and keys that all parts share, as canonical text states them.

Networks as canonical text states them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import yaml

from archsim.base import units
from archsim.spec import peaks
from archsim.spec.architecture import ROLES, Architecture, Array, Dma, Host, Vector
from archsim.spec.dtypes import BITS
from archsim.spec.memories import Cache, Memory, PortSet
from archsim.spec.network import NetworkLevel, Noc, OuterNetwork, Phy
from archsim.spec.part import Part

CanonicalSection = dict[str, Any]


def common(part: Part, above_hz: int) -> CanonicalSection:
    """Keys that parts begin with; a clock where it is not the one above."""
    section: CanonicalSection = {"name": part.name}
    if part.clock_hz != above_hz:
        section["clock"] = units.exact(part.clock_hz, units.FREQUENCY)
    section["sync_stages"] = part.sync_stages
    return section


def overrides(part: Part) -> CanonicalSection:
    """Energies, area and powers that the file states itself."""
    section: CanonicalSection = {}
    if part.energy_pj:
        section["energy"] = {action: f"{real(item.value)} pJ" for action, item in part.energy_pj.items()}
    if part.area_mm2 is not None:
        section["area"] = f"{real(part.area_mm2.value)} mm2"
    if part.leakage_w is not None:
        section["leakage"] = f"{real(part.leakage_w.value)} W"
    if part.idle_w is not None:
        section["idle"] = f"{real(part.idle_w.value)} W"
    return section


def one_or_each(values: dict[str, int], everything: tuple[str, ...]) -> int | dict[str, int]:
    """One number when it holds for all of ``everything``, else a number for each."""
    if set(values) == set(everything) and len(set(values.values())) == 1:
        return next(iter(values.values()))
    return values


def pair(inputs: str, weights: str) -> str:
    """Of dtypes."""
    return inputs if inputs == weights else f"{inputs}x{weights}"


def ratio(value: Fraction) -> int | str:
    """An exact number."""
    return value.numerator if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def cycles(count: int) -> str:
    """A number of cycles."""
    return f"{count} cycles"


def real(value: float) -> str:
    """A float, exactly."""
    return units.rational(Fraction(repr(value)))


def network(part: NetworkLevel, above_hz: int) -> CanonicalSection:
    """A network, or one around it."""
    return _noc(part, above_hz) if isinstance(part, Noc) else _outer(part, above_hz)


def _noc(part: Noc, above_hz: int) -> CanonicalSection:
    section = common(part, above_hz) | _level(part, part.link_bytes)
    section |= {"multicast": part.multicast, "vcs": part.vcs, "buffer": part.buffer_flits}
    section |= {"routing_delay": part.routing_delay_cycles, "credit_delay": part.credit_delay_cycles}
    section |= {"vc_allocator": part.vc_allocator, "switch_allocator": part.switch_allocator}
    section |= {"speculative": part.speculative, "packet": units.exact(part.packet_bytes, units.SIZE)}
    section |= {"header": part.header_flits, "message": units.exact(part.message_bytes, units.SIZE)}
    return section | {"request": part.request_flits, "fidelity": part.fidelity} | overrides(part)


def _outer(part: NetworkLevel, above_hz: int) -> CanonicalSection:
    section = common(part, above_hz) | _level(part, part.width_bytes if isinstance(part, OuterNetwork) else 0)
    del section["sync_stages"]
    return section | overrides(part)


def _level(part: NetworkLevel, width_bytes: int) -> CanonicalSection:
    """What networks on all levels state; ``width_bytes`` of their links, 0: that follows from the phy."""
    section: CanonicalSection = {"topology": part.topology, "shape": list(part.shape)}
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


def _phy(part: Phy) -> CanonicalSection:
    section: CanonicalSection = {"lanes": part.lanes, "rate": units.exact(part.transfers_per_s, units.TRANSFER_RATE)}
    section |= {"coding": ratio(part.coding), "latency": units.exact(part.latency_ps, units.TIME)}
    section["energy"] = f"{real(part.pj_per_bit.value)} pJ"
    return section | {"power": f"{real(part.static_w.value)} W"}


_LINE = 100  # characters of a mapping or list that goes on one line
_NOT_NUMBERS = frozenset(
    ["schema", "name", "description", "source", "sources", "dtypes", "not_modelled", "hierarchy", "node"]
    + ["keeps", "standard", "fidelity", "address_map", "rows", "refresh", "filled_by", "policy", "kind", "dataflow"]
    + ["merged", "weight_double_buffer", "fold_overlap"]
    + ["topology", "routing", "multicast", "vc_allocator", "switch_allocator", "speculative"]
)


def to_yaml(chip: Architecture) -> str:
    """The canonical text of a chip; ``load.loads`` reads it back to an equal Architecture.

    Every value is stated, defaults and expanded arrays included, except clocks that follow from the one
    above; ``sources`` says where each number comes from. Comments at the top give the peak rates.
    """
    head = "".join(f"# {line}\n" for line in peaks.lines(chip))
    return head + _dump(_document(chip), _Dumper) + _dump({"sources": dict(chip.sources)}, yaml.SafeDumper)


def number_paths(chip: Architecture) -> list[str]:
    """Key paths of every number of the canonical text, in its order."""
    document = _document(chip)
    paths = list(_numbers(document, ""))
    for entry in document["hierarchy"]:
        for kind, section in entry.items():
            parts = [part for item in section for part in item.values()] if kind == "parallel" else [section]
            for part in parts:
                paths += _numbers(part, f"{part['name']}.")
    return paths


def _numbers(section: CanonicalSection, prefix: str) -> Iterator[str]:
    for key, value in section.items():
        if key in _NOT_NUMBERS or (key == "interleave" and value in ("word", "xor")):
            continue
        if isinstance(value, dict):
            yield from _numbers(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _document(chip: Architecture) -> CanonicalSection:
    above = chip.clock_hz
    hierarchy: list[CanonicalSection] = []
    last = max((n for n, memory in enumerate(chip.memories) if memory.kind == "dram"), default=-1)
    for number, memory in enumerate(chip.memories):
        if chip.noc is not None and memory.name == chip.noc.inside[0]:
            for level in reversed(chip.noc.levels):
                hierarchy.append({"noc": network(level, above)})
                above = level.clock_hz
        hierarchy.append({memory.kind: _memory(memory, above)})
        above = memory.clock_hz
        if number == last:
            hierarchy += [{"cache": _cache(cache, above)} for cache in chip.caches]
    leaves: list[CanonicalSection] = [{"array": _array(part, above)} for part in chip.arrays]
    leaves += [{"vector": _vector(part, above)} for part in chip.vectors]
    hierarchy.append({"dma": _dma(chip.dma, chip.clock_hz)})
    if chip.host is not None:
        hierarchy.append({"host": _host(chip.host, chip.clock_hz)})
    hierarchy.append({"parallel": leaves} if len(leaves) > 1 else leaves[0])
    document: CanonicalSection = {"schema": "archsim.chip/1", "name": chip.name}
    if chip.description:
        document["description"] = chip.description
    document |= {
        "source": chip.source,
        "technology": {"node": chip.technology, "voltage": f"{real(chip.voltage_v)} V"},
        "clock": units.exact(chip.clock_hz, units.FREQUENCY),
        "dtypes": {key: dtype for key, dtype in chip.dtypes.items() if key != "partials"},
        "hierarchy": hierarchy,
    }
    if chip.not_modelled:
        document["not_modelled"] = list(chip.not_modelled)
    return document


def _memory(part: Memory, above_hz: int) -> CanonicalSection:
    section = common(part, above_hz)
    if part.kind == "dram":
        section |= _dram(part)
    else:
        section["size"] = units.exact(part.capacity_bytes, units.SIZE)
    if part.kind == "sram":
        section |= _sram(part)
    section["keeps"] = "all" if part.keeps == ROLES else list(part.keeps)
    section["slots"] = one_or_each(dict(part.slots), tuple(part.keeps))
    return section | overrides(part)


def _sram(part: Memory) -> CanonicalSection:
    section = _banks(part)
    section["interleave"] = units.exact(part.block_bytes, units.SIZE) if part.block_bytes else part.interleave
    section["padding"] = one_or_each({role: part.padding_words.get(role, 0) for role in part.keeps}, tuple(part.keeps))
    section["filled_by"] = part.filled_by
    return section


def _banks(part: Memory) -> CanonicalSection:
    section: CanonicalSection = {"banks": part.banks, "word": units.exact(part.word_bytes, units.SIZE)}
    section["ports"] = _ports(part.ports) | {engine: _ports(own) for engine, own in part.private_ports.items()}
    return section


def _ports(ports: PortSet) -> CanonicalSection:
    if ports.shared:
        return {"shared": ports.read}
    return {key: count for key, count in (("read", ports.read), ("write", ports.write)) if count}


def _cache(part: Cache, above_hz: int) -> CanonicalSection:
    section = common(part, above_hz)
    section |= {"size": units.exact(part.capacity_bytes, units.SIZE), "line": units.exact(part.line_bytes, units.SIZE)}
    section |= {"ways": part.ways, "policy": part.policy, "latency": cycles(part.hit_cycles)}
    section |= _banks(part)
    section["keeps"] = list(part.keeps)
    return section | overrides(part)


def _dram(part: Memory) -> CanonicalSection:
    section: CanonicalSection = {"standard": part.standard, "capacity": units.exact(part.capacity_bytes, units.SIZE)}
    if part.standard == "constant":
        rate = part.bytes_per_cycle
        section["bandwidth"] = "infinite" if rate is None else units.exact(rate * part.clock_hz, units.BANDWIDTH)
        section["latency"] = units.exact(Fraction(part.latency_cycles * 10**12, part.clock_hz), units.TIME)
        return section
    section["speed"] = units.exact(part.speed_mts * 10**6, units.TRANSFER_RATE)
    section |= {"width": f"{part.width_bits} b", "channels": part.channels, "fidelity": part.fidelity}
    control = part.control
    section |= {"address_map": control.address_map, "rows": control.rows}
    if control.rows == "timeout":
        section["row_timeout"] = units.exact(Fraction(control.row_timeout_ps), units.TIME)
    return section | {
        "refresh": control.refresh,
        "read_queue": control.read_queue,
        "write_queue": control.write_queue,
        "turn": control.turn,
        **({} if control.requests is None else {"requests": control.requests}),
    }


def _array(part: Array, above_hz: int) -> CanonicalSection:
    section = common(part, above_hz)
    section |= {"kind": part.form, "shape": [part.rows, part.cols], "dataflow": part.dataflow}
    section["rates"] = {pair(*dtypes): ratio(rate) for dtypes, rate in part.rates.items()}
    section["weight_double_buffer"] = part.weight_double_buffer
    section["fold_overlap"] = part.fold_overlap
    section["startup"] = cycles(part.startup_cycles)
    section["fanouts"] = [
        {"axis": item.axis, "size": item.size, "multicast": list(item.multicast), "reduce": list(item.reduce)}
        for item in part.fanouts
    ]
    section["registers"] = [
        {"name": item.name, "keeps": list(item.keeps), "size": units.exact(item.size_bytes, units.SIZE)}
        for item in part.registers
    ]
    return section | overrides(part)


def _vector(part: Vector, above_hz: int) -> CanonicalSection:
    section = common(part, above_hz)
    section["lanes"] = one_or_each(dict(part.lanes), tuple(BITS))
    section["functions"] = {name: ratio(rate) for name, rate in part.function_cycles.items()}
    section["startup"] = cycles(part.startup_cycles)
    return section | overrides(part)


def _dma(part: Dma, above_hz: int) -> CanonicalSection:
    section = common(part, above_hz)
    section |= {"merged": part.merged, "channels": part.channels, "setup": cycles(part.setup_cycles)}
    section |= {"run_setup": cycles(part.run_setup_cycles), "row_setup": cycles(part.row_setup_cycles)}
    if part.outstanding is not None:
        section["outstanding"] = part.outstanding
    if part.requests is not None:
        section["requests"] = part.requests
    return section | overrides(part)


def _host(part: Host, above_hz: int) -> CanonicalSection:
    section = common(part, above_hz)
    section["launch"] = units.exact(part.launch_ps, units.TIME)
    section["depth"] = part.depth
    section["issue"] = units.exact(part.issue_ps, units.TIME)
    section["link"] = units.exact(part.link_bytes_per_s, units.BANDWIDTH)
    section["compute"] = units.exact(part.flops_per_s, units.COMPUTE_RATE)
    return section | overrides(part)


class _Dumper(yaml.SafeDumper):
    """Short lists and mappings of scalars on one line, the rest in blocks."""

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:
        """One line for a short mapping of scalars, a block for others."""
        node = super().represent_mapping(tag, mapping, flow_style=False)
        node.flow_style = _short([part for pair in node.value for part in pair])
        return node

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        """One line for a short list of scalars, a block for others."""
        node = super().represent_sequence(tag, sequence, flow_style=False)
        node.flow_style = _short(node.value)
        return node


def _dump(document: CanonicalSection, dumper: type[yaml.SafeDumper]) -> str:
    text = yaml.dump(
        document, Dumper=dumper, default_flow_style=False, sort_keys=False, allow_unicode=True, width=10**6
    )
    return str(text)


def _short(nodes: list[yaml.Node]) -> bool:
    scalars = all(isinstance(node, yaml.ScalarNode) for node in nodes)
    return scalars and sum(len(node.value) + 2 for node in nodes) < _LINE
