"""The least latency and energy that any LoopTree of a layer can have on a chip: what a mapping can be held against.

Searched: all orders, keeps and tilings (in equal parts, rounded up) on the chip's explicit memories, one slot a tile.
Not searched is the array, which lays products of dims over its fan-outs as no LoopTree does: of its streams and cycles,
and of what else no mapping spares, the least is taken (``unavoidable``). Sums that leave the accumulators count as
outputs in width. So no mapping of the layer is better, and the best one may be worse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, inf

from mapper.cost.chip_rates import ChipCosts
from mapper.looptree.chip import layer_einsum, memories_of, places
from mapper.looptree.conventions import ARCHSIM
from mapper.looptree.hierarchy import READ, WRITE, Action, Compute, Hierarchy, Memory
from mapper.looptree.search import optimal
from mapper.looptree.search.branch.store import Tables
from mapper.looptree.search.found import Budget
from mapper.looptree.search.objective import ENERGY, LATENCY
from mapper.looptree.search.space import Space
from mapper.looptree.unavoidable import Unspared
from mapper.problem.problem import Problem

EVALUATIONS = 1_000_000  # about a second; a count, so that a machine's speed decides nothing
_ROUNDING = 1e-9  # of figures in floating point


@dataclass(frozen=True)
class Least:
    """A figure that no LoopTree undercuts. ``proven``: the search ended, so that one reaches it, the array aside."""

    figure: float
    proven: bool

    def gap(self, figure: float) -> float:
        """How much larger the figure of a mapping is, as a fraction of the least."""
        return figure / self.figure - 1 if self.figure else 0.0


@dataclass(frozen=True)
class Bounds:
    """``cycles``: of the chip's reference clock. ``energy_pj``: of all accesses to explicit memories."""

    cycles: Least
    energy_pj: Least


def bounds(
    problem: Problem,
    chip: ChipCosts,
    dtypes: Mapping[str, str],
    evaluations: int | None = EVALUATIONS,
    unspread: frozenset[str] = frozenset(),
) -> Bounds:
    """Bounds of a matmul on an array, each searched with so many ``evaluations`` at most (None: until it is proven).

    ``unspread``: dims that may not be spread over the array, so that a command has one index of each.
    Raises MappingError for a layer that is no einsum or runs on no array.
    """
    unspared = Unspared(problem, chip, dtypes, unspread)
    space = space_of(unspared)
    tables: Tables = {}
    latency = optimal.search(space, LATENCY, Budget(evaluations=evaluations), tables)
    energy = optimal.search(space, ENERGY, Budget(evaluations=evaluations), tables)
    cycles = ceil(latency.bound * chip.architecture.clock_hz * (1 - _ROUNDING))
    energy_pj = (energy.bound * 1e12 + unspared.energy_pj) * (1 - _ROUNDING)
    return Bounds(Least(cycles, latency.proven), Least(energy_pj, energy.proven))


def space_of(unspared: Unspared) -> Space:
    """What is searched: the explicit memories without the array's streams; all MACs take what no mapping spares."""
    problem, chip = unspared.problem, unspared.chip
    einsum = layer_einsum(problem)
    rate = einsum.macs * chip.architecture.clock_hz / unspared.cycles
    placed = zip(places(problem, chip), memories_of(problem, chip), strict=True)
    free = {"sums": (READ, WRITE)}
    memories = tuple(
        _freed(memory, free.get(place.holds, (READ,) if place in unspared.fed else ())) for place, memory in placed
    )
    hierarchy = Hierarchy(chip.architecture.name, memories, Compute("MAC", Action(0.0, rate, 0)))
    return Space(einsum, hierarchy, ARCHSIM, "any", tile_slots=1)


def _freed(memory: Memory, ways: tuple[str, ...]) -> Memory:
    """Without what some of its actions cost."""
    free = {way: replace(memory.actions[way], energy_j=0.0, per_s=inf) for way in ways}
    return replace(memory, actions={**memory.actions, **free})
