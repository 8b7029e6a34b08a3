"""Compiled: counts, energy and latency of one point, from the tables of its skeleton."""

from __future__ import annotations

from typing import Any

from tests.oracles.brute_force.jit import allocating
from tests.oracles.brute_force.layout import BUSIEST
from tests.oracles.brute_force.skeletons import WINDOW
from tests.oracles.brute_force.tables import footprint

ROUNDING = 1e-9  # of a number of actions that need not be whole


@allocating
def stills(
    irrelevant: Any,
    bill_all: Any,
    operands: Any,
    keeps: Any,
    children: Any,
    loops: Any,
    order: Any,
    below: Any,
    sliding: Any,
    still: Any,
) -> Any:
    """By edge and dim the outermost stage whose temporal loops do not change the inner tile.

    ``loops``: by stage the mask of dims with a temporal loop, ``order``: of them, ``below``: by order and operand those
    below the last one that indexes it. A tile that slides is never the same again.
    """
    for edge in range(operands.size):
        operand, keep, stage = operands[edge], keeps[edge], children[edge]
        if bill_all or keep < 0 or sliding >> keep & 1:
            for dim in range(still.shape[1]):
                still[edge, dim] = stage
            continue
        while stage > 0 and not loops[stage - 1] & ~irrelevant[operand]:
            stage -= 1
        for dim in range(still.shape[1]):
            inside = stage > 0 and below[order[stage - 1], operand] >> dim & 1
            still[edge, dim] = stage - 1 if inside else stage


@allocating
def count(
    terms: Any,
    operands: Any,
    offset: Any,
    factor: Any,
    pair: Any,
    pair_of: Any,
    pair_dims: Any,
    chosen: Any,
    still: Any,
    base: Any,
    counts: Any,
) -> Any:
    """Values by memory, operand, (read, write); ``base`` 0: of all instances, BUSIEST: of the busiest one."""
    counts[:] = 0
    for term in range(terms.shape[0]):
        edge, which = terms[term, 0], base + terms[term, 1]
        value = terms[term, 4]
        for dim in range(chosen.size):
            value *= factor[chosen[dim], edge, which, still[edge, dim]]
        operand = operands[edge]
        for at in range(pair_of.shape[0]):
            if pair_of[at, 0] == operand:
                first, second = pair_dims[at, 0], pair_dims[at, 1]
                row = pair_of[at, 2] + (chosen[first] - offset[first]) * pair_of[at, 3]
                value *= pair[row + chosen[second] - offset[second], edge, which]
        counts[terms[term, 2], operand, terms[term, 3]] += value


@allocating
def actions(counts: Any, bits: Any, action_bits: Any, called: Any) -> Any:
    """Actions that move so many values, by memory, operand, (read, write)."""
    for memory in range(counts.shape[0]):
        for kind in range(2):
            size = action_bits[memory, kind]
            for operand in range(counts.shape[1]):
                number = float(counts[memory, operand, kind])
                if size != 0 and number != 0:
                    number = number * bits[memory, operand] / size
                called[memory, operand, kind] = number


@allocating
def latency_of(called: Any, used: Any, rate: Any, flat_rate: Any, is_max: Any) -> Any:
    """Seconds of the slowest memory, the actions of each spread over ``used`` instances."""
    slowest = 0.0
    for memory in range(called.shape[0]):
        total, longest, summed = 0.0, 0.0, 0.0
        for kind in range(2):
            number = 0.0
            for operand in range(called.shape[1]):
                number += called[memory, operand, kind] / used[memory]
            total += number
            summed += number / rate[memory, kind]
            longest = max(longest, number / rate[memory, kind])
        time = longest if is_max[memory] else summed
        slowest = max(slowest, total / flat_rate[memory] if flat_rate[memory] else time)
    return slowest


@allocating
def energy_of(called: Any, energy: Any) -> Any:
    """Joules of the actions of all memories."""
    total = 0.0
    for memory in range(called.shape[0]):
        for kind in range(2):
            for operand in range(called.shape[1]):
                total += called[memory, operand, kind] * energy[memory, kind]
    return total


@allocating
def spread_of(instances: Any, whole: Any, busiest: Any, chosen: Any, used: Any) -> Any:
    """Instances used of each memory and the compute units; returns iterations of all, and of the busiest."""
    used[:] = 1
    macs, most = 1, 1
    for dim in range(chosen.size):
        macs *= whole[chosen[dim]]
        most *= busiest[chosen[dim]]
        for part in range(used.size):
            used[part] *= instances[chosen[dim], part]
    return macs, most


@allocating
def counted(problem: Any, layout: Any, tables: Any, room: Any, base: Any) -> Any:
    """Counts and actions of the point in ``room``."""
    count(
        layout.terms,
        layout.edge_operand,
        layout.offset,
        tables.factor,
        tables.pair,
        tables.pair_of,
        tables.pair_dims,
        room.chosen,
        room.still,
        base,
        room.counts,
    )
    actions(room.counts, problem.bits, problem.action_bits, room.called)


@allocating
def cost(problem: Any, layout: Any, tables: Any, below: Any, room: Any, sliding: Any) -> Any:
    """Energy in joules and latency in seconds of the point in ``room``."""
    stills(
        problem.irrelevant,
        problem.bill_all,
        layout.edge_operand,
        layout.edge_keep,
        layout.edge_child,
        room.loops,
        room.order,
        below,
        sliding,
        room.still,
    )
    macs, most = spread_of(tables.instances, tables.whole, tables.busiest, room.chosen, room.used_of)
    counted(problem, layout, tables, room, 0)
    energy = energy_of(room.called, problem.energy) + macs * problem.compute[0]
    slowest = macs / room.used_of[-1] / problem.compute[1]
    if not problem.fractional:
        slowest = most / problem.compute[1]
        if room.used_of[-1] > 1:  # else the one instance is the busiest
            counted(problem, layout, tables, room, BUSIEST)
        room.used_of[:] = 1
    slowest = max(slowest, latency_of(room.called, room.used_of, problem.rate, problem.flat_rate, problem.is_max))
    return energy + problem.leak.sum() * slowest + problem.compute[2] * slowest, slowest


@allocating
def _tile(layout: Any, problem: Any, chosen: Any, dim: Any, place: Any) -> Any:
    return layout.chains[chosen[dim], place - 1] if place else problem.extents[dim]


@allocating
def hold(problem: Any, layout: Any, chosen: Any, sliding: Any, loops: Any, held: Any) -> Any:
    """Bits that an instance of each memory holds; ``sliding``: mask of tiles that reserve below the window there."""
    held[:] = 0
    for keep in range(layout.keep_memory.size):
        operand, memory, place = layout.keep_operand[keep], layout.keep_memory[keep], layout.keep_place[keep]
        if sliding >> keep & 1:
            place = window_below(layout, loops, place) + 1
        values = 1
        for at in range(problem.coordinate_count[operand]):
            dim, step, other, other_step = problem.coordinates[operand, at]
            tile = _tile(layout, problem, chosen, dim, place)
            if other >= 0:
                tile = footprint(problem, tile, step, _tile(layout, problem, chosen, other, place), other_step)
            values *= tile
        held[memory] += values * problem.bits[memory, operand] * problem.slots


@allocating
def window_below(layout: Any, loops: Any, place: Any) -> Any:
    """The stage of the first loop below a place if tiles may slide there, else -1."""
    for stage in range(place, layout.kinds.size):
        if loops[stage]:
            return stage if layout.kinds[stage] == WINDOW else -1
    return -1


@allocating
def fits(problem: Any, held: Any) -> Any:
    """Whether every memory holds what it must."""
    for memory in range(held.size):  # noqa: SIM110  (compiled)
        if held[memory] > problem.size[memory] * (1 + ROUNDING):
            return False
    return True
