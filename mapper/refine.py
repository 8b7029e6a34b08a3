"""The simulator in the loop: mappings of one layer in order of their analytic bounds, simulated until none can win.

The bound of a mapping never exceeds its simulated latency, so once the next bound is no better than the best simulated
figure nothing that follows can be. The figures compared are those of the objective: latency then energy, energy then
latency, or their product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

from archsim.base.errors import SimulationError
from archsim.ir.mapping import LayerMapping, MapNode
from mapper.search.space import Choice

PROVEN = "optimal under simulation in this space"


def refine(
    first: Choice,
    candidates: Iterator[Choice],
    simulated: Callable[[LayerMapping], int],
    most: int,
    objective: str,
) -> LayerMapping:
    """The best of ``first`` and the candidates (least bound first) by cycles ``simulated`` alone, ``most`` of them.

    Raises SimulationError where a simulation undercuts its bound, which is a fault of the cost model.
    """
    tried: set[tuple[MapNode, ...]] = set()
    best: tuple[tuple[float, ...], LayerMapping] | None = None
    proof = PROVEN
    for choice in chain((first,), candidates):
        if choice.mapping.nodes in tried:
            continue
        least = _figures(objective, choice.mapping.bound_cycles, choice.energy_pj)
        if best is not None and least >= best[0]:
            break
        if best is not None and len(tried) == most:
            proof = _gap(best[0], least)
            break
        tried.add(choice.mapping.nodes)
        cycles = simulated(choice.mapping)
        _check(choice.mapping, cycles)
        found = _figures(objective, cycles, choice.energy_pj)
        if best is None or found < best[0]:
            best = (found, replace(choice.mapping, simulated_cycles=cycles))
    assert best is not None
    return replace(best[1], proof=f"{proof}; {len(tried)} simulated", evaluated=first.mapping.evaluated)


def _figures(objective: str, cycles: int, energy_pj: float) -> tuple[float, ...]:
    if objective == "latency":
        return (cycles, energy_pj)
    return (energy_pj, cycles) if objective == "energy" else (cycles * energy_pj, cycles)


def _gap(best: tuple[float, ...], least: tuple[float, ...]) -> str:
    """How much better what was not simulated could be at most."""
    share = 100 * (1 - least[0] / best[0]) if best[0] else 0.0
    return f"best of those simulated; no other of this space can be better by more than {share:.2f} %"


def _check(mapping: LayerMapping, cycles: int) -> None:
    if cycles < mapping.bound_cycles:
        raise SimulationError(
            f"layer '{mapping.layer}': simulated in {cycles:,} cycles, below its analytic bound of "
            f"{mapping.bound_cycles:,}; a fault of the cost model"
        )
