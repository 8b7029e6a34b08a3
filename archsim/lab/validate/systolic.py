"""Suite ``systolic``: cycles of os, ws and is arrays against measured rows, every row exact.

Reads ``cases.csv`` (columns in studies/validation/systolic/README.md): a matrix product M, N, K on an array
of rows x cols, one MAC per PE and cycle, no overlap of loads or folds. Source: SCALE-Sim 3.0.0.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from archsim.base.errors import ConfigError, ModelError, nearest
from archsim.base.progress import each
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape, Nest
from archsim.lab.validate.suite import SCORING, ScoredCase, SkippedCase, SuiteResult, speed_of, summarize

FILE = "cases.csv"
THRESHOLD_PCT = 0.0
DATAFLOWS = {"os": "output_stationary", "ws": "weight_stationary", "is": "input_stationary"}
_NUMBERS = ("M", "N", "K", "rows", "cols", "cycles")
_COLUMNS = ("case", "dataflow", *_NUMBERS)
_NEST = Nest(batch=(), m=("m",), n=("n",), k=("k",))
_LARGEST = 2**63 - 1
_EXCESS = "(beyond the header)"  # key of cells that have no column

SystolicRow = Mapping[str, str]


def run(reference: Path) -> SuiteResult:
    """Score every row of ``reference``/cases.csv; a row that cannot be read is listed as skipped.

    Raises ConfigError (file:line) when the directory, the file or a column is missing, or no row is left.
    """
    path = reference / FILE
    scored: list[ScoredCase] = []
    skipped: list[SkippedCase] = []
    folds = {short: catalogue.get(name).fold for short, name in DATAFLOWS.items()}
    start_s = time.process_time()
    for line, row in each(list(_rows(path)), SCORING, "rows"):
        try:
            numbers = _numbers(row)
            dataflow = _dataflow(row)
        except ModelError as error:
            skipped.append(SkippedCase(row["case"] or f"line {line}", f"{path}:{line}: {error}"))
            continue
        extents = {"m": numbers["M"], "n": numbers["N"], "k": numbers["K"]}
        array = ArrayShape(numbers["rows"], numbers["cols"])
        fold = folds[dataflow](_NEST, extents, array, accumulate=False)
        scored.append(ScoredCase(row["case"], numbers["cycles"], fold.cycles))
    if not scored:
        raise ConfigError(f"{path}: no row that can be scored{_first_reason(skipped)}")
    speed = speed_of(len(scored), time.process_time() - start_s)
    return summarize("systolic", scored, threshold=THRESHOLD_PCT, speed=speed, skipped=skipped)


def _first_reason(skipped: list[SkippedCase]) -> str:
    return f"; the first: {skipped[0].reason}" if skipped else ""


def _rows(path: Path) -> Iterator[tuple[int, SystolicRow]]:
    """Line number and cells of every row, cells that are missing as ''."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restkey=_EXCESS, restval="")
            _check_header(path, reader.fieldnames or ())
            for row in reader:
                yield reader.line_num, row
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; --reference needs a directory with {FILE}") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a CSV file in UTF-8: {error}") from error


def _check_header(path: Path, header: Sequence[str]) -> None:
    missing = [column for column in _COLUMNS if column not in header]
    if missing:
        hint = nearest(missing[0], header)
        raise ConfigError(f"{path}:1: no column '{missing[0]}'{hint}; needed: {', '.join(_COLUMNS)}")
    repeated = sorted({column for column in header if header.count(column) > 1})
    if repeated:
        raise ConfigError(f"{path}:1: column '{repeated[0]}' appears twice")


def _numbers(row: SystolicRow) -> dict[str, int]:
    """The integer cells; raises ModelError naming column, value found and allowed range."""
    if _EXCESS in row:
        raise ModelError("more cells than the header has columns (a comma in a name needs quotes)")
    numbers = {}
    for column in _NUMBERS:
        text = row[column].strip()
        value = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(_LARGEST)) else 0
        if not 1 <= value <= _LARGEST:
            raise ModelError(f"column '{column}': found '{text[:40]}'; allowed integers from 1 to {_LARGEST}")
        numbers[column] = value
    return numbers


def _dataflow(row: SystolicRow) -> str:
    found = row["dataflow"].strip()
    if found not in DATAFLOWS:
        raise ModelError(f"column 'dataflow': found '{found[:40]}'; allowed: {', '.join(sorted(DATAFLOWS))}")
    return found
