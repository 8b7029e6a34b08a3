"""Compiled: what one dim contributes to every count, by walking the pieces into which its loops cut it.

A loop cuts one dim, so a count is a product over dims (over pairs of dims that index a coordinate together). Pieces
are walked with their true extents, the last one of a loop being what is left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tests.oracles.brute_force.jit import allocating
from tests.oracles.brute_force.layout import FIRST_READS, Layout
from tests.oracles.brute_force.problem import Ints, Problem
from tests.oracles.brute_force.skeletons import WINDOW

PIECES = 64  # different extents of one dim at one place; two more a loop at most


class Tables(NamedTuple):
    """By row of the layout's chains; ``still``: the outermost stage whose temporal loops count once."""

    factor: Ints  # [row, edge, count, still]
    pair: Ints  # [place, edge, count]: of two dims of one coordinate
    pair_of: Ints  # [pair, 4]: operand, coordinate, first place, chains of its second dim
    pair_dims: Ints  # [pair, 2]
    active: Ints  # [row]: mask of stages with more than one trip
    slid: Ints  # [row]: of them the windows
    share: Ints  # [row, axis]: instances
    rounds: Ints  # [row, axis]: in which the dim is worked off, 1 where it may not loop on it
    instances: Ints  # [row, memory or compute units]: used
    busiest: Ints  # [row]: iterations of the busiest compute unit
    whole: Ints  # [row]: iterations of all


@allocating
def pieces(layout: Any, row: Any, extent: Any, place: Any, alike: Any, still: Any, sizes: Any, often: Any) -> Any:
    """Extents of a dim's pieces above ``place`` and how often each occurs; returns how many differ.

    Of stages in ``alike`` and of temporal stages from ``still`` on only the first piece counts.
    """
    sizes[0], often[0] = extent, 1
    count = 1
    tile = extent
    for stage in range(place):
        if layout.chains[row, stage] == tile:
            continue
        tile = layout.chains[row, stage]
        once = (alike >> stage & 1) == 1 or (layout.kinds[stage] < 0 and stage >= still)
        before = count
        for at in range(before):
            size = sizes[at]
            if once:
                sizes[at] = min(size, tile)
                continue
            left = size % tile
            if size > tile and left:
                sizes[count], often[count] = left, often[at]
                count += 1
            often[at] *= max(1, size // tile)
            sizes[at] = min(size, tile)
        count = _merge(sizes, often, count)
    return count


@allocating
def _merge(sizes: Any, often: Any, count: Any) -> Any:
    kept = 0
    for at in range(count):
        same = -1
        for other in range(kept):
            if sizes[other] == sizes[at]:
                same = other
        if same >= 0:
            often[same] += often[at]
        else:
            sizes[kept], often[kept] = sizes[at], often[at]
            kept += 1
    return kept


@allocating
def footprint(problem: Any, first: Any, first_step: Any, second: Any, second_step: Any) -> Any:
    """Values along a coordinate of two dims: all from the first to the last, or those that are touched."""
    if problem.whole_span:
        return (first - 1) * first_step + (second - 1) * second_step + 1
    common, other = first_step, second_step
    while other:
        common, other = other, common % other
    again = max(0, first - second_step // common) * max(0, second - first_step // common)
    return first * second - again


@allocating
def _total(sizes: Any, often: Any, count: Any, extents: Any) -> Any:
    total = 0
    for at in range(count):
        total += often[at] * (sizes[at] if extents else 1)
    return total


@allocating
def _indexes(problem: Any, operand: Any, dim: Any) -> Any:
    """0: a dim does not index an operand, 1: alone, 2: with another."""
    for at in range(problem.coordinate_count[operand]):
        if problem.coordinates[operand, at, 0] == dim or problem.coordinates[operand, at, 2] == dim:
            return 2 if problem.coordinates[operand, at, 2] >= 0 else 1
    return 0


@allocating
def _factors(
    problem: Any, layout: Any, dim: Any, row: Any, edge: Any, counts: Any, sizes: Any, often: Any, factor: Any
) -> Any:
    operand, place = layout.edge_operand[edge], layout.edge_child[edge]
    stages = layout.kinds.size
    kind = _indexes(problem, operand, dim)
    for count in range(counts):
        if kind:
            found = pieces(layout, row, problem.extents[dim], place, layout.one[edge, count], stages, sizes, often)
            factor[row, edge, count, :] = 1 if kind == 2 else _total(sizes, often, found, True)
            continue
        value = 0
        for still in range(stages, -1, -1):
            if still == stages or _loops(problem, layout, dim, row, still):
                found = pieces(layout, row, problem.extents[dim], place, layout.alike[edge, count], still, sizes, often)
                value = _total(sizes, often, found, False)
            factor[row, edge, count, still] = value
        if count % 4 >= FIRST_READS:
            factor[row, edge, count, :] = value


@allocating
def _loops(problem: Any, layout: Any, dim: Any, row: Any, stage: Any) -> Any:
    above = layout.chains[row, stage - 1] if stage else problem.extents[dim]
    return layout.chains[row, stage] != above


@allocating
def _along(problem: Any, layout: Any, dim: Any, row: Any, tables: Any) -> Any:
    """What does not depend on edges: loops, shares, instances, iterations."""
    sizes, often = np.empty(PIECES, np.int64), np.empty(PIECES, np.int64)
    above = problem.extents[dim]
    stages = layout.kinds.size
    spread = 0
    for stage in range(stages):
        tile, kind = layout.chains[row, stage], layout.kinds[stage]
        if kind >= 0:
            spread |= 1 << stage
        if tile != above:
            tables.active[row] |= 1 << stage
            if kind == WINDOW:
                tables.slid[row] |= 1 << stage
            if kind >= 0:
                tables.share[row, kind] *= -(-above // tile)
                for part in range(problem.outside.shape[0]):
                    tables.instances[row, part] *= -(-above // tile) if problem.outside[part, kind] else 1
        above = tile
    found = pieces(layout, row, problem.extents[dim], stages, spread, stages, sizes, often)
    tables.busiest[row] = _total(sizes, often, found, False)
    found = pieces(layout, row, problem.extents[dim], stages, 0, stages, sizes, often)
    tables.whole[row] = _total(sizes, often, found, False)


@allocating
def _pairs(problem: Any, layout: Any, counts: Any, tables: Any) -> Any:
    sizes, often = np.empty(PIECES, np.int64), np.empty(PIECES, np.int64)
    other_sizes, other_often = np.empty(PIECES, np.int64), np.empty(PIECES, np.int64)
    for at in range(tables.pair_of.shape[0]):
        operand, coordinate, start, width = tables.pair_of[at]
        dim, step, other, other_step = problem.coordinates[operand, coordinate]
        for edge in range(layout.edge_operand.size):
            if layout.edge_operand[edge] != operand:
                continue
            place = layout.edge_child[edge]
            for row in range(layout.offset[dim], layout.offset[dim + 1]):
                for second in range(width):
                    where = start + (row - layout.offset[dim]) * width + second
                    for count in range(counts):
                        one = layout.one[edge, count]
                        found = pieces(layout, row, problem.extents[dim], place, one, 64, sizes, often)
                        mate = layout.offset[other] + second
                        mates = pieces(layout, mate, problem.extents[other], place, one, 64, other_sizes, other_often)
                        total = 0
                        for i in range(found):
                            for j in range(mates):
                                values = footprint(problem, sizes[i], step, other_sizes[j], other_step)
                                total += values * often[i] * other_often[j]
                        tables.pair[where, edge, count] = total


@allocating
def _fill(problem: Any, layout: Any, counts: Any, tables: Any) -> Any:
    sizes, often = np.empty(PIECES, np.int64), np.empty(PIECES, np.int64)
    for dim in range(problem.extents.size):
        for row in range(layout.offset[dim], layout.offset[dim + 1]):
            _along(problem, layout, dim, row, tables)
            for edge in range(layout.edge_operand.size):
                _factors(problem, layout, dim, row, edge, counts, sizes, often, tables.factor)
    _pairs(problem, layout, counts, tables)


def tabulate(problem: Problem, layout: Layout, spread: Ints) -> Tables:
    """Tables of a layout; ``spread``: [dim, axis], 1 where a dim may loop on an axis."""
    rows, edges, parts = len(layout.chains), len(layout.edge_operand), problem.outside.shape[0]
    counts = 4 if problem.fractional else 8
    chains = np.diff(layout.offset)
    pair_of, pair_dims, places = [], [], 0
    for operand, count in enumerate(problem.coordinate_count):
        for coordinate in range(count):
            dim, _, other, _ = problem.coordinates[operand, coordinate]
            if other >= 0:
                pair_of.append((operand, coordinate, places, chains[other]))
                pair_dims.append((dim, other))
                places += chains[dim] * chains[other]
    axes = problem.fanout.size
    tables = Tables(
        np.ones((rows, edges, counts, len(layout.kinds) + 1), np.int64),
        np.ones((places, edges, counts), np.int64),
        np.array(pair_of, np.int64).reshape(len(pair_of), 4),
        np.array(pair_dims, np.int64).reshape(len(pair_of), 2),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.ones((rows, axes), np.int64),
        np.ones((rows, axes), np.int64),
        np.ones((rows, parts), np.int64),
        np.ones(rows, np.int64),
        np.ones(rows, np.int64),
    )
    _fill(problem, layout, counts, tables)
    for dim, extent in enumerate(problem.extents):
        mine = slice(layout.offset[dim], layout.offset[dim + 1])
        share = tables.share[mine]
        tables.rounds[mine] = np.where(spread[dim] > 0, -(-extent // share), 1)
    return tables
