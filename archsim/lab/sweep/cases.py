"""Cases of the band of ``fidelity: cost``: points of small sweeps with their cost figures and their simulated ones.

A case is a line of ``cases.csv`` in ``studies/validation/cost_band``. The error of a figure at a point is
``ln(cost / simulated)``. What misleads a choice between two points of one sweep is not that error, which they may
share, but the difference of their errors, so the band of a figure in a class of chips is the 95th percentile of
``|error_i - error_j|`` over all pairs of points of one sweep (one model, one chip, some of its keys swept), all sweeps
of the class together. The percentile is the least difference that at least 95 % of the pairs do not exceed (nearest
rank, ISO 3534-1 sense of a sample quantile: no value between two measured ones is made up).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from io import StringIO
from itertools import combinations, groupby
from math import ceil, log
from pathlib import Path
from typing import Any

from archsim.base.errors import ConfigError
from archsim.ir.figure_table import ENERGY, LATENCY

OK, IMPOSSIBLE, FAILED = "ok", "impossible", "failed"
ONE_CORE, MANY_CORES = "one_core", "many_cores"
CLASSES = (ONE_CORE, MANY_CORES)
FIGURES = (LATENCY, ENERGY)
PERCENT = 95


@dataclass(frozen=True, slots=True)
class SweepCase:
    """A point: ``sweep`` is the number of the swept keys among those of its chip, ``point`` its number in that sweep,
    ``values`` what it sets, ``simulated`` the fidelity of the run beside it; figures in seconds and joules, None where
    the point is impossible, of which ``reason`` tells."""

    model: str
    chip: str
    sweep: int
    point: int
    values: str
    cores: int
    simulated: str
    status: str
    cost_latency_s: float | None = None
    simulated_latency_s: float | None = None
    cost_energy_j: float | None = None
    simulated_energy_j: float | None = None
    reason: str = ""

    @property
    def of_sweep(self) -> tuple[str, str, int]:
        """The sweep that this is a point of."""
        return self.model, self.chip, self.sweep

    @property
    def class_(self) -> str:
        """``one_core`` or ``many_cores``, by the cores of the point's own chip."""
        return class_of(self.cores)

    def error(self, figure: str) -> float:
        """``ln(cost / simulated)`` of ``latency_s`` or ``energy_j``; raises ConfigError where that is no number."""
        cost, simulated = getattr(self, f"cost_{figure}"), getattr(self, f"simulated_{figure}")
        if not cost or not simulated or cost < 0 or simulated < 0:
            raise ConfigError(f"{figure} of {self.model} on {self.chip}, point {self.point}: found {cost}, {simulated}")
        return log(cost / simulated)


def class_of(cores: int) -> str:
    """The class of a chip with so many cores."""
    return ONE_CORE if cores == 1 else MANY_CORES


def percentile(values: Sequence[float], percent: int = PERCENT) -> float:
    """The least of ``values`` that at least ``percent`` of them do not exceed; raises ConfigError without any."""
    if not values:
        raise ConfigError("percentile: found no values; allowed one or more")
    return sorted(values)[max(0, ceil(len(values) * percent / 100) - 1)]


def differences(cases: Iterable[SweepCase], figure: str, class_: str) -> list[float]:
    """``|error_i - error_j|`` of all pairs of points of one sweep that have results and of which the class is that of
    the one with more cores."""
    found = []
    for _, points in groupby(sorted(_ok(cases), key=_order), key=_sweep):
        for one, other in combinations(points, 2):
            if class_of(max(one.cores, other.cores)) == class_:
                found.append(abs(one.error(figure) - other.error(figure)))
    return found


def bands(cases: Sequence[SweepCase]) -> dict[str, Any]:
    """By class the ``band`` of each figure (of logarithms, so 0.1 is about 10 %), its ``median``, and how many sweeps,
    points and pairs it is of, chips and models too. Raises ConfigError for a class without pairs."""
    return {name: _class(cases, name) for name in CLASSES}


def by_chip(cases: Sequence[SweepCase]) -> dict[str, Any]:
    """By chip and class the ``band`` of each figure as of ``bands``, and of how many ``pairs`` of that chip alone."""
    found: dict[str, Any] = {}
    for chip in sorted({case.chip for case in cases}):
        alone = [case for case in cases if case.chip == chip]
        for name in CLASSES:
            pairs = {figure: differences(alone, figure, name) for figure in FIGURES}
            if all(pairs.values()):
                own = {figure: percentile(gaps) for figure, gaps in pairs.items()}
                found.setdefault(chip, {})[name] = {"band": own, "pairs": len(pairs[FIGURES[0]])}
    return found


def _class(cases: Sequence[SweepCase], name: str) -> dict[str, Any]:
    pairs = {figure: differences(cases, figure, name) for figure in FIGURES}
    own = [case for case in _ok(cases) if case.class_ == name]
    return {
        "band": {figure: percentile(found) for figure, found in pairs.items()},
        "median": {figure: percentile(found, 50) for figure, found in pairs.items()},
        "largest": {figure: max(found) for figure, found in pairs.items()},
        "models": len({case.model for case in own}),
        "chips": len({case.chip for case in own}),
        "sweeps": len({case.of_sweep for case in own}),
        "points": len(own),
        "pairs": len(pairs[FIGURES[0]]),
    }


def _ok(cases: Iterable[SweepCase]) -> list[SweepCase]:
    return [case for case in cases if case.status == OK]


def _sweep(case: SweepCase) -> tuple[str, str, int]:
    return case.of_sweep


def _order(case: SweepCase) -> tuple[tuple[str, str, int], int]:
    return case.of_sweep, case.point


def read(path: Path) -> list[SweepCase]:
    """The cases of a CSV file; raises ConfigError with file:line for one that cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    found = []
    for number, row in enumerate(csv.DictReader(lines), start=2):
        try:
            found.append(_case(row))
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"{path}:{number}: is no case: {error!r}") from error
    return found


def _case(row: dict[str, str]) -> SweepCase:
    figures = {field.name: row[field.name] for field in fields(SweepCase) if field.name.endswith(("_s", "_j"))}
    return SweepCase(
        row["model"], row["chip"], int(row["sweep"]), int(row["point"]), row["values"], int(row["cores"]),
        row["simulated"], row["status"], **{key: float(text) if text else None for key, text in figures.items()},
        reason=row["reason"],
    )  # fmt: skip


def text(cases: Iterable[SweepCase]) -> str:
    """The CSV of cases, with its heading; numbers as they are read back exactly."""
    made = StringIO()
    writer = csv.DictWriter(made, [field.name for field in fields(SweepCase)], lineterminator="\n")
    writer.writeheader()
    for case in cases:
        writer.writerow({key: "" if value is None else value for key, value in asdict(case).items()})
    return made.getvalue()
