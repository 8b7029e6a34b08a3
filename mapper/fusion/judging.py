"""What an objective makes of cycles and energy of parts of a network: shares of what the whole network takes, in sum.

What parts spare adds up, so that groups can be chosen one by one. A product of both falls by the sum of its factors'
shares; of a latency or an energy the other decides where they are alike.
"""

from __future__ import annotations

from typing import NamedTuple

from mapper.search.ties import BAND

WEIGHTS = {"latency": (1.0, BAND), "energy": (BAND, 1.0), "edp": (1.0, 1.0)}  # of the shares of cycles and of energy


class Figure(NamedTuple):
    """Cycles and energy of layers."""

    cycles: float
    energy_pj: float


class Judge(NamedTuple):
    """Judges parts of a network that takes ``whole``, by an ``objective``."""

    objective: str
    whole: Figure

    def of(self, figure: Figure) -> float:
        """The less the better."""
        cycles, energy = WEIGHTS[self.objective]
        return cycles * figure.cycles / self.whole.cycles + energy * figure.energy_pj / self.whole.energy_pj

    def is_better(self, figure: Figure) -> bool:
        """Whether the whole network is better with this figure than as it is."""
        if self.objective == "edp":
            return figure.cycles * figure.energy_pj < self.whole.cycles * self.whole.energy_pj
        return self.of(figure) < self.of(self.whole)
