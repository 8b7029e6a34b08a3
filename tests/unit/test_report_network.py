"""Pages of a network: the map of links, the busiest ones, rows of cores."""

from __future__ import annotations

import re

from archsim.ir.activity import LinkFlits, NocStats
from archsim.report import svg
from archsim.report.charts.network import RAMP
from archsim.report.charts.network import network as drawn
from archsim.report.noc_rows import array_count, busiest, by_kind, core_bars, network, sentence
from archsim.report.timeline import place
from archsim.report.verdict import _largest_wait

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
    assert busiest(network(STATS) | {"places": []})[0]["link"] == "router 0 \u2192 router 1"


def test_a_wide_network_fits_the_page() -> None:
    places = [[column, 0] for column in range(60)]
    links = [[column, column + 1, 1] for column in range(59)]
    nodes = [{"name": f"core[{n}]", "router": n, "sent_flits": 0, "received_flits": 0} for n in range(60)]
    picture = drawn(network(STATS) | {"places": places, "routers": 60, "links": links, "nodes": nodes})
    ends = [float(x) for x in re.findall(r"Q \S+ \S+ (\S+) ", picture)]
    assert len(ends) == 59 and svg.WIDTH / 2 < max(ends) < svg.WIDTH


def test_the_busiest_links() -> None:
    assert [(row["flits"], row["share"]) for row in busiest(network(STATS))] == [
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


def test_units_of_the_timeline_stand_by_the_numbers_of_their_cores() -> None:
    units = ["core[0].load", "core[2].array", "core[10].array", "core[10].load", "host"]
    assert sorted(sorted(units), key=place) == units
