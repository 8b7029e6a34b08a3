"""Runs compared: the parts of each difference sum to it exactly, layers are matched, mistakes are refused."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from fixtures_result import make_result
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from archsim.base.errors import ConfigError
from archsim.lab.compare.match import match
from archsim.lab.compare.runs import Comparison, compare
from archsim.lab.compare.shares import split
from archsim.report.compare import page
from archsim.report.compare.layouts import layers
from archsim.report.kit.number_format import NONE
from archsim.report.run.summary import summarise, to_text
from tests.tools.tables import shown

COLUMNS = ("base", "other", "difference")
AMOUNTS = st.fractions(min_value=0, max_value=10**6, max_denominator=10**9)


@pytest.fixture
def base() -> dict[str, Any]:
    return plain(12)


def plain(layers: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(to_text(summarise(make_result(layers))))
    return found


def layer(name: str, op: str = "Conv", macs: int = 1, fused: tuple[str, ...] = (), **changes: Any) -> dict[str, Any]:
    return {"name": name, "op": op, "macs": macs, "fused_with": fused, "view_of": None, "on_host": False, **changes}


def sums(rows: list[dict[str, Any]]) -> list[float]:
    return [sum(row[column] for row in rows) for column in COLUMNS]


@given(*[st.dictionaries(st.integers(0, 9), AMOUNTS, min_size=1)] * 2)
def test_columns_and_differences_sum_bit_for_bit(base: dict[int, Fraction], other: dict[int, Fraction]) -> None:
    parts = split(base, other)
    wholes = [sum(part.base for part in parts.values()), sum(part.other for part in parts.values())]
    assert sum(part.difference for part in reversed(parts.values())) == wholes[1] - wholes[0]
    largest = float(max(sum(base.values()), sum(other.values())))
    for whole, column in zip(wholes, (base, other), strict=True):
        assert whole == pytest.approx(float(sum(column.values())), abs=2**-52 * largest)
    for key, part in parts.items():
        assert part.base == pytest.approx(float(base.get(key, 0)), abs=2**-51 * largest)


def test_whole_numbers_stay_whole() -> None:
    found = split({"a": Fraction(2**60), "b": Fraction(1)}, {"a": Fraction(2**60 + 1)})
    assert [part.difference for part in found.values()] == [1, -1]
    assert all(isinstance(part.base, int) for part in found.values())


@pytest.mark.parametrize("hz", [800_000_000, 1_100_000_000])
def test_every_view_of_the_difference_sums_to_it(base: dict[str, Any], hz: int) -> None:
    other = plain(14)
    other["architecture"]["clock_hz"] = hz
    (found,) = compare([base, other], ["a", "b"]).told["differences"]
    whole = [found["time"][column] for column in COLUMNS]
    assert found["unit"] == ("cycles" if hz == base["architecture"]["clock_hz"] else "s")
    scale = 1 if found["unit"] == "cycles" else hz
    assert whole[1] * scale == pytest.approx(other["cycles_total"], rel=1e-15)
    assert sums(found["slots"]) == sums(found["layers"]) == sums(found["arrays"]) == whole
    assert sums(found["energy"])[2] == pytest.approx(other["energy_j"] - base["energy_j"], abs=1e-15)


def test_several_arrays_are_their_mean(base: dict[str, Any]) -> None:
    other = copy.deepcopy(base)
    other["time_breakdown"]["core[1].array"] = {"busy": base["cycles_total"]}
    (found,) = compare([base, other], ["a", "b"]).told["differences"]
    assert found["time"]["difference"] == 0
    assert sums(found["arrays"]) == [base["cycles_total"]] * 2 + [0]
    rows = {(row["layer"], row["cause"]): row for row in found["arrays"]}
    assert rows["", "busy"]["other"] == (rows["", "busy"]["base"] + base["cycles_total"]) / 2


def test_the_largest_contributions_are_said(base: dict[str, Any]) -> None:
    other = copy.deepcopy(base)
    row = next(row for row in other["layers"] if row["stalls"].get("stall_dram.weights"))
    less = row["stalls"]["stall_dram.weights"]
    row["stalls"]["stall_dram.weights"] = 0
    row["cycles_critical"] -= less
    for unit in other["time_breakdown"].values():
        unit["stall_dram"] -= less
    other["mac_breakdown"]["stall_dram"] -= less * 1024
    other["cycles_total"] -= less
    says = compare([base, other], ["a", "b"]).says
    assert says[0].startswith(f"b takes {other['cycles_total']:,} cycles, {less:,} cycles fewer than a (-")
    cause = f"waits for DRAM (weights) of {row['name']}"
    assert says[1] == f"Of the arrays' time {less:,} of the {less:,} cycles saved are in {cause}."
    assert says[2].startswith(f"Along the critical path the layers that change most: {row['name']} -{less:,}")
    assert len(says) == 3


def test_layers_are_matched_by_name_then_by_order() -> None:
    left = [layer("a"), layer("b", macs=2), layer("relu", "Relu", 0), layer("gone", "Gemm", 7)]
    right = [layer("b2", macs=2), layer("a", fused=("relu",)), layer("new", "Softmax")]
    pairs = match(left, right)
    assert [(pair.name, pair.base is not None, pair.other is not None) for pair in pairs] == [
        *(("a", True, True), ("b", True, True), ("relu", True, False), ("gone", True, False), ("new", False, True)),
    ]
    assert [pair.remark for pair in pairs] == [
        *("with relu in the other alone", "called b2 in the other", "fused with a in the other"),
        *("not in the other", "not in the base"),
    ]
    changed = [layer("a", on_host=True), layer("b", view_of="a")]
    assert [pair.remark for pair in match(changed, [layer("a"), layer("b")])] == [
        *("on the host in the base alone", "a view of a in the base alone"),
    ]


def test_what_was_asked_differently(base: dict[str, Any]) -> None:
    other = copy.deepcopy(base)
    other["provenance"]["options"]["set"] = {"l1.size": "2 MiB", "mxu.shape": [32, 64]}
    other["provenance"]["archsim_version"] = "0.0.9"
    told = compare([base, other, base], ["a", "b", "c"])
    assert {row["label"]: row["values"] for row in told.told["question"]} == {
        "archsim": ["0.1.0", "0.0.9", "0.1.0"],
        "l1.size": [None, "2 MiB", None],
        "mxu.shape": [None, "[32, 64]", None],
    }
    assert told.says == [
        "The simulators differ: version 0.1.0 and 0.0.9.",
        f"b takes as long as a: {base['cycles_total']:,} cycles.",
        f"c takes as long as a: {base['cycles_total']:,} cycles.",
    ]
    assert list(told.question.columns) == ["a", "b", "c"]


def test_figures_have_units_and_ratios(base: dict[str, Any]) -> None:
    other = {**base, "energy_j": 2 * base["energy_j"], "area_mm2": None}
    rows = {row["key"]: row for row in compare([base, other], ["a", "b"]).told["figures"]}
    assert rows["energy_j"]["ratios"] == [1.0, 2.0] and rows["energy_j"]["unit"] == "J"
    assert rows["area_mm2"]["values"][1] is None and rows["area_mm2"]["ratios"] == [1.0, None]
    assert "die_cost_usd" not in rows
    table = compare([base, other], ["a", "b"]).figures
    assert table.loc["energy_j", "b"] == 2 * base["energy_j"] and table.attrs["units"]["latency_s"] == "s"


def test_tables_have_all_parts(base: dict[str, Any]) -> None:
    found = compare([base, plain(14), plain(10)], ["a", "b", "c"])
    for name in ("slots", "arrays", "layers"):
        table = getattr(found, name)
        assert table.groupby("run")["difference"].sum().to_dict() == {
            row["name"]: row["time"]["difference"] for row in found.told["differences"]
        }
    assert set(found.energy["part"]) == set(base["energy_breakdown_j"])
    assert found.energy.attrs["units"] == {"b": "J", "c": "J"} and found.slots.attrs["units"]["b"] == "cycles"


def test_summaries_without_details_compare(base: dict[str, Any]) -> None:
    bare = {key: value for key, value in base.items() if key != "details"}
    (found,) = compare([bare, plain(14)], ["a", "b"]).told["differences"]
    assert sums(found["layers"])[2] == found["time"]["difference"]
    assert all(row["base"] == 0 for row in found["area"])
    nothing = {**bare, "mac_breakdown": {"useful": 0}, "time_breakdown": {"core[0].vector": {"busy": 3}}}
    (found,) = compare([nothing, nothing], ["a", "b"]).told["differences"]
    assert found["slots"] == [] and found["arrays"] == []
    assert page.html(compare([nothing, nothing], ["a", "b"]).told)


def test_runs_are_called_by_what_tells_them_apart(base: dict[str, Any], tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "summary.json").write_text(to_text(base), encoding="utf-8")
    called = compare([tmp_path / "one", tmp_path / "two" / "summary.json"])
    assert [run["name"] for run in called.told["runs"]] == ["one", "two"]
    other = copy.deepcopy(base)
    other["provenance"]["options"]["set"] = {"l1.size": "2 MiB"}
    assert [run["name"] for run in compare([base, other]).told["runs"]] == [
        *("toy60 on edge_toy", "toy60 on edge_toy, l1.size=2 MiB"),
    ]
    assert [run["name"] for run in compare([base, base]).told["runs"]] == [
        *("1: toy60 on edge_toy", "2: toy60 on edge_toy"),
    ]


def test_mistakes_are_refused(base: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="found 1 run"):
        compare([base])
    with pytest.raises(ConfigError, match="allowed a different one"):
        compare([base, base], ["a", "a"])
    with pytest.raises(ConfigError, match="b: the summary lacks layers"):
        compare([base, {key: value for key, value in base.items() if key != "layers"}], ["a", "b"])
    (tmp_path / "summary.json").write_text('{"schema": "archsim.result/9"}')
    with pytest.raises(ConfigError, match="found schema 'archsim.result/9'; allowed 'archsim.result/2', 'archsim"):
        compare([base, tmp_path])
    with pytest.raises(ConfigError, match="holds a run"):
        compare([base, base]).save(tmp_path)


def test_pages_are_written_escaped_and_made_again(base: dict[str, Any], tmp_path: Path) -> None:
    evil = "<b>|x"
    found: Comparison = compare([base, plain(14)], ["a", evil])
    paths = found.save(tmp_path / "out")
    assert [path.name for path in paths] == ["comparison.json", "report.html", "report.md"]
    texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
    assert evil not in texts["report.html"] and str(escape(evil)) in texts["report.html"]
    assert texts["report.html"].count('<td class="n">') > 20 and "&#34;" not in texts["report.html"]
    for block in texts["report.md"].split("\n\n"):
        lines = [line.replace("\\|", "") for line in block.splitlines() if block.startswith("|")]
        assert len({line.count("|") for line in lines}) <= 1
    assert evil not in found._repr_html_() and str(escape(evil)) in found._repr_html_()
    for name in ("report.html", "report.md"):
        (tmp_path / "out" / name).unlink()
    assert page.rebuild(tmp_path / "out") == paths[1:]
    assert (tmp_path / "out" / "report.html").read_text(encoding="utf-8") == texts["report.html"]
    (tmp_path / "out" / "comparison.json").write_text("{")
    with pytest.raises(ConfigError, match="cannot be read"):
        page.rebuild(tmp_path / "out")


def test_rounding_is_no_difference_of_a_layer(base: dict[str, Any]) -> None:
    other = copy.deepcopy(base)
    other["layers"][3]["energy_j"] *= 1 + 1e-13
    other["layers"][5]["energy_j"] *= 1.5
    (found,) = compare([base, other], ["a", "b"]).told["differences"]
    rows = shown(layers(found))
    assert [row["layer"] for row in rows] == [base["layers"][5]["name"]]
    assert rows[0]["energy"].startswith("+") and rows[0]["difference, cycles"] == NONE


def test_parts_that_exceed_the_whole_are_not_said_to_be_of_it() -> None:
    """500 cycles more of one cause against 100 fewer of another are 400 more; nobody is told of 500 of the 400."""
    from archsim.lab.compare.sentences import _arrays

    def row(cause: str, difference: int) -> dict[str, Any]:
        return {"cause": cause, "layer": "", "difference": difference}

    added = list(_arrays([row("stall_dram.weights", 500), row("fill_drain", -100)], 400, "cycles"))
    assert added == [
        "In the arrays' time 500 cycles are added in waits for DRAM (weights).",
        "Against that are saved 100 in fill and drain: all in all 400 cycles are added.",
    ]
    saved = list(_arrays([row("stall_dram.weights", -500), row("fill_drain", 100)], -400, "cycles"))
    assert saved[0].endswith("500 cycles are saved in waits for DRAM (weights).") and "400 cycles are saved" in saved[1]
    part = list(_arrays([row("stall_dram.weights", 300), row("fill_drain", 100)], 400, "cycles"))
    assert part == [
        "Of the arrays' time 300 of the 400 cycles added are in waits for DRAM (weights); 100 in fill and drain."
    ]
