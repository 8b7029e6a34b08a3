"""Suite ``silicon``: predicted times of operators against times that were measured on chips that exist.

Reads sets.json and the csv files that it names (studies/validation/silicon/README.md). Every time is that of a run of
the shipped chip file, which the command beside it repeats. A set, or a row, that cannot be run has no figures and says
why. Beside each set stands what a roofline with an offset makes of the same rows, and one that is fitted to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from archsim.base.errors import ArchsimError, ConfigError
from archsim.lab.validate.silicon import baselines
from archsim.lab.validate.silicon.measured_chip import SetOnChip, on_chip
from archsim.lab.validate.silicon.predict import SiliconPrediction, each_predicted, job_of, least, least_work
from archsim.lab.validate.silicon.predicted_file import PredictedRow, predicted_rows
from archsim.lab.validate.silicon.sets import PREDICTED, SiliconRow, SiliconSet, read
from archsim.report.checks.silicon_page import KIND

NAME = "silicon"
CALIBRATE = ("shipped", "none")
NOT_PREDICTED = "not predicted yet"


@dataclass(frozen=True, slots=True)
class SetScore:
    """A set with its rows. ``rooflines``: mean error in percent of the published one and the fitted one, None where
    there is none; ``reason``: why none of its rows could be run, '' where some were."""

    measured: SiliconSet
    rows: tuple[SiliconPrediction, ...] = ()
    rooflines: tuple[float | None, float | None] = (None, None)
    reason: str = ""

    @property
    def scored(self) -> list[SiliconPrediction]:
        """The rows that were run."""
        return [row for row in self.rows if not row.reason]

    @property
    def refused(self) -> dict[str, int]:
        """Why rows could not be run, with how many of each."""
        return dict(Counter(row.reason for row in self.rows if row.reason))

    def to_json(self) -> dict[str, object]:
        """Figures in percent, null where no row could be run; p90: the least error that 90 % of rows do not exceed."""
        errors = [100 * row.error for row in self.scored]
        sizes = sorted(map(abs, errors))
        figures: dict[str, float | None] = {
            "mape_pct": fmean(sizes) if sizes else None,
            "median_pct": median(sizes) if sizes else None,
            "p90_pct": sizes[(9 * len(sizes) + 9) // 10 - 1] if sizes else None,
            "max_pct": sizes[-1] if sizes else None,
            "bias_pct": fmean(errors) if errors else None,
            "roofline_pct": self.rooflines[0],
            "fitted_roofline_pct": self.rooflines[1],
        }
        found: dict[str, object] = {"chip": self.measured.chip, "platform": self.measured.platform}
        found |= {"rows": len(errors), "rows_of_set": len(self.measured.rows), **figures}
        not_run = {self.reason: len(self.measured.rows)} if self.reason else self.refused
        return found | ({"not_run": not_run} if not_run else {})


@dataclass(frozen=True, slots=True)
class SiliconResult:
    """Outcome of the suite, set by set."""

    sets: tuple[SetScore, ...]
    calibrate: str = CALIBRATE[0]

    @property
    def met(self) -> bool:
        """Whether at least one row was run."""
        return any(score.scored for score in self.sets)

    def to_json(self) -> dict[str, object]:
        """The JSON object of ``validate silicon --format json``."""
        sets = {score.measured.name: score.to_json() for score in self.sets}
        return {"suite": NAME, "calibrate": self.calibrate, "sets": sets}

    def rows(self) -> Iterable[dict[str, Any]]:
        """Every row with what was predicted, for a table."""
        for score in self.sets:
            for found in score.rows:
                yield {
                    "set": score.measured.name,
                    "case": found.row.case,
                    "time_us": found.row.time_us,
                    "predicted_us": found.time_us if not found.reason else "",
                    "error_pct": 100 * found.error if not found.reason else "",
                    "command": found.command,
                    "not_run": found.reason,
                }

    def to_store(self) -> dict[str, Any]:
        """All of it as plain JSON types, which the pages are made of: that object, and every row with the least that it
        does and moves and what it is bound by."""
        rows = [{**told, **more} for told, more in zip(self.rows(), self._more(), strict=True)]
        return {"schema": KIND.schema, **self.to_json(), "rows": rows}

    def _more(self) -> Iterable[dict[str, Any]]:
        for score in self.sets:
            for found in score.rows:
                work = None if found.reason else least_work(found.row)
                yield {
                    "macs": work.macs if work else None,
                    "bytes": work.bytes if work else None,
                    "bound_by": found.bound_by,
                }


def run(
    reference: Path,
    names: Sequence[str] = (),
    *,
    calibrate: str = CALIBRATE[0],
    jobs: int = 1,
) -> SiliconResult:
    """Score the sets of a directory, or those of ``names``; ``jobs``: processes that run rows.

    Raises ConfigError for a directory that cannot be read and for a set that it does not have.
    """
    if calibrate not in CALIBRATE:
        raise ConfigError(f"calibrate: found '{calibrate}'; allowed {', '.join(CALIBRATE)}")
    found = [_scored(each_set, calibrate == CALIBRATE[0], jobs) for each_set in read(reference, tuple(names))]
    return SiliconResult(tuple(found), calibrate)


def stored(reference: Path) -> SiliconResult:
    """The outcome as the file of predictions in a directory has it; nothing is run. Raises ConfigError for a directory
    that cannot be read."""
    known = predicted_rows(reference / PREDICTED)
    return SiliconResult(tuple(_of_file(measured, known) for measured in read(reference)))


def _of_file(measured: SiliconSet, known: Mapping[tuple[str, str], PredictedRow]) -> SetScore:
    try:
        on = on_chip(measured)
    except ArchsimError as error:
        return SetScore(measured, reason=str(error))
    rows = (_stored(on, row, known.get((measured.name, row.case))) for row in measured.rows)
    return _judged(measured, on, tuple(rows))


def _stored(on: SetOnChip, row: SiliconRow, known: PredictedRow | None) -> SiliconPrediction:
    if known is not None and known.time_us is not None:
        return SiliconPrediction(row, known.command, known.time_us)
    try:
        job_of(on, row)
    except ArchsimError as error:
        return SiliconPrediction(row, reason=str(error))
    return SiliconPrediction(row, reason=(known.reason if known is not None else "") or NOT_PREDICTED)


def _scored(measured: SiliconSet, calibrated: bool, jobs: int) -> SetScore:
    try:
        on = on_chip(measured, calibrated=calibrated)
    except ArchsimError as error:
        return SetScore(measured, reason=str(error))
    return _judged(measured, on, each_predicted(on, measured.rows, jobs, measured.name))


def _judged(measured: SiliconSet, on: SetOnChip, rows: tuple[SiliconPrediction, ...]) -> SetScore:
    """A set with its rows and what rooflines make of those that were run."""
    seen = [row for row in (least(on, found.row) for found in rows if not found.reason) if row is not None]
    return SetScore(measured, rows, (baselines.roofline(seen), baselines.fitted_roofline(seen)))
