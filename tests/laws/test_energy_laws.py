"""Laws 37 and 39 on random activities of the golden chip and of variants with odd rates and clocks."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from token_timelines import World, activities

from archsim.energy.account import account
from archsim.energy.chip import tables_for
from archsim.energy.power import power
from archsim.ir.activity import Activity, edge_ps
from archsim.ir.bandwidth import BandwidthTrace
from archsim.ir.records import Records
from archsim.ir.rows import Record
from archsim.sim.attribution import attribute
from archsim.sim.mac_breakdown import mac_breakdown, peak_macs_per_cycle
from archsim.spec.architecture import Architecture
from archsim.spec.load import load, loads
from archsim.spec.load import replace as with_values

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
CHIP = load(Path(__file__).parents[1] / "golden" / "chip.yaml")
TABLES = tables_for(CHIP)
ACTIONS = tuple((part, action) for part, table in TABLES.parts.items() for action in table.charges)
GRID = """
name: grid
technology: {node: 7nm, voltage: 0.75 V}
clock: 1 GHz
hierarchy:
  - dram: {name: dram, standard: constant, bandwidth: 25.6 GB/s, capacity: 1 GiB, keeps: all}
  - noc: {name: mesh, topology: mesh, shape: [3, 3], link: 32 B, attach: {dram: [[0, 0]]}}
  - sram: {name: l1, size: 16 KiB, word: 16 B, keeps: all}
  - array: {name: mxu, shape: [4, 4], rates: {int8: 1}}
"""
LAYERS = ("l0", "l1", "", "_static")
ONE_CORE = World(cores=1)


@st.composite
def counted(draw: st.DrawFn) -> Activity:
    """A random timeline with random counts."""
    keys = st.tuples(st.sampled_from(LAYERS), st.sampled_from(ACTIONS))
    drawn = draw(st.dictionaries(keys, st.integers(0, 10**12), max_size=20))
    return replace(draw(activities(ONE_CORE)), counts={(layer, *action): n for (layer, action), n in drawn.items()})


@RANDOM
@given(counted(), st.randoms(use_true_random=False))
def test_parts_and_layers_sum_to_the_total(activity: Activity, rng: random.Random) -> None:
    """Law 37: parts sum to the total, layers and _static too; as integers, and as floats in any order."""
    energy = account(activity, CHIP, TABLES)
    assert sum(energy.by_part_zj().values()) == sum(energy.by_layer_zj().values()) == energy.total_zj
    for shares in (energy.by_part_j(), energy.by_layer_j()):
        values = list(shares.values())
        rng.shuffle(values)
        assert sum(values) == energy.total_j
    scopes = {scope: 0.0 for scope in ("chip", "dram", "host")}
    for part, joules in energy.by_part_j().items():
        scopes[energy.scopes[part]] += joules
    assert scopes["chip"] == energy.chip_j
    assert sum(scopes.values()) == energy.total_j


@RANDOM
@given(counted())
def test_half_the_clock(activity: Activity) -> None:
    """Law 37: the same counts over twice the time: dynamic energy equal, static energy doubled, exactly."""
    once = account(activity, CHIP, TABLES)
    twice = account(replace(activity, total_ps=2 * activity.total_ps), CHIP, TABLES)
    assert twice.dynamic_zj == once.dynamic_zj
    assert twice.static_zj == {part: 2 * energy for part, energy in once.static_zj.items()}


@RANDOM
@given(counted())
def test_each_count_is_charged_once(activity: Activity) -> None:
    """Law 37: the energy of two activities together is the sum of theirs (leakage aside)."""
    half = {key: count // 2 for key, count in activity.counts.items()}
    rest = {key: count - half[key] for key, count in activity.counts.items()}
    whole, first, second = (
        sum(account(replace(activity, counts=counts), CHIP, TABLES).dynamic_zj.values())
        for counts in (activity.counts, half, rest)
    )
    assert whole == first + second


@RANDOM
@given(counted())
def test_power_is_energy_over_time(activity: Activity) -> None:
    """Law 37: windows tile the run, their energy is the run's, the peak is at least the average."""
    energy = account(activity, CHIP, TABLES)
    watts = power(activity, energy, TABLES)
    if not activity.total_ps:
        return
    edges = [start for start, _ in watts.trace] + [activity.total_ps / 10**12]
    spent = sum(w * (b - a) for (_, w), a, b in zip(watts.trace, edges, edges[1:], strict=False))
    assert abs(spent - energy.total_j) <= 1e-9 * energy.total_j
    assert watts.peak_w >= watts.avg_w


def variant(rate: str, clock_hz: int) -> Architecture:
    """The golden chip with another rate of its array (4x4) and another clock of the array."""
    return with_values(CHIP, {"mxu.rates": {"int8": rate, "bf16": "1/4"}, "mxu.clock": f"{clock_hz} Hz"})


VARIANTS = tuple(variant(rate, hz) for rate in ("1", "2", "1/3") for hz in (10**9, 700_000_000, 3 * 10**9))


@st.composite
def multiplying(draw: st.DrawFn) -> tuple[Activity, Architecture]:
    """Array commands on edges of the array's clock, with no more MACs than their busy cycles offer."""
    chip = draw(st.sampled_from(VARIANTS))
    array = chip.arrays[0]
    now, records = 0, []
    for index in range(draw(st.integers(1, 8))):
        start = now + draw(st.integers(0, 3))
        fill, busy = draw(st.integers(0, 3)), draw(st.integers(0, 6))
        rate = draw(st.sampled_from(sorted(array.rates.values())))
        slots = ceil(16 * rate)
        macs = draw(st.integers(0, int(busy * min(16 * rate, array.peak_macs_per_cycle))))
        ends = tuple(edge_ps(cycle, array.clock_hz) for cycle in (start, start + fill, start + fill + busy))
        records.append(
            Record(
                "core[0].array",
                index,
                "c",
                "MATMUL",
                "l0",
                "",
                edge_ps(now, array.clock_hz),
                ends[0],
                ends[2],
                None,
                (("fill_drain", ends[1]), ("busy", ends[2])),
                macs,
                slots,
            )  # fmt: skip
        )
        now = start + fill + busy
    total = records[-1].end_ps + draw(st.sampled_from((0, 0, 1, 1700)))
    return Activity(
        "macs",
        total,
        chip.clock_hz,
        {"core[0].array": Records.of("core[0].array", records)},
        {},
        {},
        BandwidthTrace({}),
        {},
    ), chip


@RANDOM
@given(multiplying())
def test_mac_slots_sum_to_cycles_times_peak(case: tuple[Activity, Architecture]) -> None:
    """Laws 35 and 39: all slots are accounted for, none twice; useful slots are the MACs and fit in the total."""
    activity, chip = case
    cube = attribute(activity)
    found = mac_breakdown(activity, chip, cube)
    total = cube.cycles_total * peak_macs_per_cycle(chip)
    assert sum(found.values()) == ceil(total)
    assert min(found.values()) >= 0
    assert found["useful"] == sum(r.macs for q in activity.records.values() for r in q)
    assert found["useful"] <= total + Fraction(chip.arrays[0].peak_macs_per_cycle, 100)


@RANDOM
@given(multiplying())
def test_with_one_clock_slots_are_cycles_times_peak(case: tuple[Activity, Architecture]) -> None:
    """Law 35: on the reference clock each waiting cause is its cycles x peak, and idle is idle time."""
    activity, chip = case
    array = chip.arrays[0]
    peak = array.peak_macs_per_cycle
    if array.clock_hz != chip.clock_hz or peak.denominator != 1:
        return
    cube = attribute(activity)
    found, row = mac_breakdown(activity, chip, cube), cube.time_breakdown()["core[0].array"]
    for cause in ("fill_drain", "stall_dependency", "idle"):
        assert found[cause] == row[cause] * peak
    assert found["useful"] + found["edge_underfill"] + found["dtype_loss"] == row["busy"] * peak


@RANDOM
@given(
    st.dictionaries(
        st.tuples(st.sampled_from(LAYERS), st.sampled_from(("router_flits", "link_flits"))), st.integers(0, 10**12)
    ),
    st.lists(st.integers(1, 6), min_size=1, max_size=2),
)
def test_flits_of_a_network_are_charged_where_they_pass(counts: dict[tuple[str, str], int], shape: list[int]) -> None:
    """Law 37: a network's energy is its flits at routers and links, once each, in the layer that sent them."""
    chip = loads(GRID.replace("[0, 0]", str([0] * len(shape))), {"mesh.shape": shape})
    tables = tables_for(chip)
    keyed = {(layer, "mesh", action): count for (layer, action), count in counts.items()}
    energy = account(Activity("p", 10**6, 10**9, {}, keyed, {}, BandwidthTrace({}), {}), chip, tables)
    spent = {action: sum(n for (_, own), n in counts.items() if own == action) for _, action in counts}
    dynamic = sum(n * tables.charge_zj("mesh", action) for action, n in spent.items())
    assert energy.by_part_zj()["mesh"] == dynamic + energy.static_zj["mesh"]
    assert sum(energy.by_part_zj().values()) == sum(energy.by_layer_zj().values()) == energy.total_zj
