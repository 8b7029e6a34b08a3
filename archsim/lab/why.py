"""What would help: each resource of the chip enlarged alone, the model mapped and simulated again.

Variants: DRAM with twice the channels (of constant rate: twice the rate), with bursts twice and half as long at the
same peak (channels half as many and twice as wide, and the other way round); each cache and explicit SRAM twice the
size, its ports twice, its words twice as wide, its rings twice the slots; the DMA with twice the moves under way
(channels), and bursts and rows under way twice where they are limited; links of a network twice as wide (its packets
too) or with twice the lanes between chips; each array twice the columns, and, where its dataflow knows them and it
lacks them, a second register for what stays and folds that overlap; the clock 1.2 times.

Gains are in cycles of the chip as it is, so that a faster clock compares; area and power are differences to the chip as
it is. The supply voltage stays what it is, though a faster clock may need more of it: that variant says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from archsim import units
from archsim.errors import ArchsimError
from archsim.ir.result import Result
from archsim.lab.offchip import device_of
from archsim.pe.dataflows import catalog
from archsim.progress import each
from archsim.spec.architecture import Architecture, Array, Dma
from archsim.spec.memories import Memory, PortSet
from archsim.spec.network import Noc, Outer

CLOCK_FACTOR = Fraction(6, 5)
NO_VOLTAGE = "voltage is not counted, power and energy are at the supply voltage as it is"
OPTIONS = {"weight_double_buffer": "double buffer", "fold_overlap": "fold overlap"}  # of arrays -> in a variant's name


@dataclass(frozen=True, slots=True)
class Variant:
    """A change by name: the chip's key paths with their new values; ``remark``: what its figures leave out."""

    name: str
    keys: Mapping[str, object]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A variant's outcome; figures are None where it failed (``reason``) or a part has no sourced area.

    ``cycles_total``: its latency in cycles of the base chip; ``gain_cycles`` > 0 is faster.
    """

    variant: Variant
    cycles_total: int | None
    gain_cycles: int | None
    gain_percent: float | None
    area_mm2: float | None
    power_mw: float | None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """A row of ``details.why``."""
        keys = {key: str(value) for key, value in self.variant.keys.items()}
        names = ("cycles_total", "gain_cycles", "gain_percent", "area_mm2", "power_mw", "reason")
        figures = {name: getattr(self, name) for name in names}
        return {"name": self.variant.name, "keys": keys, **figures, "remark": self.variant.remark}


def variants(architecture: Architecture) -> Iterator[Variant]:
    """The changes that make sense for this chip, outermost part first."""
    for memory in architecture.memories:
        if memory.filled_by == "dma":
            yield from _dram(memory, architecture) if memory.kind == "dram" else _sram(memory)
    for cache in architecture.caches:
        yield from _sram(cache)
    yield from _dma(architecture.dma)
    yield from _links(architecture.noc) if architecture.noc is not None else ()
    for array in architecture.arrays:
        yield from _array(array)
    faster = int(architecture.clock_hz * CLOCK_FACTOR)
    yield Variant(f"clock x{float(CLOCK_FACTOR):g}", {"clock": units.exact(faster, units.FREQUENCY)}, NO_VOLTAGE)


def why(
    base: Result, architecture: Architecture, simulate: Callable[[Architecture, str], Result]
) -> tuple[WhatIf, ...]:
    """Simulate every variant; ``simulate`` maps and runs the same model on a chip (and is told why)."""
    asked = tuple(variants(architecture))
    named = each(asked, "what would help", "changes", lambda variant: variant.name)
    return tuple(_try(base, architecture, variant, simulate) for variant in named)


def _dram(memory: Memory, architecture: Architecture) -> Iterator[Variant]:
    if memory.standard != "constant":
        yield Variant(f"{memory.name} channels x2", {f"{memory.name}.channels": 2 * memory.channels})
        yield from (found for found in _bursts(memory) if _exists(memory, found, architecture))
    elif memory.bytes_per_cycle is not None:
        rate = units.exact(2 * memory.bytes_per_cycle * memory.clock_hz, units.BANDWIDTH)
        yield Variant(f"{memory.name} bandwidth x2", {f"{memory.name}.bandwidth": rate})


def _bursts(memory: Memory) -> Iterator[Variant]:
    """The same peak in longer and in shorter bursts: a burst is as long as a channel is wide."""
    for name, wider, narrower in (("x2", 2, 1), ("/2", 1, 2)):
        channels, rest = divmod(memory.channels * narrower, wider)
        width, odd = divmod(memory.width_bits * wider, narrower)
        if not rest and not odd:
            keys = {f"{memory.name}.width": f"{width} b", f"{memory.name}.channels": channels}
            yield Variant(f"{memory.name} burst {name}", keys)


def _exists(memory: Memory, variant: Variant, architecture: Architecture) -> bool:
    """Whether the memory's standard has channels of such a width."""
    from archsim.spec.load import replace

    try:
        device_of(replace(architecture, variant.keys).memory(memory.name))
    except ArchsimError:
        return False
    return True


def _dma(dma: Dma) -> Iterator[Variant]:
    """More moves under way; of each, more bursts and rows. A merged engine is one in-order queue."""
    if not dma.merged:
        yield Variant(f"{dma.name} channels x2", {f"{dma.name}.channels": 2 * dma.channels})
    if dma.outstanding is not None:
        yield Variant(f"{dma.name} outstanding x2", {f"{dma.name}.outstanding": 2 * dma.outstanding})


def _array(array: Array) -> Iterator[Variant]:
    yield Variant(f"{array.name} columns x2", {f"{array.name}.shape": [array.rows, 2 * array.cols]})
    known = catalog.get(array.dataflow).OPTIONS
    for option, words in OPTIONS.items():
        if option in known and not getattr(array, option):
            yield Variant(f"{array.name} {words}", {f"{array.name}.{option}": True})


def _sram(memory: Memory) -> Iterator[Variant]:
    size = units.exact(2 * memory.capacity_bytes, units.SIZE)
    yield Variant(f"{memory.name} size x2", {f"{memory.name}.size": size})
    ports = f"{memory.name}.ports"
    doubled = _doubled(ports, memory.ports)
    for engine, own in memory.private_ports.items():
        doubled |= _doubled(f"{ports}.{engine}", own)
    yield Variant(f"{memory.name} ports x2", doubled)
    word = units.exact(2 * memory.word_bytes, units.SIZE)
    yield Variant(f"{memory.name} word x2", {f"{memory.name}.word": word})
    if memory.slots:
        slots: object = {role: 2 * count for role, count in memory.slots.items()}
        yield Variant(f"{memory.name} slots x2", {f"{memory.name}.slots": slots})


def _links(noc: Noc) -> Iterator[Variant]:
    """Packets of the innermost network keep their flits; a link between chips has twice the lanes."""
    for level in noc.levels:
        if level.phy is not None:
            yield Variant(f"{level.name} lanes x2", {f"{level.name}.phy.lanes": 2 * level.phy.lanes})
            continue
        width = level.width_bytes if isinstance(level, Outer) else level.link_bytes
        keys = {f"{level.name}.link": units.exact(2 * width, units.SIZE)}
        if level is noc:
            keys[f"{level.name}.packet"] = units.exact(2 * noc.packet_bytes, units.SIZE)
        yield Variant(f"{level.name} links x2", keys)


def _doubled(path: str, ports: PortSet) -> dict[str, object]:
    if ports.shared:
        return {f"{path}.shared": 2 * ports.read}
    return {f"{path}.{key}": 2 * count for key, count in (("read", ports.read), ("write", ports.write)) if count}


def _try(
    base: Result,
    architecture: Architecture,
    variant: Variant,
    simulate: Callable[[Architecture, str], Result],
) -> WhatIf:
    from archsim.spec.load import replace

    try:
        found = simulate(replace(architecture, variant.keys), variant.name)
    except ArchsimError as error:
        return WhatIf(variant, None, None, None, None, None, str(error).partition("\n")[0])
    return _compare(base, variant, found)


def _compare(base: Result, variant: Variant, found: Result) -> WhatIf:
    base_hz, found_hz = int(base.architecture["clock_hz"]), int(found.architecture["clock_hz"])
    cycles = -(-found.cycles_total * base_hz // found_hz)
    gain = base.cycles_total - cycles
    no_area = base.area_mm2 is None or found.area_mm2 is None
    area = None if no_area else (found.area_mm2 or 0.0) - (base.area_mm2 or 0.0)
    power = 1e3 * (found.power_avg_w - base.power_avg_w)
    return WhatIf(variant, cycles, gain, 100 * gain / max(base.cycles_total, 1), area, power)
