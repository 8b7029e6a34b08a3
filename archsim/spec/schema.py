"""The chip file's grammar: one definition that validates, explains errors and renders docs/chip.md.

Every key states its meaning, its domain (what is allowed, with unit and range) and its default; one without default
must be given. The keys of parts are defined by the resolved classes (``keys``), of which the sections here are made;
the top level, and the short form of ports, are written out. Structure across parts is checked in ``rules_tree``,
``rules_parts`` and ``rules_noc``.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from archsim.base import units
from archsim.spec import value_domains as d
from archsim.spec.architecture import Array, Dma, Fanout, Host, RegisterFile, Vector
from archsim.spec.memories import STORED, Cache, Memory
from archsim.spec.network import Noc, Phy
from archsim.spec.on_die import ChipLink, ChipPower, Control, FloorplanBlock
from archsim.spec.part import CLASSES, IDLE_CLASSES, Part
from archsim.spec.platforms import Platform, PlatformHost
from archsim.spec.schema_base import Clock, Dtype, Section, Sourced
from archsim.spec.sections import InnerSection, PartSection, section


class TechnologySection(Section):
    """`technology`: the energy and area tables."""

    LABEL = "schema.Technology"
    node: Annotated[str, d.text("the name of a technology table, e.g. 7nm")] = Field(
        description="name of a table in configs/technology (`show technologies`)"
    )
    voltage: Annotated[float, d.real(units.VOLTAGE, "0.3 V", "2 V")] = Field(description="supply voltage of the logic")


class DtypesSection(Section):
    """`dtypes`: the number format of each tensor role. int8 with int32 sums unless stated."""

    LABEL = "schema.Dtypes"
    inputs: Dtype = Field("int8", description="activations into a layer")
    weights: Dtype = Field("int8", description="weights")
    outputs: Dtype = Field("int8", description="activations out of a layer")
    accumulate: Dtype = Field("int32", description="partial sums, also when they are spilled")
    tables: Dtype = Field("int8", description="rows of embedding tables")
    kv: Dtype = Field("int8", description="keys and values of attention")


def _dtypes() -> Any:
    return DtypesSection.model_validate({})


PLATFORM_HOST = section(
    "schema.PlatformHost",
    "`host` of a platform: keys in place of those of the chip's host.",
    PlatformHost,
    base=InnerSection,
)
PLATFORM = section(
    "schema.Platform",
    "An entry of `platforms`: the software that runs the chip. `--platform NAME` takes it.",
    Platform,
    base=InnerSection,
    inner={"PlatformHost": PLATFORM_HOST},
)


BLOCK = section(
    "schema.FloorplanBlock",
    "An entry of `floorplan`: a block of the die whose area was published.",
    FloorplanBlock,
    base=InnerSection,
)
POWER = section(
    "schema.ChipPower",
    "`power`: what is known of the chip's power as a whole.",
    ChipPower,
    base=InnerSection,
)
CHIP_LINK = section(
    "schema.ChipLink",
    "An entry of `links`: pads, drivers and controller of a link to the host or to another chip.",
    ChipLink,
    base=InnerSection,
)


class ChipSection(Sourced):
    """Top level of a chip file."""

    LABEL = "schema.Chip"
    schema_: Annotated[str, d.choice("archsim.chip/1")] = Field(
        "archsim.chip/1", alias="schema", description="version of this grammar"
    )
    name: Annotated[str, d.name()] = Field(description="name of the chip; the name of a shipped file")
    description: Annotated[str, d.text()] = Field("", description="one line for `show chips`")
    extends: Annotated[str, d.text("a chip's name or a path relative to this file")] | None = Field(
        None,
        description="chip that this one varies: mappings merge key by key, parts by name, lists are replaced",
    )
    technology: TechnologySection = Field(description="energy and area tables")
    clock: Clock = Field(description="reference clock; public cycles are in this clock")
    dtypes: DtypesSection = Field(default_factory=_dtypes, description="number format of each tensor role")
    hierarchy: Annotated[list[Any], d.parts()] = Field(
        description="the parts, outermost first, each `- KIND: {...}`; leaves last, siblings in `parallel`"
    )
    class_: Annotated[str, d.choice(*CLASSES)] | None = Field(
        None,
        alias="class",
        description="of chips whose dies have as much beside the parts that are known (`fill` of the area table); "
        "areas are lower bounds without one",
    )
    idle_class: Annotated[str, d.choice(*IDLE_CLASSES)] | None = Field(
        None,
        description="how the chip draws power when nothing runs (`idle_w_per_mm2` of the power table): always_on of "
        "datacenter, gpu of gpu, gated of edge and block unless stated; without a class what the parts leak alone",
    )
    power: POWER = Field(  # type: ignore[valid-type]
        default_factory=lambda: POWER.model_validate({}), description="what is known of the chip's power as a whole"
    )
    links: list[CHIP_LINK] = Field(  # type: ignore[valid-type]
        [], description="links of the chip to its host and to other chips, for its area"
    )
    floorplan: dict[Annotated[str, d.name()], BLOCK] = Field(  # type: ignore[valid-type]
        {}, description="published blocks of the die, by name; reports print what their parts come to beside them"
    )
    platforms: dict[Annotated[str, d.name()], PLATFORM] = Field(  # type: ignore[valid-type]
        {}, description="the software that runs the chip, by name: what `--platform NAME` changes of it"
    )
    platform: Annotated[str, d.name("the name of one of `platforms`")] | None = Field(
        None, description="platform that the chip runs on unless `--platform` says another; none unless stated"
    )
    not_modelled: Annotated[tuple[str, ...], d.texts()] = Field((), description="what the real chip has and this lacks")


class EnginePortsSection(Section):
    """Ports that one kind of engine has to itself, in every bank; a direction left out goes over the common ports."""

    LABEL = "schema_memory.EnginePorts"
    read: Annotated[int, d.count(1, 64)] | None = Field(None, description="read ports of its own")
    write: Annotated[int, d.count(1, 64)] | None = Field(None, description="write ports of its own")
    shared: Annotated[int, d.count(1, 64)] | None = Field(
        None, description="ports of its own that either read or write in a cycle, in place of `read` and `write`"
    )


class PortsSection(Section):
    """`ports` of every bank of a memory: each serves one word per bank and cycle.

    Engines without ports of their own share the common ones.
    """

    LABEL = "schema_memory.Ports"
    read: Annotated[int, d.count(1, 64)] | None = Field(
        None, description="common read ports (1 unless `shared` is given)"
    )
    write: Annotated[int, d.count(1, 64)] | None = Field(
        None, description="common write ports (1 unless `shared` is given)"
    )
    shared: Annotated[int, d.count(1, 64)] | None = Field(
        None, description="common ports that either read or write in a cycle, in place of `read` and `write`"
    )
    dma: EnginePortsSection | None = Field(None, description="ports of the DMA engines alone, such as `{write: 1}`")
    array: EnginePortsSection | None = Field(None, description="ports of the arrays alone, such as `{read: 2}`")
    vector: EnginePortsSection | None = Field(None, description="ports of the vector units alone")


EVERY_PART = section("schema_base.Part", "Keys that every part of the hierarchy has.", Part)
STORAGE = section("schema_memory.Storage", "Keys that every memory has.", Memory, STORED, base=EVERY_PART)
DRAM = section(
    "schema_memory.Dram",
    """`dram`: memory outside the chip, where tensors lie at time 0. Peak = channels x width x speed.

    `standard: constant` is a memory of constant rate: it takes `bandwidth` and `latency` in place of `speed`,
    `width`, `channels`, `fidelity` and what a controller is told (`address_map` to `requests`).
    """,
    Memory,
    "dram",
    base=STORAGE,
)
CACHE = section(
    "schema_memory.Cache",
    """`cache`: set-associative lines in front of the DRAM, for gathers and scatters; moves pass it by.

    Sets = size / (ways x line). Bandwidth of each direction = banks x word x ports, per cycle.
    """,
    Cache,
    "cache",
    base=EVERY_PART,
    inner={"EnginePorts": EnginePortsSection},
)
SRAM = section(
    "schema_memory.Sram",
    """`sram`: an on-chip memory. Bandwidth of each direction = banks x word x ports, per cycle.

    Regions whose words meet in few banks take longer: the rule is in `archsim/facts/banks.py`.
    """,
    Memory,
    "sram",
    base=STORAGE,
    inner={"Ports": PortsSection},
)
REGISTERS = section(
    "schema_memory.Registers",
    "`registers`: a folded memory above the array, e.g. operand latches; a PE's own are in `array`.",
    Memory,
    "registers",
    base=STORAGE,
)
PHY = section(
    "schema_noc.Phy",
    """`phy` of a noc: the physical link between two chips or chiplets, one direction of it.

    It carries lanes x rate x coding bits a second, and a flit takes it as long as its bits do. The name of a file in
    `configs/links` stands for its numbers: `phy: ucie_advanced`.
    """,
    Phy,
    base=InnerSection,
)
NOC = section(
    "schema_noc.Noc",
    """`noc`: a network on chip. What stands below it exists once for each of its nodes: a core, or of a network around
    another one a chiplet or chip.

    What stands above it is shared, and reached through the routers that `attach` names. Of networks in networks the
    innermost one states all; those around it their topology, shape, links, attach and routing.
    """,
    Noc,
    "noc",
    base=EVERY_PART,
    inner={"Phy": PHY},
)
FANOUT = section("schema.Fanout", "One axis of an array in expanded form.", Fanout, base=InnerSection)
REGISTER_FILE = section(
    "schema.RegisterFile", "A register file of every PE, in expanded form.", RegisterFile, base=InnerSection
)
ARRAY = section(
    "schema.Array",
    """`array`: processing elements (PEs) that multiply and accumulate.

    `kind`, `shape` and `dataflow` are enough: fan-outs and registers are then those of the dataflow. The
    expanded form states them; `show chips NAME` prints it.
    """,
    Array,
    "array",
    base=EVERY_PART,
    inner={"Fanout": FANOUT, "RegisterFile": REGISTER_FILE},
)
VECTOR = section(
    "schema.Vector",
    "`vector`: a vector unit. Cost = ceil(elements / lanes) x passes + startup.",
    Vector,
    "vector",
    base=EVERY_PART,
)
DMA = section("schema.Dma", "`dma`: the load and store engines of the core.", Dma, "dma", base=EVERY_PART)
HOST = section(
    "schema.Host",
    "`host`: the host runtime. Without it launches cost nothing and no layer can run on the host.",
    Host,
    "host",
    base=EVERY_PART,
)
CONTROL = section(
    "schema.Control",
    """`control`: processors that issue the work of others, of each core below a network, of the chip above it.

    They take area and leak; what an instruction costs is not counted.
    """,
    Control,
    "control",
    base=EVERY_PART,
)
PARTS: dict[str, type[PartSection]] = {
    "dram": DRAM,
    "cache": CACHE,
    "sram": SRAM,
    "registers": REGISTERS,
    "noc": NOC,
    "array": ARRAY,
    "vector": VECTOR,
    "dma": DMA,
    "control": CONTROL,
    "host": HOST,
}
ChipSection.ELSEWHERE = {
    kind: f"a part stands in the list 'hierarchy', outermost first: '- {kind}: {{name: {kind}, ...}}'" for kind in PARTS
}
PARTS_LATER = ("fanout", "link")
