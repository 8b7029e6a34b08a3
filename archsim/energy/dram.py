"""DRAM energy by standard: per bit on the pins, per command, standing, and the chip's interface area."""

from __future__ import annotations

from dataclasses import dataclass

from archsim import registry
from archsim.energy.document import Document, find
from archsim.spec.memories import Memory
from archsim.spec.part import Sourced

STANDARDS = "archsim.memory.dram.standards"
SCHEMA = "archsim.dram_energy/1"


@dataclass(frozen=True, slots=True)
class DramTable:
    """Commands and standing power hold for a channel of ``width_bits`` and are in proportion at other widths.

    ``background_mw`` of a rank with a row open, ``precharged_mw`` of one without (the same where a table has none).
    """

    name: str
    width_bits: float
    read_pj_per_bit: Sourced
    write_pj_per_bit: Sourced
    activate_pj: Sourced
    refresh_pj: Sourced
    background_mw: Sourced
    precharged_mw: Sourced
    interface_mm2_per_bit: Sourced


def widths(part: Memory, table: DramTable) -> tuple[float, float]:
    """(that of a command, that of the whole memory with all its ranks), of the table's width.

    A command is of one native channel, of HBM of one pseudo-channel; every rank draws standing power.
    """
    stated = part.width_bits * part.channels / table.width_bits
    if part.standard == "constant":
        return stated, stated
    made = registry.load(STANDARDS, part.standard)
    memory = made.dram(part.speed_mts, part.width_bits, part.channels, part.capacity_bytes)
    buses, ranks = memory.device.buses, memory.device.ranks
    return stated / (memory.channels * buses), stated * ranks / buses


def load_dram(standard: str) -> DramTable:
    """The table of a DRAM standard in configs/dram; raises ConfigError naming those that exist."""
    document = Document(find("dram", standard, "DRAM energy table"), SCHEMA)
    closed = "precharged_mw" if "precharged_mw" in document.mapping() else "background_mw"
    keys = (
        "read_pj_per_bit",
        "write_pj_per_bit",
        "activate_pj",
        "refresh_pj",
        "background_mw",
        closed,
        "interface_mm2_per_bit",
    )
    width = document.number(document.mapping().get("width_bits"), "width_bits")
    return DramTable(standard, width, *(document.figure(key) for key in keys))
