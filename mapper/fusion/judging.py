"""What an objective makes of cycles and energy of parts of a network: shares of what the whole network takes, in sum.

What parts spare adds up, so that groups can be chosen one by one. A product of both falls by the sum of its factors'
shares. Of a latency or an energy the other decides where it is alike: a network may lose ``BAND`` of what is asked for
if it spares of the other one. How much a share of the other one may then weigh is seen from whole networks alone, so
several weights are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mapper.search.ties import BAND

WEIGHTS = (BAND, 0.03, 0.1, 0.3)  # of a share of what is not asked for
FIRST = {"latency": 0, "energy": 1}  # what is asked for: the number of a field of a Figure


class Figure(NamedTuple):
    """Cycles and energy of layers."""

    cycles: float
    energy_pj: float


class Judge(NamedTuple):
    """Judges parts of a network that takes ``whole``, by ``weights`` of the shares of cycles and of energy."""

    weights: tuple[float, float]
    whole: Figure

    def of(self, figure: Figure) -> float:
        """The less the better."""
        cycles, energy = self.weights
        return cycles * figure.cycles / self.whole.cycles + energy * figure.energy_pj / self.whole.energy_pj


def judges(objective: str, whole: Figure) -> Iterator[Judge]:
    """Those of an objective: to one after the other what is not asked for counts more."""
    if objective not in FIRST:
        yield Judge((1.0, 1.0), whole)
        return
    for weight in WEIGHTS:
        yield Judge((1.0, weight) if FIRST[objective] == 0 else (weight, 1.0), whole)


def best_of(objective: str, figures: Sequence[Figure]) -> int:
    """Which of several figures of one network is the best: of those that are alike by what is asked for the one with
    the least of the other."""
    numbers = range(len(figures))
    asked = FIRST.get(objective)
    if asked is None:
        return min(numbers, key=lambda at: figures[at].cycles * figures[at].energy_pj)
    most = min(figure[asked] for figure in figures) * (1 + BAND)
    return min((at for at in numbers if figures[at][asked] <= most), key=lambda at: figures[at][1 - asked])
