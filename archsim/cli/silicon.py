"""``validate silicon``: the times of operators on chips that exist."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from archsim.base.writable import check_directory, write_all
from archsim.cli import options as opt
from archsim.cli.printing import progress, put, say_error

if TYPE_CHECKING:
    from archsim.lab.validate.silicon.suite import SiliconResult

ROWS, SUMMARY = "silicon.csv", "silicon.json"


class CalibrateChoice(StrEnum):
    """Which keys of platforms hold."""

    SHIPPED = "shipped"
    NONE = "none"


def validate(
    reference: Path | None, names: tuple[str, ...], calibrate: str, jobs: int, out: Path | None, form: opt.OutputFormat
) -> None:
    """Print the figures of the sets, and write every row into ``out``; exits with 1 where no row could be run."""
    from archsim.lab.validate.silicon import suite
    from archsim.lab.validate.suite import default_reference
    from archsim.report.checks import silicon
    from archsim.report.kit.console import columns, folded

    if out is not None:
        check_directory(out)
    with progress():
        result = suite.run(reference or default_reference(suite.NAME), names, calibrate=calibrate, jobs=jobs)
    figures = json.dumps(result.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
    put(figures if form is opt.OutputFormat.JSON else folded(silicon.to_table(result, columns()), columns()))
    if out is not None:
        write_all(out, {SUMMARY: figures + "\n", ROWS: _rows(result)})
    if not result.met:
        say_error("error: validate silicon: no row could be run")
        raise typer.Exit(1)


def _rows(result: SiliconResult) -> str:
    from archsim.report.kit.part_page import csv_text

    rows = list(result.rows())
    return csv_text(list(rows[0]) if rows else [], [list(row.values()) for row in rows])
