"""The chip with one resource enlarged, of each: what ``--why`` maps and simulates again.

DRAM: twice the channels (of constant rate: twice the rate), bursts twice and half as long at the same peak
(channels half as many and twice as wide, and the other way round), queues and requests a cycle twice where there
are some. Each cache and explicit SRAM: twice the size, ports, banks, width of words, slots of rings, ways and
lines. The DMA: twice the moves under way (channels), bursts and rows under way and requests a cycle twice where
they are limited, descriptors of half the cost. Links of a network: twice as wide (packets too) or twice the lanes
between chips, routers with twice the buffers, messages twice as long. Arrays: twice the columns, half the cycles to
issue a command, and, where the dataflow knows them and they lack, a second register for what stays, folds that
overlap and larger blocks of sums. Vector units: twice the lanes, half the cycles to issue. The clock 1.2 times.

``UNTRIED`` has every other number of a part that acts on time, with the reason; a test holds both against the grammar.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from archsim.base import units
from archsim.base.errors import ArchsimError
from archsim.facts.dataflows import catalogue
from archsim.lab.run.offchip import device_of
from archsim.spec.architecture import Architecture, Array, Dma, Vector
from archsim.spec.load import replace
from archsim.spec.memories import Cache, Memory, PortSet
from archsim.spec.network import Noc, OuterNetwork

CLOCK_FACTOR = Fraction(6, 5)
NO_VOLTAGE = "voltage is not counted, power and energy are at the supply voltage as it is"
OPTIONS = {"weight_double_buffer": "double buffer", "fold_overlap": "fold overlap"}  # of arrays -> in a variant's name


@dataclass(frozen=True, slots=True)
class ChipVariant:
    """A change by name: the chip's key paths with their new values; ``remark``: what its figures leave out;
    ``certain``: every chip takes it."""

    name: str
    keys: Mapping[str, object]
    remark: str = ""
    certain: bool = True


MOST_QUEUE, MOST_CHANNELS, MOST_BLOCK = 128, 32, 64  # of the grammar: bursts of a queue, channels of a port, sums
_GRADE = "a faster part is another part; `channels` and `width` (bursts) give its bandwidth"
_RUNTIME = "the host's runtime is no part of the chip; the cause `launch` says what it costs"
_OWN_CLOCK = "parts follow the chip's clock, which is tried; one of their own is a limit of the part"
_ROUTER = "a router's pipeline is its design; `link`, `vcs` and `buffer` say what more hardware gives"
UNTRIED: Mapping[str, str] = {  # kind of part and key -> why no variant changes it
    **{f"{kind}.clock": _OWN_CLOCK for kind in ("dram", "sram", "cache", "array", "vector", "dma", "host", "noc")},
    "registers.clock": "registers run with their array",
    **{
        f"{kind}.sync_stages": "a crossing is safe with so many, not faster with fewer"
        for kind in ("dram", "sram", "cache", "array", "vector", "dma", "host", "noc", "registers")
    },
    **{
        f"control.{key}": "takes area; what it issues is timed by the engines themselves"
        for key in ("clock", "sync_stages", "scalar_cores", "subcores", "lanes", "units")
    },
    "dram.slots": "rings in DRAM hold whole tensors",
    "registers.slots": "registers are folded into the array's formula",
    "registers.size": "registers are folded into the array's formula",
    "dram.capacity": "what does not fit is refused; room that is left takes no time",
    "dram.speed": _GRADE,
    "dram.latency": _GRADE,
    "dram.row_timeout": "a policy, not a resource: sweeps compare policies",
    "dram.turn": "a policy, not a resource: sweeps compare policies",
    "sram.padding": "a layout, not a resource: sweeps compare layouts",
    "sram.interleave": "a layout, not a resource: sweeps compare layouts",
    "cache.latency": "look-ups are pipelined; `size`, `ways` and `line` decide what they find",
    "array.load_rows": "the width of the array's edge: `weight_double_buffer` hides what it takes",
    "array.rates": "`shape` with twice the columns doubles every rate",
    "array.fanouts": "the expanded form of `shape`",
    "array.registers": "folded into the dataflow's formula",
    "vector.functions": "`lanes` shorten slow functions as well",
    "host.launch": _RUNTIME,
    "host.issue": _RUNTIME,
    "host.floor": _RUNTIME,
    "host.depth": _RUNTIME,
    "host.link": _RUNTIME,
    "host.compute": _RUNTIME,
    "noc.shape": "another number of cores is another chip: sweeps compare them",
    "noc.attach": "where ports are is a floor plan: sweeps compare them",
    "noc.link_delay": "follows the distance",
    "noc.link_length": "follows the distance, and acts on energy alone",
    "noc.phy.rate": "`lanes` give the same bandwidth",
    "noc.phy.coding": "belongs to the physical link",
    "noc.phy.latency": "follows the distance",
    "noc.phy.energy": "acts on energy alone",
    "noc.phy.power": "acts on energy alone",
    "noc.routing_delay": _ROUTER,
    "noc.credit_delay": _ROUTER,
    "noc.header": "belongs to the protocol",
    "noc.request": "belongs to the protocol",
}


def variants(architecture: Architecture) -> Iterator[ChipVariant]:
    """The changes that make sense for this chip, outermost part first; those that are no chip are left out."""
    yield from (variant for variant in _all(architecture) if variant.certain or _exists(variant, architecture))


def _all(architecture: Architecture) -> Iterator[ChipVariant]:
    for memory in architecture.memories:
        if memory.filled_by == "dma":
            yield from _dram(memory) if memory.kind == "dram" else _sram(memory)
    for cache in architecture.caches:
        yield from _sram(cache)
        yield from _cache(cache)
    yield from _dma(architecture.dma)
    yield from _links(architecture.noc) if architecture.noc is not None else ()
    for array in architecture.arrays:
        yield from _array(array)
    for unit in architecture.vectors:
        yield from _vector(unit)
    faster = int(architecture.clock_hz * CLOCK_FACTOR)
    yield ChipVariant(f"clock x{float(CLOCK_FACTOR):g}", {"clock": units.exact(faster, units.FREQUENCY)}, NO_VOLTAGE)


def _dram(memory: Memory) -> Iterator[ChipVariant]:
    name, control = memory.name, memory.control
    if memory.standard == "constant":
        if memory.bytes_per_cycle is not None:
            rate = units.exact(2 * memory.bytes_per_cycle * memory.clock_hz, units.BANDWIDTH)
            yield ChipVariant(f"{name} bandwidth x2", {f"{name}.bandwidth": rate})
        return
    yield ChipVariant(f"{name} channels x2", {f"{name}.channels": 2 * memory.channels})
    yield from _bursts(memory)
    longer = {"read_queue": control.read_queue, "write_queue": control.write_queue}
    queues = {f"{name}.{key}": min(MOST_QUEUE, 2 * n) for key, n in longer.items() if n < MOST_QUEUE}
    if queues:
        yield ChipVariant(f"{name} queues x2", queues)
    yield from _requests(name, control.requests)


def _requests(name: str, requests: int | None) -> Iterator[ChipVariant]:
    if requests is not None:
        yield ChipVariant(f"{name} requests x2", {f"{name}.requests": 2 * requests})


def _bursts(memory: Memory) -> Iterator[ChipVariant]:
    """The same peak in longer and in shorter bursts: a burst is as long as a channel is wide."""
    for name, wider, narrower in (("x2", 2, 1), ("/2", 1, 2)):
        channels, rest = divmod(memory.channels * narrower, wider)
        width, odd = divmod(memory.width_bits * wider, narrower)
        if not rest and not odd:
            keys = {f"{memory.name}.width": f"{width} b", f"{memory.name}.channels": channels}
            yield ChipVariant(f"{memory.name} burst {name}", keys, certain=False)


def _exists(variant: ChipVariant, architecture: Architecture) -> bool:
    """Whether there is such a chip, and its DRAM standards have channels of such widths."""
    try:
        found = replace(architecture, variant.keys)
        for memory in found.memories:
            if memory.kind == "dram" and memory.standard != "constant":
                device_of(memory)
    except ArchsimError:
        return False
    return True


def _dma(dma: Dma) -> Iterator[ChipVariant]:
    """More moves under way; of each, more bursts and rows. A merged engine is one in-order queue."""
    if not dma.merged:
        yield ChipVariant(f"{dma.name} channels x2", {f"{dma.name}.channels": 2 * dma.channels})
    if dma.outstanding is not None:
        yield ChipVariant(f"{dma.name} outstanding x2", {f"{dma.name}.outstanding": 2 * dma.outstanding})
    yield from _requests(dma.name, dma.requests)
    costs = {"setup": dma.setup_cycles, "run_setup": dma.run_setup_cycles, "row_setup": dma.row_setup_cycles}
    if any(costs.values()):
        halved = {f"{dma.name}.{key}": f"{cycles // 2} cycles" for key, cycles in costs.items() if cycles}
        yield ChipVariant(f"{dma.name} descriptors /2", halved)


def _array(array: Array) -> Iterator[ChipVariant]:
    yield ChipVariant(f"{array.name} columns x2", {f"{array.name}.shape": [array.rows, 2 * array.cols]})
    known = catalogue.get(array.dataflow).OPTIONS
    for option, words in OPTIONS.items():
        if option in known and not getattr(array, option):
            yield ChipVariant(f"{array.name} {words}", {f"{array.name}.{option}": True})
    if "block" in known and array.block < MOST_BLOCK:
        yield ChipVariant(f"{array.name} block x2", {f"{array.name}.block": min(MOST_BLOCK, 2 * array.block)})
    yield from _startup(array)


def _vector(unit: Vector) -> Iterator[ChipVariant]:
    lanes: object = {dtype: 2 * count for dtype, count in unit.lanes.items()}
    yield ChipVariant(f"{unit.name} lanes x2", {f"{unit.name}.lanes": lanes}, certain=False)
    yield from _startup(unit)


def _startup(part: Array | Vector) -> Iterator[ChipVariant]:
    if part.startup_cycles:
        yield ChipVariant(f"{part.name} startup /2", {f"{part.name}.startup": f"{part.startup_cycles // 2} cycles"})


def _cache(cache: Cache) -> Iterator[ChipVariant]:
    yield ChipVariant(f"{cache.name} ways x2", {f"{cache.name}.ways": 2 * cache.ways}, certain=False)
    line = units.exact(2 * cache.line_bytes, units.SIZE)
    yield ChipVariant(f"{cache.name} line x2", {f"{cache.name}.line": line}, certain=False)


def _sram(memory: Memory) -> Iterator[ChipVariant]:
    size = units.exact(2 * memory.capacity_bytes, units.SIZE)
    yield ChipVariant(f"{memory.name} size x2", {f"{memory.name}.size": size})
    ports = f"{memory.name}.ports"
    doubled = _doubled(ports, memory.ports)
    for engine, own in memory.private_ports.items():
        doubled |= _doubled(f"{ports}.{engine}", own)
    yield ChipVariant(f"{memory.name} ports x2", doubled)
    yield ChipVariant(f"{memory.name} banks x2", {f"{memory.name}.banks": 2 * memory.banks}, certain=False)
    word = units.exact(2 * memory.word_bytes, units.SIZE)
    yield ChipVariant(f"{memory.name} word x2", {f"{memory.name}.word": word})
    if memory.slots:
        slots: object = {role: 2 * count for role, count in memory.slots.items()}
        yield ChipVariant(f"{memory.name} slots x2", {f"{memory.name}.slots": slots})


def _links(noc: Noc) -> Iterator[ChipVariant]:
    """Packets of the innermost network keep their flits, and fit into messages; a link between chips has twice the
    lanes. Buffers are looked at router by router, which the fidelity ``link`` does not."""
    for level in noc.levels:
        if level.phy is not None:
            yield ChipVariant(f"{level.name} lanes x2", {f"{level.name}.phy.lanes": 2 * level.phy.lanes})
            continue
        width = level.width_bytes if isinstance(level, OuterNetwork) else level.link_bytes
        keys = {f"{level.name}.link": units.exact(2 * width, units.SIZE)}
        if level is noc:
            keys[f"{level.name}.packet"] = units.exact(2 * noc.packet_bytes, units.SIZE)
            if noc.message_bytes < 2 * noc.packet_bytes:
                keys[f"{level.name}.message"] = units.exact(2 * noc.packet_bytes, units.SIZE)
        yield ChipVariant(f"{level.name} links x2", keys)
    if noc.fidelity == "flit":
        channels = min(MOST_CHANNELS, 2 * noc.vcs)
        buffers = {f"{noc.name}.vcs": channels, f"{noc.name}.buffer": 2 * noc.buffer_flits}
        yield ChipVariant(f"{noc.name} buffers x2", buffers, certain=False)
    message = units.exact(2 * noc.message_bytes, units.SIZE)
    yield ChipVariant(f"{noc.name} messages x2", {f"{noc.name}.message": message}, certain=False)


def _doubled(path: str, ports: PortSet) -> dict[str, object]:
    if ports.shared:
        return {f"{path}.shared": 2 * ports.read}
    return {f"{path}.{key}": 2 * count for key, count in (("read", ports.read), ("write", ports.write)) if count}
