"""What a verification found: a row for each layer, in real numbers and in quantised ones."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

SCHEMA = "archsim.verify/1"
EQUAL = "equal in every element"
CLOSE = "within the rounding of what each element adds up"
ONE_STEP = "within one step of its elements"


@dataclass(frozen=True, slots=True)
class VerifyRow:
    """One layer's result, or a graph output at the end, under the worst of the interleavings.

    ``error``: largest difference over the reference's largest magnitude; ``different``: elements that are not equal;
    ``constant``: all elements of the reference are equal, so that little is shown; ``share``: the largest difference of
    an element, without what came from the layers before, over what rounding may make of it (it passes up to 1).
    """

    name: str
    op: str
    tensor: str
    elements: int
    error: float
    different: int
    passed: bool
    reference: str
    constant: bool
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class VerifyCheck:
    """One way of computing. ``numbers``: float32, int8, ...; ``reference`` and ``rule``: compared with what, and how.

    ``skipped``: why it could not be made ('' when it was); ``problem``: what stopped the execution.
    """

    numbers: str
    reference: str
    rule: str
    interleavings: int
    rows: tuple[VerifyRow, ...] = ()
    skipped: str = ""
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether there are rows, every one passed and nothing stopped it."""
        return not self.problem and bool(self.rows) and all(row.passed for row in self.rows)

    @property
    def worst(self) -> float:
        """The largest relative error."""
        return max((row.error for row in self.rows), default=0.0)

    @property
    def worst_share(self) -> float:
        """The largest share of a bound that a row takes."""
        return max((row.share for row in self.rows), default=0.0)


@dataclass(frozen=True, slots=True)
class VerifyOutcome:
    """All checks of one Program."""

    workload: str
    architecture: str
    commands: int
    seed: int
    weights: str
    checks: tuple[VerifyCheck, ...]

    @property
    def met(self) -> bool:
        """Whether something was checked and all of it passed."""
        made = [check for check in self.checks if not check.skipped]
        return bool(made) and all(check.passed for check in made)

    def to_json(self) -> dict[str, Any]:
        """schema, names, seed, weights, passed, and the checks with their layers."""
        return {
            "schema": SCHEMA,
            "workload": self.workload,
            "architecture": self.architecture,
            "commands": self.commands,
            "seed": self.seed,
            "weights": self.weights,
            "passed": self.met,
            "checks": [_check(check) for check in self.checks],
        }


def _check(check: VerifyCheck) -> dict[str, Any]:
    return {
        "numbers": check.numbers,
        "reference": check.reference,
        "rule": check.rule,
        "interleavings": check.interleavings,
        "passed": check.passed and not check.skipped,
        "skipped": check.skipped,
        "problem": check.problem,
        "layers": len(check.rows),
        "worst_error": _finite(check.worst),
        "worst_share": _finite(check.worst_share),
        "rows": [_row(row) for row in check.rows],
    }


def _row(row: VerifyRow) -> dict[str, Any]:
    return asdict(row) | {"error": _finite(row.error), "share": _finite(row.share)}


def _finite(number: float) -> float | None:
    """JSON has no infinity: null stands for a difference beyond every bound."""
    return number if math.isfinite(number) else None
