"""Counts and cost of one LoopTree by the rules of this package, beside those of counts and cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archsim.ir.mapping import Keep
from mapper.looptree.counts import Count
from mapper.looptree.hierarchy import READ, WRITE
from mapper.looptree.nest import Nest
from mapper.looptree.search.objective import EDP
from mapper.looptree.search.space import Space
from tests.oracles.brute_force.layout import BUSIEST, lay
from tests.oracles.brute_force.measure import cost, counted, hold, window_below
from tests.oracles.brute_force.problem import encode
from tests.oracles.brute_force.skeletons import TEMPORAL, WINDOW, Skeleton
from tests.oracles.brute_force.tables import tabulate
from tests.oracles.brute_force.walk import scratch


@dataclass(frozen=True)
class Recount:
    """Values by memory, operand and action, of all instances and of the busiest; bits held; joules and seconds."""

    counts: dict[Count, int]
    busiest: dict[Count, int]
    held_bits: dict[str, int]
    energy_j: float
    latency_s: float


def recount(nest: Nest, space: Space) -> Recount:
    """Of a LoopTree of a space. The busiest instance is counted where the convention does not spread actions evenly."""
    problem, skeleton, slides = encode(space, EDP), _skeleton(nest, space), _slides(nest)
    dims = list(nest.einsum.extents)
    chains = [tuple(nest.tile(at + 1)[dim] for at, _ in nest.loops) for dim in dims]
    layout = lay(space, skeleton, [(chain,) for chain in chains], slides)
    tables = tabulate(problem, layout, np.ones((len(dims), problem.fanout.size), np.int64))
    room = scratch(len(dims), len(chains[0]), 0, len(layout.edge_operand), *problem.bits.shape[::-1])
    for stage, (at, loop) in enumerate(nest.loops):
        turns = not loop.axis and nest.trips(at) > 1
        room.loops[stage] = 1 << dims.index(loop.dim) if turns else 0
        room.order[stage] = stage
    places = layout.keep_place
    real = [slide and window_below(layout, room.loops, place) >= 0 for slide, place in zip(slides, places, strict=True)]
    sliding = sum(1 << number for number, slide in enumerate(real) if slide)
    chosen = np.arange(len(dims))
    room.chosen[:] = chosen
    energy, latency = cost(problem, layout, tables, room.loops[:, None] & problem.irrelevant[None, :], room, sliding)
    hold(problem, layout, chosen, sliding, room.loops, room.held)
    held = {memory.name: int(bits) for memory, bits in zip(space.hierarchy.memories, room.held, strict=True)}
    both: list[dict[Count, int]] = [{}, {}]
    for found, base in zip(both, (0, BUSIEST), strict=True):
        if base == 0 or not problem.fractional:
            counted(problem, layout, tables, room, base)
            found.update(_named(space, room.counts))
    return Recount(both[0], both[1], held, energy, latency)


def _named(space: Space, counts: np.typing.NDArray[np.int64]) -> dict[Count, int]:
    names = [memory.name for memory in space.hierarchy.memories]
    return {
        (memory, operand.name, action): int(counts[i, j, k])
        for i, memory in enumerate(names)
        for j, operand in enumerate(space.einsum.operands)
        for k, action in enumerate((READ, WRITE))
    }


def _slides(nest: Nest) -> list[bool]:
    keeps = [(at, node) for at, node in enumerate(nest.nodes) if isinstance(node, Keep)]
    loops = [at for at, _ in nest.loops if nest.trips(at) > 1]
    return [any(place < at < keep.reserve_at for at in loops) for place, keep in keeps]


def _skeleton(nest: Nest, space: Space) -> Skeleton:
    axes = [axis.name for axis in space.hierarchy.axes]
    spans = [(place, keep.reserve_at) for kept in nest.keeps.values() for place, keep in kept]
    kinds = [
        axes.index(loop.axis) if loop.axis else WINDOW if any(a < at < b for a, b in spans) else TEMPORAL
        for at, loop in nest.loops
    ]
    keeps = [(at, node) for at, node in enumerate(nest.nodes) if isinstance(node, Keep)]
    places = tuple(len(nest.above(at)) for at, _ in keeps)
    nodes = tuple((keep.operand, keep.level) for _, keep in keeps)
    return Skeleton((), nodes, tuple(kinds), tuple(frozenset[str]() for _ in kinds), places)
