"""DRAM over time: windows sum to the totals, and a transfer lies in the windows of its time."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from fixtures_result import make_result
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import archsim as ax
from archsim.report.charts.dram import dram
from archsim.report.run import html, markdown
from archsim.report.run.dram_rows import dram_table, parts_with_rows, sentence
from archsim.report.run.dram_windows import WINDOWS, dram_parts, edge, levelled, spread
from archsim.report.run.summary import summarise
from archsim.report.run.tables import layer_table
from archsim.report.run.trace import trace_json
from tests.tools.tables import shown

SUMMED = ("read_bytes", "write_bytes", "row_hits", "row_misses", "row_conflicts")
WORKLOAD = Path(__file__).resolve().parents[2] / "studies" / "workloads" / "every_kind.yaml"


@given(
    st.integers(1, 3000).flatmap(
        lambda total: st.tuples(
            st.just(total),
            st.integers(1, min(total, 40)),
            st.lists(st.tuples(st.integers(0, total - 1), st.integers(0, total), st.integers(0, 10**6)), max_size=6),
        )
    )
)
def test_spread_conserves_and_stays_in_time(case: tuple[int, int, list[tuple[int, int, int]]]) -> None:
    total, windows, drawn = case
    amounts = [(start, max(start, end), amount) for start, end, amount in drawn]
    found = spread(*columns(amounts), total, windows)
    assert len(found) == windows and sum(found) == sum(amount for _, _, amount in amounts)
    for start, end, amount in amounts:
        for index, share in enumerate(spread(*columns([(start, end, amount)]), total, windows)):
            first, last = edge(index, total, windows), edge(index + 1, total, windows)
            overlap = min(last, end) - max(first, start)
            if end > start:
                assert abs(share - amount * max(overlap, 0) / (end - start)) <= 1
            elif share:
                assert first <= start < last


def columns(amounts: list[tuple[int, int, int]]) -> NDArray[np.int64]:
    """Starts, ends, amounts."""
    return np.array(amounts, dtype=np.int64).reshape(-1, 3).T


def test_spread_beyond_64_bits() -> None:
    """A transfer of 10^15 bytes in 10^16 ps: a share is the amount times a time, over the time."""
    total, amount = 10**16, 10**15 + 7
    found = spread(*columns([(0, total, amount), (1, 2, 5)]), total, 3)
    ends = [amount * edge(index, total, 3) // total for index in range(4)]
    assert found == [ends[1] + 5, ends[2] - ends[1], ends[3] - ends[2]]


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90)), min_size=1, max_size=12), st.integers(0, 99))
def test_no_window_holds_more_than_the_pins_carry(moved: list[tuple[int, int]], spare: int) -> None:
    """Where all fits at all: bytes of both directions stay, and none is moved where no window is too full."""
    read, written = map(list, zip(*moved, strict=True))
    total, most = sum(map(sum, moved)), -(-sum(map(sum, moved)) // len(moved)) + spare
    levelled(read, written, most)
    assert (sum(read), sum(written)) == tuple(map(sum, zip(*moved, strict=True)))
    assert total == sum(read) + sum(written)
    assert max(map(sum, zip(read, written, strict=True))) <= most and min(*read, *written) >= 0
    if max(map(sum, moved)) <= most:
        assert list(zip(read, written, strict=True)) == moved


def check_sums(result: ax.Result) -> None:
    assert result.activity is not None
    for part in dram_parts(result.activity).values():
        windows = part["windows"]
        assert {name: sum(windows[name]) for name in SUMMED} == {name: part[name] for name in SUMMED}
        assert len({len(windows[name]) for name in (*SUMMED, "row_hit_rate")}) == 1
        assert len(windows["row_hits"]) <= WINDOWS
        assert windows["seconds"] * len(windows["row_hits"]) == pytest.approx(result.activity.total_ps * 1e-12)
        for index, rate in enumerate(windows["row_hit_rate"]):
            bursts = sum(windows[name][index] for name in SUMMED[2:])
            assert rate == (windows["row_hits"][index] / bursts if bursts else None)


@pytest.mark.slow
@pytest.mark.parametrize("fidelity", ["exact", "fast"])
def test_windows_and_layers_sum_to_the_run(fidelity: str) -> None:
    run = ax.run(WORKLOAD, on="edge_npu", set={"dram.fidelity": fidelity})
    check_sums(run.result)
    part = run.summary["details"]["dram"]["dram"]
    assert (part["read_bytes"], part["write_bytes"]) == tuple(
        run.summary["dram"][key] for key in ("read_bytes", "write_bytes")
    )
    assert run.summary["dram"]["row_hit_rate"] == part["row_hits"] / sum(part[name] for name in SUMMED[2:])
    activity = run.result.activity
    assert activity is not None
    for action in (*SUMMED[2:], "activates"):
        assert sum(n for (_, _, what), n in activity.counts.items() if what == action) == part[action]
    rates = run.layers["row_hit_rate"]
    moved = run.layers["dram_read_bytes"] + run.layers["dram_write_bytes"] > 0
    assert rates[moved].between(0, 1).all() and rates[~moved].isna().all()


def test_windows_of_the_fixture() -> None:
    result = make_result()
    check_sums(result)
    summary = summarise(result)
    words = sentence("dram", parts_with_rows(summary)["dram"])
    assert words in markdown.render(summary) and words in html.render(summary)
    assert "95.9 % of the bursts hit an open row" in words and "0.9 % meet another row" in words
    rows = shown(dram_table("dram", parts_with_rows(summary)["dram"]), "markdown")
    conflicts = sum(int(row["conflicts"].replace(",", "")) for row in rows)
    assert len(rows) == 10 and conflicts == summary["details"]["dram"]["dram"]["row_conflicts"]


def test_chart_has_a_column_per_window_and_the_peak() -> None:
    summary = summarise(make_result())
    drawing = ElementTree.fromstring(dram(summary["details"]["dram"]["dram"], summary["latency_s"], "dram"))
    assert sum(1 for _ in drawing.iter("rect")) == WINDOWS
    assert "peak 51.2 GB/s" in [node.text for node in drawing.iter("text")]


def test_no_section_without_rows() -> None:
    """A memory of constant rate has no rows; a result without an activity has no windows."""
    summary = summarise(make_result(6))
    for name in ("row_hits", "row_misses", "row_conflicts"):
        summary["details"]["dram"]["dram"][name] = 0
    for page in (summary, summarise(make_result(6, with_activity=False))):
        assert "DRAM over time" not in html.render(page) + markdown.render(page)
    assert all(row["row_hit_rate"] is None for row in layer_table(summary))


def test_trace_counts_the_rows() -> None:
    result = make_result(6)
    assert result.activity is not None
    events = json.loads(trace_json(result))["traceEvents"]
    conflicts = [event["args"]["conflicts"] for event in events if event["name"] == "dram row conflicts"]
    rates = [event["args"]["rate"] for event in events if event["name"] == "dram row-hit rate"]
    assert sum(conflicts) == result.activity.dram["dram"].row_conflicts
    assert 0 < len(rates) <= len(conflicts) and all(0 <= rate <= 1 for rate in rates)
