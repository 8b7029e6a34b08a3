"""``validate area`` and ``validate power`` as users type them: JSON, tables, pages, mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from archsim.cli.app import main
from archsim.lab.validate.suite import WORTH, default_reference

SCORE = {"cases", "factor_gm", "factor_worst"}


def status(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert status(*arguments, "--format", "json") == 0
    return json.loads(capsys.readouterr().out)


def test_the_json_of_areas(capsys: pytest.CaptureFixture[str]) -> None:
    made = found(capsys, "validate", "area")
    for name in ("shipped", "leave_one_out", "without_fill", "today"):
        assert set(made[name]) == SCORE
    assert len(made["rows"]) == 21
    for row in made["rows"]:
        assert set(row) == {"case", "published", "predicted", "low", "high", "status", "class", "parts"}
        assert sum(row["parts"].values()) == pytest.approx(row["predicted"])
        assert (row["low"] is None) is (row["class"] == "edge")
    assert {"chip", "block", "published", "predicted"} == set(made["floorplans"][0])


def test_the_json_of_powers(capsys: pytest.CaptureFixture[str]) -> None:
    made = found(capsys, "validate", "power")
    for name in ("shipped", "leave_one_out", "today"):
        assert set(made[name]) == SCORE | {"idle", "busy"}
        assert set(made[name]["idle"]) == set(made[name]["busy"]) == SCORE
    assert made["idle"] == made["shipped"]["idle"] and made["busy"] == made["shipped"]["busy"]
    for row in made["rows"]:
        assert row["low"] < row["predicted"] < row["high"]
        assert sum(row["parts"].values()) == pytest.approx(row["predicted"])


@pytest.mark.parametrize("suite", ["area", "power"])
def test_pages_are_written_made_again_and_kept_apart(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / suite
    assert status("validate", suite, "--out", str(out)) == 0
    assert "leave" not in capsys.readouterr().err
    names = {f"{suite}.json", f"{suite}.csv", "report.html", "report.md"}
    assert {path.name for path in out.iterdir()} == names
    page = (out / "report.html").read_text(encoding="utf-8")
    (out / "report.html").unlink()
    assert status("report", str(out)) == 0
    assert (out / "report.html").read_text(encoding="utf-8") == page and "mean factor" in page
    other = {"area": "power", "power": "area"}[suite]
    assert status("validate", other, "--out", str(out)) == 2
    assert f"holds the suite {suite}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"node_nm": 2}, "dies.json: a100: no technology table '2nm'"),
        ({"macs": {"fp17": 1}}, "dies.json: a100: the area table has no gates for 'fp17'"),
        ({"links": [{"kind": "nvlink9", "lanes": 1}]}, "dies.json: a100: no link 'nvlink9'"),
        ({"dram": {"kind": "hbm9", "units": 1}}, "dies.json: a100: no interface of a memory 'hbm9'"),
    ],
)
def test_dies_that_cannot_be_predicted_are_named(
    changed: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dies = json.loads((default_reference(WORTH) / "dies.json").read_text(encoding="utf-8"))
    dies["a100"] |= changed
    (tmp_path / "dies.json").write_text(json.dumps(dies), encoding="utf-8")
    assert status("validate", "area", "--reference", str(tmp_path)) == 2
    assert said in capsys.readouterr().err


def test_a_die_with_nothing_on_it_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = {"node_nm": 7, "die_mm2": 10, "area_status": "seen", "class": "gpu"}
    (tmp_path / "dies.json").write_text(json.dumps({"a": empty}), encoding="utf-8")
    assert status("validate", "area", "--reference", str(tmp_path)) == 2
    assert "dies.json: a: found nothing on the die" in capsys.readouterr().err


def test_options_of_other_suites_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("validate", "area", "--set", "a100_gemm") == 2
    assert status("validate", "power", "--allow-skipped") == 2
    assert status("validate", "noc", "--out", "x") == 2
    assert "is an option of the suite silicon, area or power" in " ".join(capsys.readouterr().err.split())
