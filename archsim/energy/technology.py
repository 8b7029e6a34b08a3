"""Technology tables: energy and area per action of one process node, each figure with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from archsim.energy.document import Document, find
from archsim.energy.sram import Points, SramTable
from archsim.errors import ConfigError
from archsim.spec.part import Sourced

SCHEMA = "archsim.technology/1"
WORDS = {"word_64": 64, "word_256": 256}


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """One number format: pJ and um2 of a multiplier and of an adder."""

    multiply_pj: Sourced
    add_pj: Sourced
    multiply_um2: Sourced
    add_um2: Sourced


@dataclass(frozen=True, slots=True)
class Technology:
    """All figures of a node at supply ``voltage_v``."""

    name: str
    voltage_v: Sourced
    arithmetic: Mapping[str, Arithmetic]
    logic_leakage_mw_per_mm2: Sourced
    register_pj_per_bit: Sourced
    register_um2_per_bit: Sourced
    wire_pj_per_bit_mm: Sourced
    crossbar_track_um: Sourced
    arbitration_share: Sourced  # of what a flit spends in a router's buffers and crossbar
    sram: SramTable
    host_pj_per_flop: Sourced
    link_pj_per_bit: Sourced

    def number_format(self, dtype: str) -> Arithmetic:
        """Figures of ``dtype``; raises ConfigError naming the formats present."""
        if dtype not in self.arithmetic:
            have = ", ".join(self.arithmetic)
            raise ConfigError(f"technology '{self.name}' has no energy for dtype '{dtype}'; it has: {have}")
        return self.arithmetic[dtype]


def load_technology(name: str) -> Technology:
    """The table ``name`` of configs/technology; raises ConfigError naming those that exist."""
    document = Document(find("technology", name, "technology table"), SCHEMA)
    return Technology(
        name,
        document.figure("voltage_v"),
        {dtype: _arithmetic(document, dtype) for dtype in document.mapping("arithmetic")},
        document.figure("logic", "leakage_mw_per_mm2"),
        document.figure("registers", "pj_per_bit"),
        document.figure("registers", "um2_per_bit"),
        document.figure("wire", "pj_per_bit_mm"),
        document.figure("router", "crossbar_track_um"),
        document.figure("router", "arbitration_share"),
        _sram(document),
        document.figure("host", "pj_per_flop"),
        document.figure("host", "link_pj_per_bit"),
    )


def _arithmetic(document: Document, dtype: str) -> Arithmetic:
    keys = ("multiply_pj", "add_pj", "multiply_um2", "add_um2")
    return Arithmetic(*(document.figure("arithmetic", dtype, key) for key in keys))


def _sram(document: Document) -> SramTable:
    columns = [str(column) for column in document.rows("sram", "columns")]
    curves = {bits: _curves(document, key, columns) for key, bits in WORDS.items()}
    sources = {
        bits: document.source(document.mapping("sram", key).get("source"), "sram", key) for key, bits in WORDS.items()
    }
    return SramTable(curves, sources, document.figure("sram", "extra_port"))


def _curves(document: Document, key: str, columns: list[str]) -> dict[str, Points]:
    rows = [
        [document.number(value, "sram", key, "points") for value in row] for row in document.rows("sram", key, "points")
    ]
    return {column: tuple((row[0], row[index]) for row in rows) for index, column in enumerate(columns) if index > 0}
