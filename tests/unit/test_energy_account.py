"""Energy of hand-made counts, exact sums as floats, power over windows."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations

import pytest
from fixtures_chip import small_chip
from fixtures_timeline import UNITS, activity, record

from archsim.base.errors import SimulationError
from archsim.energy.account import account
from archsim.energy.chip import tables_for
from archsim.energy.chip_tables import ZJ_PER_J
from archsim.energy.exact_sums import joules, total_joules
from archsim.energy.power import PART_WINDOWS, by_part, power
from archsim.ir.activity import Activity
from archsim.ir.bandwidth import BandwidthTrace

CHIP = small_chip(
    l1__energy={"read": "2 pJ"},
    l1__leakage="1 mW",
    acc__leakage="0 W",
    dram__energy={"read": "1 pJ", "activate": "100 pJ", "refresh": "50 pJ"},
    dram__leakage="3 mW",
    mxu__energy={"mac": "0.5 pJ"},
    mxu__leakage="0 W",
    vpu__leakage="0 W",
)
COUNTS = {
    ("l0", "dram", "pin_read_bytes"): 100,
    ("l0", "dram", "read_bytes"): 90,
    ("l0", "dram", "activates"): 2,
    ("_static", "dram", "refreshes"): 4,
    ("l0", "mxu", "mac"): 1000,
    ("l1", "l1", "read_accesses"): 50,
    ("l1", "l1", "read_bytes"): 400,
    ("", "host", "launches"): 1,
}
TABLES = tables_for(CHIP)


def run() -> Activity:
    base = activity(
        record(UNITS[0], 0, (0, 0, 500), None, (("dram", 500),)),
        record(UNITS[1], 0, (0, 500, 1000), (UNITS[0], 0)),
        record(UNITS[1], 1, (1000, 1000, 3000), layer="l1"),
        total=4000,
    )
    return replace(base, counts=COUNTS)


def test_counts_times_prices_plus_leakage_over_time() -> None:
    energy = account(run(), CHIP, TABLES)
    picojoules = {part: zj / 10**9 for part, zj in energy.by_part_zj().items()}
    assert picojoules == {
        "host": 0,
        "dram": 800 + 200 + 200 + 12_000,  # 100 bytes at 1 pJ/bit, 2 activates, 4 refreshes, 3 mW over 4 us
        "dma": 0,
        "l1": 100 + 4_000,  # 50 words, 1 mW over 4 us
        "acc": 0,
        "mxu": 500,
        "vpu": 0,
    }
    by_layer = {layer: zj / 10**9 for layer, zj in energy.by_layer_zj().items()}
    assert by_layer == {"l0": 1500, "l1": 100, "_host": 0, "_static": 16_200}
    assert energy.chip_j == pytest.approx(4_600e-12)
    assert energy.total_j == pytest.approx(17_800e-12)


def test_work_of_no_layer_is_the_hosts() -> None:
    counts = {("", "mxu", "mac"): 3, ("_host", "mxu", "mac"): 4}
    assert account(replace(run(), counts=counts), CHIP, TABLES).by_layer_zj()["_host"] == 7 * 500_000_000


def test_the_tables_must_be_those_of_the_chip() -> None:
    with pytest.raises(SimulationError, match="no part vpu"):
        account(run(), CHIP, replace(TABLES, parts={n: p for n, p in TABLES.parts.items() if n != "vpu"}))


def test_float_parts_sum_exactly_in_any_order() -> None:
    parts = {"a": 10**21, "b": 3, "c": 7 * 10**18 + 1, "d": 0, "e": 123_456_789_123}
    found = joules(sum(parts.values()), parts)
    assert {sum(order) for order in permutations(found.values())} == {total_joules(sum(parts.values()))}
    assert found["d"] == 0
    for name, exact in parts.items():
        assert abs(found[name] * ZJ_PER_J - exact) <= 2e-16 * sum(parts.values())
    assert joules(0, {"a": 0}) == {"a": 0.0}


def test_float_parts_of_many_sizes_sum_exactly() -> None:
    rng = random.Random(7)
    for _ in range(200):
        parts = {str(i): rng.randrange(10 ** rng.randrange(1, 24)) for i in range(rng.randrange(1, 30))}
        found = list(joules(sum(parts.values()), parts).values())
        rng.shuffle(found)
        assert sum(found) == total_joules(sum(parts.values()))


def test_power_over_windows_of_a_microsecond() -> None:
    """l0: 1000 pJ of DRAM in [0, 0.5) us and 500 pJ of MACs in [0.5, 1); l1: 100 pJ in [1, 3); standing 4 mW."""
    watts = power(run(), account(run(), CHIP, TABLES), TABLES)
    standing = 4e-3 + 200e-12 / 4e-6
    assert watts.window_s == 1e-6
    assert [start for start, _ in watts.trace] == pytest.approx([0, 1e-6, 2e-6, 3e-6])
    levels = [standing + extra for extra in (1500e-12 / 1e-6, 50e-12 / 1e-6, 50e-12 / 1e-6, 0)]
    assert [level for _, level in watts.trace] == pytest.approx(levels)
    assert watts.peak_w == pytest.approx(levels[0])
    assert watts.avg_w == pytest.approx(17_800e-12 / 4e-6)


@pytest.mark.parametrize(("total", "windows"), [(4500, 4), (999, 1), (1, 1), (2_000_000, 1000)])
def test_windows_tile_the_run(total: int, windows: int) -> None:
    """A short last window joins the one before; from a millisecond on there are a thousand."""
    base = activity(record(UNITS[1], 0, (0, 0, total)), total=total)
    busy = replace(base, counts={("l0", "mxu", "mac"): 10**6})
    energy = account(busy, CHIP, TABLES)
    watts = power(busy, energy, TABLES)
    assert len(watts.trace) == windows
    edges = [start for start, _ in watts.trace] + [total * 1e-9]
    spent = sum(w * (b - a) for (_, w), a, b in zip(watts.trace, edges, edges[1:], strict=False))
    assert spent == pytest.approx(energy.total_j)
    assert watts.peak_w >= watts.avg_w


def test_a_run_of_no_time_has_no_power() -> None:
    empty = Activity("none", 0, 10**9, {}, {}, {}, BandwidthTrace({}), {})
    watts = power(empty, account(empty, CHIP, TABLES), TABLES)
    assert (watts.avg_w, watts.peak_w, watts.trace) == (0.0, 0.0, ())


def test_power_by_part_is_the_energy_bit_for_bit() -> None:
    """As over windows of a microsecond: DRAM in the first half of a microsecond, leakage all the time."""
    energy = account(run(), CHIP, TABLES)
    parts = dict(by_part(run(), energy, TABLES))
    assert {len(spent) for spent in parts.values()} == {PART_WINDOWS}
    everything = [joules for spent in parts.values() for joules in spent]
    random.Random(7).shuffle(everything)
    assert sum(everything) == energy.total_j
    for part, joules_ in energy.by_part_j().items():
        assert sum(parts.get(part, ())) == pytest.approx(joules_, abs=1e-15 * energy.total_j * PART_WINDOWS)
    quarter = PART_WINDOWS // 4
    watts = power(run(), energy, TABLES)
    for at, (_, level) in enumerate(watts.trace):
        spent = sum(sum(each[at * quarter : (at + 1) * quarter]) for each in parts.values())
        assert spent == pytest.approx(level * 1e-6, rel=1e-9)
    assert sum(parts["mxu"][: quarter // 2]) < sum(parts["mxu"][quarter // 2 : quarter])


def test_no_time_and_no_energy_have_no_windows() -> None:
    empty = Activity("none", 0, 10**9, {}, {}, {}, BandwidthTrace({}), {})
    assert by_part(empty, account(empty, CHIP, TABLES), TABLES) == ()
