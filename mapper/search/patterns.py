"""What DRAM makes of tiles: told of the mappings that were worked out, believed of all cells that have the same tiles.

How long DRAM serves an operand's tiles, against its peak, follows from their extents alone, and many cells share these.
So the few mappings that a search works out say a good part of what the others take. As in the figures that mappings are
ranked by before they are worked out, nothing that their other operands lose, or that is lost on chip, is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import Reals, Traffic
from mapper.cost.grid_cost import Cells, Costs
from mapper.cost.slowdown import Slowdown
from mapper.problem.operands import OperandPlan
from mapper.problem.problem import Problem
from mapper.search.templates import Template


class TilePatterns:
    """Of cells of one problem's templates, by what is known of their tiles so far."""

    def __init__(self, found: Sequence[tuple[Template, Cells]], problem: Problem, chip: ChipCosts) -> None:
        """Of the cells that were ``found``, one template's after the other's."""
        self._crowd = problem.spread is not None
        self._tiles: dict[str, NDArray[np.intp]] = {}  # of an operand in every cell, by number
        self._slower: dict[str, Reals] = {}  # of each such tile: how many times as long as at the peak
        self._told: dict[str, NDArray[np.bool_]] = {}  # whether that was learned
        for plan in (*problem.loads, *problem.stores):
            outer = chip.outer.get(plan.home)
            if outer is not None and outer.rates is not None:
                self._tiles[plan.name], count = _numbered(plan, found)
                self._slower[plan.name] = np.full(count, 1 / outer.rates.most)
                self._told[plan.name] = np.zeros(count, dtype=np.bool_)

    @property
    def tell_nothing(self) -> bool:
        """Whether nothing can be learned: DRAM goes at its peak, or serves many cores at once."""
        return not self._tiles or self._crowd

    def learn(self, position: int, slowdown: Slowdown) -> None:
        """Take note of what the tiles of the cell at a position take."""
        for name, tiles in self._tiles.items():
            if name in slowdown.pins:
                tile, slower = tiles[position], float(slowdown.pins[name])
                known = self._slower[name][tile] if self._told[name][tile] else slower
                self._slower[name][tile] = min(known, slower)  # they are equal but for rounding
                self._told[name][tile] = True

    def cycles(self, costs: Costs, begin: int = 0) -> Reals:
        """What cells take at least, as far as their tiles are known: those from ``begin`` on, which have ``costs``."""
        these = slice(begin, begin + costs.cells.size)
        pins = {name: self._slower[name][tiles[these]] for name, tiles in self._tiles.items()}
        return replace(costs, slowdown=Slowdown(pins=pins)).cycles


def _numbered(plan: OperandPlan, found: Sequence[tuple[Template, Cells]]) -> tuple[NDArray[np.intp], int]:
    """The tile that each cell has of an operand, as a number, and how many numbers there are."""
    begun = dict[int, int]()  # by the tables of traffic, as objects: templates share them
    numbers, count = [], 0
    for template, cells in found:
        traffic = template.traffic(plan)
        shape = _shape(traffic)
        if id(traffic) not in begun:
            begun[id(traffic)] = count
            count += prod(shape)
        places = np.unravel_index(cells, template.grid.shape)
        at = tuple(place if size > 1 else np.zeros_like(place) for place, size in zip(places, shape, strict=True))
        numbers.append(begun[id(traffic)] + np.ravel_multi_index(at, shape))
    return np.concatenate(numbers), count


def _shape(traffic: Traffic) -> tuple[int, ...]:
    """Of a grid's groups those whose cuts change an operand's tiles, all others of one value."""
    shape = np.broadcast_shapes(traffic.slot.shape, traffic.first.shape, traffic.run.shape, traffic.slides.shape)
    return (1,) * (4 - len(shape)) + shape
