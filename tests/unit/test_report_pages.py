"""The pages: self-contained, complete, escaped, and with numbers that are those of the summary."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Any

import pytest
from fixtures_result import WHY, make_result
from rich.console import Console

from archsim.ir.activity import Activity
from archsim.ir.causes import CAUSES
from archsim.ir.program import Command, Program, Queue, Ring, Token
from archsim.ir.result import Result
from archsim.report.charts.overview import overview
from archsim.report.charts.roofline import roofline
from archsim.report.charts.stacked import StackedBar, stacked
from archsim.report.charts.waterfall import waterfall
from archsim.report.kit.causes import cause, in_order
from archsim.report.kit.number_format import NONE, count, number, percent, shorten, si
from archsim.report.kit.promises import PROMISES
from archsim.report.kit.svg import ticks
from archsim.report.run import html, markdown, notebook, terminal
from archsim.report.run.summary import summarise
from archsim.report.run.trace import occupancy, trace_json


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    return summarise(make_result(), WHY)


class _Reader(HTMLParser):
    """Checks that tags nest, and collects links and text."""

    VOID = ("meta", "link", "br", "img", "input", "hr")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "srcset", "data")]
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def test_page_is_well_formed_and_loads_nothing(summary: dict[str, Any]) -> None:
    page = html.render(summary)
    reader = read(page)
    assert all(link.startswith(("#", "data:")) for link in reader.links)
    assert {link[1:] for link in reader.links if link.startswith("#")} <= set(reader.ids)
    assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttpRequest", page)


def test_page_has_every_section_and_number(summary: dict[str, Any]) -> None:
    page = html.render(summary)
    words = " ".join(read(page).words)
    for heading in (
        "MAC waterfall",
        "Where the time went",
        "What would help",
        "Roofline",
        "DRAM over time",
        "Energy",
        "Timeline",
        "Layers",
    ):
        assert heading in words
    for layer in summary["layers"]:
        assert f">{layer['name']}<" in page
    for figure in ("2,337,244", "59.3 %", "dram.channels=8", "layer00 does not fit", *(row[0] for row in PROMISES)):
        assert figure in words
    for part in summary["energy_breakdown_j"]:
        assert f">{part}<" in page


def test_foreign_text_is_escaped(summary: dict[str, Any]) -> None:
    evil = "<script>alert(1)</script>"
    poisoned = json.loads(json.dumps(summary).replace("layer00", evil.replace('"', "'")))
    poisoned["workload"]["name"] = evil
    poisoned["provenance"]["warnings"] = [evil]
    assert evil not in html.render(poisoned)
    assert evil not in markdown.render(poisoned)
    assert evil not in notebook.card(poisoned)


def test_page_of_a_result_with_nothing_but_totals(summary: dict[str, Any]) -> None:
    bare = {**summary, "layers": [], "energy_breakdown_j": {}, "area_mm2": None, "details": {}}
    bare["dram"] = {**dict.fromkeys(summary["dram"], 0), "row_hit_rate": None}
    page = html.render(bare)
    read(page)
    assert "Roofline" not in " ".join(read(page).words)
    assert markdown.render(bare)


def test_waterfall_rows_sum_and_leave_out_empty_causes(summary: dict[str, Any]) -> None:
    drawing = ElementTree.fromstring(waterfall(summary["mac_breakdown"], summary["cycles_total"]))
    labels = [node.text for node in drawing.iter("text")]
    assert "dtype loss" not in labels and "waits for DRAM" in labels
    bars = [node for node in drawing.iter("rect")]
    present = sum(1 for size in summary["mac_breakdown"].values() if size)
    assert len(bars) == present + 1
    full = float(bars[0].get("width", "0"))
    assert sum(float(bar.get("width", "0")) for bar in bars[1:]) == pytest.approx(full, abs=0.1)


def test_stacked_bars_fill_their_row() -> None:
    drawing = ElementTree.fromstring(stacked([StackedBar("array", {"busy": 30, "idle": 70})], 100, "units"))
    back, *bars = [float(node.get("width", "0")) for node in drawing.iter("rect")]
    assert bars == [pytest.approx(0.3 * back), pytest.approx(0.7 * back)]


def test_charts_are_well_formed_xml(summary: dict[str, Any]) -> None:
    for drawing in (overview(summary), roofline(summary)):
        ElementTree.fromstring(drawing)


def test_no_layer_lies_above_the_roof(summary: dict[str, Any]) -> None:
    drawing = ElementTree.fromstring(roofline(summary))
    roof = [node for node in drawing.iter("line") if node.get("class") == "roof"]
    top = float(roof[1].get("y1", "0"))
    assert all(float(dot.get("cy", "0")) >= top for dot in drawing.iter("circle"))


def test_markdown_has_the_same_figures(summary: dict[str, Any]) -> None:
    text = markdown.render(summary)
    assert "| waits for DRAM | 16.7 % | 398,889,642 |" in text
    assert "| dram channels x2 | `dram.channels=8` | 2,000,000 | +337,244 | +14.4 % |" in text
    tables = [block for block in text.split("\n\n") if block.startswith("|")]
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1


def test_terminal_fits_100_columns_without_colour(summary: dict[str, Any]) -> None:
    out = io.StringIO()
    terminal.show(summary, Console(file=out, width=100, highlight=False))
    lines = out.getvalue().splitlines()
    assert max(len(line) for line in lines) <= 100
    assert "\x1b" not in out.getvalue()
    text = out.getvalue()
    for words in (
        "toy60 on edge_toy",
        "2,337,244 cycles",
        "waits for DRAM",
        "dram channels x2",
        "warning: model is float32",
    ):
        assert words in text


def test_one_colour_per_cause() -> None:
    by_colour: dict[str, set[str]] = {}
    for known in CAUSES.rows:
        by_colour.setdefault(known.colour, set()).add(known.key)
    assert [keys for keys in by_colour.values() if len(keys) > 1] == [{"useful", "busy"}]
    assert cause("stall_dram.weights").colour == cause("dram").colour == cause("stall_dram").colour
    assert in_order(["idle", "stall_dram.b", "busy", "new", "stall_dram.a"]) == [
        "busy", "stall_dram.a", "stall_dram.b", "idle", "new",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (count(1234567), "1,234,567"),
        (count(None), NONE),
        (percent(1, 8), "12.5 %"),
        (percent(1, 10**9), "< 0.1 %"),
        (percent(0, 10), "0.0 %"),
        (percent(1, 0), NONE),
        (si(2.92e-6, "s"), "2.92 \N{MICRO SIGN}s"),
        (si(51.2e9, "B/s"), "51.2 GB/s"),
        (si(0, "J"), "0 J"),
        (si(1e-6, "s"), "1 \N{MICRO SIGN}s"),
        (si(0.99999e9, "Hz"), "1 GHz"),
        (si(-0.0125, "W"), "-12.5 mW"),
        (number(12345.6), "12,346"),
        (number(0.12345), "0.1235"),
        (number(6707.2), "6,707"),
        (shorten("abcdefghij", 5), "ab\N{HORIZONTAL ELLIPSIS}ij"),
    ],
)
def test_figures_as_people_read_them(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 7), (0, 2.3e-3), (13_440, 51_000), (0, 10**9), (5, 5)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = ticks(high, 8, low)
    assert 1 <= len(found) <= 9
    assert all(low - 1e-9 <= tick <= high * (1 + 1e-9) for tick in found)


def test_trace_events_cover_every_command_and_bandwidth_is_conserved() -> None:
    result = make_result(6)
    assert result.activity is not None
    events = json.loads(trace_json(result))["traceEvents"]
    commands = [e for e in events if e["ph"] == "X" and e["cat"].startswith("layer")]
    assert len(commands) == sum(len(rows) for rows in result.activity.records.values())
    tracks = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert tracks == set(result.activity.records)
    counters = [e for e in events if e["name"] == "dram GB/s"]
    window_s = (counters[1]["ts"] - counters[0]["ts"]) * 1e-6
    moved = sum(e["args"]["read"] + e["args"]["write"] for e in counters) * 1e9 * window_s
    assert moved == pytest.approx(sum(stream.size_bytes for stream in result.activity.bandwidth), rel=1e-3)
    assert any(e["name"] == "power W" for e in events)


def test_trace_needs_an_activity() -> None:
    with pytest.raises(ValueError, match="no activity"):
        trace_json(make_result(2, with_activity=False))


def test_occupancy_rises_with_loads_and_falls_with_the_last_reader() -> None:
    result = make_result(1)
    assert result.activity is not None
    program = two_readers(len(result.activity.records["core[0].load"]))
    levels = occupancy(program, result.activity)["l1"]
    times = [time for time, _ in levels]
    assert times == sorted(times) and len(set(times)) == len(times)
    assert levels[-1][1] == 0
    assert max(size for _, size in levels) > 0 and all(size % 64 == 0 for _, size in levels)
    last_reads = [record.end_ps for record in result.activity.records["core[0].vector"]]
    assert levels[-1][0] == last_reads[-1]


def two_readers(commands: int) -> Program:
    """A load fills a ring that array and vector unit both read."""
    ring = Ring("w", "l1", 0, 64, commands, "weights", "int8", "core[0].load", ("core[0].array", "core[0].vector"))
    load = Command("load", "MOVE", "layer00", waits=(Token("w.free"),), signals=(Token("w.full"),))
    read_ = Command("read", "MATMUL", "layer00", waits=(Token("w.full"),), signals=(Token("w.free"),))
    engines = {"load": load, "array": read_, "vector": read_}
    queues = tuple(
        Queue(f"core[0].{name}", name, name, (command,) * commands)  # type: ignore[arg-type]
        for name, command in engines.items()
    )
    return Program("toy", "edge_toy", ("layer00",), (), (ring,), (), queues)


@pytest.mark.slow
def test_figures_draw_without_a_display(summary: dict[str, Any], tmp_path: Any) -> None:
    from archsim.report.run import plots

    for name in ("waterfall", "timeline", "roofline", "energy", "stalls", "dram", "power"):
        path = tmp_path / f"{name}.png"
        getattr(plots, name)(summary).savefig(path, dpi=40)
        assert path.stat().st_size > 1000


def test_result_and_activity_fixture_sums() -> None:
    result = make_result()
    assert isinstance(result, Result) and isinstance(result.activity, Activity)
    assert sum(result.mac_breakdown.values()) == result.cycles_total * 1024
    for row in result.time_breakdown.values():
        assert sum(row.values()) == result.cycles_total
    assert sum(layer.cycles_critical for layer in result.layers) == result.cycles_total


def test_sources_are_grouped_estimates_first(summary: dict[str, Any]) -> None:
    words = " ".join(read(html.render(summary)).words)
    assert words.index("one descriptor fetch") < words.index("Figures with a source") < words.index("SRAM macro table")
    assert "estimated: one" not in words
