"""Exhaustive search of the stated space: the best cell by the objective, and all cells in order of their bounds.

Ties fall to the next figure: latency, energy, EDP each followed by the others, then fewer commands, fewer bytes held,
first in order. Of layers that are spread over cores figures are alike that are near (``alike``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from archsim.ir.mapping import MapNode
from mapper.constrain import FREE, Rules
from mapper.cost import Cells, Costs, joined
from mapper.costs import ChipCosts
from mapper.grid import Reals
from mapper.problem import Problem
from mapper.search.alike import Alike, first
from mapper.search.space import Choice, choice
from mapper.search.templates import Space, Template, open_space

OPTIMAL = "optimal in the stated space"
PRODUCT = "cycles x energy"
PROMISING = 8  # cells that are worked out before the others are looked at
SLACK = 1.0  # cycle, of rounding

Found = tuple[Template, Cells]


def search(
    problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], objective: str, rules: Rules = FREE, seed: str = ""
) -> Choice:
    """Best mapping of the problem, whatever the seed; raises MappingError naming tensor, level, needs and has when
    nothing fits."""
    return best(open_space(problem, chip, dtypes, rules), objective)


def best(space: Space, objective: str) -> Choice:
    """Best mapping of a space; raises MappingError as ``search``."""
    legal = [(template, cells) for template in space.templates() if (cells := space.legal(template)).size]
    if not legal:
        raise space.empty()
    size, alike = sum(template.grid.size for template in space.templates()), Alike(space.problem.spread is not None)
    whole = _Cells(space, size, sum(cells.size for _, cells in legal))
    return _settled(whole, _promising(whole, legal, alike) if objective == "latency" else legal, objective, alike)


@dataclass
class _Cells:
    """Mappings of the cells of a space, each made when it is looked at. ``size``: of the space; ``evaluated``: legal
    cells."""

    space: Space
    size: int
    evaluated: int
    _made: dict[tuple[int, int], Choice] = field(default_factory=dict)  # by template, as an object, and cell

    def choice(self, found: Sequence[Found], costs: Costs, position: int) -> Choice:
        """The mapping of the cell at a position of ``costs``, which are those of the cells that were ``found``."""
        template, number = _at(found, position), int(costs.cells[position])
        made = self._made.get((id(template), number))
        if made is None:
            proof = _proof(self.space.problem)
            made = choice(template.cell(number), costs, position, self.size, self.evaluated, proof)
            self._made[id(template), number] = made
        return made


def _settled(cells: _Cells, found: Sequence[Found], objective: str, alike: Alike) -> Choice:
    """The best mapping of the cells ``found``.

    What is worked out for all of them leaves out collisions, so that no mapping takes less. The best of what is known
    is made and takes what it takes, until it is one that was made before: what no other promises to be.
    """
    costs = joined([cells.space.costs(template, numbers) for template, numbers in found])
    made: dict[int, Choice] = {}
    while True:
        name, figure = next(iter(_figures(costs, objective, "cycles").items()))
        near = np.flatnonzero(figure() <= alike.most(name, float(figure().min())))
        position = int(near[best_of([costs.at(near)], objective)])
        if position in made:
            return made[position]
        made[position] = cells.choice(found, costs, position)
        costs.cycles[position] = made[position].mapping.expected_cycles


def _promising(cells: _Cells, legal: Sequence[Found], alike: Alike) -> list[Found]:
    """Of cells those that may be alike to the one of least latency: the few that promise most are settled, and what
    cannot do as well as the best of them falls away."""
    least = np.concatenate([cells.space.least(template, numbers) for template, numbers in legal])
    wanted = np.zeros(least.shape, dtype=bool)
    wanted[np.argpartition(least, min(PROMISING, least.size - 1))[:PROMISING]] = True
    best = _settled(cells, _of(legal, wanted), "latency", alike).mapping.expected_cycles
    return _of(legal, least <= alike.most("cycles", best) + SLACK)


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
    figures = [_figures(costs, objective, "cycles") for costs in found]
    joined = {name: partial(_joined, [each[name] for each in figures]) for name in figures[0]}
    return first(joined, Alike(found[0].problem.spread is not None, min(costs.floor for costs in found)))


def _joined(figures: Sequence[Callable[[], Reals]]) -> Reals:
    return np.concatenate([figure() for figure in figures])


def candidates(space: Space, objective: str, by: str = "bound") -> Iterator[Choice]:
    """Distinct mappings of a space, the least first by the objective's figures with ``by`` (bound | cycles) as latency.

    Templates are costed at the first step; a mapping is made when it is asked for.
    """
    found = [(template, cells) for template in space.templates() if (cells := space.legal(template)).size]
    if not found:
        return
    size = sum(template.grid.size for template, _ in found)
    costs = joined([space.costs(template, cells) for template, cells in found])
    whole = _Cells(space, size, costs.cells.size)
    seen: set[tuple[MapNode, ...]] = set()
    for made in _in_order(whole, found, costs, _figures(costs, objective, by)):
        if made.mapping.nodes not in seen:
            seen.add(made.mapping.nodes)
            yield made


def _in_order(
    cells: _Cells, found: Sequence[Found], costs: Costs, figures: Mapping[str, Callable[[], Reals]]
) -> Iterator[Choice]:
    """The mappings of all cells, the least by ``figures`` first: each is given once no other promises less."""
    columns = [figure() for figure in figures.values()]
    order = np.lexsort(columns[::-1]).tolist()
    promises = zip(*[column[order].tolist() for column in columns], strict=True)
    waiting: list[tuple[tuple[float, ...], int]] = []
    for place, promised in zip(order, promises, strict=True):
        while waiting and waiting[0] <= (promised, place):
            yield cells.choice(found, costs, heappop(waiting)[1])
        costs.cycles[place] = cells.choice(found, costs, place).mapping.expected_cycles
        heappush(waiting, (tuple([float(figure()[place]) for figure in figures.values()]), place))
    while waiting:
        yield cells.choice(found, costs, heappop(waiting)[1])


def _proof(problem: Problem) -> str:
    """What an exhaustive search has shown: of other spreads over cores nothing."""
    return OPTIMAL if problem.spread is None else f"{OPTIMAL} among those of this spread over cores"


def _figures(costs: Costs, objective: str, by: str) -> dict[str, Callable[[], Reals]]:
    """What cells are ranked by, the first figure first, each worked out when it is called."""

    def cycles() -> Reals:
        found: Reals = getattr(costs, by)
        return found

    named = {"cycles": cycles, "energy": lambda: costs.energy_pj, PRODUCT: lambda: cycles() * costs.energy_pj}
    order = {"latency": ("cycles", "energy"), "energy": ("energy", "cycles"), "edp": (PRODUCT, "cycles")}[objective]
    counted = {"commands": lambda: costs.commands, "bytes held": lambda: costs.held}
    return {name: named[name] for name in order} | counted
