"""The chip file's grammar: one definition that validates, explains errors and renders docs/chip.md.

Every field states its description, its domain (what is allowed, with unit and range) and its default. A field
without default must be given. Structure across parts is checked in ``rules_tree`` and ``rules_parts``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from archsim.base import units
from archsim.spec import value_domains as d
from archsim.spec.architecture import ROLES
from archsim.spec.schema_base import (
    DTYPES,
    NONE_CYCLES,
    Clock,
    Cycles,
    Dtype,
    Flag,
    Part,
    Section,
    Size,
    Sourced,
    for_all,
)
from archsim.spec.schema_memory import ENGINES, Cache, Dram, EnginePorts, Ports, Registers, Sram, Storage
from archsim.spec.schema_noc import Noc, Phy

__all__ = [
    "ENGINES",
    "Array",
    "Cache",
    "Chip",
    "Dma",
    "Dram",
    "EnginePorts",
    "Host",
    "Noc",
    "Part",
    "Phy",
    "Ports",
    "Registers",
    "Sram",
    "Storage",
    "Vector",
]


class Technology(Section):
    """`technology`: the energy and area tables."""

    node: Annotated[str, d.text("the name of a technology table, e.g. 7nm")] = Field(
        description="name of a table in configs/technology (`show technologies`)"
    )
    voltage: Annotated[float, d.real(units.VOLTAGE, "0.3 V", "2 V")] = Field(description="supply voltage of the logic")


class Dtypes(Section):
    """`dtypes`: the number format of each tensor role. int8 with int32 sums unless stated."""

    inputs: Dtype = Field("int8", description="activations into a layer")
    weights: Dtype = Field("int8", description="weights")
    outputs: Dtype = Field("int8", description="activations out of a layer")
    accumulate: Dtype = Field("int32", description="partial sums, also when they are spilled")
    tables: Dtype = Field("int8", description="rows of embedding tables")
    kv: Dtype = Field("int8", description="keys and values of attention")


def _dtypes() -> Any:
    return Dtypes.model_validate({})


class Fanout(Section):
    """One axis of an array in expanded form."""

    axis: Annotated[str, d.name()] = Field(description="name of the axis, e.g. rows")
    size: Annotated[int, d.count(1, 65536)] = Field(description="PEs along the axis")
    multicast: Annotated[tuple[str, ...], d.subset(ROLES)] = Field((), description="roles sent to all of them")
    reduce: Annotated[tuple[str, ...], d.subset(ROLES)] = Field((), description="roles summed over them")


class RegisterFile(Section):
    """A register file of every PE, in expanded form."""

    name: Annotated[str, d.name()] = Field(description="name, e.g. weights_register")
    keeps: Annotated[tuple[str, ...], d.subset(ROLES)] = Field(description="roles it keeps")
    size: Size = Field(description="capacity in each PE")


class Array(Part):
    """`array`: processing elements (PEs) that multiply and accumulate.

    `kind`, `shape` and `dataflow` are enough: fan-outs and registers are then those of the dataflow. The
    expanded form states them; `show chips NAME` prints it.
    """

    kind: Annotated[str, d.choice("systolic", "generic")] = Field(
        "systolic", description="systolic: operands hop from PE to PE; generic: fill and drain 0"
    )
    shape: Annotated[tuple[int, ...], d.sequence(2, 1, 65536)] = Field(description="[rows, columns] of PEs")
    dataflow: Annotated[str, d.name("the name of a dataflow")] | None = Field(
        None,
        description="what stays in the PEs; weight_stationary if systolic, dot_product if generic",
    )
    rates: dict[Annotated[Any, d.pair(DTYPES)], Annotated[Fraction, d.ratio("1/64", "64")]] = Field(
        description="MACs per PE and cycle for each dtype, or pair INPUTSxWEIGHTS such as int8xint4"
    )
    weight_double_buffer: Flag = Field(False, description="a second register for the stationary operand")
    fold_overlap: Flag = Field(False, description="the next fold enters while the one before leaves")
    startup: Cycles = Field(NONE_CYCLES, description="issue of one command, in cycles of the array's clock")
    fanouts: list[Fanout] | None = Field(None, description="expanded form: the axes; sizes multiply to the shape")
    registers: list[RegisterFile] | None = Field(None, description="expanded form: register files of one PE")


class Vector(Part):
    """`vector`: a vector unit. Cost = ceil(elements / lanes) x passes + startup."""

    lanes: Annotated[
        dict[Annotated[str, d.choice("all", *DTYPES)], Annotated[int, d.count(1, 2**20)]],
        BeforeValidator(for_all),
    ] = Field(description="elements per cycle, one number or a number for each dtype")
    functions: dict[Annotated[str, d.name()], Annotated[Fraction, d.ratio("1/64", "4096")]] = Field(
        {},
        description="slow functions (exp, divide, sqrt, ...) with their cycles per group of lanes",
    )
    startup: Cycles = Field(NONE_CYCLES, description="issue of one command")


class Dma(Part):
    """`dma`: the load and store engines of the core."""

    name: Annotated[str, d.name()] = Field("dma", description=Part.model_fields["name"].description)
    merged: Flag = Field(False, description="one in-order engine for loads and stores; runs Programs, not yet models")
    channels: Annotated[int, d.count(1, 64)] = Field(
        1,
        description="load engines, and store engines, of the core; each runs an in-order queue of its own. On-chip "
        "memories that are filled from on-chip memories have as many of their own",
    )
    setup: Cycles = Field(NONE_CYCLES, description="descriptor cost of one move")
    run_setup: Cycles = Field(NONE_CYCLES, description="descriptor cost of each contiguous run of a move in DRAM")
    row_setup: Cycles = Field(NONE_CYCLES, description="descriptor cost of each row of a gather or scatter")
    outstanding: Annotated[int, d.count(1, 65536)] | None = Field(
        None,
        description="bursts of a move, rows of a gather or scatter under way in DRAM, retired in order; "
        "no limit unless stated",
    )
    requests: Annotated[int, d.count(1, 65536)] | None = Field(
        None,
        description="bursts that each engine offers to DRAM in a cycle of its clock (of the DRAM's, if that is "
        "slower), over all channels; one that finds its queue full stops those behind it. Unless stated as many as the "
        "queues take in: up to 8 a cycle each",
    )


class Host(Part):
    """`host`: the host runtime. Without it launches cost nothing and no layer can run on the host."""

    name: Annotated[str, d.name()] = Field("host", description=Part.model_fields["name"].description)
    launch: Annotated[int, d.whole(units.TIME, "0 s", "1 s")] = Field(description="latency of one launch")
    depth: Annotated[int, d.count(1, 1024)] = Field(1, description="launches in flight")
    issue: Annotated[int, d.whole(units.TIME, "0 s", "1 s")] = Field(0, description="interval between launches")
    link: Annotated[int, d.whole(units.BANDWIDTH, "1 kB/s", "100 TB/s")] = Field(
        description="bandwidth between host and chip, for layers on the host"
    )
    compute: Annotated[int, d.whole(units.COMPUTE_RATE, "1 MFLOP/s", "10000 TFLOP/s")] = Field(
        description="sustained arithmetic rate of the host, for layers on the host"
    )


class Chip(Sourced):
    """Top level of a chip file."""

    schema_: Annotated[str, d.choice("archsim.chip/1")] = Field(
        "archsim.chip/1", alias="schema", description="version of this grammar"
    )
    name: Annotated[str, d.name()] = Field(description="name of the chip; the name of a shipped file")
    description: Annotated[str, d.text()] = Field("", description="one line for `show chips`")
    extends: Annotated[str, d.text("a chip's name or a path relative to this file")] | None = Field(
        None,
        description="chip that this one varies: mappings merge key by key, parts by name, lists are replaced",
    )
    technology: Technology = Field(description="energy and area tables")
    clock: Clock = Field(description="reference clock; public cycles are in this clock")
    dtypes: Dtypes = Field(default_factory=_dtypes, description="number format of each tensor role")
    hierarchy: Annotated[list[Any], d.parts()] = Field(
        description="the parts, outermost first, each `- KIND: {...}`; leaves last, siblings in `parallel`"
    )
    not_modelled: Annotated[tuple[str, ...], d.texts()] = Field((), description="what the real chip has and this lacks")


PARTS: dict[str, type[Part]] = {
    "dram": Dram,
    "cache": Cache,
    "sram": Sram,
    "registers": Registers,
    "noc": Noc,
    "array": Array,
    "vector": Vector,
    "dma": Dma,
    "host": Host,
}
Chip.ELSEWHERE = {
    kind: f"a part stands in the list 'hierarchy', outermost first: '- {kind}: {{name: {kind}, ...}}'" for kind in PARTS
}
PARTS_LATER = ("fanout", "link")
