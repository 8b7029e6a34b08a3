"""Peak rates that follow from a chip's numbers: what its memories and arrays can do at most."""

from __future__ import annotations

from fractions import Fraction

from archsim.spec.architecture import Architecture, Array
from archsim.spec.memories import Memory, PortSet
from archsim.units import operations_per_s, si


def dram_bytes_per_s(memory: Memory) -> Fraction | None:
    """Peak of a dram: channels x width x transfers per second, or its constant rate; None when infinite."""
    if memory.standard == "constant":
        rate = memory.bytes_per_cycle
        return None if rate is None else rate * memory.clock_hz
    return Fraction(memory.channels * memory.width_bits * memory.speed_mts * 10**6, 8)


def lines(chip: Architecture) -> list[str]:
    """One line for the peak of each dram, explicit sram and array."""
    found = [_memory(memory) for memory in chip.memories if memory.filled_by == "dma"]
    return found + [_array(array) for array in chip.arrays]


def _memory(memory: Memory) -> str:
    if memory.kind == "dram":
        peak = dram_bytes_per_s(memory)
        return f"{memory.name}: peak {'infinite' if peak is None else si(peak, 'B/s')}{_dram_formula(memory)}"
    one = memory.banks * memory.word_bytes
    groups = [_directions(one, memory.ports)]
    groups += [f"{engine} {_directions(one, own)}" for engine, own in memory.private_ports.items()]
    return f"{memory.name}: peak {'; '.join(groups)} (banks x word x ports)"


def _directions(one: int, ports: PortSet) -> str:
    if ports.shared:
        return f"{one * ports.read} B/cycle, read or write"
    rates = [f"{one * count} B/cycle {way}" for way, count in (("read", ports.read), ("write", ports.write)) if count]
    return ", ".join(rates)


def _dram_formula(memory: Memory) -> str:
    if memory.standard == "constant":
        return ""
    return f" ({memory.channels} channels x {memory.width_bits} b x {memory.speed_mts} MT/s)"


def _array(array: Array) -> str:
    rates = []
    for (inputs, weights), rate in sorted(array.rates.items()):
        macs = array.rows * array.cols * rate
        name = inputs if inputs == weights else f"{inputs}x{weights}"
        rates.append(f"{name} {float(macs):g} MAC/cycle = {si(operations_per_s(macs * array.clock_hz), 'OP/s')}")
    return f"{array.name}: peak {', '.join(rates)}"
