"""Suite ``silicon``: predicted times of operators against times that were measured on chips that exist.

Reads sets.json and the csv files that it names (studies/validation/silicon/README.md). Every time is that of a run of
the shipped chip file, which the command beside it repeats. A set, or a row, that cannot be run has no figures and says
why. Beside each set stands what a roofline with an offset makes of the same rows, and one that is fitted to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from archsim.base.errors import ArchsimError, ConfigError
from archsim.lab.validate.silicon import baselines
from archsim.lab.validate.silicon.measured_chip import on_chip
from archsim.lab.validate.silicon.predict import SiliconPrediction, each_predicted, least
from archsim.lab.validate.silicon.sets import SiliconSet, read

NAME = "silicon"
CALIBRATE = ("shipped", "none")


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


def _scored(measured: SiliconSet, calibrated: bool, jobs: int) -> SetScore:
    try:
        on = on_chip(measured, calibrated=calibrated)
    except ArchsimError as error:
        return SetScore(measured, reason=str(error))
    rows = each_predicted(on, measured.rows, jobs, measured.name)
    seen = [row for row in (least(on, found.row) for found in rows if not found.reason) if row is not None]
    return SetScore(measured, rows, (baselines.roofline(seen), baselines.fitted_roofline(seen)))
