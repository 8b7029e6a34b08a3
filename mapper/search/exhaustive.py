"""Exhaustive search of the stated space: the best cell by the objective, and all cells in order of their bounds.

Ties fall to the next figure: latency, energy, EDP each followed by the others, then fewer commands, fewer bytes held,
first in order. Of layers that are spread over cores figures are alike that are near (``alike``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from archsim.ir.mapping import MapNode
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import Reals
from mapper.cost.grid_cost import Cells, Costs, joined
from mapper.lower.collisions import Collisions
from mapper.problem.constraints import FREE, Rules
from mapper.problem.problem import Problem
from mapper.search.patterns import TilePatterns
from mapper.search.space import Choice, Settled, settled
from mapper.search.templates import Space, Template, open_space
from mapper.search.ties import FORECASTS, Alike, first

OPTIMAL = "optimal in the stated space"
CYCLES, ENERGY, PRODUCT = FORECASTS
PROMISING = 8  # cells that are worked out before the others are looked at
TOLD = 16  # cells that are worked out before the others learn of what DRAM makes of their tiles
SLACK = 1.0  # cycle, of rounding
AT_ONCE = 1 << 16  # cells whose figures are held together, some 100 MB

Found = tuple[Template, Cells]


def search(
    problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], objective: str, rules: Rules = FREE, seed: str = ""
) -> Choice:
    """Best mapping of the problem, whatever the seed; raises MappingError naming tensor, level, needs and has when
    nothing fits."""
    return best(open_space(problem, chip, dtypes, rules), objective)


def best(space: Space, objective: str) -> Choice:
    """Best mapping of a space; raises MappingError as ``search``."""
    legal = _legal(space)
    if not legal:
        raise space.empty()
    whole = _whole(space, legal)
    promising = _promising(whole, legal) if objective == "latency" else legal
    found, floor = _sifted(whole, promising, objective)
    return _settled(whole, found, objective, floor)


def _legal(space: Space) -> list[Found]:
    """Every template of a space that has legal cells, with these."""
    return [(template, cells) for template in space.templates() if (cells := space.legal(template)).size]


def _whole(space: Space, legal: Sequence[Found]) -> _Cells:
    size = sum(template.grid.size for template in space.templates())
    return _Cells(space, size, sum(cells.size for _, cells in legal))


@dataclass
class _Cells:
    """Mappings of the cells of a space, each made when it is looked at. ``size``: of the space; ``evaluated``: legal
    cells."""

    space: Space
    size: int
    evaluated: int
    _made: dict[tuple[int, int], Settled] = field(default_factory=dict)  # by template, as an object, and cell

    @cached_property
    def _collisions(self) -> Collisions:
        return Collisions(self.space.problem, self.space.chip)

    def costs(self, found: Sequence[Found]) -> Costs:
        """Of the cells that were ``found``, one template's after the other's."""
        return joined([self.space.costs(template, numbers) for template, numbers in found])

    def settled(self, found: Sequence[Found], costs: Costs, position: int) -> Settled:
        """The mapping of the cell at a position of ``costs``, which are those of the cells that were ``found``."""
        template, number = _at(found, position), int(costs.cells[position])
        made = self._made.get((id(template), number))
        if made is None:
            proof = _proof(self.space.problem)
            figures = self.size, self.evaluated, proof
            made = settled(template.cell(number), costs, position, self._collisions, *figures)
            self._made[id(template), number] = made
        return made


class _Ranking:
    """Cells by what they promise, each figure worked out once. ``cycles``: (n,) of all, put right of a cell by whoever
    knows what its mapping takes."""

    def __init__(self, costs: Costs, objective: str, by: str = "cycles") -> None:
        self.costs, self.cycles = costs, np.array(getattr(costs, by))
        order = {"latency": (CYCLES, ENERGY), "energy": (ENERGY, CYCLES), "edp": (PRODUCT, CYCLES)}[objective]
        self.names = (*order, "commands", "bytes held")

    def figure(self, name: str) -> Reals:
        """Of all cells."""
        if name == CYCLES:
            return self.cycles
        if name == ENERGY:
            return self._work_pj + self.cycles * self.costs.standing_pj
        if name == PRODUCT:
            return self.cycles * self.figure(ENERGY)
        return self.costs.commands if name == "commands" else self.costs.held

    @cached_property
    def _work_pj(self) -> Reals:
        return self.costs.energy(np.zeros(()))

    def figures(self) -> dict[str, Callable[[], Reals]]:
        """What cells are ranked by, the first figure first, each worked out when it is called."""
        return {name: partial(self.figure, name) for name in self.names}


def _settled(cells: _Cells, found: Sequence[Found], objective: str, floor: float | None = None) -> Choice:
    """The best mapping of the cells ``found``; ``floor``: cycles that neither they nor others that were left out
    undercut.

    What is worked out for all of them leaves out collisions, so that no mapping takes less. The best of what is known
    is made and takes what it takes, until it is one that was made before: what no other promises to be.
    """
    costs = cells.costs(found)
    least = costs.floor if floor is None else floor
    ranking, alike = _Ranking(costs, objective), Alike(costs.problem.spread is not None, least)
    made: dict[int, Settled] = {}
    patterns: TilePatterns | None = None
    while True:
        position = first(ranking.figures(), alike)
        if position in made:
            return made[position].choice()
        made[position] = cells.settled(found, costs, position)
        ranking.cycles[position] = made[position].mapping.expected_cycles
        if len(made) % TOLD == 0:
            patterns = patterns or TilePatterns(found, costs)
            _learn(ranking, patterns, made)


def _learn(ranking: _Ranking, patterns: TilePatterns, made: Mapping[int, Settled]) -> None:
    """Tell all cells of the ranking what DRAM makes of tiles like theirs in those that were made last."""
    if patterns.tell_nothing:
        return
    for position, each in list(made.items())[-TOLD:]:
        patterns.learn(position, each.costs.slowdown)
    ranking.cycles = np.maximum(ranking.cycles, patterns.cycles())
    for position, each in made.items():
        ranking.cycles[position] = each.mapping.expected_cycles


def _promising(cells: _Cells, legal: Sequence[Found]) -> list[Found]:
    """Of cells those that may be alike to the one of least latency: of the few that promise most one is made, and what
    cannot do as well falls away."""
    least = np.concatenate([cells.space.least(template, numbers) for template, numbers in legal])
    wanted = np.zeros(least.shape, dtype=bool)
    wanted[np.argpartition(least, min(PROMISING, least.size - 1))[:PROMISING]] = True
    few = _of(legal, wanted)
    costs = cells.costs(few)
    best = cells.settled(few, costs, int(np.argmin(costs.cycles))).mapping.expected_cycles
    alike = Alike(costs.problem.spread is not None)
    return _of(legal, least <= alike.most(CYCLES, best) + SLACK)


def _sifted(cells: _Cells, found: Sequence[Found], objective: str) -> tuple[list[Found], float | None]:
    """Of many cells those whose first figure may be alike to that of the one which promises most, as it turns out; and
    the cycles that none of all undercuts.

    They are worked out some at a time, since all figures of all together take gigabytes: thin products have that many,
    all of which read their weights once.
    """
    if sum(numbers.size for _, numbers in found) <= AT_ONCE:
        return list(found), None
    promised, floor, name = list[Reals](), np.inf, ""
    for part in _at_once(found):
        ranking = _Ranking(cells.costs([part]), objective)
        floor, name = min(floor, ranking.costs.floor), ranking.names[0]
        promised.append(np.array(ranking.figure(name)))
    figure = np.concatenate(promised)
    most = Alike(cells.space.problem.spread is not None).most(name, _turned_out(cells, found, objective, figure))
    return _of(found, figure <= most + SLACK), floor


def _turned_out(cells: _Cells, found: Sequence[Found], objective: str, promised: Reals) -> float:
    """The first figure of the cell that promises most, once its mapping is made."""
    chosen = _of(found, np.arange(promised.size) == int(np.argmin(promised)))
    costs = cells.costs(chosen)
    ranking = _Ranking(costs, objective)
    ranking.cycles[0] = cells.settled(chosen, costs, 0).mapping.expected_cycles
    return float(ranking.figure(ranking.names[0])[0])


def _at_once(found: Sequence[Found]) -> Iterator[Found]:
    """The cells in parts whose figures are held together."""
    for template, numbers in found:
        for begin in range(0, numbers.size, AT_ONCE):
            yield template, numbers[begin : begin + AT_ONCE]


def _of(legal: Sequence[Found], wanted: NDArray[np.bool_]) -> list[Found]:
    """Those cells that are ``wanted`` of all, one after the other."""
    ends = np.cumsum([cells.size for _, cells in legal])
    parts = np.split(wanted, ends[:-1])
    return [(template, cells[part]) for (template, cells), part in zip(legal, parts, strict=True) if part.any()]


def _at(found: Sequence[Found], position: int) -> Template:
    """Whose cell stands at a position of all."""
    ends = np.cumsum([cells.size for _, cells in found])
    return found[int(np.searchsorted(ends, position, side="right"))][0]


def best_of(found: Sequence[Costs], objective: str) -> int:
    """Where the best cell of several costs of one layer stands, in all of them one after the other."""
    figures = [_Ranking(costs, objective).figures() for costs in found]
    together = {name: partial(_joined, [each[name] for each in figures]) for name in figures[0]}
    return first(together, Alike(found[0].problem.spread is not None, min(costs.floor for costs in found)))


def _joined(figures: Sequence[Callable[[], Reals]]) -> Reals:
    return np.concatenate([figure() for figure in figures])


def candidates(space: Space, objective: str) -> Iterator[Choice]:
    """Distinct mappings of a space, the best by the objective's figures first.

    Templates are costed at the first step; a mapping is made when it may be the next one.
    """
    found = _legal(space)
    if not found:
        return
    whole = _whole(space, found)
    costs = whole.costs(found)
    seen: set[tuple[MapNode, ...]] = set()
    for made in _in_order(whole, found, costs, _Ranking(costs, objective)):
        if made.mapping.nodes not in seen:
            seen.add(made.mapping.nodes)
            yield made


def _in_order(cells: _Cells, found: Sequence[Found], costs: Costs, ranking: _Ranking) -> Iterator[Choice]:
    """The mappings of all cells, the least by their figures first: each is given once no other promises less."""
    columns = [figure() for figure in ranking.figures().values()]
    order = np.lexsort(columns[::-1]).tolist()
    promises = zip(*[column[order].tolist() for column in columns], strict=True)
    waiting: list[tuple[tuple[float, ...], int]] = []
    for place, promised in zip(order, promises, strict=True):
        while waiting and waiting[0] <= (promised, place):
            yield cells.settled(found, costs, heappop(waiting)[1]).choice()
        ranking.cycles[place] = cells.settled(found, costs, place).mapping.expected_cycles
        heappush(waiting, (tuple([float(figure()[place]) for figure in ranking.figures().values()]), place))
    while waiting:
        yield cells.settled(found, costs, heappop(waiting)[1]).choice()


def least_figures(space: Space, objective: str) -> list[tuple[float, float]]:
    """Of every legal cell of a space the figures that the objective looks at first, which no run of it undercuts."""
    found = _legal(space)
    if not found:
        return []
    ranking = _Ranking(_whole(space, found).costs(found), objective, "bound")
    first_two = [ranking.figure(name).tolist() for name in ranking.names[:2]]
    return list(zip(*first_two, strict=True))


def _proof(problem: Problem) -> str:
    """What an exhaustive search has shown: of other spreads over cores nothing."""
    return OPTIMAL if problem.spread is None else f"{OPTIMAL} among those of this spread over cores"
