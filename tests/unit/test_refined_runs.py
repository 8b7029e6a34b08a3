"""run --refine: never slower, the same bits again, and what reports show of it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from archsim.cli.app import main
from archsim.ir.asm.printer import print_program
from archsim.lab.run.job import Job
from archsim.lab.run.run import RunResult, execute
from archsim.report.run import html, markdown

JOB = Job("eye_tracking", "edge_npu", refine=4)


@pytest.fixture(scope="module")
def refined() -> RunResult:
    return execute(JOB)


@pytest.mark.slow
def test_a_refined_run_is_never_slower(refined: RunResult) -> None:
    """Law 46: the better of both runs is kept, whatever the layers gained alone."""
    plain = execute(Job("eye_tracking", "edge_npu"))
    told = refined.summary["details"]["refinement"]
    assert told["analytic_cycles"] == plain.result.cycles_total
    assert refined.result.cycles_total == min(told["analytic_cycles"], told["refined_cycles"])
    assert refined.result.cycles_total <= plain.result.cycles_total
    assert told["candidates"] == 4 and told["kept"] in ("refined", "analytic")
    assert refined.summary["provenance"]["options"]["refine"] == 4
    assert "refine" not in plain.summary["provenance"]["options"]


@pytest.mark.slow
def test_refining_again_gives_the_same_bits(
    refined: RunResult, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Law 48: refined mappings are cached by content; cold, warm and without a cache they are the same."""
    monkeypatch.setenv("ARCHSIM_NO_CACHE", "1")
    cold = execute(JOB)
    assert cold.summary == refined.summary
    assert print_program(cold.built.program) == print_program(refined.built.program)


def test_reports_show_bounds_beside_simulated_cycles(refined: RunResult, tmp_path: Path) -> None:
    paths = {path.name: path for path in refined.save(tmp_path)}
    rows = {row["name"]: row for row in csv.DictReader(paths["layers.csv"].read_text().splitlines())}
    predicted = refined.summary["details"]["predicted"]
    for name, row in predicted.items():
        assert int(rows[name]["bound_cycles"]) == row["bound_cycles"]
        assert row["alone_cycles"] is None or row["alone_cycles"] >= row["bound_cycles"]
        assert rows[name]["alone_cycles"] == ("" if row["alone_cycles"] is None else str(row["alone_cycles"]))
    page = markdown.render(refined.summary)
    assert "## Predicted and simulated" in page and "Refined over up to 4 mappings a layer" in page
    assert 'id="predicted"' in html.render(refined.summary)
    again = json.loads(paths["summary.json"].read_text())
    assert again["details"]["refinement"] == refined.summary["details"]["refinement"]


def test_mappings_of_a_refined_run_can_be_taken_back(refined: RunResult, tmp_path: Path) -> None:
    """mappings.yaml of run --out is a mapping file: pinned, it gives the run's Program."""
    paths = {path.name: path for path in refined.save(tmp_path)}
    again = execute(Job("eye_tracking", "edge_npu", mapping=paths["mappings.yaml"]))
    assert print_program(again.built.program) == print_program(refined.built.program)
    assert again.result.cycles_total == refined.result.cycles_total


def test_the_command_line_refines(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", "eye_tracking", "--on", "edge_npu", "--refine", "4"])
    assert not caught.value.code
    assert "Refined over up to 4 mappings a layer" in " ".join(capsys.readouterr().out.split())
