"""How far off predictions are where they span decades: by which factor, up or down."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log


@dataclass(frozen=True, slots=True)
class FactorScore:
    """Factors by which predictions are off, up or down: geometric mean and worst, of so many cases."""

    cases: int
    gm: float | None
    worst: float | None

    @classmethod
    def of(cls, pairs: Iterable[tuple[float, float]]) -> FactorScore:
        """``pairs``: published and predicted."""
        logs = [abs(log(published / predicted)) for published, predicted in pairs]
        if not logs:
            return cls(0, None, None)
        return cls(len(logs), exp(sum(logs) / len(logs)), exp(max(logs)))

    def to_json(self) -> dict[str, float | int | None]:
        """As the JSON of suites has it."""
        return {"cases": self.cases, "factor_gm": self.gm, "factor_worst": self.worst}
