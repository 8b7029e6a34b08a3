"""Tables of layers that outlive their search: layers that are alike but for the room and the rates of memories, as one
layer is on the chips of a sweep, have their grids, traffic and units' work in common.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import Grid, Reals, Traffic, build_grid, sides
from mapper.cost.grid_cost import far_bytes, held_bytes
from mapper.cost.unit_cycles import Work, work
from mapper.problem.constraints import Rules
from mapper.problem.problem import Problem, content
from mapper.search.mapping_cache import digest
from mapper.search.space import Order, depth_choices, least_needs

ONE_RUN = 16 << 20  # bytes kept between the layers of one model
MANY_POINTS = 256 << 20  # by whoever maps the same layers again and again
UNITS = 8  # variants of which a layer's work is kept
WORK_ARRAYS = 11  # of a unit's work, as large as the grid

Orders = tuple[Order, ...]
Depths = tuple[tuple[str, int], ...]
Sized = Callable[[Problem, Mapping[str, Traffic]], dict[str, Reals]]
Cells = NDArray[np.bool_]


@dataclass
class Arrays:
    """How many arrays as large as the grid the tables hold; copies of the tables share the count with them."""

    number: int = 0


@dataclass
class Tables:
    """A grid, and by loop orders the bytes that each memory holds at least; the units' work by what they are, with the
    cells in which it was worked out."""

    grid: Grid
    needs: dict[Orders, dict[str, Reals]] = field(default_factory=dict)
    templates: dict[Order, list[dict[str, int]]] = field(default_factory=dict)
    sizes: dict[tuple[str, Order, Depths], dict[str, Reals]] = field(default_factory=dict)
    done: dict[str, tuple[Cells, Work]] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=Arrays)

    @property
    def size_bytes(self) -> int:
        """About what they take: arrays as large as the grid. Counted as they come, for every search asks all tables."""
        return 8 * self.grid.size * self.arrays.number

    def of(self, problem: Problem) -> Tables:
        """The same tables for a problem that is alike."""
        return replace(self, grid=replace(self.grid, problem=problem))

    def feasible(self, orders: Orders) -> Cells:
        """Cells in which the smallest needs of all operands fit: a superset of all templates' legal cells."""
        if orders not in self.needs:
            self.needs[orders] = least_needs(self.grid, orders)
        legal = np.ones(self.grid.shape, dtype=bool)
        for level, need in self.needs[orders].items():
            legal &= need <= self.grid.problem.capacity[level]
        return legal

    def depths(self, order: Order) -> list[dict[str, int]]:
        """Every way to place the Keeps under a loop order."""
        if order not in self.templates:
            self.templates[order] = list(depth_choices(self.grid, order))
        return self.templates[order]

    def held(self, order: Order, kept: Mapping[str, int]) -> dict[str, Reals]:
        """Bytes that a template's operands hold in each memory."""
        return self._sized("held", order, kept, held_bytes)

    def beyond(self, order: Order, kept: Mapping[str, int]) -> dict[str, Reals]:
        """Bytes that a template moves at each memory that tiles come from or go to, in units of its own."""
        return self._sized("beyond", order, kept, far_bytes)

    def _sized(self, what: str, order: Order, kept: Mapping[str, int], sized: Sized) -> dict[str, Reals]:
        key = (what, order, tuple(kept.items()))
        if key not in self.sizes:
            problem = self.grid.problem
            moved = {plan.name: self.grid.traffic(plan, order, kept[plan.name]) for plan in problem.operands}
            whole = {level: np.broadcast_to(size, self.grid.shape) for level, size in sized(problem, moved).items()}
            self.sizes[key] = whole
            self.arrays.number += len(self.sizes[key])
        return self.sizes[key]

    def work(self, chip: ChipCosts, dtypes: Mapping[str, str], feasible: Cells) -> Work:
        """The units' work in all feasible cells, and in those that were so before."""
        key = _units(self.grid.problem, chip, dtypes)
        known, found = self.done.get(key, (None, None))
        if known is None or found is None or (feasible & ~known).any():
            wanted = feasible if known is None else feasible | known
            found = work(self.grid, chip, dtypes, wanted)
            if key not in self.done:
                self._make_room()
            self.done[key] = wanted, found
        return found

    def _make_room(self) -> None:
        """For the work of one more variant of the units, in the place of the oldest where there are enough."""
        if len(self.done) == UNITS:
            del self.done[next(iter(self.done))]
        else:
            self.arrays.number += WORK_ARRAYS


@dataclass
class _Shelf:
    """The tables that are kept, the one that was asked for last at the end, and the bytes that they may take."""

    tables: OrderedDict[str, Tables] = field(default_factory=OrderedDict)
    most_bytes: int = ONE_RUN


_shelf = _Shelf()


def tables(problem: Problem, chip: ChipCosts, rules: Rules, variant: str = "", plain: Grid | None = None) -> Tables:
    """The tables of a problem; ``variant``, ``plain`` as of ``build_grid``."""
    free = replace(rules, place="") if rules else ""
    key = digest([*content(problem), sides(problem, chip.architecture), free, variant])
    kept = _shelf.tables
    if key not in kept:
        room = _shelf.most_bytes - kept_bytes()
        while kept and room < 0:
            room += kept.popitem(last=False)[1].size_bytes
        kept[key] = Tables(build_grid(problem, chip.architecture, rules, variant, plain))
    kept.move_to_end(key)
    return kept[key].of(problem)


def keep(most_bytes: int) -> None:
    """Let all tables together take so many bytes from now on."""
    _shelf.most_bytes = most_bytes


def kept_bytes() -> int:
    """About what all tables take that are kept."""
    return sum(each.size_bytes for each in _shelf.tables.values())


def forget() -> None:
    """Keep none."""
    _shelf.tables.clear()


def _units(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str]) -> str:
    """What the work depends on beside the layer: the units but for their clocks, how those compare, and dtypes."""
    names = (problem.unit, problem.vector)
    parts = [part for part in (*chip.architecture.arrays, *chip.architecture.vectors) if part.name in names]
    return digest([(replace(part, clock_hz=1), chip.scale(part)) for part in parts] + [sorted(dtypes.items())])
