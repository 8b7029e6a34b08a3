"""The first of several candidates by several figures, where those that a model gives need not differ to the last digit.

A latency, an energy or their product is a forecast, and those that differ by less than ``BAND`` are as good as one
another: the next figure decides. Cores that share a network and DRAM hold one another up, which no figure of a layer
that is spread over them sees: what its units work, and DRAM at its peak, is certain, what they wait besides is not. So
of such layers latencies are alike that are above the least by no more than a part of the waiting in it, and energies
that are near the least; among those fewer commands decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mapper.cost.grid import Reals

BAND = 0.005  # of a forecast
NEAR = 0.05  # of waiting, and of energy
FORECASTS = ("cycles", "energy", "cycles x energy")


@dataclass(frozen=True, slots=True)
class Alike:
    """What is alike of one layer, more where it is ``spread`` over cores; ``work``: cycles that its busiest unit, or
    DRAM at its peak, works in any mapping."""

    spread: bool
    work: float = 0.0

    def most(self, figure: str, least: float) -> float:
        """The most of a figure (cycles | energy | cycles x energy | ...) that is alike to its least."""
        if self.spread and figure == "cycles":
            return least + max(BAND * least, NEAR * max(0.0, least - self.work))
        if figure not in FORECASTS:
            return least
        return least * (1 + (NEAR if self.spread else BAND))


def first(figures: Mapping[str, Callable[[], Reals]], alike: Alike) -> int:
    """Where the best candidate stands, by the first figure of ``figures``, then by the next of what is alike; the first
    of equals. Each gives one value for each candidate, of which there is one at least."""
    left: np.ndarray | None = None
    for name, figure in figures.items():
        values = figure()
        left = np.arange(values.size) if left is None else left
        left = left[values[left] <= alike.most(name, float(values[left].min()))]
    assert left is not None
    return int(left[0])
