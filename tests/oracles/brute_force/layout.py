"""A skeleton with the chains of its dims as plain arrays: which loops count in which traffic.

Of an edge (from a tile to the one inside it, or to the compute units) eight counts are needed: four of all instances,
then the same of the busiest. FILLS: values that enter or leave all inner tiles. READS: that the outer tile gives or
takes, once for instances that share them. FIRST_READS, FIRST_FILLS: those of them that no partial sum precedes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mapper.looptree.search.space import Space
from tests.oracles.brute_force.chains import Chain
from tests.oracles.brute_force.problem import Ints
from tests.oracles.brute_force.skeletons import Skeleton

FILLS, READS, FIRST_READS, FIRST_FILLS, BUSIEST = 0, 1, 2, 3, 4


class Layout(NamedTuple):
    """Tiles and edges by number; stages are counted from the outside, masks are of stages unless said otherwise."""

    kinds: Ints  # [stage]: axis, or TEMPORAL, WINDOW
    keep_memory: Ints  # [keep]
    keep_operand: Ints
    keep_place: Ints  # stages above it
    may_slide: Ints
    edge_operand: Ints  # [edge]
    edge_outer: Ints  # memory
    edge_inner: Ints  # memory, -1: compute units
    edge_parent: Ints  # stages above the outer tile
    edge_child: Ints  # stages above the inner tile
    edge_keep: Ints  # number of the inner tile, -1: compute units
    alike: Ints  # [edge, count]: fan-outs of which dims that do not index the operand count the first instance only
    one: Ints  # [edge, count]: and so of dims that do
    terms: Ints  # [term, 5]: edge, count, memory, read 0 or write 1, sign
    chains: Ints  # [row, stage]: tiles; all chains of the first dim, then of the second
    offset: Ints  # [dim + 1]: rows of each dim


def lay(space: Space, skeleton: Skeleton, chains: list[tuple[Chain, ...]], slides: list[bool]) -> Layout:
    """Arrays of a skeleton; ``chains`` of each dim; ``slides``: tiles that slide where they can."""
    memories = [memory.name for memory in space.hierarchy.memories]
    operands = [operand.name for operand in space.einsum.operands]
    keeps = skeleton.keeps
    edges = _edges(space, skeleton)
    alike, one = _instances(space, skeleton, edges)
    columns = np.array([edge[:-1] for edge in edges], np.int64).T
    counts = [len(some) for some in chains]
    return Layout(
        np.array(skeleton.kinds, np.int64),
        np.array([memories.index(name) for _, name, _ in keeps], np.int64),
        np.array([operands.index(name) for name, _, _ in keeps], np.int64),
        np.array([place for _, _, place in keeps], np.int64),
        np.array(slides, np.int64),
        *_six(columns),
        alike,
        one,
        _terms(space, edges),
        np.array([chain for some in chains for chain in some], np.int64).reshape(sum(counts), len(skeleton.kinds)),
        np.array([0, *np.cumsum(counts)], np.int64),
    )


Edge = tuple[int, int, int, int, int, int, str]  # operand, outer, inner, parent, child, keep; name of the operand


def _edges(space: Space, skeleton: Skeleton) -> list[Edge]:
    memories = [memory.name for memory in space.hierarchy.memories]
    found = []
    for number, operand in enumerate(space.einsum.operands):
        mine = [(at, *keep) for at, keep in enumerate(skeleton.keeps) if keep[0] == operand.name]
        below = [(at, memories.index(name), place) for at, _, name, place in mine[1:]]
        for (_, _, name, parent), (at, inner, child) in zip(mine, [*below, (-1, -1, len(skeleton.kinds))], strict=True):
            found.append((number, memories.index(name), inner, parent, child, at, operand.name))
    return found


def _six(columns: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    operand, outer, inner, parent, child, keep = (np.ascontiguousarray(column) for column in columns)
    return operand, outer, inner, parent, child, keep


def _terms(space: Space, edges: list[Edge]) -> Ints:
    """What an edge adds to the reads (0) and writes (1) of the memories at its ends."""
    output, drain = len(space.einsum.operands) - 1, int(space.convention.drain_reads)
    found = []
    for at, (operand, outer, inner, *_) in enumerate(edges):
        if operand != output:
            terms = [(READS, outer, 0, 1), (FILLS, inner, 1, 1)]
        else:  # a drain, and partial sums back where there are some
            terms = [(READS, outer, 1, 1), (READS, outer, 0, 1), (FIRST_READS, outer, 0, -1)]
            terms += [(FILLS, inner, 0, drain), (FILLS, inner, 1, 1), (FIRST_FILLS, inner, 1, -1)]
        found += [(at, *term) for term in terms if term[1] >= 0 and term[3]]
    return np.array(found, np.int64)


def _instances(space: Space, skeleton: Skeleton, edges: list[Edge]) -> tuple[Ints, Ints]:
    memories = [memory.name for memory in space.hierarchy.memories]
    axes = space.hierarchy.axes
    first = {-1: len(skeleton.kinds)}  # stages above every tile of a memory
    for _, name, place in skeleton.keeps:
        first[memories.index(name)] = min(place, first.get(memories.index(name), place))
    alike, one = np.zeros((len(edges), 2 * BUSIEST), np.int64), np.zeros((len(edges), 2 * BUSIEST), np.int64)
    for at, (_, outer, inner, parent, _, _, operand) in enumerate(edges):
        inside = _mask(kind >= 0 and stage >= parent for stage, kind in enumerate(skeleton.kinds))
        shared = inside & _mask(kind >= 0 and operand in axes[kind].may_reuse for kind in skeleton.kinds)
        alike[at] = [0, shared, inside, inside & ~shared] * 2
        for count in range(BUSIEST):
            memory = outer if count in (READS, FIRST_READS) else inner
            spread = _mask(kind >= 0 and stage < first[memory] for stage, kind in enumerate(skeleton.kinds))
            one[at, BUSIEST + count] = spread
            alike[at, BUSIEST + count] |= spread
    return alike, one


def _mask(bits: Iterable[bool]) -> int:
    return sum(1 << at for at, bit in enumerate(bits) if bit)
