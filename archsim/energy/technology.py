"""Technology tables: energy per action, leakage and densities of one process node, each figure with its source.

A node between two tables (22, 14, 10, 8, 6 nm occur) is made of the figures of both, by the power law of the node
through each pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archsim.base.errors import ConfigError
from archsim.energy.sram import SramCurve, SramTable, log_line
from archsim.spec import nodes_between
from archsim.spec.part import SourcedNumber

if TYPE_CHECKING:
    from archsim.spec import schema_tables as st

WORDS = {"word_64": 64, "word_256": 256}
LISTED = ("estimated", "claimed")  # how sure a figure is where reports say so, the least sure first


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """One number format: pJ of a multiplication and of an addition."""

    multiply_pj: SourcedNumber
    add_pj: SourcedNumber


@dataclass(frozen=True, slots=True)
class Technology:
    """All figures of a node at supply ``voltage_v``."""

    name: str
    voltage_v: SourcedNumber
    arithmetic: Mapping[str, Arithmetic]
    density_mtr_per_mm2: SourcedNumber  # million transistors of logic on a square millimetre
    logic_leakage_mw_per_mm2: SourcedNumber
    register_pj_per_bit: SourcedNumber
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
    """The table ``name`` of configs/technology, or one between two; raises ConfigError naming those that exist."""
    from archsim.spec import table_files

    pair = nodes_between.of(name)
    if pair is None:
        return read_technology(table_files.find("technology", name, "technology table"))
    low, high = (load_technology(each) for each in pair.names)
    return _Between(name, low, high, pair.share).table()


def read_technology(path: Path) -> Technology:
    """The table of a file, called by its stem; raises ConfigError with file:line:column and key path."""
    from archsim.spec import schema_tables, table_files

    table = table_files.load(path, schema_tables.TechnologyTable)
    figure = TableFigures(table.sources)
    return Technology(
        path.stem,
        figure.of(table.voltage_v),
        {dtype: _arithmetic(figure, unit) for dtype, unit in table.arithmetic.items()},
        figure.of(table.logic.density_mtr_per_mm2),
        figure.of(table.logic.leakage_mw_per_mm2),
        figure.of(table.registers.pj_per_bit),
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
        """Value and source of a figure; the source of one that is claimed or estimated begins with that word."""
        return SourcedNumber(figure.value, self.source(figure.source, figure.status))

    def source(self, text: str, status: str | None = None) -> str:
        """What a key of ``sources`` stands for, or the text itself, with the ``status`` that reports list before it."""
        said = self.sources.get(text, text)
        return f"{status}: {said}" if status in LISTED and not said.startswith(f"{status}:") else said


def _arithmetic(figure: TableFigures, unit: st.ArithmeticTable) -> Arithmetic:
    return Arithmetic(figure.of(unit.multiply_pj), figure.of(unit.add_pj))


def _sram(figure: TableFigures, sram: st.SramPoints) -> SramTable:
    tables = {bits: getattr(sram, key) for key, bits in WORDS.items()}
    curves = {bits: _curves(table, sram.columns) for bits, table in tables.items()}
    return SramTable(
        curves,
        {bits: figure.source(table.source, table.status) for bits, table in tables.items()},
        figure.of(sram.extra_port),
        figure.of(sram.cell_um2_per_bit),
    )


def _curves(table: st.PointsTable, columns: list[str]) -> dict[str, SramCurve]:
    return {
        column: tuple((row[0], row[index]) for row in table.points) for index, column in enumerate(columns) if index > 0
    }


@dataclass(frozen=True, slots=True)
class _Between:
    """A node between two others; ``share`` of the way from the smaller to the larger one, along the logarithm."""

    name: str
    low: Technology
    high: Technology
    share: float

    def table(self) -> Technology:
        """Every figure on the line, in logs, through those of both."""
        made = {
            field.name: self._figure(getattr(self.low, field.name), getattr(self.high, field.name))
            for field in fields(Technology)
            if isinstance(getattr(self.low, field.name), SourcedNumber)
        }
        formats = {
            dtype: Arithmetic(
                self._figure(unit.multiply_pj, self.high.arithmetic[dtype].multiply_pj),
                self._figure(unit.add_pj, self.high.arithmetic[dtype].add_pj),
            )
            for dtype, unit in self.low.arithmetic.items()
            if dtype in self.high.arithmetic
        }
        return Technology(name=self.name, arithmetic=formats, sram=self._sram(), **made)

    def _figure(self, low: SourcedNumber, high: SourcedNumber) -> SourcedNumber:
        if low.value == high.value:
            return low
        return SourcedNumber(self._value(low.value, high.value), self._said(low.source, high.source))

    def _said(self, low: str, high: str) -> str:
        """Both sources, behind the status of the less sure one."""
        worst = next((word for word in LISTED if any(text.startswith(f"{word}:") for text in (low, high))), "derived")
        bare = [text.removeprefix(f"{word}: ") for text, word in ((low, worst), (high, worst))]
        return f"{worst}: {self.name}, between {self.low.name} ({bare[0]}) and {self.high.name} ({bare[1]})"

    def _value(self, low: float, high: float) -> float:
        return float(low * (high / low) ** self.share)

    def _sram(self) -> SramTable:
        low, high = self.low.sram, self.high.sram
        curves = {
            bits: {column: self._curve(points, high.curves[bits][column]) for column, points in columns.items()}
            for bits, columns in low.curves.items()
        }
        sources = {bits: self._said(low.sources[bits], high.sources[bits]) for bits in low.curves}
        return SramTable(
            curves,
            sources,
            self._figure(low.extra_port, high.extra_port),
            self._figure(low.cell_um2_per_bit, high.cell_um2_per_bit),
        )

    def _curve(self, low: SramCurve, high: SramCurve) -> SramCurve:
        """At the sizes of the smaller node's points."""
        return tuple((size, self._value(figure, log_line(high, size))) for size, figure in low)
