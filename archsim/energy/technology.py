"""Technology tables: energy and area per action of one process node, each figure with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archsim.base.errors import ConfigError
from archsim.energy.sram import SramCurve, SramTable
from archsim.spec.part import SourcedNumber

if TYPE_CHECKING:
    from archsim.spec import schema_tables as st

WORDS = {"word_64": 64, "word_256": 256}


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """One number format: pJ and um2 of a multiplier and of an adder."""

    multiply_pj: SourcedNumber
    add_pj: SourcedNumber
    multiply_um2: SourcedNumber
    add_um2: SourcedNumber


@dataclass(frozen=True, slots=True)
class Technology:
    """All figures of a node at supply ``voltage_v``."""

    name: str
    voltage_v: SourcedNumber
    arithmetic: Mapping[str, Arithmetic]
    logic_leakage_mw_per_mm2: SourcedNumber
    register_pj_per_bit: SourcedNumber
    register_um2_per_bit: SourcedNumber
    wire_pj_per_bit_mm: SourcedNumber
    crossbar_track_um: SourcedNumber
    arbitration_share: SourcedNumber  # of what a flit spends in a router's buffers and crossbar
    sram: SramTable
    host_pj_per_flop: SourcedNumber
    link_pj_per_bit: SourcedNumber

    def number_format(self, dtype: str) -> Arithmetic:
        """Figures of ``dtype``; raises ConfigError naming the formats present."""
        if dtype not in self.arithmetic:
            have = ", ".join(self.arithmetic)
            raise ConfigError(f"technology '{self.name}' has no energy for dtype '{dtype}'; it has: {have}")
        return self.arithmetic[dtype]


def load_technology(name: str) -> Technology:
    """The table ``name`` of configs/technology; raises ConfigError naming those that exist."""
    from archsim.spec import table_files

    return read_technology(table_files.find("technology", name, "technology table"))


def read_technology(path: Path) -> Technology:
    """The table of a file, called by its stem; raises ConfigError with file:line:column and key path."""
    from archsim.spec import schema_tables, table_files

    table = table_files.load(path, schema_tables.TechnologyTable)
    figure = TableFigures(table.sources)
    return Technology(
        path.stem,
        figure.of(table.voltage_v),
        {dtype: _arithmetic(figure, unit) for dtype, unit in table.arithmetic.items()},
        figure.of(table.logic.leakage_mw_per_mm2),
        figure.of(table.registers.pj_per_bit),
        figure.of(table.registers.um2_per_bit),
        figure.of(table.wire.pj_per_bit_mm),
        figure.of(table.router.crossbar_track_um),
        figure.of(table.router.arbitration_share),
        _sram(figure, table.sram),
        figure.of(table.host.pj_per_flop),
        figure.of(table.host.link_pj_per_bit),
    )


@dataclass(frozen=True, slots=True)
class TableFigures:
    """Figures of a table with their sources looked up in its ``sources``."""

    sources: Mapping[str, str]

    def of(self, figure: st.TableNumber[Any]) -> SourcedNumber:
        """Value and source of a figure."""
        return SourcedNumber(figure.value, self.source(figure.source))

    def source(self, text: str) -> str:
        """What a key of ``sources`` stands for, or the text itself."""
        return self.sources.get(text, text)


def _arithmetic(figure: TableFigures, unit: st.ArithmeticTable) -> Arithmetic:
    return Arithmetic(*(figure.of(each) for each in (unit.multiply_pj, unit.add_pj, unit.multiply_um2, unit.add_um2)))


def _sram(figure: TableFigures, sram: st.SramPoints) -> SramTable:
    tables = {bits: getattr(sram, key) for key, bits in WORDS.items()}
    curves = {bits: _curves(table, sram.columns) for bits, table in tables.items()}
    return SramTable(
        curves, {bits: figure.source(table.source) for bits, table in tables.items()}, figure.of(sram.extra_port)
    )


def _curves(table: st.PointsTable, columns: list[str]) -> dict[str, SramCurve]:
    return {
        column: tuple((row[0], row[index]) for row in table.points) for index, column in enumerate(columns) if index > 0
    }
