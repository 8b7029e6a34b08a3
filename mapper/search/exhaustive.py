"""Exhaustive search of the stated space: the best cell by the objective, and all cells in order of their bounds.

Of layers that are spread over cores figures are alike that are near (``alike``). What cells cost is worked out for some
of them at a time and only what they are ranked by is held: large products and thin ones have millions of cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from heapq import heappop, heappush

import numpy as np

from archsim.ir.mapping import MapNode
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import Reals
from mapper.cost.grid_cost import Costs
from mapper.cost.grid_cost import joined as joined_costs
from mapper.lower.collisions import Collisions
from mapper.problem.constraints import FREE, Rules
from mapper.problem.problem import Problem
from mapper.search.patterns import TilePatterns
from mapper.search.ranking import CYCLES, RANKED_BY, Found, Ranking, first_figure, joined, ranked, those
from mapper.search.space import Choice, Settled, settled
from mapper.search.templates import Space, Template, open_space
from mapper.search.ties import Alike, first

OPTIMAL = "optimal in the stated space"
PROMISING = 8  # cells that are worked out before the others are looked at
TOLD = 16  # cells that are worked out before the others learn of what DRAM makes of their tiles
SLACK = 1.0  # of a figure, for rounding: a cycle, or far less than it is of energies
AT_ONCE = 1 << 16  # cells whose costs are held together, some 100 MB


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
    cells = _whole(space, legal)
    promising = _promising(cells, legal) if objective == "latency" else legal
    return _settled(cells, _sifted(cells, promising, objective))


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
        return joined_costs([self.space.costs(template, numbers) for template, numbers in found])

    def ranking(self, found: Sequence[Found], objective: str, by: str = "cycles") -> Ranking:
        """Of the cells that were ``found``."""
        return joined([ranked(self.costs(part), objective, part, by) for part in _at_once(found)])

    def settled(self, template: Template, number: int) -> Settled:
        """The mapping of one cell of a template."""
        made = self._made.get((id(template), number))
        if made is None:
            costs = self.space.costs(template, np.array([number]))
            figures = self.size, self.evaluated, _proof(self.space.problem)
            made = settled(template.cell(number), costs, 0, self._collisions, *figures)
            self._made[id(template), number] = made
        return made


def _settled(cells: _Cells, ranking: Ranking) -> Choice:
    """The best mapping of the cells of a ranking.

    What these promise leaves out collisions, so that no mapping takes less. The best of what is known is made and takes
    what it takes, until it is one that was made before: what no other promises to be.
    """
    alike = Alike(cells.space.problem.spread is not None, ranking.floor)
    made: dict[int, Settled] = {}
    patterns: TilePatterns | None = None
    while True:
        position = first(ranking.figures(), alike)
        if position in made:
            return made[position].choice()
        made[position] = cells.settled(*ranking.at(position))
        ranking.promised.cycles[position] = made[position].mapping.expected_cycles
        if len(made) % TOLD == 0:
            patterns = patterns or TilePatterns(ranking.found, cells.space.problem, cells.space.chip)
            _learn(cells, ranking, patterns, made)


def _learn(cells: _Cells, ranking: Ranking, patterns: TilePatterns, made: Mapping[int, Settled]) -> None:
    """Tell all cells of the ranking what DRAM makes of tiles like theirs in those that were made last."""
    if patterns.tell_nothing:
        return
    for position, each in list(made.items())[-TOLD:]:
        patterns.learn(position, each.costs.slowdown)
    begin, promised = 0, ranking.promised.cycles
    for part in _at_once(ranking.found):
        known = patterns.cycles(cells.costs(part), begin)
        end = begin + known.size
        np.maximum(promised[begin:end], known, out=promised[begin:end])
        begin = end
    for position, each in made.items():
        promised[position] = each.mapping.expected_cycles


def _promising(cells: _Cells, legal: Sequence[Found]) -> list[Found]:
    """Of cells those that may be alike to the one of least latency: of the few that promise most one is made, and what
    cannot do as well falls away. One template is looked at after the other."""

    def promised(place: int) -> Reals:
        return cells.space.least(*legal[place])

    if cells.evaluated <= AT_ONCE:  # so few are held; of more all is worked out twice
        promised = cache(promised)
    least = np.empty(len(legal))
    few: list[tuple[float, int, int]] = []
    for place, (_, numbers) in enumerate(legal):
        found = promised(place)
        least[place] = found.min()
        if len(few) < PROMISING or least[place] < few[-1][0]:
            several = np.argsort(found, kind="stable")[:PROMISING].tolist()
            few = sorted([*few, *((float(found[each]), place, int(numbers[each])) for each in several)])[:PROMISING]
    most = Alike(cells.space.problem.spread is not None).most(CYCLES, _best_of(cells, legal, few)) + SLACK
    near = np.flatnonzero(least <= most).tolist()
    return [(legal[place][0], legal[place][1][promised(place) <= most]) for place in near]


def _best_of(cells: _Cells, legal: Sequence[Found], few: Sequence[tuple[float, int, int]]) -> int:
    """What the best of a few cells is expected to take, once it is made; of each the place of its template among those
    that are ``legal``, and its number there."""
    found = [(legal[place][0], np.array([number])) for _, place, number in few]
    template, (number,) = found[int(np.argmin(cells.costs(found).cycles))]
    return cells.settled(template, int(number)).mapping.expected_cycles


def _sifted(cells: _Cells, found: Sequence[Found], objective: str) -> Ranking:
    """A ranking of cells without many of those whose first figure is not alike to what a mapping was found to have."""
    parts = list(_at_once(found))
    if len(parts) == 1:
        return cells.ranking(found, objective)
    alike, name = Alike(cells.space.problem.spread is not None), RANKED_BY[objective][0]
    promised, most = np.inf, np.inf
    kept, certain = list[Ranking](), list[Mapping[str, float]]()
    for part in parts:
        costs = cells.costs(part)
        certain.append(costs.certain)
        figure = first_figure(costs, objective)
        if figure.min() < promised:
            promised = float(figure.min())
            most = min(most, alike.most(name, _turned_out(cells, part, costs, objective)) + SLACK)
            kept = [each.no_more_than(most) for each in kept]
        wanted = figure <= most
        if wanted.any():
            kept.append(ranked(costs.of(wanted), objective, those(part, wanted)))
    return joined(kept, certain)


def _turned_out(cells: _Cells, part: Sequence[Found], costs: Costs, objective: str) -> float:
    """The first figure of the cell that promises most, once its mapping is made."""
    wanted = np.arange(costs.cells.size) == int(np.argmin(first_figure(costs, objective)))
    ((template, (number,)),) = those(part, wanted)
    ranking = ranked(costs.of(wanted), objective)
    ranking.promised.cycles[0] = cells.settled(template, int(number)).mapping.expected_cycles
    return float(ranking.first[0])


def _at_once(found: Sequence[Found]) -> Iterator[list[Found]]:
    """The cells in parts whose costs are held together."""
    part, room = list[Found](), AT_ONCE
    for template, numbers in found:
        begin = 0
        while begin < numbers.size:
            piece = numbers[begin : begin + room]
            part.append((template, piece))
            begin, room = begin + piece.size, room - piece.size
            if not room:
                yield part
                part, room = [], AT_ONCE
    if part:
        yield part


def candidates(space: Space, objective: str) -> Iterator[Choice]:
    """Distinct mappings of a space, the best by the objective's figures first.

    Templates are costed at the first step; a mapping is made when it may be the next one.
    """
    found = _legal(space)
    if not found:
        return
    cells = _whole(space, found)
    seen: set[tuple[MapNode, ...]] = set()
    for made in _in_order(cells, cells.ranking(found, objective)):
        if made.mapping.nodes not in seen:
            seen.add(made.mapping.nodes)
            yield made


def _in_order(cells: _Cells, ranking: Ranking) -> Iterator[Choice]:
    """The mappings of all cells, the least by their figures first: each is given once no other promises less."""
    columns = [figure() for figure in ranking.figures().values()]
    order = np.lexsort(columns[::-1]).tolist()
    promises = zip(*[column[order].tolist() for column in columns], strict=True)
    waiting: list[tuple[tuple[float, ...], int]] = []
    for place, promised in zip(order, promises, strict=True):
        while waiting and waiting[0] <= (promised, place):
            yield cells.settled(*ranking.at(heappop(waiting)[1])).choice()
        ranking.promised.cycles[place] = cells.settled(*ranking.at(place)).mapping.expected_cycles
        heappush(waiting, (tuple([float(figure()[place]) for figure in ranking.figures().values()]), place))
    while waiting:
        yield cells.settled(*ranking.at(heappop(waiting)[1])).choice()


def least_figures(space: Space, objective: str) -> list[tuple[float, float]]:
    """Of every legal cell of a space the figures that the objective looks at first, which no run of it undercuts."""
    found = _legal(space)
    if not found:
        return []
    ranking = _whole(space, found).ranking(found, objective, "bound")
    first_two = [ranking.figure(name).tolist() for name in ranking.names[:2]]
    return list(zip(*first_two, strict=True))


def _proof(problem: Problem) -> str:
    """What an exhaustive search has shown: of other spreads over cores nothing."""
    return OPTIMAL if problem.spread is None else f"{OPTIMAL} among those of this spread over cores"
