"""DRAM energy by standard: per bit on the pins, per command, standing, and what stands on the chip for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from archsim.energy.technology import TableFigures
from archsim.facts.dram.catalogue import dram
from archsim.spec.memories import Memory
from archsim.spec.part import SourcedNumber


@dataclass(frozen=True, slots=True)
class DramTable:
    """Commands and standing power hold for a channel of ``width_bits`` and are in proportion at other widths.

    ``background_mw`` of a rank with a row open, ``precharged_mw`` of one without (the same where a table has none).
    """

    name: str
    width_bits: float
    read_pj_per_bit: SourcedNumber
    write_pj_per_bit: SourcedNumber
    activate_pj: SourcedNumber
    refresh_pj: SourcedNumber
    background_mw: SourcedNumber
    precharged_mw: SourcedNumber
    interface: str  # kind of what stands on the chip for it, of the area table; '' for nothing


def widths(part: Memory, table: DramTable) -> tuple[float, float]:
    """(that of a command, that of the whole memory with all its ranks), of the table's width.

    A command is of one native channel, of HBM of one pseudo-channel; every rank draws standing power.
    """
    stated = part.width_bits * part.channels / table.width_bits
    if part.standard == "constant":
        return stated, stated
    memory = dram(part.standard, part.speed_mts, part.width_bits, part.channels, part.capacity_bytes)
    buses, ranks = memory.device.buses, memory.device.ranks
    return stated / (memory.channels * buses), stated * ranks / buses


def load_dram(standard: str) -> DramTable:
    """The table of a DRAM standard in configs/dram; raises ConfigError naming those that exist."""
    from archsim.spec import table_files

    return read_dram(table_files.find("dram", standard, "DRAM energy table"))


def read_dram(path: Path) -> DramTable:
    """The table of a file, called by its stem; raises ConfigError with file:line:column and key path."""
    from archsim.spec import schema_tables, table_files

    table = table_files.load(path, schema_tables.DramEnergyTable)
    figure = TableFigures(table.sources)
    return DramTable(
        path.stem,
        table.width_bits,
        figure.of(table.read_pj_per_bit),
        figure.of(table.write_pj_per_bit),
        figure.of(table.activate_pj),
        figure.of(table.refresh_pj),
        figure.of(table.background_mw),
        figure.of(table.precharged_mw or table.background_mw),
        table.interface or "",
    )
