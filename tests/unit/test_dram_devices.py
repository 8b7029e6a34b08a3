"""Devices from standards: their constraints are those of the reference configurations, down to each number."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from archsim.facts.dram import catalogue
from archsim.facts.dram.device import DramChannel, TimingConstraint
from archsim.lab.validate.dram_configs import read

DATA = Path(__file__).parents[2] / "studies" / "validation" / "dram" / "configs.json"
CONFIGS = json.loads(DATA.read_text())["configs"]
NAMED = [
    ("ram_ddr4_2400_1r_roco", "ddr4", 2400, 64),
    ("ram_lpddr5_6400_mop4", "lpddr5", 6400, 32),
    ("ram_hbm2_2000_1ch_mop4", "hbm2", 2000, 32),
]
# Of single banks; the reference refreshes a bank that precharges itself too early, and one of the two of LPDDR5.
AFTER_AUTOMATIC_PRECHARGE = {("bank", access, "REFpb", 1, False) for access in ("RDA", "WRA")}
ROUNDED = {"ddr4": {433: 432}}  # tRFC: the reference rounds the clock to 833 ps


def pairs(constraints: tuple[TimingConstraint, ...], rounded: dict[int, int]) -> dict[tuple[object, ...], int]:
    """The longest wait for each (level, command, command, window, siblings)."""
    found: dict[tuple[object, ...], int] = {}
    for item in constraints:
        for before in item.before:
            for after in item.after:
                key = (item.level, before, after, item.window, item.siblings)
                found[key] = max(found.get(key, -1), rounded.get(item.cycles, item.cycles))
    return found


@pytest.mark.parametrize(("config", "standard", "speed", "size"), NAMED)
def test_a_standard_is_its_reference_configuration(config: str, standard: str, speed: int, size: int) -> None:
    expected = read(config, CONFIGS[config], size)[0]
    width_bits, capacity_bytes = catalogue.usual(standard)
    found = catalogue.dram(standard, speed, width_bits, 1, capacity_bytes).device
    rounded = ROUNDED.get(standard, {})
    ours, theirs = pairs(found.constraints, {}), pairs(expected.constraints, rounded)
    added = {key for key in ours if key not in theirs}
    assert {key: cycles for key, cycles in ours.items() if key not in added} == theirs
    assert added == (set() if standard == "ddr4" else AFTER_AUTOMATIC_PRECHARGE)
    nearest = expected.bank_refresh_cycles  # ours is at most tREFI's share
    assert nearest - 1 <= found.bank_refresh_cycles <= nearest
    apart = {"standard", "constraints", "bank_refresh_banks", "bank_refresh_cycles"} | (
        {"clock_hz", "refresh_cycles"} if rounded else set()
    )
    for field in fields(DramChannel):
        if field.name not in apart:
            assert getattr(found, field.name) == getattr(expected, field.name), field.name
