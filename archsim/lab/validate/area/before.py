"""The formulas before there were structures, as the baseline of the suite ``area``.

Two tables (45 and 7 nm, the nearer one taken), bare arrays of CACTI 7, Aladdin's units scaled by Stillmaker and Baas, a
MAC and a lane as a multiplier and an adder, pads of DRAM; no control, no links, nothing else.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

from archsim.energy.sram import SramCurve, log_line
from archsim.lab.validate.area.dies import Die
from archsim.lab.validate.area.inventory import width


class _Table(NamedTuple):
    """um2 of multipliers and adders by format, of a register bit, and of a bank of 64 b words by KiB."""

    multiply: dict[str, float]
    add: dict[str, float]
    register_bit: float
    bank: SramCurve


_TABLES = {
    45: _Table(
        {"int4": 145, "int8": 580, "int16": 2320, "int32": 9281,
         "fp8": 177.1, "bf16": 708.4, "fp16": 1339, "fp32": 6376},
        {"int4": 50.79, "int8": 101.6, "int16": 203.2, "int32": 406.3,
         "fp8": 1062, "bf16": 2124, "fp16": 2920, "fp32": 6372},
        8.74,
        ((1, 3599), (4, 13500), (16, 50740), (64, 209e3),
         (256, 872100), (1024, 3263e3), (4096, 1199e4), (16384, 4741e4)),
    ),
    7: _Table(
        {"int4": 8.563, "int8": 34.25, "int16": 137, "int32": 548.1,
         "fp8": 10.46, "bf16": 41.83, "fp16": 79.08, "fp32": 376.5},
        {"int4": 2.999, "int8": 5.998, "int16": 12, "int32": 23.99,
         "fp8": 62.7, "bf16": 125.4, "fp16": 172.4, "fp32": 376.2},
        0.5161,
        ((1, 272.9), (4, 1117), (16, 4796), (64, 18650),
         (256, 71680), (1024, 247700), (4096, 980100), (16384, 3698e3)),
    ),
}  # fmt: skip
_PADS_MM2 = {"hbm": 10.45}
_OTHER_PADS_MM2 = 1.45
_UM2 = 1e-6


def mm2(die: Die) -> float:
    """Area of a die by them."""
    banks = [one.kib / one.macro_kib * one.ports_factor * log_line(_table(die).bank, one.macro_kib) for one in die.sram]
    return logic_mm2(die) + _UM2 * sum(banks) + _pads(die)


def logic_mm2(die: Die) -> float:
    """Area of the MACs and lanes of a die by them."""
    table = _table(die)
    macs = [count * _mac(table, dtype) for dtype, count in die.macs.items()]
    lanes = [count * (_of(table.multiply, dtype) + _of(table.add, dtype)) for dtype, count in die.lanes.items()]
    return _UM2 * (max(macs, default=0.0) + sum(lanes))


def _table(die: Die) -> _Table:
    return _TABLES[min(_TABLES, key=lambda node: abs(log(node / die.node_nm)))]


def _pads(die: Die) -> float:
    return die.dram.units * _PADS_MM2.get(die.dram.kind, _OTHER_PADS_MM2) if die.dram is not None else 0.0


def _mac(table: _Table, dtype: str) -> float:
    sums = "int32" if "int" in dtype else "fp32"
    return _of(table.multiply, dtype) + table.add[sums] + table.register_bit * (3 * width(dtype) + width(sums))


def _of(units: dict[str, float], dtype: str) -> float:
    """Formats that they did not have cost as the widest one."""
    return units.get(dtype, units["fp32"])
