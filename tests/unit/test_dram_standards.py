"""DRAM standards: found by file name, resolved to native channels, refused with what is allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archsim.base.errors import ConfigError
from archsim.energy.chip import tables_for
from archsim.energy.dram import load_dram
from archsim.facts.dram import catalogue
from archsim.facts.dram.device import LEVELS
from archsim.facts.dram.standards import lpddr5
from archsim.spec.load import load

GIB = 1 << 30


def test_names() -> None:
    families = ("ddr3", "ddr4", "ddr5", "gddr6", "hbm2", "hbm2e", "hbm3", "lpddr4", "lpddr4x", "lpddr5", "lpddr5x")
    assert catalogue.names() == families


def test_wide_channels_are_native_channels_side_by_side() -> None:
    assert catalogue.dram("lpddr5", 6400, 64, 1, 8 * GIB) == catalogue.dram("lpddr5", 6400, 16, 4, 8 * GIB)
    assert catalogue.dram("hbm2", 2000, 1024, 1, 8 * GIB).channels == 8
    assert catalogue.dram("ddr4", 2400, 32, 1, 4 * GIB).device.burst_bytes == 32


@pytest.mark.parametrize("speed", [1600, 2133, 2667, 3200, 3733, 4267])
def test_lpddr4x_is_lpddr4_with_other_pins(speed: int) -> None:
    """JESD209-4-1 changes the interface: the same device, command for command, at less energy a bit."""
    new, old = (catalogue.dram(name, speed, 32, 2, 4 * GIB) for name in ("lpddr4x", "lpddr4"))
    assert new.device == replace(old.device, standard="lpddr4x") and new.channels == old.channels == 4
    assert new.source.startswith("JESD209-4 with addendum 1, channels of ")
    assert load_dram("lpddr4x").read_pj_per_bit.value == pytest.approx(0.8 * load_dram("lpddr4").read_pj_per_bit.value)


def test_a_chip_may_have_lpddr4x() -> None:
    chip = load("edge_npu", {"dram.standard": "lpddr4x", "dram.speed": "4267 MT/s"})
    assert chip.memory("dram").standard == "lpddr4x"
    said = str(tables_for(chip).parts["dram"])
    assert "SK hynix" in said and "SK hynix" not in str(tables_for(load("edge_npu")).parts["dram"])


def test_capacity_chooses_density_then_ranks() -> None:
    def refresh_and_ranks(capacity_gib: int) -> tuple[int, int]:
        device = catalogue.dram("ddr4", 1600, 64, 1, capacity_gib * GIB).device
        (cycles,) = {c.cycles for c in device.constraints if c.before == ("REFab",)}
        return cycles * 1250, device.ranks

    assert [refresh_and_ranks(gib) for gib in (1, 2, 4, 8, 16, 32, 128)] == [
        (160_000, 1),
        (160_000, 1),
        (260_000, 1),
        (360_000, 1),
        (550_000, 1),
        (550_000, 2),
        (550_000, 8),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ddr44", 2400, 64, 1, GIB), ["ddr44", "ddr4", "lpddr5"]),
        (("ddr4", 2401, 64, 1, GIB), ["2401", "MT/s", "1600, 1866", "nearest 2400"]),
        (("ddr4", 2400, 48, 1, GIB), ["48 b", "8, 16, 32, 64 b"]),
        (("lpddr5", 6400, 8, 1, GIB), ["8 b", "16, 32, 64, 128 b"]),
        (("hbm2", 2000, 128, 0, GIB), ["channels", "found 0"]),
        (("lpddr4", 3200, 16, 1, 0), ["capacity", "found 0"]),
    ],
)
def test_refused(arguments: tuple[str, int, int, int, int], words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        catalogue.dram(*arguments)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("capacity", [8, 16, 32])
def test_levels_divide_the_banks_of_a_channel(capacity: int) -> None:
    """Ranks have stacks, stacks bank groups, bank groups banks: each level is a whole number of the next one."""
    device = catalogue.dram("hbm3", 5200, 64, 16, capacity * GIB).device
    assert device.stacks == {8: 1, 16: 2, 32: 4}[capacity]
    sizes = [device.size_of(level) for level in LEVELS]
    assert sizes == [device.ranks * device.stacks * 16, device.stacks * 16, 16, 4, 1]
    assert [device.around(level) for level in LEVELS] == [sizes[0], *sizes[:-1]]


@pytest.mark.parametrize(
    ("speed", "gbit", "measured"), [(6400, 16, True), (6400, 32, False), (5500, 16, False), (3200, 32, False)]
)
def test_only_what_a_preset_was_made_for_is_called_its_own(speed: int, gbit: int, measured: bool) -> None:
    said = lpddr5._source(speed, gbit)
    assert said.startswith("Ramulator" if measured else "estimated from") and said.endswith(f"channels of {gbit} Gb")
