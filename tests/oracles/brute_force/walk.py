"""Compiled: every point of one skeleton, and the best of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapper.looptree.search.objective import SAME
from tests.oracles.brute_force.jit import allocating
from tests.oracles.brute_force.measure import cost, fits, hold, window_below
from tests.oracles.brute_force.problem import Floats, Ints
from tests.oracles.brute_force.skeletons import WINDOW


class Orders(NamedTuple):
    """Orders of the loops of a stage that differ, by the mask of dims that loop there."""

    first: Ints  # [mask + 1]: rows
    below: Ints  # [row, operand]: mask of the loops below the last one that indexes it


class Best(NamedTuple):
    """The best point so far. ``tally``: points, costs computed, points that fit, whether this walk improved it."""

    key: Floats  # objective, latency, energy
    chosen: Ints  # [dim]: row of the layout
    sliding: Ints  # [1]: mask of tiles
    order: Ints  # [stage]: row of orders
    tally: Ints


class Scratch(NamedTuple):
    """Arrays that a walk works in, once per skeleton."""

    at: Ints
    windows: Ints
    used: Ints
    rounds: Ints
    chosen: Ints
    loops: Ints
    order: Ints
    still: Ints
    counts: Ints
    called: Floats
    used_of: Ints
    held: Ints


@allocating
def _admits(problem: Any, tables: Any, scratch: Any, depth: Any, row: Any) -> Any:
    """Whether a chain goes with those chosen before: one loop in a window, fan-outs not beyond their instances."""
    if scratch.windows[depth] & tables.slid[row]:
        return False
    scratch.windows[depth + 1] = scratch.windows[depth] | tables.slid[row]
    for axis in range(problem.fanout.size):
        used = scratch.used[depth, axis] * tables.share[row, axis]
        if used > problem.fanout[axis]:
            return False
        scratch.used[depth + 1, axis] = used
        scratch.rounds[depth + 1, axis] = scratch.rounds[depth, axis] * tables.rounds[row, axis]
    return True


@allocating
def _used_enough(problem: Any, rounds: Any) -> Any:
    for axis in range(problem.fanout.size):
        if problem.least_rounds[axis] and rounds[axis] > problem.least_rounds[axis]:
            return False
    return True


@allocating
def walk(
    problem: Any, layout: Any, tables: Any, orders: Any, best: Any, scratch: Any, first: Any, last: Any, limit: Any
) -> Any:
    """Every point whose first dim has a chain from row ``first`` on, before ``last``; stops at ``limit`` costs."""
    dims = problem.extents.size
    depth = 0
    scratch.at[0] = first - 1
    while depth >= 0:
        scratch.at[depth] += 1
        row = scratch.at[depth]
        if row >= (last if depth == 0 else layout.offset[depth + 1]):
            depth -= 1
        elif _admits(problem, tables, scratch, depth, row):
            scratch.chosen[depth] = row
            if depth + 1 < dims:
                depth += 1
                scratch.at[depth] = layout.offset[depth] - 1
            elif _used_enough(problem, scratch.rounds[dims]):
                _tiling(problem, layout, tables, orders, best, scratch)
                if best.tally[1] >= limit:
                    return


@allocating
def _tiling(problem: Any, layout: Any, tables: Any, orders: Any, best: Any, scratch: Any) -> Any:
    """All windows and orders of loops of one choice of chains."""
    ways = _loops(layout, tables, scratch)
    able, spread = 0, 0
    for dim in range(scratch.chosen.size):
        spread |= tables.active[scratch.chosen[dim]]
    for keep in range(layout.keep_memory.size):
        if layout.may_slide[keep] and _slides(problem, layout, scratch, spread, keep):
            able |= 1 << keep
    sliding = able
    while True:
        if _every_window_is_used(layout, scratch, sliding):
            best.tally[0] += ways
            hold(problem, layout, scratch.chosen, sliding, scratch.loops, scratch.held)
            if fits(problem, scratch.held):
                best.tally[2] += ways
                _orders(problem, layout, tables, orders, best, scratch, sliding)
        if sliding == 0 or problem.bill_all:
            return
        sliding = (sliding - 1) & able


@allocating
def _loops(layout: Any, tables: Any, scratch: Any) -> Any:
    """Dims that loop at each stage; returns in how many orders they can."""
    ways = 1
    for stage in range(layout.kinds.size):
        mask, count = 0, 0
        for dim in range(scratch.chosen.size):
            if layout.kinds[stage] < 0 and tables.active[scratch.chosen[dim]] >> stage & 1:
                mask |= 1 << dim
                count += 1
                ways *= count
        scratch.loops[stage] = mask
    return ways


@allocating
def _slides(problem: Any, layout: Any, scratch: Any, spread: Any, keep: Any) -> Any:
    place = layout.keep_place[keep]
    stage = window_below(layout, scratch.loops, place)
    if stage < 0 or spread >> place & ((1 << (stage - place)) - 1):
        return False
    return scratch.loops[stage] & problem.windows[layout.keep_operand[keep]] != 0


@allocating
def _every_window_is_used(layout: Any, scratch: Any, sliding: Any) -> Any:
    for stage in range(layout.kinds.size):
        if layout.kinds[stage] != WINDOW or not scratch.loops[stage]:
            continue
        used = False
        for keep in range(layout.keep_memory.size):
            if sliding >> keep & 1:
                used = used or window_below(layout, scratch.loops, layout.keep_place[keep]) == stage
        if not used:
            return False
    return True


@allocating
def _orders(problem: Any, layout: Any, tables: Any, orders: Any, best: Any, scratch: Any, sliding: Any) -> Any:
    stages = layout.kinds.size
    lowest = 0  # no tile lies below: orders there are equal
    for keep in range(layout.keep_memory.size):
        lowest = max(lowest, layout.keep_place[keep])
    for stage in range(stages):
        scratch.order[stage] = orders.first[scratch.loops[stage]]
    while True:
        _compare(problem, layout, tables, orders.below, best, scratch, sliding)
        stage = 0
        while stage < lowest:
            scratch.order[stage] += 1
            if scratch.order[stage] < orders.first[scratch.loops[stage] + 1]:
                break
            scratch.order[stage] = orders.first[scratch.loops[stage]]
            stage += 1
        if stage >= lowest or problem.bill_all:
            return


@allocating
def _compare(problem: Any, layout: Any, tables: Any, below: Any, best: Any, scratch: Any, sliding: Any) -> Any:
    energy, latency = cost(problem, layout, tables, below, scratch, sliding)
    best.tally[1] += 1
    value = energy ** problem.powers[0] * latency ** problem.powers[1]
    if not _smaller(value, latency, energy, best.key):
        return
    best.key[0], best.key[1], best.key[2] = value, latency, energy
    best.chosen[:] = scratch.chosen
    best.sliding[0] = sliding
    best.order[: scratch.order.size] = scratch.order
    best.tally[3] = 1


@allocating
def _differs(one: Any, other: Any) -> Any:
    return one != other and not abs(one - other) <= SAME * max(abs(one), abs(other))


@allocating
def _smaller(value: Any, latency: Any, energy: Any, key: Any) -> Any:
    if _differs(value, key[0]):
        return value < key[0]
    if _differs(latency, key[1]):
        return latency < key[1]
    return _differs(energy, key[2]) and energy < key[2]


def scratch(dims: int, stages: int, axes: int, edges: int, operands: int, memories: int) -> Scratch:
    """Room for the walk of one skeleton."""
    return Scratch(
        at=np.zeros(dims, np.int64),
        windows=np.zeros(dims + 1, np.int64),
        used=np.ones((dims + 1, axes), np.int64),
        rounds=np.ones((dims + 1, axes), np.int64),
        chosen=np.zeros(dims, np.int64),
        loops=np.zeros(stages, np.int64),
        order=np.zeros(stages, np.int64),
        still=np.zeros((edges, dims), np.int64),
        counts=np.zeros((memories, operands, 2), np.int64),
        called=np.zeros((memories, operands, 2)),
        used_of=np.ones(memories + 1, np.int64),
        held=np.zeros(memories, np.int64),
    )
