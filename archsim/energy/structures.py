"""Area of what stands on a die: gates, bits and pads of the area table at the densities of a node.

    logic      gates x transistors of a gate / density of logic
    datapath   (multiplier + adder + register bits x gates of a bit) x overhead
    SRAM       bits x cell / share of a macro that is cells x ports x what stands around macros of its structure
    interface  pads and drivers, which do not shrink with the node, and a controller, which does

Chips and the published dies of ``validate area`` are made of these alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import TYPE_CHECKING

from archsim.base.errors import ConfigError, nearest
from archsim.energy.technology import LISTED, TableFigures, Technology
from archsim.spec.part import STRUCTURES, SourcedNumber

if TYPE_CHECKING:
    from archsim.spec import schema_tables as st

LARGEST_MACRO_KIB = 256.0
LOCAL, SHARED, REGISTER_FILE, CACHE = STRUCTURES
_UM2 = 1e-6  # mm2
_LEAST_EFFICIENCY = 0.2


@dataclass(frozen=True, slots=True)
class UnitGates:
    """One number format: gates of a multiplier and of an adder."""

    multiply: SourcedNumber
    add: SourcedNumber


@dataclass(frozen=True, slots=True)
class Interface:
    """A physical interface: mm2 of one at any node, and the transistors of its controller, in millions."""

    width_bits: float
    phy_mm2: SourcedNumber
    controller_mtr: SourcedNumber


@dataclass(frozen=True, slots=True)
class Structures:
    """The area table. ``efficiency``: (KiB, share of a macro that is cells); ``fill``: class -> factor of the logic of
    cores and control; ``band``: class -> factor within which areas are known; ``dies``: class -> by how many."""

    gate_transistors: SourcedNumber
    arithmetic: Mapping[str, UnitGates]
    overhead: SourcedNumber
    pe_register_gates: SourcedNumber
    tree_register_bits: SourcedNumber
    flip_flop_gates: SourcedNumber
    fixed_function_share: SourcedNumber
    scalar_core_gates: SourcedNumber
    simt_subcore_gates: SourcedNumber
    simt_gates_per_operand_bit: SourcedNumber
    simt_operands: SourcedNumber
    efficiency: tuple[tuple[float, float], ...]
    efficiency_source: str
    surroundings: Mapping[str, SourcedNumber]
    memories: Mapping[str, Interface]
    links: Mapping[str, Interface]
    fill: Mapping[str, SourcedNumber]
    band: Mapping[str, SourcedNumber]
    dies: Mapping[str, int]

    def unit(self, dtype: str) -> UnitGates:
        """Gates of a number format; raises ConfigError naming those present."""
        if dtype not in self.arithmetic:
            have = ", ".join(self.arithmetic)
            raise ConfigError(f"the area table has no gates for '{dtype}'; it has: {have}")
        return self.arithmetic[dtype]

    def link(self, kind: str) -> Interface:
        """A kind of link; raises ConfigError naming those present."""
        return _named(self.links, kind, "link")

    def memory(self, kind: str) -> Interface:
        """A kind of interface of a memory; raises ConfigError naming those present."""
        return _named(self.memories, kind, "interface of a memory")

    def macro_efficiency(self, kib: float) -> float:
        """Share of a macro of a size that is cells: between and beyond the points along the logarithm of the size."""
        points, at = self.efficiency, min(kib, LARGEST_MACRO_KIB)
        index = next((i for i in range(1, len(points) - 1) if at < points[i][0]), len(points) - 1)
        (small, low), (large, high) = points[index - 1], points[index]
        share = low + (high - low) * log(at / small) / log(large / small)
        return min(max(share, _LEAST_EFFICIENCY), 1.0)


@dataclass(frozen=True, slots=True)
class DieArea:
    """mm2 of structures at a node."""

    technology: Technology
    structures: Structures

    def logic(self, gates: float) -> float:
        """Of so many gates."""
        transistors = gates * self.structures.gate_transistors.value
        return transistors * 1e-6 / self.technology.density_mtr_per_mm2.value

    def mac_gates(self, factors: tuple[str, str], sums: str, register_bits: float) -> float:
        """Gates of a multiplier at the wider of two formats, an adder at that of the sums and a PE's registers."""
        multiply = max(self.structures.unit(dtype).multiply.value for dtype in factors)
        bare = multiply + self.structures.unit(sums).add.value
        bare += register_bits * self.structures.pe_register_gates.value
        return bare * self.structures.overhead.value

    def lane_gates(self, dtype: str, register_bits: float = 0.0) -> float:
        """Gates of a lane of a vector unit: a multiplier and an adder of one format."""
        unit = self.structures.unit(dtype)
        bare = unit.multiply.value + unit.add.value + register_bits * self.structures.pe_register_gates.value
        return bare * self.structures.overhead.value

    def subcore_gates(self, lanes: float) -> float:
        """Gates of a SIMT sub-core that reads the operands of so many lanes in a cycle."""
        bits = lanes * self.structures.simt_operands.value * 32
        return self.structures.simt_subcore_gates.value + bits * self.structures.simt_gates_per_operand_bit.value

    def sram(self, kib: float, macro_kib: float, ports: float, structure: str) -> float:
        """Of a memory made of macros; ``ports``: relative to one port."""
        cells = kib * 1024 * 8 * self.technology.sram.cell_um2_per_bit.value * _UM2
        around = self.structures.surroundings[structure].value
        return cells / self.structures.macro_efficiency(macro_kib) * ports * around

    def interface(self, one: Interface, count: float) -> float:
        """Of so many interfaces or lanes."""
        return count * (one.phy_mm2.value + one.controller_mtr.value / self.technology.density_mtr_per_mm2.value)

    def sram_source(self, structure: str) -> str:
        """Where the figures of a memory come from."""
        around = self.structures.surroundings[structure].source
        cell = self.technology.sram.cell_um2_per_bit.source
        return cited({"cell": cell, "macros": self.structures.efficiency_source, structure: around})

    def logic_source(self, **figures: SourcedNumber) -> str:
        """Where the figures of gates come from, by what they are."""
        named = {name.replace("_", " "): figure.source for name, figure in figures.items()}
        return cited(named | {"density": self.technology.density_mtr_per_mm2.source})

    def interface_source(self, one: Interface) -> str:
        """Where the figures of an interface come from."""
        return self.logic_source(pads=one.phy_mm2, controller=one.controller_mtr)


def cited(texts: Mapping[str, str]) -> str:
    """Sources of several figures, by what they are, as one: it begins with the status of the least sure one of them."""
    worst = next((word for word in LISTED if any(text.startswith(f"{word}:") for text in texts.values())), "")
    bare = {name: text.removeprefix(f"{worst}: ") if worst else text for name, text in texts.items()}
    said = "; ".join(f"{name}: {text}" if name else text for name, text in bare.items())
    return f"{worst}: {said}" if worst else said


def load_structures() -> Structures:
    """The table ``structures`` of configs/area; raises ConfigError where a file of that name is wrong."""
    from archsim.spec import table_files

    return read_structures(table_files.find("area", "structures", "area table"))


def _named(found: Mapping[str, Interface], kind: str, what: str) -> Interface:
    if kind not in found:
        raise ConfigError(f"no {what} '{kind}'{nearest(kind, found)}; the area table has: {', '.join(found)}")
    return found[kind]


def read_structures(path: Path) -> Structures:
    """The table of a file; raises ConfigError with file:line:column and key path."""
    from archsim.spec import schema_tables, table_files

    table = table_files.load(path, schema_tables.AreaTable)
    figure = TableFigures(table.sources)
    datapath, control, sram = table.datapath, table.control, table.sram
    return Structures(
        gate_transistors=figure.of(table.gate_transistors),
        arithmetic={
            dtype: UnitGates(figure.of(unit.multiply_gates), figure.of(unit.add_gates))
            for dtype, unit in table.arithmetic.items()
        },
        overhead=figure.of(datapath.overhead),
        pe_register_gates=figure.of(datapath.pe_register_gates_per_bit),
        tree_register_bits=figure.of(datapath.tree_register_bits),
        flip_flop_gates=figure.of(datapath.flip_flop_gates),
        fixed_function_share=figure.of(control.fixed_function_share),
        scalar_core_gates=figure.of(control.scalar_core_gates),
        simt_subcore_gates=figure.of(control.simt_subcore_gates),
        simt_gates_per_operand_bit=figure.of(control.simt_gates_per_operand_bit),
        simt_operands=figure.of(control.simt_operands),
        efficiency=tuple((row[0], row[1]) for row in sram.macro_efficiency.points),
        efficiency_source=figure.source(sram.macro_efficiency.source, sram.macro_efficiency.status),
        surroundings={name: figure.of(getattr(sram.surroundings, name)) for name in STRUCTURES},
        memories={kind: _interface(figure, one, one.width_bits.value) for kind, one in table.memories.items()},
        links={kind: _interface(figure, one, 0.0) for kind, one in table.links.items()},
        fill={name: figure.of(factor) for name, factor in table.fill.items()},
        band={name: figure.of(band.factor) for name, band in table.band.items()},
        dies={name: band.dies.value for name, band in table.band.items()},
    )


def _interface(figure: TableFigures, one: st.InterfaceTable | st.ChipLinkTable, width_bits: float) -> Interface:
    return Interface(width_bits, figure.of(one.phy_mm2), figure.of(one.controller_mtr))
