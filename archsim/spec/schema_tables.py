"""The grammar of tables of numbers: technologies, structures of a die, energies of DRAM standards, links between chips.

A figure of such a table is ``{value: NUMBER, status: WORD, source: TEXT}`` in the unit that its key ends in; TEXT may
be a key of the file's ``sources``. A link states quantities with their units and a source for each under ``sources``.
"""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

from pydantic import Field

from archsim.spec import value_domains as d
from archsim.spec.dtypes import DTYPES
from archsim.spec.part import CLASSES, IDLE_CLASSES, STATUSES
from archsim.spec.schema import PHY
from archsim.spec.schema_base import Section, Source

TECHNOLOGY = "archsim.technology/2"
AREA = "archsim.area/1"
POWER = "archsim.power/1"
DRAM_ENERGY = "archsim.dram_energy/2"
LINK = "archsim.link/1"
COLUMNS = ("size_kib", "read_pj", "write_pj", "leakage_uw")
_MOST_OF_ROW = 1e12

V = TypeVar("V")


Status = Annotated[str, d.choice(*STATUSES)]


class TableNumber(Section, Generic[V]):
    """A number, how sure it is, and where it comes from."""

    value: V = Field(description="the number, in the unit that the key ends in")
    status: Status | None = Field(
        None,
        description="measured (published of silicon), derived (computed from such figures, or by a published tool), "
        "claimed (a foundry's word) or estimated; as its source says unless stated",
    )
    source: Source = Field(description="where it comes from: a key of the file's `sources`, or the text itself")


Volts = Annotated[float, d.number("0.3", "2", "V")]
Pj = Annotated[float, d.number("0", "10000", "pJ")]
PositivePj = Annotated[float, d.number("0", "10000", "pJ", positive=True)]
PjPerBit = Annotated[float, d.number("0", "1000", "pJ")]
Um2PerBit = Annotated[float, d.number("0", "1000", "um2", positive=True)]
MtrPerMm2 = Annotated[float, d.number("0", "10000", "million transistors/mm2", positive=True)]
Mtr = Annotated[float, d.number("0", "1e6", "million transistors")]
Mm2 = Annotated[float, d.number("0", "10000", "mm2")]
Gates = Annotated[float, d.number("0", "1e9", "gates")]
Bits = Annotated[float, d.number("0", "65536", "bits", positive=True)]
WattsPerMm2 = Annotated[float, d.number("0", "100", "W/mm2")]
Part = Annotated[float, d.number("0", "1")]
Dies = Annotated[int, d.count(1, 10000)]
Factor = Annotated[float, d.number("1", "100")]
Um = Annotated[float, d.number("0", "100", "um", positive=True)]
MwPerMm2 = Annotated[float, d.number("0", "10000", "mW/mm2")]
Share = Annotated[float, d.number("0", "10")]
CommandPj = Annotated[float, d.number("0", "1e8", "pJ")]
Milliwatts = Annotated[float, d.number("0", "100000", "mW")]
WidthBits = Annotated[float, d.number("0", "65536", "bits", positive=True)]
Milliamperes = Annotated[float, d.number("0", "10000", "mA")]


class Table(Section):
    """What every table of figures states."""

    name: Annotated[str, d.file_name()] = Field("", description="name of the table; the name of the file")
    description: Annotated[str, d.text()] = Field("", description="one line for `show`")
    sources: dict[Annotated[str, d.name()], Source] = Field({}, description="short name to a source that figures share")


class ArithmeticTable(Section):
    """One number format: a multiplier and an adder."""

    LABEL = "schema_tables.Arithmetic"
    multiply_pj: TableNumber[Pj] = Field(description="energy of a multiplication")
    add_pj: TableNumber[Pj] = Field(description="energy of an addition")


class Logic(Section):
    """`logic`: what stands in any gates."""

    density_mtr_per_mm2: TableNumber[MtrPerMm2] = Field(
        description="million transistors of logic on a square millimetre, as products have it"
    )
    leakage_mw_per_mm2: TableNumber[MwPerMm2] = Field(description="static power of logic by area")


class RegisterBits(Section):
    """`registers`: a bit of a register."""

    pj_per_bit: TableNumber[PjPerBit] = Field(description="energy of a read or of a write")


class Wire(Section):
    """`wire`: a bit on a millimetre."""

    pj_per_bit_mm: TableNumber[PjPerBit] = Field(description="energy of random data")


class Router(Section):
    """`router`: what flits cost beside buffers."""

    crossbar_track_um: TableNumber[Um] = Field(description="pitch of a crossbar's wires")
    arbitration_share: TableNumber[Share] = Field(description="of the energy of buffers and crossbar")


class PointsTable(Section):
    """Banks of one word width: a row of `columns` for each size."""

    LABEL = "schema_tables.Points"
    status: Status | None = Field(None, description="how sure the points are, as of a figure")
    source: Source = Field(description="where the points come from: a key of the file's `sources`, or the text itself")
    points: list[Annotated[tuple[float, ...], d.row(len(COLUMNS), _MOST_OF_ROW)]] = Field(
        description="rows of the columns, from the smallest size to the largest, two or more"
    )


class SramPoints(Section):
    """`sram`: banks of tabulated sizes."""

    cell_um2_per_bit: TableNumber[Um2PerBit] = Field(description="area of a bit cell of six transistors")
    columns: list[Annotated[str, d.choice(*COLUMNS)]] = Field(
        description="what a row of points says: size_kib first, then the energy of a read and of a write, leakage"
    )
    word_64: PointsTable = Field(description="banks of words of 64 b")
    word_256: PointsTable = Field(description="banks of words of 256 b")
    extra_port: TableNumber[Share] = Field(description="growth of area and leakage with each port beyond the first")


class HostEnergy(Section):
    """`host`: the host's processor and its link."""

    pj_per_flop: TableNumber[Pj] = Field(description="energy of a floating point operation")
    link_pj_per_bit: TableNumber[PjPerBit] = Field(description="energy of a bit between host and chip")


class TechnologyTable(Table):
    """Top level of a technology table: energy and area of one process node."""

    schema_: Annotated[str, d.choice(TECHNOLOGY)] = Field(alias="schema", description="version of this grammar")
    voltage_v: TableNumber[Volts] = Field(description="supply at which the figures hold")
    arithmetic: dict[Annotated[str, d.choice(*DTYPES)], ArithmeticTable] = Field(
        description="number format to its figures"
    )
    logic: Logic = Field(description="static power of logic")
    registers: RegisterBits = Field(description="bits of registers")
    wire: Wire = Field(description="wires")
    router: Router = Field(description="routers of networks")
    sram: SramPoints = Field(description="banks of SRAM")
    host: HostEnergy = Field(description="the host")


class GatesTable(Section):
    """One number format: a multiplier and an adder."""

    LABEL = "schema_tables.Gates"
    multiply_gates: TableNumber[Gates] = Field(description="gates of a multiplier")
    add_gates: TableNumber[Gates] = Field(description="gates of an adder")


class Datapath(Section):
    """`datapath`: what stands around multipliers and adders."""

    overhead: TableNumber[Factor] = Field(description="of cells and wires, times the gates")
    pe_register_gates_per_bit: TableNumber[Gates] = Field(description="gates of a bit of a PE's registers")
    tree_register_bits: TableNumber[Bits] = Field(description="register bits of a MAC in a dot-product tree")
    flip_flop_gates: TableNumber[Gates] = Field(description="gates of a bit of other registers and buffers")


class ControlGates(Section):
    """`control`: what issues commands and instructions."""

    fixed_function_share: TableNumber[Share] = Field(description="of the datapath, where no SIMT sub-core issues to it")
    scalar_core_gates: TableNumber[Gates] = Field(description="gates of a scalar core")
    simt_subcore_gates: TableNumber[Gates] = Field(description="gates of a SIMT sub-core without its operands")
    simt_gates_per_operand_bit: TableNumber[Gates] = Field(
        description="gates of a SIMT sub-core for each operand bit that its lanes read in a cycle"
    )
    simt_operands: TableNumber[Bits] = Field(description="operands of 32 b that a lane reads in a cycle")


class EfficiencyTable(Section):
    """Shares by size: a row (KiB, share) for each."""

    LABEL = "schema_tables.Efficiency"
    status: Status | None = Field(None, description="how sure the points are, as of a figure")
    source: Source = Field(description="where the points come from: a key of the file's `sources`, or the text itself")
    points: list[Annotated[tuple[float, ...], d.row(2, _MOST_OF_ROW)]] = Field(
        description="rows of KiB and share, from the smallest size to the largest, two or more"
    )


class Surroundings(Section):
    """`surroundings`: what stands around the macros of an SRAM, by its structure, times their area."""

    local: TableNumber[Factor] = Field(description="a core's own memory")
    shared: TableNumber[Factor] = Field(description="a memory of many clients")
    register_file: TableNumber[Factor] = Field(description="registers of a processor's lanes")
    cache: TableNumber[Factor] = Field(description="tags, control and links inside")


class SramStructure(Section):
    """`sram`: how much of a memory is cells."""

    macro_efficiency: EfficiencyTable = Field(description="share of a macro that is cells, by its size")
    surroundings: Surroundings = Field(description="what stands around the macros")


class InterfaceTable(Section):
    """A physical interface of a memory: pads and drivers, which do not shrink, and a controller, which does."""

    LABEL = "schema_tables.Interface"
    width_bits: TableNumber[Bits] = Field(description="data lines of one")
    phy_mm2: TableNumber[Mm2] = Field(description="pads and drivers of one, at any node")
    controller_mtr: TableNumber[Mtr] = Field(description="transistors of the controller of one, in millions")


class ChipLinkTable(Section):
    """A link to a host or another chip: pads and drivers, which do not shrink, and a controller, which does."""

    LABEL = "schema_tables.ChipLink"
    lane: Annotated[str, d.text()] = Field(description="what is counted: a lane, or a link of several")
    phy_mm2: TableNumber[Mm2] = Field(description="pads and drivers of one, at any node")
    controller_mtr: TableNumber[Mtr] = Field(description="transistors of the controller of one, in millions")


class FillBand(Section):
    """`band`: how well areas are known where a class has a fill."""

    factor: TableNumber[Factor] = Field(description="up and down; geometric mean of errors of dies left out of the fit")
    dies: TableNumber[Dies] = Field(description="how many dies were left out, one at a time")


class AreaTable(Table):
    """Top level of an area table: the gates, bits and pads of structures, at any node."""

    schema_: Annotated[str, d.choice(AREA)] = Field(alias="schema", description="version of this grammar")
    gate_transistors: TableNumber[Factor] = Field(description="transistors of a gate")
    arithmetic: dict[Annotated[str, d.choice(*DTYPES, "fp64")], GatesTable] = Field(
        description="number format to its gates"
    )
    datapath: Datapath = Field(description="around multipliers and adders")
    control: ControlGates = Field(description="what issues commands and instructions")
    sram: SramStructure = Field(description="how much of a memory is cells")
    memories: dict[Annotated[str, d.name()], InterfaceTable] = Field(description="interfaces of memories, by kind")
    links: dict[Annotated[str, d.name()], ChipLinkTable] = Field(description="links to hosts and other chips, by kind")
    fill: dict[Annotated[str, d.choice(*CLASSES)], TableNumber[Factor]] = Field(
        description="class of chips to what its dies have beside the parts that are known, times the logic of cores "
        "and control"
    )
    band: dict[Annotated[str, d.choice(*CLASSES)], FillBand] = Field(
        description="class of chips to how well their areas are known"
    )


class AtNodes(Section):
    """A figure at two nodes; the power law of the node through both elsewhere."""

    at_45nm: TableNumber[PositivePj] = Field(description="at 45 nm")
    at_7nm: TableNumber[PositivePj] = Field(description="at 7 nm")


class StateBand(Section):
    """`band`: how well watts are known where a chip has an idle class."""

    LABEL = "schema_tables.StateBand"
    factor: TableNumber[Factor] = Field(
        description="up and down; geometric mean of errors of chips left out of the fit"
    )
    cases: TableNumber[Dies] = Field(description="how many operating points there were")


class PowerTable(Table):
    """Top level of a power table: what chips draw beside their actions."""

    schema_: Annotated[str, d.choice(POWER)] = Field(alias="schema", description="version of this grammar")
    idle_w_per_mm2: dict[Annotated[str, d.choice(*IDLE_CLASSES)], TableNumber[WattsPerMm2]] = Field(
        description="idle class to what a die draws with no kernel on it, at 1 GHz and the nominal supply"
    )
    clock_share: TableNumber[Part] = Field(
        description="of it, what goes with clock and voltage squared; the rest leaks"
    )
    waiting_w_per_mm2: dict[Annotated[str, d.choice(*IDLE_CLASSES)], TableNumber[WattsPerMm2]] = Field(
        description="idle class to what it draws more while a kernel is on it, at 1 GHz and the nominal supply"
    )
    delivery: TableNumber[Factor] = Field(
        description="of units to which SIMT sub-cores issue: energy of an operation with operands and instructions, by "
        "that of the units alone"
    )
    operand_wires_pj: AtNodes = Field(description="wires of a MAC's operands, of chips that are not simulated")
    operand_memories_pj: AtNodes = Field(description="memories of a MAC's operands, of chips that are not simulated")
    band: dict[Annotated[str, d.choice(*IDLE_CLASSES)], StateBand] = Field(
        description="idle class to how well watts are known"
    )


class Currents(Section):
    """`currents`: those of a data sheet, of one device."""

    width_bits: WidthBits = Field(description="data lines of a channel of the devices")
    devices: Annotated[float, d.number("1", "1024")] = Field(description="devices that work in step")
    vdd_v: Annotated[float, d.number("0.3", "5", "V")] = Field(description="supply of the devices")
    idd0_ma: Milliamperes = Field(description="activate and precharge, row after row")
    idd2n_ma: Milliamperes = Field(description="no row open")
    idd3n_ma: Milliamperes = Field(description="a row open")
    idd4r_ma: Milliamperes = Field(description="reads without a break")
    idd4w_ma: Milliamperes = Field(description="writes without a break")
    idd5_ma: Milliamperes = Field(description="refreshes without a break")
    source: Source = Field(description="the data sheet")


class DramEnergyTable(Table):
    """Top level of a DRAM energy table: of one standard, outside the chip but for the interface's area."""

    schema_: Annotated[str, d.choice(DRAM_ENERGY)] = Field(alias="schema", description="version of this grammar")
    read_pj_per_bit: TableNumber[PjPerBit] = Field(description="a bit read, on the pins, whole bursts")
    write_pj_per_bit: TableNumber[PjPerBit] = Field(description="a bit written, on the pins, whole bursts")
    width_bits: WidthBits = Field(description="channel for which commands and power hold; in proportion at others")
    activate_pj: TableNumber[CommandPj] = Field(description="an activate and its precharge")
    refresh_pj: TableNumber[CommandPj] = Field(description="a refresh")
    background_mw: TableNumber[Milliwatts] = Field(description="standing power of a rank with a row open")
    precharged_mw: TableNumber[Milliwatts] | None = Field(
        None, description="of a rank with none; the same unless stated"
    )
    interface: Annotated[str, d.name("the name of one of `memories` of the area table")] | None = Field(
        None, description="what stands on the chip for it, by its kind in the area table; nothing unless stated"
    )
    currents: Currents | None = Field(None, description="currents from which the figures by command are computed")


class LinkTable(PHY):  # type: ignore[misc]  # sections of parts are made, not written
    """Top level of a link's file: the numbers of a `phy` by name."""

    LABEL = "schema_tables.Link"
    schema_: Annotated[str, d.choice(LINK)] = Field(alias="schema", description="version of this grammar")
    name: Annotated[str, d.file_name()] = Field("", description="name of the link; the name of the file")
    description: Annotated[str, d.text()] = Field("", description="one line for `show`")
    source: Source | None = Field(None, description="where the link as a whole comes from")
    sources: dict[Annotated[str, d.choice(*PHY.model_fields)], Source] = Field(
        {}, description="key to where its number comes from; every number has one"
    )
