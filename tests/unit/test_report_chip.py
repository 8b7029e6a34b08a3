"""What an architect reads beside time: bottlenecks in order, power that integrates to the energy, areas to scale."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from fixtures_result import make_result
from hypothesis import given
from hypothesis import strategies as st

from archsim.report.charts.power import colours, peak, power
from archsim.report.charts.treemap import HEIGHT, WIDTH, TreemapBox, squarified, treemap
from archsim.report.run import html, markdown
from archsim.report.run.chip_parts import area_colours, part_colours, power_sentence, without_model
from archsim.report.run.layouts import bottlenecks, by_gain, gain_per_mm2
from archsim.report.run.summary import summarise
from tests.tools.tables import shown


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    return summarise(make_result())


def test_a_square_room_is_filled_from_the_left() -> None:
    boxes = squarified([3.0, 1.0], TreemapBox(0.0, 0.0, 2.0, 2.0))
    assert boxes == [TreemapBox(0.0, 0.0, 1.5, 2.0), TreemapBox(1.5, 0.0, 0.5, 2.0)]


def test_bottlenecks_are_ranked_with_their_layers(summary: dict[str, Any]) -> None:
    rows = shown(bottlenecks(summary))
    assert [row["rank"] for row in rows] == ["1", "2"] and [row["cause"] for row in rows] == ["busy", "DRAM"]
    critical = summary["details"]["critical"]
    first = max(critical, key=lambda layer: critical[layer]["busy"])
    assert rows[0]["layers with most of them"].startswith(f"{first} {critical[first]['busy']:,}")
    assert rows[0]["cycles"] == f"{sum(causes['busy'] for causes in critical.values()):,}"
    assert not bottlenecks({"details": {}, "cycles_total": 1})


def change(name: str, gain: int | None, area: float | None = 1.0) -> dict[str, Any]:
    percent = None if gain is None else gain / 10
    return {"name": name, "gain_cycles": gain, "gain_percent": percent, "area_mm2": area}


def test_what_would_help_most_is_first() -> None:
    rows = [change("a", 5), change("b", None), change("c", 20, 0.5), change("d", -3), change("e", 7, None)]
    assert [row["name"] for row in by_gain(rows)] == ["c", "e", "a", "d", "b"]
    assert [gain_per_mm2(row) for row in by_gain(rows)] == ["4", "\u2013", "0.5", "\u2013", "\u2013"]


def test_the_power_of_the_page_integrates_to_the_energy(summary: dict[str, Any]) -> None:
    windows = summary["details"]["power"]
    assert sum(sum(spent) for spent in windows.values()) == pytest.approx(summary["energy_j"], rel=1e-15)
    index, most = peak(windows)
    assert (index, most) == (63, pytest.approx(summary["energy_j"] * 64 / 2080))
    drawing = ElementTree.fromstring(f"<svg>{power(windows, 0, summary['latency_s'], summary['power_avg_w'])}</svg>")
    bands = [node.get("d", "") for node in drawing.iter("path")]
    assert len(bands) == len(windows)
    areas = [area(path) for path in bands]
    assert [each / sum(areas) for each in areas] == pytest.approx(
        sorted((sum(spent) / summary["energy_j"] for spent in windows.values()), reverse=True), abs=2e-3
    )
    assert sum(1 for node in drawing.iter("rect")) == 64
    assert "the energy of the run" in power_sentence(summary) and power_sentence({"details": {}}) == ""


def area(path: str) -> float:
    """Of a polygon, by the shoelace formula."""
    corners = [tuple(map(float, pair.split())) for pair in re.split(r" L |M | Z", path) if pair]
    pairs = zip(corners, [*corners[1:], corners[0]], strict=True)
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in pairs)) / 2


@given(st.lists(st.floats(min_value=1e-3, max_value=1e3), min_size=1, max_size=12))
def test_rectangles_are_to_scale_and_fill_the_room(areas: list[float]) -> None:
    ordered = sorted(areas, reverse=True)
    boxes = squarified(ordered, TreemapBox(0, 0, 300, 200))
    scale = 300 * 200 / sum(ordered)
    assert [box.width * box.height for box in boxes] == pytest.approx([each * scale for each in ordered], rel=1e-6)
    for at, box in enumerate(boxes):
        assert box.x >= -1e-6 and box.y >= -1e-6 and box.x + box.width <= 300.001 and box.y + box.height <= 200.001
        for other in boxes[:at]:
            across = min(box.x + box.width, other.x + other.width) - max(box.x, other.x)
            down = min(box.y + box.height, other.y + other.height) - max(box.y, other.y)
            assert min(across, down) <= 1e-6 * 300


def test_rectangles_of_known_areas() -> None:
    """The example of the paper: 6, 6, 4, 3, 2, 2, 1 in 6 x 4."""
    boxes = squarified([6, 6, 4, 3, 2, 2, 1], TreemapBox(0, 0, 6, 4))
    assert boxes[:2] == [TreemapBox(0, 0, 3, 2), TreemapBox(0, 2, 3, 2)]
    assert boxes[2] == (3, 0, pytest.approx(12 / 7), pytest.approx(7 / 3))


def test_areas_are_labelled_and_those_unknown_said(summary: dict[str, Any]) -> None:
    details = {**summary["details"], "area_breakdown_mm2": {"dram interface": 2.0, "l1": 1.0, "dma": 0.0}}
    found = {**summary, "details": details}
    drawing = ElementTree.fromstring(treemap(details["area_breakdown_mm2"], area_colours(found), "areas"))
    rects = [node for node in drawing.iter("rect")]
    sizes = [float(node.get("width", "0")) * float(node.get("height", "0")) for node in rects]
    assert sizes == pytest.approx([WIDTH * HEIGHT * 2 / 3, WIDTH * HEIGHT / 3], rel=1e-3)
    assert [node.text for node in drawing.iter("text")][:2] == ["dram interface", "2 mm\N{SUPERSCRIPT TWO}"]
    assert rects[0].get("fill") == part_colours(found)["dram"]
    assert without_model(found) == ["dma"] and "No area model: dma." in html.render(found)
    assert "| dma | no area model |" in markdown.render(found)
    assert treemap({"dma": 0.0}, {}, "none") == ""


def test_colours_end_in_grey() -> None:
    found = colours([str(at) for at in range(10)])
    assert len(set(found.values())) == 9 and found["8"] == found["9"]
