"""``validate systolic``: the recorded rows, the edge counts beside them, and data that is wrong.

Columns that match: ``cycles`` in all 174 rows; ``sram_input_reads`` and ``sram_weight_reads`` in all 120 rows
that have them; ``sram_output_writes`` in the 80 of ws and is. In the 40 of os the tool that measured writes
(rows + cols) elements too many per fold, a known fault; less those they match too.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape, Nest
from archsim.lab.validate import suite, systolic

REFERENCE = suite.default_reference("systolic")
NEST = Nest(batch=(), m=("m",), n=("n",), k=("k",))
HEADER = "case,M,N,K,dataflow,rows,cols,cycles"
GOOD = "one,12,21,8,os,3,8,204"
COUNTS = {"sram_input_reads": "a", "sram_weight_reads": "b", "sram_output_writes": "acc_write"}
KEYS = "suite cases passed exact mape_pct max_error_pct threshold speed failed skipped"


def reference(tmp_path: Path, *lines: str) -> Path:
    """A directory with a cases.csv of these lines."""
    (tmp_path / "cases.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_every_row_is_exact() -> None:
    """174 of 174, error 0, nothing skipped, JSON with the contract's keys."""
    result = systolic.run(REFERENCE)
    assert (result.cases, result.passed, result.exact) == (174, 174, 174)
    assert (result.max_error_pct, result.mape_pct, result.failed, result.skipped) == (0.0, 0.0, (), ())
    assert result.met
    found = json.loads(json.dumps(result.to_json()))
    assert " ".join(found) == KEYS
    assert found["speed"]["cases_per_cpu_s"] > 174 / 5


def test_edge_counts() -> None:
    """Reads and writes over the array's edge, in every row that records them (module docstring)."""
    seen: Counter[tuple[str, str]] = Counter()
    with (REFERENCE / "cases.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["sram_input_reads"]]
    for row in rows:
        m, n, k, height, width = (int(row[column]) for column in ("M", "N", "K", "rows", "cols"))
        dataflow = catalogue.get(systolic.DATAFLOWS[row["dataflow"]])
        fold = dataflow.fold(NEST, {"m": m, "n": n, "k": k}, ArrayShape(height, width), accumulate=False)
        for column, stream in COUNTS.items():
            fault = 0
            if row["dataflow"] == "os" and column == "sram_output_writes":
                fault = -(-m // height) * -(-n // width) * (height + width)
            assert fold.streams[stream].accesses == int(row[column]) - fault, (row["case"], column)
            seen[row["dataflow"], column] += 1
    assert seen == {(dataflow, column): 40 for dataflow in ("os", "ws", "is") for column in COUNTS}


def test_a_wrong_figure_fails(tmp_path: Path) -> None:
    """One cycle off is listed with its error, and the threshold is missed."""
    result = systolic.run(reference(tmp_path, HEADER, GOOD, GOOD.replace("204", "200")))
    assert (result.cases, result.passed, result.exact, result.met) == (2, 1, 1, False)
    assert result.to_json()["failed"] == [{"case": "one", "expected": 200, "got": 204, "error_pct": 2.0}]
    assert (result.mape_pct, result.max_error_pct) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("x,0,21,8,os,3,8,204", "'M': found '0'; allowed integers from 1"),
        ("x,12,-1,8,os,3,8,204", "'N': found '-1'"),
        ("x,12,21,8.5,os,3,8,204", "'K': found '8.5'"),
        ("x,12,21,8,rs,3,8,204", "'dataflow': found 'rs'; allowed: is, os, ws"),
        ("x,12,21,8,os,3,8", "'cycles': found ''"),
        ("x,12,21,8,os,3,inf,204", "'cols': found 'inf'"),
        (f"x,12,21,8,os,{'9' * 5000},8,204", "'rows': found '999"),
        ("x,y,12,21,8,os,3,8,204", "more cells than the header"),
    ],
)
def test_bad_rows_are_skipped_with_their_line(tmp_path: Path, row: str, reason: str) -> None:
    """A row that cannot be read is neither scored nor lost."""
    result = systolic.run(reference(tmp_path, HEADER, GOOD, row))
    assert (result.cases, result.passed) == (1, 1)
    (skipped,) = result.skipped
    assert skipped.case == "x"
    assert "cases.csv:3: " in skipped.reason
    assert reason in skipped.reason


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], r"cases.csv:1: no column 'case'"),
        ([HEADER.replace("cycles", "cycle"), GOOD], r":1: no column 'cycles' \(did you mean 'cycle'\?\)"),
        ([HEADER + ",M", GOOD + ",3"], r"cases.csv:1: column 'M' appears twice"),
        ([HEADER], "no row that can be scored"),
        ([HEADER, "x,0,21,8,os,3,8,204"], "no row that can be scored; the first: .*cases.csv:2: column 'M'"),
    ],
)
def test_bad_files(tmp_path: Path, lines: list[str], reason: str) -> None:
    """A file that cannot be used is a ConfigError with its place."""
    with pytest.raises(ConfigError, match=reason):
        systolic.run(reference(tmp_path, *lines))


def test_files_that_are_no_csv(tmp_path: Path) -> None:
    """No directory, or bytes that are no text."""
    with pytest.raises(ConfigError, match="--reference needs a directory with cases.csv"):
        systolic.run(tmp_path / "none")
    (tmp_path / "cases.csv").write_bytes(b"\xff\xfe\x00case")
    with pytest.raises(ConfigError, match="not a CSV file in UTF-8"):
        systolic.run(tmp_path)
    (tmp_path / "cases.csv").write_text(f'{HEADER}\n"{"x" * 200_000}",1,1,1,os,1,1,1\n')
    with pytest.raises(ConfigError, match="not a CSV file"):
        systolic.run(tmp_path)


def test_default_reference_of_an_unknown_suite() -> None:
    """A suite without data says where it looked."""
    with pytest.raises(ConfigError, match=r"no reference data for suite 'nothing'.*--reference"):
        suite.default_reference("nothing")


def test_scores() -> None:
    """Errors are relative to the expected figure; a threshold in percent is inclusive."""
    cases = [suite.ScoredCase("a", 100, 98), suite.ScoredCase("b", 0, 5), suite.ScoredCase("c", 0, 0)]
    assert [case.error_pct for case in cases] == [2.0, 100.0, 0.0]
    result = suite.summarize("any", cases, threshold=2.0, speed={})
    assert (result.passed, result.exact, result.failed) == (2, 1, (cases[1],))
    assert not suite.summarize("any", [], threshold=0.0, speed={}).met
