"""What a verification found: a row for each layer, in real numbers and in quantised ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

SCHEMA = "archsim.verify/1"
TOLERANCE = 1e-4  # of the largest magnitude of a layer's result, in real numbers
EQUAL = "equal in every element"
CLOSE = f"within {TOLERANCE:g} of the largest magnitude"
ONE_STEP = "within one step of its elements"


@dataclass(frozen=True, slots=True)
class Row:
    """One layer's result, or a graph output at the end, under the worst of the interleavings.

    ``error``: largest difference over the reference's largest magnitude; ``different``: elements that are not equal;
    ``constant``: all elements of the reference are equal, so that little is shown.
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


@dataclass(frozen=True, slots=True)
class Check:
    """One way of computing. ``numbers``: float32, int8, ...; ``reference`` and ``rule``: compared with what, and how.

    ``skipped``: why it could not be made ('' when it was); ``problem``: what stopped the execution.
    """

    numbers: str
    reference: str
    rule: str
    interleavings: int
    rows: tuple[Row, ...] = ()
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


@dataclass(frozen=True, slots=True)
class Outcome:
    """All checks of one Program."""

    workload: str
    architecture: str
    commands: int
    seed: int
    weights: str
    checks: tuple[Check, ...]

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


def _check(check: Check) -> dict[str, Any]:
    return {
        "numbers": check.numbers,
        "reference": check.reference,
        "rule": check.rule,
        "interleavings": check.interleavings,
        "passed": check.passed and not check.skipped,
        "skipped": check.skipped,
        "problem": check.problem,
        "layers": len(check.rows),
        "worst_error": check.worst,
        "rows": [asdict(row) for row in check.rows],
    }
