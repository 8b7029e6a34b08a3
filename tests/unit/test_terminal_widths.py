"""Tables on terminals of any width: numbers, units and headings are whole; bars, names and columns give way."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from fixtures_result import make_result
from rich.console import Console

from archsim.lab.sweep.digest import fronts
from archsim.lab.sweep.form import read as read_sweep
from archsim.lab.sweep.questions import SweepTable
from archsim.lab.sweep.table import table as sweep_table
from archsim.report.compare import terminal as compare_table
from archsim.report.compare.layouts import figures, parts
from archsim.report.kit import table_terminal
from archsim.report.kit.console import folded
from archsim.report.kit.number_format import count, percent
from archsim.report.kit.text_grid import BarCell, GridColumn, TextGrid, _cut
from archsim.report.noc.layouts import curve_table
from archsim.report.run import terminal
from archsim.report.run.headline import headline
from archsim.report.run.layouts import what_would_help
from archsim.report.run.summary import summarise
from archsim.report.scenario import layouts as of_scenario
from archsim.report.sweep import terminal as sweep_terminal
from tests.tools.tables import shown

WHY: list[dict[str, Any]] = [
    {
        "name": "dram channels x2", "keys": {"dram.channels": "8"}, "cycles_total": 2_000_000, "gain_cycles": 337_244,
        "gain_percent": 14.4, "area_mm2": 0.012, "power_mw": 12.2, "reason": "",
    },
    {
        "name": "mxu columns x2", "keys": {"mxu.shape": "[32, 64]"}, "cycles_total": None, "gain_cycles": None,
        "gain_percent": None, "area_mm2": None, "power_mw": None, "reason": "conv1 does not fit into l1 of 64 KiB",
    },
]  # fmt: skip
HEADS = (
    GridColumn("name of the layer", "name"),
    GridColumn("", "bar"),
    GridColumn("cycles' worth"),
    GridColumn("energy", rank=1),
)
ROWS = [
    ("a_layer_with_a_long_name_1", BarCell(0, 0.5), "1,234,567", "12.34 mJ"),
    ("short", BarCell(0.5, 0.501), "7", "< 0.1 %"),
]


def printed(shown: Any, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    shown(console) if callable(shown) else console.print(shown)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    return text


def cells(text: str) -> list[str]:
    """What stands between two blanks or more."""
    return [cell for line in text.splitlines() for cell in re.split(r"\s{2,}", line.strip()) if cell]


def headings(text: str) -> str:
    """The lines over the rule of each table."""
    lines = text.splitlines()
    rules = [at for at, line in enumerate(lines) if line.startswith("\N{BOX DRAWINGS LIGHT HORIZONTAL}")]
    assert rules
    return "\n".join(line for at in rules for line in lines[max(at - 3, 0) : at])


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_numbers_and_headings_of_a_grid_are_whole(width: int) -> None:
    text = printed(TextGrid(HEADS, ROWS), width)
    assert "1,234,567" in text and "\N{HORIZONTAL ELLIPSIS}" not in headings(text)
    assert ("12.34 mJ" in text and "< 0.1 %" in text) or "left out here: energy; --format json" in text
    for word in ("name", "layer", "cycles'", "worth"):
        assert word in headings(text)


def test_bars_shrink_then_go_then_names_are_cut_then_a_column_is_left_out() -> None:
    kinds, bars = [], []
    for width in range(110, 28, -1):
        text = printed(TextGrid(HEADS, ROWS), width)
        blocks = text.count("\N{FULL BLOCK}")
        bars.append(blocks)
        kinds.append((blocks > 0, "\N{HORIZONTAL ELLIPSIS}" not in text, "left out" not in text))
    assert [bar for bar, _, _ in kinds] == sorted((bar for bar, _, _ in kinds), reverse=True)
    assert {22 + 1, 4 + 1, 0} <= set(bars)
    steps = list(dict.fromkeys(kinds))
    assert steps[:3] == [(True, True, True), (False, True, True), (False, False, True)] and not steps[-1][2]


def test_a_text_is_cut_behind_a_word_and_not_behind_a_number() -> None:
    found = TextGrid((GridColumn("", "text"), GridColumn("n")), [("clock 200 MHz, voltage", "1")])
    assert found.text(20).splitlines()[-1].split() == ["clock", "200", "MHz\N{HORIZONTAL ELLIPSIS}", "1"]
    assert found.text(17).splitlines()[-1].split() == ["clock\N{HORIZONTAL ELLIPSIS}", "1"]


@pytest.mark.parametrize("width", [80, 100])
def test_a_run(width: int) -> None:
    summary = summarise(make_result(), WHY)
    text = printed(lambda console: terminal.show(summary, console), width)
    breakdown, total = summary["mac_breakdown"], summary["cycles_total"]
    slots = sum(breakdown.values())
    whole = cells(text)
    for size in breakdown.values():
        if size:
            assert percent(size, slots) in whole and count(round(size * total / slots)) in whole
    for row in shown(what_would_help(summary)):
        assert row["gain, cycles"] in whole and row["gain"] in whole and row["change of the chip"] in text
    assert "mxu columns x2: conv1 does not fit into l1 of 64 KiB" in text
    assert "lower bound" in text
    assert "\N{HORIZONTAL ELLIPSIS}" not in headings(text)
    for name, value, remark in headline(summary):
        assert name in text and value in text and remark in text
    assert not re.search(r"[0-9.,]\N{HORIZONTAL ELLIPSIS}(\s|$)", text)


def scenario() -> dict[str, Any]:
    stream = {
        "model": "hand_tracking", "rate_hz": 30, "deadline_s": 0.0333, "run_s": 2.283e-3, "response_worst_s": 2.514e-3,
        "response_mean_s": 2.514e-3, "slack_min_s": 30.82e-3, "misses": 0, "frames": 3, "utilization": 0.068,
        "energy_frame_j": 283.8e-6, "power_w": 8.514e-3,
    }  # fmt: skip
    point = {
        "point": "middle", "set": {"chip.clock": "400 MHz", "chip.voltage": "0.55 V"}, "load": 0.082, "misses": 0,
        "latency_s": 5.019e-3, "power_idle_w": 3.068e-3, "power_peak_w": 0.4317, "power_avg_w": 13.68e-3,
    }  # fmt: skip
    return {"streams": {"hand": stream}, "points": [point], "point": "middle"}


@pytest.mark.parametrize("width", [80, 100])
def test_a_scenario(width: int) -> None:
    found = scenario()
    streams = of_scenario.streams(found)
    text = printed(table_terminal.rendered(streams), width)
    assert {"30 Hz", "2.514 ms", "0 of 3", "8.514 mW"} <= set(cells(text))
    left_out = text.partition("left out here:")[2]
    for name, cell in shown(streams, "terminal")[0].items():
        assert cell in cells(text) or name in left_out
    text = printed(table_terminal.rendered(of_scenario.points(found)), width)
    assert {"clock 400 MHz, voltage 0.55 V", "5.019 ms", "13.68 mW"} <= set(cells(text))
    assert "\N{HORIZONTAL ELLIPSIS}" not in text


def compared(runs: int) -> dict[str, Any]:
    names = ["base", *(f"run_with_a_long_name_{at}" for at in range(1, runs))]
    values = [1_234_567.0 * (at + 1) for at in range(runs)]
    figure = {"label": "utilization, of the formats' peak", "unit": "cycles", "values": [round(v) for v in values]}
    parts = [{"part": "dram", "base": 1.5e-3, "other": 2.5e-3, "difference": 1e-3}]
    told = {
        "name": names[1], "base": "base", "unit": "cycles", "says": [], "slots": [], "arrays": [], "layers": [],
        "energy": parts,
    }  # fmt: skip
    return {
        "runs": [{"name": name, "title": name, "setting": ["batch 1"]} for name in names],
        "question": [{"label": "clock, Hz", "values": [400_000_000 + at for at in range(runs)]}],
        "figures": [{**figure, "ratios": [value / values[0] for value in values]}],
        "differences": [told],
    }


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("runs", [2, 3, 6])
def test_a_comparison(width: int, runs: int) -> None:
    told = compared(runs)
    text = printed(lambda console: compare_table.show(told, console), width)
    row = figures(told).texts("terminal")[0]
    assert row[0] in text and set(row[1:4]) <= set(cells(text))
    assert all(cell in cells(text) for cell in row) or "left out here: " in text
    energy = parts(told["differences"][0], "energy", "Energy by part", "part", "J")
    assert set(energy.texts("terminal")[0]) <= set(cells(text))
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert compare_table.width(told) is None or runs > 2


@pytest.mark.parametrize("width", [60, 80, 100, None])
def test_a_curve_of_a_network(width: int | None) -> None:
    latency = {"mean": 19.52, "p99": 37, "max": 4039}
    points = [
        {"rate": 0.02, "accepted_flits_per_node_cycle": 0.0197, "stable": True, "latency_cycles": latency},
        {"rate": 0.65, "accepted_flits_per_node_cycle": 0.6012, "stable": False, "latency_cycles": latency},
    ]
    found = {
        "packet_flits": 1, "traffic": "uniform", "seed": 0, "zero_load_cycles": 19.5, "ideal_rate": 1.0,
        "last_stable_rate": 0.02, "accepted_most": 0.6, "points": points,
    }  # fmt: skip
    text = folded("\n".join(table_terminal.text(curve_table(found), width)), width)
    assert {"0.02", "0.0197", "19.5", "37", "4,039", "0.65", "0.6012"} <= set(cells(text))
    assert "not stable: latency grows without end at 0.65" in text
    assert all(len(line) <= (width or 200) for line in text.splitlines())


def test_lines_are_broken_at_blanks_alone() -> None:
    text = "  skipped a-very-long-case: expected 1,234,567.89, got 1,234,568\nshort"
    assert folded(text, None) == text
    lines = folded(text, 30).splitlines()
    assert (
        max(map(len, lines)) <= 30
        and lines[1].startswith("    ")
        and " ".join(text.split()) == " ".join(" ".join(lines).split())
    )


@pytest.mark.parametrize("width", [80, 100])
def test_the_front_of_a_sweep(width: int) -> None:
    axes = [f"memories.l{at}.size_of_a_bank" for at in range(6)]
    sweep = read_sweep(
        "name: s\nchip: c\nmodels: [a_model_with_a_rather_long_name]\nobjectives: [latency_s, max utilization]\naxes: {"
        + ", ".join(f"{axis}: [1024 KiB, 2048 KiB]" for axis in axes)
        + "}\n"
    )
    row = {
        "point": 1234, "model": "a_model_with_a_rather_long_name", "fidelity": "exact", "status": "ok", "reason": "",
        "values": dict.fromkeys(axes, "1024 KiB"), "numbers": {"latency_s": 4.567e-3, "utilization": 0.234},
    }  # fmt: skip
    found = SweepTable.of(sweep_table(sweep, [row]))
    text = printed(lambda console: sweep_terminal.show(fronts(found), console), width)
    assert {"1234", "4.567 ms", "23.4 %"} <= set(cells(text)) and all(len(line) <= width for line in text.splitlines())
    assert "\N{HORIZONTAL ELLIPSIS}" not in headings(text)
    for word in ("point", "latency_s", "utilization"):
        assert word in headings(text)
    shown = cells(text).count("1 MiB")
    left_out = " ".join(text.partition("left out here: ")[2].split())
    assert 1 <= shown < 6 and all(axis in left_out for axis in axes[shown:]) and "results.parquet has all" in left_out


def test_a_word_that_ends_in_the_middle_is_kept() -> None:
    assert _cut("abcd efghijkl", 8, "text") == "abcd\N{HORIZONTAL ELLIPSIS}"
    assert _cut("abc defghijkl", 8, "text") == "abc def\N{HORIZONTAL ELLIPSIS}"
