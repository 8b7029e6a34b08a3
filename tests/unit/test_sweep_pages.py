"""Pages of a sweep: what is drawn, what is said."""

from __future__ import annotations

import re
from typing import Any

from archsim.lab.sweep.digest import digest
from archsim.lab.sweep.form import read
from archsim.lab.sweep.questions import SweepTable
from archsim.lab.sweep.table import table
from archsim.report.charts.parallel import parallel
from archsim.report.charts.scatter import scatter
from archsim.report.charts.tornado import tornado
from archsim.report.kit.number_format import NONE
from archsim.report.kit.quantity import shown as figure
from archsim.report.sweep.page import html, markdown

SWEEP = read("""
name: pages
chip: c
models: [a<b, d]
axes: {l1.size: [1 KiB, 2 KiB], dram.channels: [1, 2]}
constraints: ["area_mm2 <= 10"]
objectives: [latency_s, max utilization]
""")
LATENCY, UTILIZATION = {"key": "latency_s", "largest": False}, {"key": "utilization", "largest": True}


def row(point: int, latency: float, utilization: float, model: str = "a<b", **changes: Any) -> dict[str, Any]:
    size, channels = ("1 KiB", "2 KiB")[point // 2 % 2], 1 + point % 2
    numbers = {"latency_s": latency, "utilization": utilization, "area_mm2": changes.pop("area", 5.0)}
    place = {"point": point, "model": model, "fidelity": "fast", "values": {"l1.size": size, "dram.channels": channels}}
    return {**place, "status": "ok", "reason": "", "numbers": numbers, **changes}


ROWS = [
    *(row(0, 4e-3, 0.2), row(1, 2e-3, 0.4), row(2, 3e-3, 0.6), row(3, 1e-3, 0.3, area=11.0)),
    {**row(1, 2.2e-3, 0.4), "fidelity": "exact"},
    row(0, 1.0, 0.5, model="d"),
    row(1, 0.1, 0.5, model="d", status="impossible", reason="does not fit", numbers={}),
]


def said() -> dict[str, Any]:
    return digest(SweepTable.of(table(SWEEP, ROWS)))


def test_what_is_said_in_numbers() -> None:
    first, second = said()["models"]
    assert first["says"] == [
        "3 of 4 points meet all constraints at fidelity fast; 1 of them is on the front at fidelity exact.",
        "The least latency_s: point 1 (l1.size 1 KiB, dram.channels 2) with latency_s 2.2 ms, utilization 40.0 %.",
        "The most utilization: point 1 (l1.size 1 KiB, dram.channels 2) with latency_s 2.2 ms, utilization 40.0 %.",
        "The best balance (the product of the ratios to these): point 1 (l1.size 1 KiB, dram.channels 2) with "
        "latency_s 2.2 ms, utilization 40.0 %; 0 % more latency_s than the best, 0 % less utilization than the best.",
        "Around the best point latency_s changes with l1.size 2 times (2 KiB to 1 KiB), "
        "dram.channels 2 times (2 to 1).",
        "1 point misses area_mm2 <= 10.",
        "area_mm2: lower bound, overheads are not modelled.",
        "On these points fast differs from exact in latency_s by -9.1 % in the mean, -9.1 % at most.",
    ]
    assert first["missed"] == {"area_mm2 <= 10": 1}
    assert second["says"][0] == "1 of 2 points meet all constraints; 1 of them is on the front."
    assert said()["search"] == "grid: 4 of 4 points"
    assert said()["counts"] == {"ok": 6, "impossible": 1}


def test_figures_carry_the_units_of_their_names() -> None:
    assert figure("latency_s", 2.5e-3) == "2.5 ms" and figure("energy_j", 1e-6) == "1 \N{MICRO SIGN}J"
    assert figure("area_mm2", 9.5) == "9.5 mm\N{SUPERSCRIPT TWO}" and figure("power_avg_w", 0.5) == "500 mW"
    assert figure("utilization", 0.915) == "91.5 %" and figure("dram.row_hit_rate", 0.5) == "50.0 %"
    assert figure("cycles_total", 1234567) == "1,234,567" and figure("die_cost_usd", None) == NONE


def test_every_point_is_a_dot_and_the_best_are_joined() -> None:
    points = said()["models"][0]["points"]
    drawn = scatter(points, LATENCY, UTILIZATION)
    assert drawn.count("<circle") == 4 and drawn.count("misses a constraint") == 1
    (path,) = re.findall(r'<polyline points="([^"]*)"', drawn)
    assert len(path.split()) == 2  # points 1 and 2: faster, better used
    assert scatter([], LATENCY, UTILIZATION) == ""
    one = scatter(points[:1], LATENCY, LATENCY)
    assert one.count("<circle") == 1


def test_lines_of_parallel_coordinates_and_bars_of_the_tornado() -> None:
    points = said()["models"][0]["points"]
    drawn = parallel(points, ["l1.size", "dram.channels"], ["latency_s", "utilization"])
    assert drawn.count("<polyline") == 4 and "2 KiB" in drawn
    assert parallel(points[:1], ["l1.size"], ["latency_s"]) == ""
    bars = tornado(said()["models"][0]["sensitivity"], "latency_s")
    assert bars.count("<rect") == 2 and "2 x  (2 to 1)" in bars
    assert tornado([], "latency_s") == ""


def test_pages_escape_names_and_are_the_same_each_time() -> None:
    page = html(said())
    assert "a&lt;b" in page and "a<b" not in page and page == html(said())
    assert page.count('class="chart wide"') == page.count('class="chart narrow"') == 3 and "<nav>" in page
    text = markdown(said())
    assert "grid: 4 of 4 points; rows: 6 ok, 1 impossible" in text and "grid: 4 of 4 points" in page
    assert "## a&lt;b" in text and "| 1 | 1 KiB | 2 | 2.2 ms | 40.0 % |" in text


def test_a_winner_says_what_it_loses_most_to() -> None:
    slots = {"mac_breakdown.useful": 60, "mac_breakdown.stall_dram": 30, "mac_breakdown.idle": 10}
    rows = [row(point, 1e-3 * (1 + point), 0.5 + point / 10) for point in range(2)]
    rows[1]["numbers"] |= slots
    found = digest(SweepTable.of(table(SWEEP, rows)))
    assert {point["point"]: point["bound"] for point in found["models"][0]["front"]} == {
        0: "",
        1: "waits for DRAM 30.0 %",
    }
    assert "waits for DRAM 30.0 %" in markdown(found) and "waits for DRAM 30.0 %" in html(found)
