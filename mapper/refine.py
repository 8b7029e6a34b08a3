"""The simulator in the loop: mappings of one layer as they are expected to be best, simulated until none can win.

The bound of a mapping never exceeds its simulated latency, so one whose bound is no better than the best simulated
figure is not simulated, and once that holds of all that are left the best is proven. The figures compared are those of
the objective: latency then energy, energy then latency, or their product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from archsim.base.errors import SimulationError
from archsim.ir.mapping import LayerMapping, MapNode
from mapper.search.space import Choice

Figures = tuple[float, float]

PROVEN = "optimal under simulation in this space"


def refine(
    first: Choice,
    candidates: Iterator[Choice],
    least: Iterable[Figures],
    simulated: Callable[[LayerMapping], int],
    most: int,
    objective: str,
) -> LayerMapping:
    """The best of ``first`` and the candidates (those expected to be best first) by cycles ``simulated`` alone,
    ``most`` of them. ``least``: figures by bound of all mappings of the space.

    Raises SimulationError where a simulation undercuts its bound, which is a fault of the cost model.
    """
    tried: set[tuple[MapNode, ...]] = set()
    best: tuple[Figures, LayerMapping] | None = None
    left = _Left(least)
    for choice in chain((first,), candidates):
        if best is not None and (len(tried) == most or left.cannot_beat(best[0])):
            break
        if choice.mapping.nodes in tried:
            continue
        bound = ranked_by(objective, choice, choice.mapping.bound_cycles)
        left.drop(bound)
        if best is not None and bound >= best[0]:
            continue
        tried.add(choice.mapping.nodes)
        cycles = simulated(choice.mapping)
        _check(choice.mapping, cycles)
        found = ranked_by(objective, choice, cycles)
        if best is None or found < best[0]:
            best = (found, replace(choice.mapping, simulated_cycles=cycles))
    else:
        left = _Left(())
    assert best is not None
    proof = PROVEN if left.cannot_beat(best[0]) else _gap(best[0], left.least)
    return replace(best[1], proof=f"{proof}; {len(tried)} simulated", evaluated=first.mapping.evaluated)


class _Left:
    """Figures by bound of the mappings that were not looked at yet."""

    def __init__(self, figures: Iterable[Figures]) -> None:
        self._figures, self._gone = sorted(figures, reverse=True), Counter[Figures]()

    def drop(self, figures: Figures) -> None:
        """One with such figures was looked at."""
        self._gone[figures] += 1
        while self._figures and self._gone[self._figures[-1]]:
            self._gone[self._figures.pop()] -= 1

    @property
    def least(self) -> Figures:
        """Of what is left."""
        return self._figures[-1]

    def cannot_beat(self, best: Figures) -> bool:
        """Whether nothing that is left can be better."""
        return not self._figures or self.least >= best


def ranked_by(objective: str, choice: Choice, cycles: int) -> Figures:
    """What an objective makes of a mapping that takes so many cycles, the less the better."""
    energy_pj = choice.energy(cycles)
    if objective == "latency":
        return float(cycles), energy_pj
    return (energy_pj, float(cycles)) if objective == "energy" else (cycles * energy_pj, float(cycles))


def _gap(best: Figures, least: Figures) -> str:
    """How much better what was not simulated could be at most."""
    share = 100 * (1 - least[0] / best[0]) if best[0] else 0.0
    return f"best of those simulated; no other of this space can be better by more than {share:.2f} %"


def _check(mapping: LayerMapping, cycles: int) -> None:
    if cycles < mapping.bound_cycles:
        raise SimulationError(
            f"layer '{mapping.layer}': simulated in {cycles:,} cycles, below its analytic bound of "
            f"{mapping.bound_cycles:,}; a fault of the cost model"
        )
