"""`archsim compare` from a user's seat: tables, JSON, pages, mistakes; Programs as text, other clocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tools.commands import Archsim

pytestmark = pytest.mark.slow  # a process for each command

COLUMNS = ("base", "other", "difference")


@pytest.fixture
def runs(archsim: Archsim, chip: str, model: str, tmp_path: Path) -> dict[str, str]:
    """The model on the chip, on one with a wider array, on one with a faster clock, and as a Program text."""
    program = tmp_path / "tiny.asm"
    program.write_text(archsim("asm", model, "--on", chip).stdout)
    asked = {
        "base": (model,),
        "wide": (model, "--set", "mxu.shape=[4, 8]"),
        "fast": (model, "--set", "clock=1.2 GHz"),
        "text": (str(program),),
    }
    for name, arguments in asked.items():
        assert archsim("run", *arguments, "--on", chip, "--out", str(tmp_path / name)).returncode == 0
    return {name: str(tmp_path / name) for name in asked}


def told(archsim: Archsim, *runs: str) -> dict[str, Any]:
    done = archsim("compare", *runs, "--format", "json")
    assert done.returncode == 0 and done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_runs_side_by_side(archsim: Archsim, runs: dict[str, str], tmp_path: Path) -> None:
    summaries = {name: json.loads((Path(path) / "summary.json").read_text()) for name, path in runs.items()}
    found = told(archsim, runs["base"], runs["wide"], runs["fast"], str(Path(runs["text"]) / "summary.json"))
    assert [run["name"] for run in found["runs"]] == ["base", "wide", "fast", "text"]
    asked = {row["key"]: row["values"] for row in found["question"]}
    assert asked["provenance.options.set.mxu.shape"][:3] == [None, "[4, 8]", None]
    wide, fast, text = found["differences"]
    change = summaries["wide"]["cycles_total"] - summaries["base"]["cycles_total"]
    assert change < 0 and wide["time"]["difference"] == change and wide["unit"] == "cycles"
    for view in ("slots", "layers"):
        assert sum(row["difference"] for row in wide[view]) == change
    assert sum(row["difference"] for row in wide["arrays"]) == change
    assert {row["name"] for row in wide["layers"]} >= {"conv1", "conv2", "_host"}
    assert fast["unit"] == "s"
    assert fast["time"]["other"] == pytest.approx(summaries["fast"]["latency_s"], rel=1e-3)
    for view in ("slots", "layers", "arrays"):
        assert sum(row["difference"] for row in fast[view]) == fast["time"]["difference"]
    assert text["time"]["difference"] == 0 and all(row["difference"] == 0 for row in text["arrays"])
    assert text["says"][0].startswith("The models differ")

    done = archsim("compare", runs["base"], runs["wide"], "--out", str(tmp_path / "out"))
    assert done.returncode == 0 and done.stderr == ""
    assert "wide against base" in done.stdout and f"{abs(change):,} cycles fewer than base" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 100
    pages = {name: (tmp_path / "out" / name).read_bytes() for name in ("report.html", "report.md")}
    for name in pages:
        (tmp_path / "out" / name).unlink()
    assert archsim("report", str(tmp_path / "out")).returncode == 0
    assert {name: (tmp_path / "out" / name).read_bytes() for name in pages} == pages


def test_mistakes_are_one_message(archsim: Archsim, chip: str, model: str, tmp_path: Path) -> None:
    assert archsim("run", model, "--on", chip, "--out", str(tmp_path / "a")).returncode == 0
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "summary.json").write_text('{"schema": "archsim.result/0"}')
    (tmp_path / "text.json").write_text("{")
    for arguments, words in (
        ([str(tmp_path / "a")], "two runs or more"),
        ([str(tmp_path / "a"), str(tmp_path / "none")], "cannot be read"),
        ([str(tmp_path / "a"), str(tmp_path / "bad")], "found schema 'archsim.result/0'"),
        ([str(tmp_path / "a"), str(tmp_path / "text.json")], "is not JSON"),
        ([str(tmp_path / "a"), str(tmp_path / "a"), "--out", str(tmp_path / "a")], "holds a run"),
    ):
        done = archsim("compare", *arguments)
        assert done.returncode == 2 and words in " ".join(done.stderr.split()), done.stderr
    done = archsim("report", str(tmp_path / "a"), "--export", "csv,xslx")
    assert done.returncode == 2 and "found 'xslx' (did you mean 'xlsx'?)" in " ".join(done.stderr.split())
    assert not (tmp_path / "a" / "figures.csv").exists()
    done = archsim("report", str(tmp_path / "a"), "--export", "csv,md")
    tables = [f"{name}.csv" for name in ("figures", "causes", "layer_causes", "energy", "layers")]
    assert done.returncode == 0 and done.stderr == "", done.stderr
    made = [Path(line).name for line in done.stdout.splitlines()]
    assert made == ["report.html", "report.md", *tables, "tables.md"]
