"""The formulas before there were states, as the baseline of the suite ``power``.

MACs at the price of their units and registers, bits of DRAM, and what bare SRAM cells and multipliers leak; two tables,
the nearer one taken; nothing idles, nothing is delivered.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

from archsim.lab.validate.area import before as area
from archsim.lab.validate.area.dies import Die
from archsim.lab.validate.area.inventory import width
from archsim.lab.validate.power.points import BUSY, PublishedPoint


class _Table(NamedTuple):
    """pJ of a multiplication and an addition by format, pJ of a register bit, mW of a mm2 of logic, mW of a MiB."""

    multiply: dict[str, float]
    add: dict[str, float]
    register_bit: float
    logic: float
    cells: float


_TABLES = {
    45: _Table(
        {"int8": 0.2, "int16": 0.7874, "bf16": 0.6794, "fp16": 1.1, "fp32": 3.7},
        {"int32": 0.1, "fp32": 0.9},
        0.01036,
        8.633,
        0.025,
    ),
    7: _Table(
        {"int8": 0.07, "int16": 0.3219, "bf16": 0.21, "fp16": 0.34, "fp32": 1.31},
        {"int32": 0.03, "fp32": 0.38},
        0.0009768,
        13.79,
        0.061,
    ),
}


def watts(point: PublishedPoint, die: Die) -> float:
    """Power of a point by them."""
    table = _TABLES[min(_TABLES, key=lambda node: abs(log(node / die.node_nm)))]
    cells_mib = sum(one.kib * one.ports_factor for one in die.sram) / 1024
    leakage = (table.logic * area.logic_mm2(die) + table.cells * cells_mib) * 1e-3 * point.volts
    if point.state != BUSY:
        return leakage
    sums = "int32" if "int" in point.dtype else "fp32"
    mac = table.multiply.get(point.dtype, table.multiply["fp32"]) + table.add[sums]
    mac += table.register_bit * (3 * width(point.dtype) + width(sums))
    return leakage + point.macs_per_s * mac * 1e-12 * point.volts**2 + point.dram_w
