"""Every LoopTree of a space, one by one: the truth that other searches are tested against.

What is enumerated: every set of tiles (what memories must keep and any of what they may), every order of the tiles
(interleaved between fan-outs unless the space is ``in_order``), every chain of tiles of every dim over all stages,
every order of the loops of a stage, every set of sliding windows. Stages: above the first inner tile, below every
tile, below every fan-out, a dim looping once in each at most; the fan-outs; and directly below a tile of limited room
one loop over which it and the tiles just above it may slide. LoopTrees = sum over orders of tiles, over combinations
of chains that fan-outs admit, over sets of windows, of the product over stages of (number of loops there)!. ``size``
counts those.

Nothing is left out for its cost. Only equals are: trips of 1; temporal loops below a fan-out and the order of fan-outs
when all tiles divide; windows that are not needed where every iteration is billed (they change room alone); orders of
loops that leave the same loops below the last one that indexes each operand; loops above the tiles that hold an
operand whole.
Counts and costs are computed by the other files of this folder, which share no code with mapper.looptree.counts and
mapper.looptree.cost.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from archsim.base.errors import MappingError
from archsim.ir.mapping import Keep, Loop, MapNode
from mapper.looptree.cost import evaluate
from mapper.looptree.nest import Nest
from mapper.looptree.search.found import Budget, Found
from mapper.looptree.search.objective import LATENCY, Objective
from mapper.looptree.search.reasons import together
from mapper.looptree.search.space import Space, check
from tests.oracles.brute_force.chains import Chain, chains, irrelevant_masks, orders
from tests.oracles.brute_force.layout import Layout, lay
from tests.oracles.brute_force.problem import Ints, Problem, encode
from tests.oracles.brute_force.skeletons import TEMPORAL, WINDOW, Skeleton, skeletons
from tests.oracles.brute_force.tables import tabulate
from tests.oracles.brute_force.walk import Best, Orders, scratch, walk

_STAGES = 62  # bits of a mask
_WORST = sys.float_info.max


class _Winner(NamedTuple):
    """The best point in arrays of its own."""

    skeleton: Skeleton
    tiles: tuple[Chain, ...]
    order: tuple[int, ...]
    sliding: int


def search(space: Space, objective: Objective, budget: Budget | None = None) -> Found:
    """The best LoopTree of a space; of equals the first in the order of enumeration.

    Raises MappingError when none fits. A budget that ends it leaves ``bound`` 0.
    """
    budget = budget or Budget()
    run = _Run(space, objective, budget)
    complete = run.all()
    if run.winner is None:
        raise MappingError(run.why_none(complete))
    nest = run.nest(run.winner)
    check(nest, space)
    cost = evaluate(nest, space.hierarchy, space.convention)
    value = objective.key(cost.energy_j, cost.latency_s)[0]
    size, evaluated = float(run.best.tally[0]), int(run.best.tally[1])
    return Found(nest, cost, value, value if complete else 0.0, evaluated, lambda: size)


def _first(space: Space) -> Nest | None:
    """The first LoopTree that fits."""
    run = _Run(space, LATENCY, Budget(evaluations=1))
    run.all()
    return None if run.winner is None else run.nest(run.winner)


class _Run:
    def __init__(self, space: Space, objective: Objective, budget: Budget) -> None:
        self.space, self.budget = space, budget
        self.problem: Problem = encode(space, objective)
        self.dims = tuple(space.einsum.extents)
        found = orders(irrelevant_masks(space.einsum), len(self.dims))
        found = tuple(sorted(found, key=lambda row: row[0][0]))  # by the mask of dims
        self.order_of = [order for _, order in found]
        self.orders = _order_tables(found, len(self.dims))
        self.spread = np.array(
            [[dim in space.spread[axis.name] for axis in space.hierarchy.axes] for dim in self.dims], np.int64
        ).reshape(len(self.dims), len(space.hierarchy.axes))
        keeps, dims = len(space.einsum.operands) * len(space.hierarchy.memories), len(self.dims)
        key = np.full(3, _WORST)
        self.best = Best(key, *(np.zeros(size, np.int64) for size in (dims, 1, 4 * keeps + 64, 4)))
        self.winner: _Winner | None = None

    def all(self) -> bool:
        """Walk every skeleton; False when the budget ends it."""
        for skeleton in skeletons(self.space):
            cut = [
                chains(self.space.einsum.extents[dim], self._cuts(skeleton, dim), self.space.factors)
                for dim in self.dims
            ]
            if all(cut) and not self._walk(skeleton, cut):
                return False
        return True

    def _walk(self, skeleton: Skeleton, cut: list[tuple[Chain, ...]]) -> bool:
        limited = [self.space.hierarchy.memory(name).size_bits is not None for _, name, _ in skeleton.keeps]
        inner = [place > 0 for _, _, place in skeleton.keeps]
        layout = lay(self.space, skeleton, cut, [a and b for a, b in zip(limited, inner, strict=True)])
        if len(skeleton.kinds) > _STAGES:
            raise MappingError(f"exhaustive search: {len(skeleton.kinds)} stages of loops, at most {_STAGES}")
        tables = tabulate(self.problem, layout, self.spread)
        sizes = (self.problem.fanout.size, len(layout.edge_operand), *self.problem.bits.shape[::-1])
        room = scratch(len(self.dims), len(skeleton.kinds), *sizes)
        most = self.budget.evaluations if self.budget.evaluations is not None else sys.maxsize
        for row in range(len(cut[0])):
            if self.budget.over(int(self.best.tally[1])):
                return False
            walk(self.problem, layout, tables, self.orders, self.best, room, row, row + 1, most)
            self._note(skeleton, layout)
        return True

    def _note(self, skeleton: Skeleton, layout: Layout) -> None:
        if self.best.tally[3]:
            tiles = tuple(tuple(int(tile) for tile in layout.chains[row]) for row in self.best.chosen)
            order = tuple(int(at) for at in self.best.order[: len(skeleton.kinds)])
            self.winner = _Winner(skeleton, tiles, order, int(self.best.sliding[0]))
            self.best.tally[3] = 0

    def _cuts(self, skeleton: Skeleton, dim: str) -> tuple[int, ...]:
        """Most trips at each stage, negative for a fan-out."""
        extent = self.space.einsum.extents[dim]
        cuts = []
        for kind, sliding in zip(skeleton.kinds, skeleton.windows, strict=True):
            if kind == TEMPORAL:
                cuts.append(extent)
            elif kind == WINDOW:
                cuts.append(extent if dim in sliding else 0)
            else:
                axis = self.space.hierarchy.axes[kind]
                cuts.append(-axis.fanout if dim in self.space.spread[axis.name] else 0)
        return tuple(cuts)

    def nest(self, winner: _Winner) -> Nest:
        """The LoopTree of a point."""
        keeps = winner.skeleton.keeps
        nodes: list[MapNode] = [Keep(*keep[:2], self.space.slots, at) for at, keep in enumerate(keeps) if not keep[2]]
        waiting: list[int] = []  # tiles that slide over the next window
        for stage in range(len(winner.skeleton.kinds)):
            for number, (operand, name, place) in enumerate(keeps):
                if place == stage and place:
                    waiting += [len(nodes)] if winner.sliding >> number & 1 else []
                    nodes.append(Keep(operand, name, self.space.slots, len(nodes)))
            loops = self._loops(winner, stage)
            nodes += loops
            if loops and winner.skeleton.kinds[stage] == WINDOW:
                for at in waiting:
                    kept = nodes[at]
                    assert isinstance(kept, Keep)
                    nodes[at] = Keep(kept.operand, kept.level, kept.slots, len(nodes))
                waiting = []
        last = len(winner.skeleton.kinds)
        for operand, name, place in keeps:
            if place == last:
                nodes.append(Keep(operand, name, self.space.slots, len(nodes)))
        return Nest(self.space.einsum, tuple(nodes))

    def _loops(self, winner: _Winner, stage: int) -> list[Loop]:
        above = {
            dim: chain[stage - 1] if stage else self.space.einsum.extents[dim]
            for dim, chain in zip(self.dims, winner.tiles, strict=True)
        }
        kind = winner.skeleton.kinds[stage]
        order = range(len(self.dims)) if kind >= 0 else self.order_of[winner.order[stage]]
        axis = self.space.hierarchy.axes[kind].name if kind >= 0 else ""
        pairs = [(self.dims[at], winner.tiles[at][stage]) for at in order]
        return [Loop(dim, tile, axis) for dim, tile in pairs if tile != above[dim]]

    def why_none(self, complete: bool) -> str:
        """Why there is no LoopTree to return."""
        tried = f"{self.best.tally[0]:,} LoopTrees of '{self.space.einsum.name}' on '{self.space.hierarchy.name}'"
        if not complete:
            return f"none of the first {tried} fits, and the budget is used up"
        if not self.best.tally[0]:
            why = together(self.space, _first)
            end = f"fits '{self.space.hierarchy.name}': {why}" if why else f"is legal on '{self.space.hierarchy.name}'"
            return f"no LoopTree of '{self.space.einsum.name}' {end}"
        return f"none of {tried} fits: {self._tightest()}"

    def _tightest(self) -> str:
        needs = []
        for memory in self.space.hierarchy.memories:
            bits = sum(memory.bits.get(name, self.space.einsum.operand(name).bits) for name in sorted(memory.keep))
            if memory.size_bits is not None:
                needs.append((bits * self.space.slots / memory.size_bits, memory, bits * self.space.slots))
        share, memory, bits = max(needs, key=lambda need: need[0])
        return f"'{memory.name}' has {memory.size_bits:,.0f} bits, a value of each operand it must keep takes {bits:,}"


def _order_tables(found: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...], dims: int) -> Orders:
    first = np.searchsorted([row[0] for row, _ in found], range((1 << dims) + 1))
    below: Ints = np.array([row[1:] for row, _ in found], np.int64)
    return Orders(first.astype(np.int64), below)
