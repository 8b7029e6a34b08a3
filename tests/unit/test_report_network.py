"""Pages of a network: the map of links, the busiest ones, rows of cores."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from fixtures_result import make_result
from fixtures_timeline import NS, activity, record

from archsim.ir.activity import LinkFlits, NocStats
from archsim.ir.records import Records
from archsim.report.charts.network import RAMP
from archsim.report.charts.network import network as drawn
from archsim.report.kit import svg
from archsim.report.noc import page as noc_page
from archsim.report.run.layouts import units as units_table
from archsim.report.run.noc_rows import array_count, by_kind, core_bars, links_table, network, sentence
from archsim.report.run.run_sentences import _largest_wait
from archsim.report.run.timeline import chosen, is_shown, place, shown_cores, timeline
from archsim.report.run.timeline import sentence as cores_told
from archsim.sim.blame import timelines
from tests.tools.drawings import LOADS
from tests.tools.tables import shown

STATS = NocStats(
    "mesh",
    1000,
    (LinkFlits(0, 1, 900), LinkFlits(1, 0, 0), LinkFlits(0, 2, 150), LinkFlits(2, 3, 150)),
    (10, 20, 30, 40, 50),
    (5, 4, 3, 2, 1),
    4,
    ((0, 0), (1, 0), (0, 1), (1, 1)),
    (0, 1, 2, 3, 3),
    {"dram": (4,)},
)
ROW = {"busy": 60, "fill_drain": 10, "stall_dram": 20, "imbalance": 6, "idle": 4}
BREAKDOWN = {
    "core[0].array": ROW,
    "core[10].array": ROW,
    "core[2].array": ROW,
    "core[0].load": {"busy": 100},
    "host": {},
}


def test_links_are_coloured_by_their_share() -> None:
    """90 % is of the darkest step, 15 % of the first, nothing is grey; the routers with ports are dark."""
    picture = drawn(network(STATS))
    strokes = re.findall(r'<path [^>]*stroke="(#\w+)"', picture)
    assert strokes == [RAMP[5], RAMP[0], RAMP[1], RAMP[1]]
    assert picture.count('fill="#3A4754"') == 1
    assert "[0, 0] to [1, 0]: 900 flits, 90.0 % busy" in picture
    assert "dram port sent 50, got 1 flits" in picture


def test_rings_and_networks_without_places_are_drawn_too() -> None:
    for places in ((), ((0,), (1,), (2,), (3,)), tuple((0, 0, z) for z in range(4))):
        noc = network(STATS) | {"places": [list(place) for place in places]}
        assert drawn(noc).count("<path") == 4
    assert shown(links_table(network(STATS) | {"places": []}))[0]["link"] == "router 0 \u2192 router 1"


def test_a_wide_network_fits_the_page() -> None:
    places = [[column, 0] for column in range(60)]
    links = [[column, column + 1, 1] for column in range(59)]
    nodes = [{"name": f"core[{n}]", "router": n, "sent_flits": 0, "received_flits": 0} for n in range(60)]
    picture = drawn(network(STATS) | {"places": places, "routers": 60, "links": links, "nodes": nodes})
    ends = [float(x) for x in re.findall(r"Q \S+ \S+ (\S+) ", picture)]
    assert len(ends) == 59 and svg.WIDTH / 2 < max(ends) < svg.WIDTH


def test_the_busiest_links() -> None:
    assert [(row["flits"], row["of the cycles"]) for row in shown(links_table(network(STATS)))] == [
        ("900", "90.0 %"),
        ("150", "15.0 %"),
        ("150", "15.0 %"),
    ]
    assert "30.0 % of their cycles, 90.0 % on the busiest" in sentence(network(STATS))


def test_cores_are_told_apart_and_engines_summed() -> None:
    bars = core_bars(BREAKDOWN)
    assert [bar.name for bar in bars] == ["core[0]", "core[2]", "core[10]"]
    assert bars[0].note == "70.0 % \u00b7 20.0 % \u00b7 10.0 %"
    kinds = {bar.name: bar for bar in by_kind(BREAKDOWN)}
    assert kinds["array, 3 cores"].parts["busy"] == 180
    assert kinds["array, 3 cores"].note == "70.0 %"
    assert array_count({"time_breakdown": BREAKDOWN, "details": {"noc": {}}}) == 3
    assert array_count({"time_breakdown": BREAKDOWN, "details": {}}) == 1
    told = {"time_breakdown": BREAKDOWN, "details": {"noc": {}}, "layers": [{"stalls": {"stall_dram.weights": 60}}]}
    assert _largest_wait(told).endswith("60 cycles over all layers and 3 arrays.")
    assert _largest_wait(told | {"details": {}}).endswith("60 cycles over all layers.")


def running(worked: Mapping[int, int], engine: str, layer: str = "conv") -> dict[str, Records]:
    """Of each core one command of so many ns, from 100 ns on."""
    units = {f"core[{core}].{engine}": ns for core, ns in worked.items()}
    rows = {unit: [record(unit, 0, (100, 100, 100 + ns), layer=layer)] if ns else [] for unit, ns in units.items()}
    return {unit: Records.of(unit, of_unit) for unit, of_unit in rows.items()}


def test_of_many_cores_three_are_shown() -> None:
    """By their work on the layer inside the window, of equals by number; where none computes, by their moves."""
    worked = {core: 10 * (core % 5) for core in range(20)}  # 4 cores without work, 4 of 10, 20, 30 and 40
    computing = running(worked, "array") | running({3: 0, 5: 10**5}, "load")
    cores = shown_cores(computing | {"host": Records("host")}, "conv", 0, 10**9)
    assert cores == {"of": 20, "working": 16, "busiest": 4, "middle": 2, "idlest": 16}
    assert cores_told(cores) == (
        "16 of 20 cores work on it; shown are the busiest (core[4]), one in the middle (core[2]) and the idlest of "
        "them (core[16])."
    )
    assert [is_shown(unit, cores) for unit in ("core[4].load", "core[3].array", "host")] == [True, False, True]
    assert shown_cores(computing, "conv", 0, 120 * NS)["busiest"] == 2  # all of 20 ns and more are alike by then
    moving = running(worked, "store") | running(worked, "array", "other")
    assert shown_cores(moving, "conv", 0, 10**9) == cores
    alone = shown_cores(running(worked, "array", "other") | running({7: 5}, "load"), "conv", 0, 10**9)
    assert chosen(alone) == [7] and alone["working"] == 1
    none = shown_cores(running(worked, "array"), "pool", 0, 10**9)
    assert none == {"of": 20, "working": 0} and cores_told(none) == "None of the 20 cores works on it."
    assert not is_shown("core[0].array", none)


def test_a_timeline_keeps_the_cores_that_are_shown() -> None:
    units = running({core: 10 + core for core in range(20)}, "array")
    found = activity(*(done for records in units.values() for done in records), units=(*units, "host"))
    layer = replace(make_result(1).layers[0], name="conv", op="Conv", cycles_start=0, cycles_end=130, cycles_total=130)
    (window,) = timeline(found, timelines(found), [layer])
    assert window["cores"] == {"of": 20, "working": 20, "busiest": 19, "middle": 9, "idlest": 0}
    assert [unit for unit in window["units"] if unit != "host"] == [f"core[{core}].array" for core in (0, 9, 19)]


def test_engines_of_many_cores_are_summed_in_the_text() -> None:
    told = shown(units_table({"time_breakdown": BREAKDOWN, "details": {"noc": {}}}), "markdown")
    busy = {row["unit"]: row["busy, cycles"] for row in told}
    assert busy["array, 3 cores"] == "180" and not any("core[10]" in unit for unit in busy)
    alone = shown(units_table({"time_breakdown": BREAKDOWN, "details": {}}), "markdown")
    assert {row["unit"]: row["busy, cycles"] for row in alone}["core[10].array"] == "60"


def test_few_cores_are_all_shown() -> None:
    cores = shown_cores(running(dict.fromkeys(range(8), 5), "array"), "conv", 0, 10**9)
    assert cores is None and cores_told(cores) == "" and is_shown("core[7].load", cores)


def test_units_of_the_timeline_stand_by_the_numbers_of_their_cores() -> None:
    units = ["core[0].load", "core[2].array", "core[10].array", "core[10].load", "host"]
    assert sorted(sorted(units), key=place) == units


def test_the_page_of_a_network_draws_latency_against_load() -> None:
    (drawn_curve,) = noc_page._charts("curve", LOADS)
    assert "Latency of a packet in cycles against offered load" in drawn_curve
