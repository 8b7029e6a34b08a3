"""ZigZag: hardware (``memories``, ``operational_array``), workloads (a list of layers), mappings (links of operands).

Format: https://kuleuven-micas.github.io/zigzag (hardware.rst, workload.rst, mapping.rst of the repository). Sizes are
bits, rates bits a cycle, costs pJ of an access of a port's width. Memories are listed inner first; one is shared by
all units along its ``served_dimensions``. Two forms of ports are read: counts (``r_port``) with widths ``r_bw``,
``w_bw``, and a list of named ports with ``bandwidth_max``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from archsim.frontend.foreign import zigzag_work
from archsim.frontend.foreign.design import ForeignDesign, ForeignFanout, ForeignMacs, ForeignMemory, constant
from archsim.frontend.foreign.section import SourceQuantity, SourceSection
from archsim.frontend.foreign.work import ForeignModel

_ALLOCATION = "which port serves which movement of which operand; here all movements of a direction share its ports"
_LEAST = "an access of less counts as a whole word here"


@dataclass(frozen=True)
class ZigzagPorts:
    """``width``: bits of the widest access; ``reads``, ``written``: of one that reads, of one that writes.

    ``read``, ``write``: bits a cycle over all ports; ``count`` of shared ports.
    """

    width: SourceQuantity
    reads: SourceQuantity
    written: SourceQuantity
    read: SourceQuantity
    write: SourceQuantity
    shared: bool
    count: int


def ports_of(memory: SourceSection) -> ZigzagPorts:
    """The ports of a memory. Raises ConfigError where they are not stated."""
    listed = memory.entries("ports")
    if any("type" in port for port in listed):
        return _named(memory, listed)
    for port in listed:
        port.ignore(_ALLOCATION)
    return _counted(memory)


def _counted(memory: SourceSection) -> ZigzagPorts:
    """``r_port``, ``w_port``, ``rw_port`` ports of ``r_bw`` and ``w_bw`` bits."""
    read, write = (_width(memory, key) for key in ("r_bw", "w_bw"))
    counts = [memory.number(key, "ports") for key in ("r_port", "w_port", "rw_port")]
    shared, reads, writes = _directions(memory, *(int(count.value) if count is not None else 0 for count in counts))
    width = max(read, write, key=lambda each: each.value)
    return ZigzagPorts(width, read, write, read.scaled(reads), write.scaled(writes), shared, reads if shared else 1)


def _width(memory: SourceSection, key: str) -> SourceQuantity:
    found = memory.number(key, "word, banks and ports")
    if found is None or found.value <= 0:
        memory.fail(f"key '{key}' is missing or 0; allowed bits a cycle, or named ports with bandwidth_max")
    return found


def _named(memory: SourceSection, listed: list[SourceSection]) -> ZigzagPorts:
    """Ports with a type and a width each."""
    kinds: dict[str, list[SourceQuantity]] = {"read": [], "write": [], "read_write": []}
    for port in listed:
        kind = port.text("type", "ports")
        if kind not in kinds:
            port.fail(f"found '{kind}'; allowed {', '.join(kinds)}", "type")
        width = port.number("bandwidth_max", "word, banks and ports")
        if width is None or width.value <= 0:
            port.fail("key 'bandwidth_max' is missing or 0; allowed bits a cycle")
        kinds[kind].append(width)
        port.ignore(_ALLOCATION, "allocation", "name")
        port.ignore(_LEAST, "bandwidth_min")
    reading, writing = kinds["read"] + kinds["read_write"], kinds["write"] + kinds["read_write"]
    if not reading or not writing:
        memory.fail("needs a port that reads and one that writes", "ports")
    if any(len({width.value for width in way}) > 1 for way in (reading, writing)):
        memory.refuse(
            "ports of several widths: an access costs the same through each, so that a bit's energy depends on the "
            "port; here it is that of the widest one of a direction",
            "ports",
        )
    shared, _, _ = _directions(memory, len(kinds["read"]), len(kinds["write"]), len(kinds["read_write"]))
    width = max(reading + writing, key=lambda each: each.value)
    read, write = (max(way, key=lambda each: each.value) for way in (reading, writing))
    return ZigzagPorts(width, read, write, _sum(reading), _sum(writing), shared, len(reading) if shared else 1)


def _sum(widths: list[SourceQuantity]) -> SourceQuantity:
    """Bits a cycle over all ports."""
    return widths[0].scaled(sum(width.value for width in widths) / widths[0].value)


def _directions(memory: SourceSection, reads: int, writes: int, both: int) -> tuple[bool, int, int]:
    """Whether all ports serve both directions; ports that read, ports that write."""
    if not (reads or both) or not (writes or both):
        memory.fail("needs a port that reads and one that writes: r_port and w_port, or rw_port")
    shared = bool(both) and not reads and not writes
    if both and not shared:
        name = memory.path.rpartition(".")[2]
        said = "a port for either direction counts as one of each"
        memory.ledger.assume(f"{name}.ports", f"{reads + both} to read, {writes + both} to write: {said}")
    return shared, reads + both, writes + both


MARKS = frozenset(("operational_array", "memories"))
LINKS = {"I1": "inputs", "I2": "weights", "O": "outputs"}
_REDUCED = frozenset(("C", "FX", "FY"))  # usual names of dims over which is summed
_IMC = ("imc_type", "adc_resolution", "bit_serial_precision", "cells_size", "nb_of_banks", "is_imc")
_SEARCH = "how ZigZag lays out loops; archsim's mapper has its own (docs/mapping.md)"


def read(sections: list[SourceSection], files: list[str]) -> tuple[ForeignDesign | None, ForeignModel | None]:
    """The chip and the workload of several files. Raises ConfigError where either stands twice or is not understood."""
    hardware: tuple[SourceSection, str] | None = None
    layers: tuple[SourceSection, str] | None = None
    links, axes = dict(LINKS), dict[str, str]()
    for section, file in zip(sections, files, strict=True):
        if section.node.mapping:
            if hardware is not None:
                section.fail("a second hardware file; allowed one")
            hardware = section, file
        elif any("equation" in item for item in section.items()):
            if layers is not None:
                section.fail("a second workload; allowed one")
            layers = section, file
        else:
            _mapping(section, links, axes)
    work, bits = zigzag_work.read(*layers) if layers is not None else (None, {})
    return (_design(*hardware, links, axes, bits) if hardware is not None else None), work


def _mapping(section: SourceSection, links: dict[str, str], axes: dict[str, str]) -> None:
    """Which memory operand is which operand, and which dims lie on which axis, of the first entry."""
    for at, entry in enumerate(section.items()):
        if not entry.node.mapping:
            entry.fail("found no mapping; allowed layers with 'equation', or entries with 'memory_operand_links'")
        if at:
            entry.refuse("mappings of single layers or operators; archsim's mapper decides for each layer")
            continue
        entry.ignore("the default of all layers", "name", "id")
        table = entry.mapping("memory_operand_links")
        for operand in table if table is not None else []:
            assert table is not None
            memory = table.text(operand, "keeps")
            role = {"O": "outputs", "W": "weights", "I": "inputs"}.get(operand)
            if role:
                links[memory] = role
        _axes(entry, axes)
        entry.refuse(_SEARCH, "temporal_ordering", "spatial_mapping_hint", "core_allocation")


def _axes(entry: SourceSection, axes: dict[str, str]) -> None:
    table = entry.mapping("spatial_mapping")
    for axis in table if table is not None else []:
        assert table is not None
        dims = [word.partition(",")[0].strip().upper() for word in table.words(axis, "rows or columns of the array")]
        if dims:
            axes[axis] = "rows" if set(dims) <= _REDUCED else "cols"


def _design(
    hardware: SourceSection, file: str, links: dict[str, str], axes: dict[str, str], bits: dict[str, SourceQuantity]
) -> ForeignDesign:
    array = hardware.mapping("operational_array") or hardware.fail("has no operational_array; a core of ZigZag has one")
    sizes = _sizes(array)
    table = hardware.mapping("memories") or hardware.fail("has no memories")
    named = [(name, table.mapping(name)) for name in table]
    memories = [(name, section) for name, section in named if section is not None]
    if len(memories) != len(named):
        table.fail("a memory without keys; allowed mappings with size, operands, ports, served_dimensions")
    served = {name: _served(section, sizes) for name, section in memories}
    made = {name: _store(name, section, sizes, served, links) for name, section in memories}
    stores = {name: store for name, store in made.items() if store is not None}
    if not stores:
        table.fail(f"none keeps an operand that is known; allowed {', '.join(links)}")
    _outermost(stores, served, sizes)
    axes = _accumulated(memories, stores, served, sizes) | axes
    return ForeignDesign(
        tool="ZigZag",
        name=hardware.text("name", "name", file.rpartition(".")[0] or file),
        file=file,
        mark=hardware.node.mark,
        levels=tuple(_levels(list(stores.values()), served, sizes, axes)),
        units=_units(array),
        value_bits=_precision(array, hardware) | bits,
        dataflow=_dataflow(array, stores, served, sizes),
        free=(
            "ports that ZigZag gives to single movements of an operand; here all movements share those of a direction",
        ),
    )


def _sizes(array: SourceSection) -> dict[str, SourceQuantity]:
    """Dimension -> units along it."""
    names = array.words("dimensions", "array.shape")
    found = array.at("sizes")
    items = found.node.items if found is not None else []
    if not names or len(items) != len(names) or len(set(names)) != len(names):
        array.fail(f"found {len(names)} dimensions and {len(items)} sizes; allowed as many of each, and one at least")
    array.take("array.shape", "sizes")
    for item in items:
        if not isinstance(item.value, int) or isinstance(item.value, bool) or item.value < 1:
            array.fail("found sizes that are no whole numbers from 1", "sizes")
    source = array.source("sizes")
    return {
        name: SourceQuantity(constant(item.value, "", item.mark).value, f"{source}, {name}", item.mark)
        for name, item in zip(names, items, strict=True)
        if isinstance(item.value, int)
    }


def _served(memory: SourceSection, sizes: dict[str, SourceQuantity]) -> frozenset[str]:
    found = memory.words("served_dimensions", "array.shape, and how many there are")
    unknown = next((name for name in found if name not in sizes), None)
    if unknown:
        memory.fail(f"no dimension '{unknown}'; allowed {', '.join(sizes)}", "served_dimensions")
    return frozenset(found)


def _store(
    name: str,
    memory: SourceSection,
    sizes: dict[str, SourceQuantity],
    served: dict[str, frozenset[str]],
    links: dict[str, str],
) -> ForeignMemory | None:
    operands = memory.words("operands", f"{name}.keeps")
    roles = frozenset(links[operand] for operand in operands if operand in links)
    strange = [operand for operand in operands if operand not in links]
    if strange:
        memory.refuse(f"operand {', '.join(strange)} has no counterpart: inputs, weights and outputs have", "operands")
    if not roles:
        memory.refuse("a memory of operands without counterpart is left out")
        return None
    size = memory.number("size", f"{name}.size")
    if size is None or size.value <= 0:
        memory.fail("key 'size' is missing or 0; allowed bits")
    ports: ZigzagPorts = ports_of(memory)
    memory.ignore("ZigZag's unit of area is the user's own; state `area:` yourself", "area")
    memory.ignore("an access of less counts as a whole word here", "min_r_granularity", "min_w_granularity")
    memory.ignore("of a memory on the chip archsim has no latency of an access", "latency")
    memory.ignore("tiles have two slots here", "double_buffering_support")
    if "auto_cost_extraction" in memory and memory.flag("auto_cost_extraction", ""):
        memory.ignore("costs of CACTI; here the technology table's", "auto_cost_extraction", "mem_type")
        memory.ignore("CACTI replaces it", "r_cost", "w_cost")
        costs: tuple[SourceQuantity | None, SourceQuantity | None] = (None, None)
    else:
        memory.ignore("CACTI is not asked", "auto_cost_extraction", "mem_type")
        costs = memory.number("r_cost", f"{name}.energy.read"), memory.number("w_cost", f"{name}.energy.write")
    return ForeignMemory(
        name=name,
        mark=memory.node.mark,
        roles=roles,
        bits=size,
        access_bits=ports.width,
        read_pj=_of_width(costs[0], ports.width, ports.reads),
        write_pj=_of_width(costs[1], ports.width, ports.written),
        read_bits=ports.read,
        write_bits=ports.write,
        shared=ports.shared,
        ports=ports.count,
        offchip="dram" in name.lower(),
        copies=prod(int(size.value) for axis, size in sizes.items() if axis not in served[name]),
    )


def _of_width(cost: SourceQuantity | None, width: SourceQuantity, own: SourceQuantity) -> SourceQuantity | None:
    """pJ of ``width`` bits, of a cost that is of an access of ``own`` bits."""
    if cost is None or width.value == own.value:
        return cost
    return cost.scaled(width.value / own.value, f"of an access of {own.value} b")


def _outermost(
    stores: dict[str, ForeignMemory], served: dict[str, frozenset[str]], sizes: dict[str, SourceQuantity]
) -> None:
    """Where none is called dram, the outermost one is off the chip if all its operands have a shared one inside."""
    if any(store.offchip for store in stores.values()):
        return
    *inner, last = stores
    every = frozenset(sizes)
    covered = frozenset(role for name in inner if served[name] == every for role in stores[name].roles)
    if stores[last].roles <= covered:
        stores[last] = replace(stores[last], offchip=True)


def _accumulated(
    memories: list[tuple[str, SourceSection]],
    stores: dict[str, ForeignMemory],
    served: dict[str, frozenset[str]],
    sizes: dict[str, SourceQuantity],
) -> dict[str, str]:
    """Axes along which the innermost memory of outputs is shared are rows: units there add to one sum."""
    inner = next((name for name, _ in memories if name in stores and "outputs" in stores[name].roles), None)
    rows = served[inner] if inner is not None and served[inner] != frozenset(sizes) else frozenset[str]()
    return {axis: "rows" if axis in rows else "cols" for axis in sizes} if rows else {}


def _levels(
    stores: list[ForeignMemory],
    served: dict[str, frozenset[str]],
    sizes: dict[str, SourceQuantity],
    axes: dict[str, str],
) -> list[ForeignMemory | ForeignFanout]:
    """A fan-out lies as far inside as all memories above it serve it."""
    left = dict(sizes)
    found: list[ForeignMemory | ForeignFanout] = []
    for store in reversed(stores):
        for axis in [axis for axis in left if axis not in served[store.name]]:
            found.append(ForeignFanout(axis, left.pop(axis), axes.get(axis, "")))
        found.append(store)
    return found + [ForeignFanout(axis, size, axes.get(axis, "")) for axis, size in left.items()]


def _units(array: SourceSection) -> ForeignMacs:
    for key in _IMC:
        if key in array and str(array.node.mapping[key].value).lower() not in ("false", "none", "0", "0.0"):
            array.refuse("compute in memory has no counterpart: the array is read as a digital one", key)
        else:
            array.ignore("not compute in memory", key)
    array.ignore("ZigZag's unit of area is the user's own; state `area:` yourself", "unit_area")
    return ForeignMacs("array", array.node.mark, pj=array.number("unit_energy", "array.energy.mac"))


def _precision(array: SourceSection, hardware: SourceSection) -> dict[str, SourceQuantity]:
    """``input_precision``: bits of activations, then of weights."""
    hardware.refuse(_SEARCH, "dataflows")
    found = array.at("input_precision")
    if found is None:
        return {}
    items = found.node.items
    if len(items) != 2 or any(not isinstance(item.value, int) or item.value < 1 for item in items):
        array.fail("found no two numbers of bits", "input_precision")
    array.take("dtypes", "input_precision")
    source = array.source("input_precision")
    return {
        role: constant(item.value, source, item.mark)
        for role, item in zip(("inputs", "weights"), items, strict=True)
        if isinstance(item.value, int)
    }


def _dataflow(
    array: SourceSection,
    stores: dict[str, ForeignMemory],
    served: dict[str, frozenset[str]],
    sizes: dict[str, SourceQuantity],
) -> str:
    """Systolic where ZigZag says so; what stays is what each PE has a memory of its own for."""
    names = array.words("systolic_dimensions", "array.kind")
    if any(name not in sizes for name in names):
        array.fail(f"found {names}; allowed {', '.join(sizes)}", "systolic_dimensions")
    if not names:
        return ""
    own = {role for name, store in stores.items() if not served[name] for role in store.roles}
    order = {"weights": "weight_stationary", "outputs": "output_stationary", "inputs": "input_stationary"}
    found = next((flow for role, flow in order.items() if role in own), "weight_stationary")
    array.ledger.assume("array.dataflow", f"{found}: what stays in the PEs is told by their memories")
    return found
