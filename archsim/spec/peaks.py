"""Peak rates that follow from a chip's numbers: what its memories and arrays can do at most."""

from __future__ import annotations

from fractions import Fraction

from archsim.base.units import operations_per_s, si
from archsim.spec.architecture import Architecture, Array
from archsim.spec.memories import Memory, PortSet
from archsim.spec.network import NetworkLevel, Noc, OuterNetwork


def dram_bytes_per_s(memory: Memory) -> Fraction | None:
    """Peak of a dram: channels x width x transfers per second, or its constant rate; None when infinite."""
    if memory.standard == "constant":
        rate = memory.bytes_per_cycle
        return None if rate is None else rate * memory.clock_hz
    return Fraction(memory.channels * memory.width_bits * memory.speed_mts * 10**6, 8)


def lines(chip: Architecture) -> list[str]:
    """One line for the peak of each dram, explicit sram, network and array; of all cores together where there are."""
    found = [_memory(memory) for memory in chip.memories if memory.filled_by == "dma"]
    if chip.noc is not None:
        found += [_outer(level) for level in reversed(chip.noc.outer)]
        found.append(_noc(chip.noc))
    return found + [_array(array) for array in chip.arrays]


def link_bytes_per_s(level: NetworkLevel) -> Fraction:
    """Of one link of a network in one direction."""
    if level.phy is not None:
        return level.phy.bytes_per_s
    width = level.width_bytes if isinstance(level, OuterNetwork) else level.link_bytes
    return Fraction(width * level.clock_hz)


def bisection_bytes_per_s(level: NetworkLevel) -> Fraction:
    """Of all links, of one direction, between two halves of the nodes; 0 where the topology does not know it."""
    return level.bisection_links * link_bytes_per_s(level)


def port_bytes_per_s(noc: Noc, part: str) -> int:
    """Of all ports of a part above the network, or above those around it, in one direction: a flit a cycle each."""
    return len(noc.shared.get(part, ())) * noc.link_bytes * noc.clock_hz


def _noc(noc: Noc) -> str:
    cores = noc.cores // noc.copies
    text = f"{noc.name}: {cores} cores{_links(noc)}"
    if noc.copies > 1:
        text += f", each of {noc.copies} copies"
    ports = [f"{name} {si(port_bytes_per_s(noc, name), 'B/s')} ({len(noc.shared[name])})" for name in noc.shared]
    return f"{text}; ports: {', '.join(ports)}" if ports else text


def _outer(level: OuterNetwork) -> str:
    return f"{level.name}: {level.nodes} copies of the network below{_links(level)}"


def _links(level: NetworkLevel) -> str:
    shape = "x".join(str(size) for size in level.shape)
    text = f" on a {level.topology} {shape}, link {si(link_bytes_per_s(level), 'B/s')} each way"
    if level.bisection_links:
        text += f", bisection {si(bisection_bytes_per_s(level), 'B/s')} each way"
    return text


def _memory(memory: Memory) -> str:
    if memory.kind == "dram":
        peak = dram_bytes_per_s(memory)
        return f"{memory.name}: peak {'infinite' if peak is None else si(peak, 'B/s')}{_dram_formula(memory)}"
    groups = [_directions(memory, memory.ports)]
    groups += [f"{engine} {_directions(memory, own)}" for engine, own in memory.private_ports.items()]
    each = f", each of {memory.copies} cores" if memory.copies > 1 else ""
    return f"{memory.name}: peak {'; '.join(groups)} (banks x word x ports){each}"


def _directions(memory: Memory, ports: PortSet) -> str:
    def rate(count: int) -> str:
        size = memory.banks * memory.word_bytes * count
        return f"{size} B/cycle = {si(size * memory.clock_hz, 'B/s')}"

    if ports.shared:
        return f"{rate(ports.read)}, read or write"
    return ", ".join(f"{rate(count)} {way}" for way, count in (("read", ports.read), ("write", ports.write)) if count)


def _dram_formula(memory: Memory) -> str:
    if memory.standard == "constant":
        return ""
    return f" ({memory.channels} channels x {memory.width_bits} b x {memory.speed_mts} MT/s)"


def _array(array: Array) -> str:
    rates = []
    for (inputs, weights), rate in sorted(array.rates.items()):
        macs = array.rows * array.cols * rate * array.copies
        name = inputs if inputs == weights else f"{inputs}x{weights}"
        rates.append(f"{name} {float(macs):g} MAC/cycle = {si(operations_per_s(macs * array.clock_hz), 'OP/s')}")
    cores = f" ({array.copies} cores)" if array.copies > 1 else ""
    return f"{array.name}: peak {', '.join(rates)}{cores}"
