"""DRAM energy by standard: per bit on the pins, per command, standing, and the chip's interface area."""

from __future__ import annotations

from dataclasses import dataclass

from archsim.energy.document import Document, find
from archsim.spec.architecture import Sourced

SCHEMA = "archsim.dram_energy/1"


@dataclass(frozen=True, slots=True)
class DramTable:
    """Commands and background hold for a channel of ``width_bits`` and are in proportion at other widths."""

    name: str
    width_bits: float
    read_pj_per_bit: Sourced
    write_pj_per_bit: Sourced
    activate_pj: Sourced
    refresh_pj: Sourced
    background_mw: Sourced
    interface_mm2_per_bit: Sourced


def load_dram(standard: str) -> DramTable:
    """The table of a DRAM standard in configs/dram; raises ConfigError naming those that exist."""
    document = Document(find("dram", standard, "DRAM energy table"), SCHEMA)
    keys = (
        "read_pj_per_bit",
        "write_pj_per_bit",
        "activate_pj",
        "refresh_pj",
        "background_mw",
        "interface_mm2_per_bit",
    )
    width = document.number(document.mapping().get("width_bits"), "width_bits")
    return DramTable(standard, width, *(document.figure(key) for key in keys))
