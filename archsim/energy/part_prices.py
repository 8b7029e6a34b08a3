"""Prices of each kind of part from the tables' figures: energy per action, leakage and area of one instance.

Dynamic energy of logic and SRAM scales with the square of the chip's voltage over the table's, leakage of logic with
the square and of SRAM with the cube; areas are those of ``structures``, and what a chip of an idle class draws in the
place of leakage is in ``states``. Not priced: DMA descriptors; a chip file may state a part's own figures.

Prices of a network, or of one around others: a flit through a router, and over a link; area and leakage of all
routers.

    router: bits x (write + read of a flip-flop + (inputs + outputs) x bits x track x wire) x (1 + arbitration)
    link:   bits x length x wire; between chips bits x the energy of a bit of the phy

A flit is written to an input buffer and read from it, and drives one input line and one output line of a matrix
crossbar, which span all its outputs and all its inputs; routers of different size are priced at their mean. Source of
the form: H. Wang et al., "Orion", MICRO 2002. Area: the buffers' flip-flops, and inputs x outputs x (bits x track)^2 of
wires for each crossbar; leakage: the buffers, and the static power of each direction of a phy. Not priced: clock
trees, allocators' area, wires between a router and its nodes or the network around it. Pads of a phy are in ``links``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt

from archsim.energy.dram import load_dram, widths
from archsim.energy.states import CELLS_LEAK, LOGIC_LEAKS
from archsim.energy.structures import CACHE, LOCAL, SHARED, DieArea, Structures, cited
from archsim.energy.technology import Technology
from archsim.ir.activity import combining
from archsim.spec.architecture import Array, Dma, Host, Vector
from archsim.spec.dtypes import BITS
from archsim.spec.memories import Cache, Memory
from archsim.spec.network import NetworkLevel
from archsim.spec.on_die import Control
from archsim.spec.part import SourcedNumber

OPERANDS = 3  # of a multiply-accumulate: two factors, and the next one or a third
FLIP_FLOP_BYTES = 64  # register files up to this size per PE are flip-flops, larger ones are priced as SRAM
_OPERANDS = {
    "a": ("inputs", "inputs"),
    "b": ("weights", "weights"),
    "acc": ("partials", "accumulate"),
}  # role, dtype key
_NONE = SourcedNumber(0.0, "not modelled")


@dataclass(frozen=True, slots=True)
class ActionRate:
    """Price of one kind of action: pJ per counted action; ``unit`` of them make one when a chip file states its own."""

    pj: Mapping[str, float]
    source: str
    unit: int = 1


@dataclass(frozen=True, slots=True)
class PricedPart:
    """A part's rates by their names in chip files, counted actions without price, leakage and area of one instance.

    ``finer``: names that a chip file may state beside those of ``rates``, each for some of the actions of one of them.
    """

    rates: Mapping[str, ActionRate]
    unpriced: tuple[str, ...]
    leakage_w: SourcedNumber
    area_mm2: SourcedNumber
    finer: Mapping[str, ActionRate] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PricingContext:
    """The technology at a chip's voltage, and the chip's dtype of each role."""

    technology: Technology
    structures: Structures
    dtypes: Mapping[str, str]
    voltage_v: float
    delivery: SourcedNumber | None = None  # of operands and instructions to units of SIMT sub-cores
    adds: str = "int32"  # format of the chip's own sums, for which its adders are made
    shared: frozenset[str] = frozenset()  # memories that all nodes of a network share

    @property
    def die(self) -> DieArea:
        """Areas at the node."""
        return DieArea(self.technology, self.structures)

    def dynamic(self, figure: SourcedNumber) -> SourcedNumber:
        """A dynamic energy at the chip's voltage."""
        return self._scaled(figure, 2)

    def operation(self, figure: SourcedNumber) -> SourcedNumber:
        """The energy of an operation of an array or a vector unit, with the delivery of its operands."""
        found = self.dynamic(figure)
        if self.delivery is None:
            return found
        text = cited({"": found.source, "delivery": self.delivery.source})
        return SourcedNumber(found.value * self.delivery.value, text)

    def leaking_logic(self, figure: SourcedNumber) -> SourcedNumber:
        """A leakage of logic at the chip's voltage."""
        return self._scaled(figure, LOGIC_LEAKS)

    def leaking_cells(self, figure: SourcedNumber) -> SourcedNumber:
        """A leakage of SRAM at the chip's voltage."""
        return self._scaled(figure, CELLS_LEAK)

    def _scaled(self, figure: SourcedNumber, power: int) -> SourcedNumber:
        nominal = self.technology.voltage_v.value
        if self.voltage_v == nominal:
            return figure
        text = f"{figure.source}; x ({self.voltage_v:g} V / {nominal:g} V)^{power}"
        return SourcedNumber(figure.value * (self.voltage_v / nominal) ** power, text)

    def logic_leakage_w(self, area_mm2: SourcedNumber) -> SourcedNumber:
        """Leakage of logic of an area."""
        density = self.leaking_logic(self.technology.logic_leakage_mw_per_mm2)
        return SourcedNumber(density.value * 1e-3 * area_mm2.value, f"{density.source}, x area")


def price_memory(part: Memory, context: PricingContext) -> PricedPart:
    """SRAM per word access, registers per byte, DRAM per bit on the pins."""
    if part.kind == "dram":
        return _price_dram(part, context)
    return _price_registers(part, context) if part.kind == "registers" else _price_sram(part, context)


def _price_sram(part: Memory | Cache, context: PricingContext, structure: str | None = None) -> PricedPart:
    sram, bank_bytes, bits = context.technology.sram, part.capacity_bytes / part.banks, part.word_bytes * 8
    read, write = (context.dynamic(sram.bank(column, bank_bytes, bits)) for column in ("read_pj", "write_pj"))
    leakage = context.leaking_cells(sram.bank("leakage_uw", bank_bytes, bits))
    factor = sram.ports_factor(part)
    ports = cited({"": leakage.source, f"{part.banks} banks, ports x {factor:g}": sram.extra_port.source})
    around = structure or part.structure or (SHARED if part.name in context.shared else LOCAL)
    mm2 = context.die.sram(part.capacity_bytes / 1024, bank_bytes / 1024, factor, around)
    area = cited({"": context.die.sram_source(around), "ports": sram.extra_port.source})
    return PricedPart(
        {
            "read": ActionRate({"read_accesses": read.value}, read.source),
            "write": ActionRate({"write_accesses": write.value}, write.source),
        },
        ("read_bytes", "write_bytes"),
        SourcedNumber(leakage.value * 1e-6 * part.banks * factor, ports),
        SourcedNumber(mm2, area),
    )


def price_cache(part: Cache, context: PricingContext) -> PricedPart:
    """The lines as an SRAM, and a tag array: an SRAM of one word per set, which a look-up reads whole.

    A tag is what the set's number and the place in the line leave of an address, and a valid bit; the order of use is
    left out. Each bank of the lines has its share of the tags, whose area is in what stands around a cache's macros.
    """
    data, sram = _price_sram(part, context, CACHE), context.technology.sram
    bits = part.ways * (part.tag_bits + 1)
    bank_bytes = part.sets * bits / 8 / part.banks
    read, leakage = (sram.bank(column, bank_bytes, bits) for column in ("read_pj", "leakage_uw"))
    lookup, static = context.dynamic(read), context.leaking_cells(leakage)
    return PricedPart(
        {**data.rates, "lookup": ActionRate({"lookups": lookup.value}, cited({"tags": lookup.source}))},
        data.unpriced,
        SourcedNumber(
            data.leakage_w.value + static.value * 1e-6 * part.banks,
            cited({"": data.leakage_w.source, "tags": static.source}),
        ),
        data.area_mm2,
    )


def _price_registers(part: Memory, context: PricingContext) -> PricedPart:
    bit = context.dynamic(context.technology.register_pj_per_bit)
    area = _flip_flops(part.capacity_bytes * 8, context)
    return PricedPart(
        {
            "read": ActionRate({"read_bytes": bit.value * 8}, bit.source),
            "write": ActionRate({"write_bytes": bit.value * 8}, bit.source),
        },
        ("read_accesses", "write_accesses"),
        context.logic_leakage_w(area),
        area,
    )


def _price_dram(part: Memory, context: PricingContext) -> PricedPart:
    table = load_dram(part.standard)
    share, whole = widths(part, table)
    opened = table.background_mw.value - table.precharged_mw.value  # mW x ps = 1e-3 pJ
    return PricedPart(
        {
            "read": ActionRate({"pin_read_bytes": table.read_pj_per_bit.value * 8}, table.read_pj_per_bit.source, 8),
            "write": ActionRate(
                {"pin_write_bytes": table.write_pj_per_bit.value * 8}, table.write_pj_per_bit.source, 8
            ),
            "activate": ActionRate({"activates": table.activate_pj.value * share}, table.activate_pj.source),
            "refresh": ActionRate({"refreshes": table.refresh_pj.value * share}, table.refresh_pj.source),
            "open rows": ActionRate({"row_open_ps": opened * 1e-3 * share}, table.background_mw.source),
        },
        ("read_bytes", "write_bytes", "read_accesses", "write_accesses", "row_hits", "row_misses", "row_conflicts"),
        SourcedNumber(table.precharged_mw.value * 1e-3 * whole, table.precharged_mw.source),
        _interface(part, table.interface, context.die),
    )


def _interface(part: Memory, kind: str, die: DieArea) -> SourcedNumber:
    """mm2 of pads, drivers and controllers on the chip."""
    if not kind:
        return SourcedNumber(0.0, "estimated: none; a memory of constant rate has no pins")
    one = die.structures.memory(kind)
    return SourcedNumber(
        die.interface(one, part.width_bits * part.channels / one.width_bits), die.interface_source(one)
    )


def price_array(part: Array, context: PricingContext) -> PricedPart:
    """MACs by dtype pair, registers and wires per element, of all operands or of one."""
    technology = context.technology
    inputs, weights = (technology.number_format(context.dtypes[role]) for role in ("inputs", "weights"))
    sums = technology.number_format(context.dtypes["accumulate"])
    multiply = max(inputs.multiply_pj, weights.multiply_pj, key=lambda figure: figure.value)
    mac = context.operation(
        SourcedNumber(
            multiply.value + sums.add_pj.value, cited({"multiply": multiply.source, "add": sums.add_pj.source})
        )
    )
    area = _array_area(part, context)
    wire = context.dynamic(technology.wire_pj_per_bit_mm)
    pitch_mm = sqrt(area.value / (part.rows * part.cols))
    registers = {operand: _register(part, role, context) for operand, (role, _) in _OPERANDS.items()}
    bits = {operand: BITS[context.dtypes[key]] for operand, (_, key) in _OPERANDS.items()}
    text = cited({operand: figure.source for operand, figure in registers.items()})
    rates = {
        "mac": ActionRate({"mac": mac.value}, mac.source),
        "register_read": ActionRate({f"register_read.{x}": bits[x] * registers[x].value for x in bits}, text),
        "register_write": ActionRate({f"register_write.{x}": bits[x] * registers[x].value for x in bits}, text),
        "wire": ActionRate(
            {f"wire.{x}": bits[x] * wire.value * pitch_mm for x in bits},
            f"{wire.source}; x pitch of a PE",
        ),
    }
    return PricedPart(rates, (), context.logic_leakage_w(area), area, _by_operand(rates))


def _by_operand(rates: Mapping[str, ActionRate]) -> dict[str, ActionRate]:
    """``register_read_weights`` and the like: the actions of one operand."""
    return {
        f"{name}_{role}": ActionRate({f"{name}.{operand}": rates[name].pj[f"{name}.{operand}"]}, rates[name].source)
        for name in ("register_read", "register_write", "wire")
        for operand, (role, _) in _OPERANDS.items()
    }


def _register(part: Array, role: str, context: PricingContext) -> SourcedNumber:
    """pJ per bit of the register file that holds ``role`` in each PE."""
    technology = context.technology
    sizes = [file.size_bytes for file in part.registers if role in file.keeps]
    if max(sizes, default=0) <= FLIP_FLOP_BYTES:
        return context.dynamic(technology.register_pj_per_bit)
    access = context.dynamic(technology.sram.bank("read_pj", max(sizes), 64))
    return SourcedNumber(access.value / 64, access.source)


def _array_area(part: Array, context: PricingContext) -> SourcedNumber:
    """MACs of the pair of formats that takes most, since they share one array, and the PEs' registers.

    Systolic PEs keep operands in registers of their own. Where SIMT sub-cores issue, MACs stand in trees of products,
    and what their dataflow keeps in registers stands as a memory beside them; others hold three operands and the sum.
    Register files beyond FLIP_FLOP_BYTES are SRAM.
    """
    die, files = context.die, [file.size_bytes for file in part.registers]
    own = 8.0 * sum(size for size in files if size <= FLIP_FLOP_BYTES) if part.form == "systolic" else None
    made = [pair for pair in part.rates if not part.multipliers or {*pair} <= {*part.multipliers}]
    gates = max(_pe_gates(pair, float(part.rates[pair]), own, context) for pair in made or part.rates)
    large = [size / 1024 for size in files if size > FLIP_FLOP_BYTES]
    pe_mm2 = die.logic(gates) + sum(die.sram(kib, kib, 1.0, LOCAL) for kib in large)
    structures = die.structures
    source = die.logic_source(overhead=structures.overhead, registers=structures.pe_register_gates)
    return SourcedNumber(pe_mm2 * part.rows * part.cols, source)


def _pe_gates(pair: tuple[str, str], rate: float, own_bits: float | None, context: PricingContext) -> float:
    """Gates of a PE that does ``rate`` MACs of a pair of formats in a cycle; ``own_bits``: of its registers, where its
    dataflow says."""
    die, sums = context.die, _adder(pair, context.adds)
    if own_bits is not None:
        bits = own_bits / rate
    elif context.delivery is not None:
        bits = die.structures.tree_register_bits.value / rate
    else:
        bits = OPERANDS * max(BITS[dtype] for dtype in pair) + BITS[sums]
    return rate * die.mac_gates(pair, sums, bits)


def _adder(pair: tuple[str, str], accumulate: str) -> str:
    """Format of the adder beside a multiplier: that of the sums where it is of its kind, else of 32 bits."""
    whole = all("int" in dtype for dtype in pair)
    if whole == ("int" in accumulate):
        return accumulate
    return "int32" if whole else "fp32"


def price_vector(part: Vector, context: PricingContext) -> PricedPart:
    """A lane pass = one multiplication and one addition at the sum's format (or the widest the lanes have).

    A slow function costs as many passes as the chip gives it cycles, one where it gives none.
    """
    technology = context.technology
    formats = {dtype: technology.number_format(dtype) for dtype in part.lanes}
    dtype = context.dtypes["accumulate"]
    if dtype not in formats:
        dtype = max(formats, key=lambda name: (BITS[name], name))
    used = formats[dtype]
    op = context.operation(
        SourcedNumber(
            used.multiply_pj.value + used.add_pj.value,
            "estimated: a pass is one multiply and add: "
            + cited({dtype: used.multiply_pj.source, "add": used.add_pj.source}).removeprefix("estimated: "),
        )
    )
    area = _lanes_area(part, context)
    functions = {
        name: ActionRate({name: op.value * float(cycles)}, f"{op.source}; {float(cycles):g} passes")
        for name, cycles in sorted(part.function_cycles.items())
    }
    rates = {"lane_op": ActionRate({"lane_ops": op.value}, op.source), **functions}
    return PricedPart(rates, (), context.logic_leakage_w(area), area)


def _lanes_area(part: Vector, context: PricingContext) -> SourcedNumber:
    """A multiplier and an adder for each lane, and three operands in registers where no SIMT sub-core issues to it: of
    floats the format that takes most, and of integers, which have their own."""
    die, gates = context.die, {True: 0.0, False: 0.0}
    for dtype, lanes in part.lanes.items():
        bits = OPERANDS * BITS[dtype] if context.delivery is None else 0
        gates["int" in dtype] = max(gates["int" in dtype], lanes * die.lane_gates(dtype, bits))
    return SourcedNumber(die.logic(sum(gates.values())), die.logic_source(overhead=die.structures.overhead))


def price_control(part: Control, context: PricingContext) -> PricedPart:
    """Gates of scalar cores, SIMT sub-cores and units that stand by; what instructions spend is not modelled."""
    die, table = context.die, context.structures
    gates = float(part.scalar_cores) * table.scalar_core_gates.value + part.subcores * die.subcore_gates(part.lanes)
    gates += sum(count * die.lane_gates(dtype) for dtype, count in part.units.items())
    source = die.logic_source(scalar_core=table.scalar_core_gates, sub_core=table.simt_subcore_gates)
    area = SourcedNumber(die.logic(gates), source)
    return PricedPart({}, (), context.logic_leakage_w(area), area)


def price_dma(_part: Dma, context: PricingContext) -> PricedPart:
    """Elements of moves that combine, each an addition (a maximum too) in its dtype.

    The memories and links at both ends are charged apart; the issue of moves is not modelled.
    """
    formats = context.technology.arithmetic
    adds = {dtype: context.dynamic(figures.add_pj) for dtype, figures in formats.items()}
    text = cited({dtype: figure.source for dtype, figure in adds.items()})
    rate = ActionRate({combining(dtype): figure.value for dtype, figure in adds.items()}, text)
    return PricedPart({"combine": rate}, (), _NONE, _NONE)


def price_host(_part: Host, context: PricingContext) -> PricedPart:
    """Arithmetic of layers that run on the host and the bytes that travel for them."""
    flop, link = context.technology.host_pj_per_flop, context.technology.link_pj_per_bit
    return PricedPart(
        {
            "launch": ActionRate({"launches": 0.0}, "not modelled: what the host spends on a launch"),
            "flop": ActionRate({"flops": flop.value}, flop.source),
            "link_bit": ActionRate({"link_bytes": link.value * 8}, link.source, 8),
        },
        (),
        _NONE,
        _NONE,
    )


def price_noc(part: NetworkLevel, context: PricingContext) -> PricedPart:
    """``router_flits``: flits times the routers that they passed; ``link_flits``: times the links between routers."""
    technology = context.technology
    wire, bit = context.dynamic(technology.wire_pj_per_bit_mm), context.dynamic(technology.register_pj_per_bit)
    track, share = technology.crossbar_track_um, technology.arbitration_share
    lines = sum(inputs + outputs for inputs, outputs in part.ports) / len(part.ports)
    lines_mm = lines * part.link_bits * track.value * 1e-3
    router_pj = part.link_bits * (2 * bit.value + lines_mm * wire.value) * (1 + share.value)
    text = cited(
        {
            "buffer": bit.source,
            f"crossbar of {lines_mm:.3g} mm": wire.source,
            "track": track.source,
            "arbitration": share.source,
        }
    )
    buffers = _buffers(part, context)
    return PricedPart(
        {
            "router": ActionRate({"router_flits": router_pj}, text),
            "link": _link(part, wire),
        },
        (),
        _static_w(part, context.logic_leakage_w(buffers)),
        SourcedNumber(
            buffers.value + _crossbars_mm2(part, track.value),
            cited({"buffers": buffers.source, "track": track.source}),
        ),
    )


def _link(part: NetworkLevel, wire: SourcedNumber) -> ActionRate:
    if part.phy is not None:
        return ActionRate({"link_flits": part.link_bits * part.phy.pj_per_bit.value}, part.phy.pj_per_bit.source)
    return ActionRate({"link_flits": part.link_bits * part.link_mm * wire.value}, f"{wire.source}; x length")


def _static_w(part: NetworkLevel, leakage: SourcedNumber) -> SourcedNumber:
    if part.phy is None:
        return leakage
    text = f"buffers: {leakage.source}; {part.links} links: {part.phy.static_w.source}"
    return SourcedNumber(leakage.value + part.links * part.phy.static_w.value, text)


def _buffers(part: NetworkLevel, context: PricingContext) -> SourcedNumber:
    """mm2 of the flip-flops of all input buffers."""
    inputs = sum(inputs for inputs, _ in part.ports)
    deeper = max(0, part.far_buffer_flits - part.buffer_flits)
    flits = part.vcs * (inputs * part.buffer_flits + part.links * deeper)
    return _flip_flops(flits * part.link_bits, context)


def _flip_flops(bits: int, context: PricingContext) -> SourcedNumber:
    """mm2 of bits in registers that are no PE's."""
    gates = context.structures.flip_flop_gates
    return SourcedNumber(context.die.logic(bits * gates.value), context.die.logic_source(flip_flop=gates))


def _crossbars_mm2(part: NetworkLevel, track_um: float) -> float:
    crossings = sum(inputs * outputs for inputs, outputs in part.ports)
    return crossings * (part.link_bits * track_um * 1e-3) ** 2
