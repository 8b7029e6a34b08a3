"""What every validation suite returns, and where its reference data lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from archsim.base.errors import ConfigError

WORTH = "worth"  # the reference data of the suites area and power
SCORING = "scoring"  # what is done to rows, where progress is shown


@dataclass(frozen=True, slots=True)
class ScoredCase:
    """One case of the reference with its expected figure and ours, in the same unit."""

    case: str
    expected: float
    got: float

    @property
    def error_pct(self) -> float:
        """100 |got - expected| / |expected|; 100 when only the expected figure is 0."""
        if self.got == self.expected:
            return 0.0
        return 100.0 * abs(self.got - self.expected) / abs(self.expected or self.got)

    def to_json(self) -> dict[str, object]:
        """The entry of ``failed`` and of ``beside``."""
        return {"case": self.case, "expected": self.expected, "got": self.got, "error_pct": self.error_pct}


@dataclass(frozen=True, slots=True)
class AtMostCase(ScoredCase):
    """A case whose figure may be smaller than the expected one: only an excess is an error."""

    @property
    def error_pct(self) -> float:
        """100 (got - expected) / |expected|, 0 when not above."""
        return 100.0 * max(0.0, self.got - self.expected) / abs(self.expected or self.got or 1.0)


@dataclass(frozen=True, slots=True)
class SkippedCase:
    """A row that could not be scored and why (file:line, value found, what is allowed).

    ``has_threshold``: it would have been scored, had it been understood; False of what is only reported beside.
    """

    case: str
    reason: str
    has_threshold: bool = True

    def to_json(self) -> dict[str, object]:
        """The entry of ``skipped``."""
        return {"case": self.case, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """Outcome of a suite.

    ``cases``: scored rows; ``passed``: rows with an error of at most ``threshold`` (percent, 0 = exact);
    ``exact``: rows without error; ``mape_pct``: mean absolute error; ``speed``: figures of this run by name;
    ``beside``: rows without a threshold, reported only; ``not_scored``: rows with one that were skipped.
    """

    suite: str
    cases: int
    passed: int
    exact: int
    mape_pct: float
    max_error_pct: float
    threshold: float
    speed: Mapping[str, float]
    failed: tuple[ScoredCase, ...]
    skipped: tuple[SkippedCase, ...]
    beside: tuple[ScoredCase, ...] = ()

    @property
    def met(self) -> bool:
        """Every scored case is within the threshold, and there is at least one."""
        return self.cases > 0 and not self.failed

    @property
    def not_scored(self) -> int:
        """Skipped rows that have a threshold."""
        return sum(row.has_threshold for row in self.skipped)

    @property
    def incomplete(self) -> str:
        """How many rows with a threshold were skipped, of how many; '' when all were scored."""
        left = self.not_scored
        return f"incomplete: {left} of {self.cases + left} not scored" if left else ""

    def to_json(self) -> dict[str, object]:
        """The JSON object of ``validate SUITE --format json``; ``not_scored``, ``beside`` where there are such rows."""
        found: dict[str, object] = {
            "suite": self.suite,
            "cases": self.cases,
            "passed": self.passed,
            "exact": self.exact,
            "mape_pct": self.mape_pct,
            "max_error_pct": self.max_error_pct,
            "threshold": self.threshold,
            "speed": dict(self.speed),
            "failed": [case.to_json() for case in self.failed],
            "skipped": [case.to_json() for case in self.skipped],
        }
        found |= {"not_scored": self.not_scored} if self.not_scored else {}
        return found | ({"beside": [case.to_json() for case in self.beside]} if self.beside else {})


def summarize(
    suite: str,
    scored: Sequence[ScoredCase],
    *,
    threshold: float,
    speed: Mapping[str, float],
    skipped: Sequence[SkippedCase] = (),
    beside: Sequence[ScoredCase] = (),
) -> SuiteResult:
    """Count and average the cases of a suite; ``threshold`` in percent of the expected figure."""
    errors = [case.error_pct for case in scored]
    failed = tuple(case for case in scored if case.error_pct > threshold)
    return SuiteResult(
        suite=suite,
        cases=len(scored),
        passed=len(scored) - len(failed),
        exact=errors.count(0.0),
        mape_pct=sum(errors) / len(errors) if errors else 0.0,
        max_error_pct=max(errors, default=0.0),
        threshold=threshold,
        speed=speed,
        failed=failed,
        skipped=tuple(skipped),
        beside=tuple(beside),
    )


def default_reference(suite: str) -> Path:
    """Directory of the reference data of ``suite``: in the checkout, else beside the installed package.

    Raises ConfigError when neither has it.
    """
    package = Path(__file__).resolve().parents[2]
    places = [root / "studies" / "validation" / suite for root in (package.parent, package)]
    for place in places:
        if place.is_dir():
            return place
    looked = ", ".join(str(place) for place in places)
    raise ConfigError(f"no reference data for suite '{suite}' in {looked}; name a directory with --reference")


def speed_of(cases: int, cpu_s: float) -> dict[str, float]:
    """``cpu_s`` (CPU seconds of the run, all threads of the process) and ``cases_per_cpu_s``."""
    return {"cpu_s": cpu_s, "cases_per_cpu_s": cases / cpu_s}
