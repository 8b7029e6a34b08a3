"""The pages of the suite silicon: what they say, draw and list; they are made from the stored numbers alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from archsim.base.errors import ConfigError
from archsim.lab.files.stored_results import rebuilt
from archsim.lab.validate.silicon import causes, suite
from archsim.lab.validate.silicon.measured_chip import on_chip
from archsim.lab.validate.silicon.sets import PREDICTED
from archsim.report.charts import residuals
from archsim.report.charts.power import COLOURS
from archsim.report.checks import silicon, silicon_page
from archsim.report.kit import part_page
from archsim.report.kit.svg import NARROW

ROWS = (
    "case,op,format,shape,time_us,floor_us,source\n"
    "one,gemm,bf16,m=32 k=1024 n=1024,3.672,0,measured\n"
    "two,gemm,bf16,m=128 k=1024 n=2048,5.9,0,measured\n"
    "three,softmax,bf16,rows=64 cols=256,50,0,measured\n"
    "four,gemm,bf16,m=128 k=1024,5.9,0,measured\n"
)
SETS = {"mine": {"chip": "tpu_v6e", "platform": "xla", "timed": "device"}}
SETS["other"] = {**SETS["mine"], "chip": "tpu_v9"}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> suite.SiliconResult:
    folder = tmp_path_factory.mktemp("sets")
    (folder / "sets.json").write_text(json.dumps(SETS))
    for name in SETS:
        (folder / f"{name}.csv").write_text(ROWS)
    return causes.explained(suite.run(folder), most=2)


@pytest.fixture(scope="module")
def found(result: suite.SiliconResult) -> Mapping[str, Any]:
    return result.to_store()


def test_every_row_has_the_least_that_it_does_and_moves(found: Mapping[str, Any]) -> None:
    first, _, third, fourth = found["rows"]
    assert (first["macs"], first["bytes"]) == (32 << 20, 2 * (32 * 1024 + 1024 * 1024 + 32 * 1024))
    assert (third["macs"], third["bytes"]) == (0, 2 * 2 * 64 * 256)
    assert fourth["macs"] is None and fourth["not_run"]
    assert {key: found[key] for key in ("schema", "suite", "calibrate")} == {
        "schema": silicon_page.KIND.schema, "suite": "silicon", "calibrate": "shipped"
    }  # fmt: skip


def test_the_worst_rows_have_what_bounds_their_runs(found: Mapping[str, Any], result: suite.SiliconResult) -> None:
    """As many as are asked for; a row's own run says it."""
    worst = silicon.worst(found)
    errors = [abs(row[4]) for row in worst.rows]
    assert errors == sorted(errors, reverse=True) and len(errors) == 3
    assert worst.columns[-1].head == "bound by" and [row[-1] for row in worst.rows] == ["launch", "DRAM", "–"]


def test_a_row_of_which_most_lies_between_kernels_is_bound_by_its_launch(result: suite.SiliconResult) -> None:
    """The prediction has what lies between kernels, which the first run has not."""
    score = result.sets[0]
    on, row = on_chip(score.measured), score.rows[2]
    assert causes.bound_by(causes.AskedRow(on, row)) == row.bound_by == "launch"
    assert causes.bound_by(causes.AskedRow(on, replace(row, time_us=row.time_us / 4))) == "dram"


def test_rows_of_very_many_commands_stay_without(result: suite.SiliconResult, monkeypatch: pytest.MonkeyPatch) -> None:
    score = result.sets[0]
    monkeypatch.setattr(causes, "MOST_COMMANDS", 1)
    assert causes.bound_by(causes.AskedRow(on_chip(score.measured), score.rows[0])) == ""
    bare = {**result.to_store(), "rows": [{**row, "bound_by": ""} for row in result.to_store()["rows"]]}
    assert "bound by" not in [column.head for column in silicon.worst(bare).columns]


def test_the_page_says_how_many_rows_are_near_and_which_sets_rooflines_beat(found: Mapping[str, Any]) -> None:
    said = silicon_page.says(found)
    near = sum(abs(row["error_pct"]) <= 10 for row in found["rows"] if not row["not_run"])
    assert said[0] == f"Of 3 rows that were run, {near} are within 10 % of what was measured."
    assert said[-1] == "5 rows without a prediction, for the reasons below."
    figures = {"mape_pct": 5.0, "roofline_pct": 20.0, "fitted_roofline_pct": 6.0, "rows": 3, "rows_of_set": 3}
    beaten = {**figures, "mape_pct": 7.0}
    judged = {**found, "sets": {"good": figures, "bad": beaten, "none": {**beaten, "fitted_roofline_pct": None}}}
    assert silicon_page.says(judged)[1:] == ["Sets below both rooflines: 1 of 2; not bad."]
    assert silicon_page.says({**judged, "sets": {"good": figures}})[1:] == ["Sets below both rooflines: 1 of 1."]
    assert silicon_page.says({**found, "rows": []}) == ["No row could be run."]


def test_charts_have_a_dot_for_each_row_in_the_colour_of_its_chip() -> None:
    rows = [
        {"chip": chip, "set": "s", "case": str(at), "time_us": 10.0, "predicted_us": 10.0 + at, "bytes": at and 10**at}
        for at, chip in enumerate(("a", "b", "a", "c"))
    ]
    drawn = residuals.against(rows)
    assert drawn.count('class="dot"') == 4 and drawn.count('r="3"') == 4
    assert "s, 1: measured 10.00 µs, predicted 11.00 µs (+10.0 %)" in drawn
    assert ">b<" in drawn and drawn.count(f'fill="{COLOURS[0]}"') == 3  # two dots and the legend
    along = residuals.along(rows, "bytes", "bytes moved", NARROW)
    assert along.count('class="dot"') == 3 and ">bytes moved<" in along  # one has none
    assert f'fill="{COLOURS[2]}"' in along and "<title>s, 1" not in along
    assert residuals.against([]) == residuals.along([], "bytes", "") == ""
    assert residuals.along([{**rows[0], "bytes": 0}], "bytes", "") == ""


def test_a_row_that_is_far_off_stands_at_the_edge() -> None:
    row = {"chip": "a", "set": "s", "case": "c", "time_us": 1.0, "bytes": 8}
    far, further = (residuals.along([{**row, "predicted_us": factor}], "bytes", "b") for factor in (10.0, 1000.0))
    assert far.replace("10.00 µs (+900.0 %)", "") == further.replace("1,000.00 µs (+99900.0 %)", "")


def test_pages_are_made_again_from_the_stored_numbers(found: Mapping[str, Any], tmp_path: Path) -> None:
    paths = part_page.save(tmp_path, dict(found), silicon_page.KIND)
    assert {path.name for path in paths} == {"silicon.json", PREDICTED, "report.html", "report.md"}
    before = {path.name: path.read_bytes() for path in paths}
    (tmp_path / "report.html").unlink()
    assert {path.name for path in rebuilt(tmp_path)} == {"report.html", "report.md"}
    assert {path.name: path.read_bytes() for path in paths} == before
    page = before["report.html"].decode()
    assert page.count("<svg") == 6 and "Rows without a prediction" in page and "no chip &#39;tpu_v9&#39;" in page


def test_pages_do_not_replace_those_of_another_result(tmp_path: Path) -> None:
    (tmp_path / "noc.json").write_text("{}")
    with pytest.raises(ConfigError, match="holds a network's run"):
        part_page.check_free(tmp_path, silicon_page.KIND)


def test_whether_calibrated_numbers_held_is_told(result: suite.SiliconResult) -> None:
    made = silicon_page.KIND.page({**replace(result, calibrate="none").to_store()})
    assert made.setting == ("numbers of platforms that were calibrated: left out",)
    assert silicon_page.KIND.page(result.to_store()).setting == (
        "numbers of platforms that were calibrated: as shipped",
    )


def test_the_stored_predictions_make_the_same_outcome(
    result: suite.SiliconResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without running anything; rows that nobody predicted say so, those that cannot be run say why."""
    folder = Path(result.sets[0].rows[0].row.place.rpartition(":")[0]).parent
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    table = silicon_page.KIND.page(result.to_store()).tables[PREDICTED]
    (tmp_path / PREDICTED).write_text(table)
    monkeypatch.setattr(suite, "each_predicted", None)
    assert suite.stored(tmp_path).to_json() == result.to_json()
    (tmp_path / PREDICTED).write_text("".join(line for line in table.splitlines(True) if ",one," not in line))
    fewer = suite.stored(tmp_path).to_json()["sets"]
    assert fewer["mine"]["rows"] == 2 and fewer["mine"]["not_run"][suite.NOT_PREDICTED] == 1
    assert "gemm: no size 'n'; needed m, k, n" in fewer["mine"]["not_run"]
    head = table.splitlines()[0]
    (tmp_path / PREDICTED).write_text(f"{head}\nmine,one,3.672,,,,\n")
    assert suite.stored(tmp_path).to_json()["sets"]["mine"]["rows"] == 0  # neither a time nor a reason


def test_ticks_of_near_sizes_differ() -> None:
    row = {"chip": "a", "set": "s", "case": "c", "time_us": 1.0, "predicted_us": 1.1}
    drawn = residuals.along([{**row, "bytes": size} for size in (2.0e6, 3.0e6, 4.1e6)], "bytes", "b")
    assert ">2.5e6<" in drawn and ">3e6<" in drawn
    assert ">0.8<" in drawn and ">1.25<" in drawn


@pytest.mark.parametrize("key", ["time_us", "predicted_us", "bytes"])
def test_damaged_numbers_are_refused(found: Mapping[str, Any], tmp_path: Path, key: str) -> None:
    rows = [{**row, key: 0} if not row["not_run"] else row for row in found["rows"]]
    (tmp_path / "silicon.json").write_text(json.dumps({**found, "rows": rows}))
    with pytest.raises(ConfigError, match="damaged .rows: found a time or a size that is not above 0"):
        rebuilt(tmp_path)
