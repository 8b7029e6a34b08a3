"""Cells of a space by the figures that they promise, kept apart from what the figures were worked out of.

Ties fall to the next figure: latency, energy, EDP each followed by the others, then fewer commands, fewer bytes held,
first in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapper.cost.grid import Reals
from mapper.cost.grid_cost import Cells, Costs, most_certain
from mapper.search.templates import Template
from mapper.search.ties import FORECASTS, Alike, first

CYCLES, ENERGY, PRODUCT = FORECASTS
RANKED_BY = {"latency": (CYCLES, ENERGY), "energy": (ENERGY, CYCLES), "edp": (PRODUCT, CYCLES)}

Found = tuple[Template, Cells]


class Promised(NamedTuple):
    """Figures of n cells: expected cycles, the energy of the work alone, commands and bytes held, each (n,)."""

    cycles: Reals
    work_pj: Reals
    commands: Reals
    held: Reals


class Ranking:
    """Cells that were ``found``, one template's after the other's, by what they promise. ``promised.cycles`` of a cell
    are put right by whoever knows what its mapping takes."""

    def __init__(
        self,
        objective: str,
        found: Sequence[Found],
        promised: Promised,
        standing_pj: float,
        certain: Mapping[str, float],
    ) -> None:
        """``standing_pj``: of each cycle beside the work; ``certain``: as of ``Costs``, of these cells and of those
        that were left out."""
        self.objective, self.found, self.promised = objective, list(found), promised
        self.standing_pj, self.certain = standing_pj, certain
        self.names = (*RANKED_BY[objective], "commands", "bytes held")

    @property
    def floor(self) -> float:
        """Cycles that no cell undercuts."""
        return most_certain(self.certain)

    def figure(self, name: str) -> Reals:
        """Of all cells."""
        cycles, work, commands, held = self.promised
        if name == CYCLES:
            return cycles
        if name == ENERGY:
            return work + cycles * self.standing_pj
        if name == PRODUCT:
            return cycles * self.figure(ENERGY)
        return commands if name == "commands" else held

    def figures(self) -> dict[str, Callable[[], Reals]]:
        """What cells are ranked by, the first figure first, each worked out when it is called."""
        return {name: partial(self.figure, name) for name in self.names}

    def at(self, position: int) -> tuple[Template, int]:
        """Which cell of which template stands at a position."""
        for template, cells in self.found:
            if position < cells.size:
                return template, int(cells[position])
            position -= cells.size
        raise IndexError(position)

    @property
    def first(self) -> Reals:
        """The first figure of all cells."""
        return self.figure(self.names[0])

    def no_more_than(self, most: float) -> Ranking:
        """The cells whose first figure is no more than that."""
        wanted = self.first <= most
        if wanted.all():
            return self
        promised = Promised(*(figure[wanted] for figure in self.promised))
        return Ranking(self.objective, those(self.found, wanted), promised, self.standing_pj, self.certain)


def ranked(costs: Costs, objective: str, found: Sequence[Found] = (), by: str = "cycles") -> Ranking:
    """A ranking by ``costs``, which are those of the cells that were ``found``; ``by``: cycles | bound."""
    work = np.broadcast_to(costs.energy(np.zeros(())), costs.cells.shape)
    promised = Promised(np.array(getattr(costs, by)), work, costs.commands, costs.held)
    return Ranking(objective, found, promised, costs.chip.standing_pj, costs.certain)


def first_figure(costs: Costs, objective: str) -> Reals:
    """What cells are ranked by first."""
    name = RANKED_BY[objective][0]
    if name == CYCLES:
        return costs.cycles
    return costs.energy_pj if name == ENERGY else costs.cycles * costs.energy_pj


def joined(parts: Sequence[Ranking], certain: Iterable[Mapping[str, float]] = ()) -> Ranking:
    """Rankings of parts of the cells of one space as one, one after the other; ``certain``: of all cells, those that
    were left out too, where there are any."""
    known = [*certain] or [part.certain for part in parts]
    found = [each for part in parts for each in part.found]
    least = {name: min(each[name] for each in known) for name in known[0]}
    return Ranking(parts[0].objective, found, _together(parts), parts[0].standing_pj, least)


def _together(parts: Iterable[Ranking]) -> Promised:
    return Promised(*(np.concatenate(column) for column in zip(*(part.promised for part in parts), strict=True)))


def those(found: Sequence[Found], wanted: NDArray[np.bool_]) -> list[Found]:
    """Of cells, one template's after the other's, those that are ``wanted``."""
    ends = np.cumsum([cells.size for _, cells in found])
    parts = np.split(wanted, ends[:-1])
    return [(template, cells[part]) for (template, cells), part in zip(found, parts, strict=True) if part.any()]


def best_of(found: Sequence[Costs], objective: str) -> int:
    """Where the best cell of several costs of one layer stands, in all of them one after the other."""
    rankings = [ranked(costs, objective) for costs in found]
    together = Ranking(objective, (), _together(rankings), rankings[0].standing_pj, {})
    return first(together.figures(), Alike(found[0].problem.spread is not None, min(each.floor for each in rankings)))
