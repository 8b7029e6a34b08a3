"""Compiled: counts, energy and latency of one point, from the tables of its skeleton."""

from __future__ import annotations

from math import ceil

import numpy as np

from archsim.kernels import njit
from mapper.looptree.brute.layout import BUSIEST, FILLS, FIRST_FILLS, FIRST_READS, READS
from mapper.looptree.brute.skeletons import WINDOW
from mapper.looptree.brute.tables import footprint

ROUNDING = 1e-9  # of a number of actions that need not be whole


@njit
def stills(problem, layout, loops, below, sliding, still):  # type: ignore[no-untyped-def]
    """By edge and dim the outermost stage whose temporal loops do not change the inner tile.

    ``loops``: by stage the mask of dims with a temporal loop, ``below``: by stage and operand, of them those below the
    last one that indexes it. A tile that slides is never the same again.
    """
    for edge in range(layout.edge_operand.size):
        operand, keep, stage = layout.edge_operand[edge], layout.edge_keep[edge], layout.edge_child[edge]
        still[edge, :] = stage
        if problem.bill_all or keep < 0 or sliding >> keep & 1:
            continue
        irrelevant = problem.irrelevant[operand]
        while stage > 0 and not loops[stage - 1] & ~irrelevant:
            stage -= 1
        for dim in range(problem.extents.size):
            inside = stage > 0 and below[stage - 1, operand] >> dim & 1
            still[edge, dim] = stage - 1 if inside else stage


@njit
def _value(layout, tables, chosen, still, edge, count):  # type: ignore[no-untyped-def]
    value = 1
    for dim in range(chosen.size):
        value *= tables.factor[chosen[dim], edge, count, still[edge, dim]]
    operand = layout.edge_operand[edge]
    for at in range(tables.pair_of.shape[0]):
        if tables.pair_of[at, 0] == operand:
            value *= _paired(layout, tables, chosen, at, edge, count)
    return value


@njit
def _paired(layout, tables, chosen, at, edge, count):  # type: ignore[no-untyped-def]
    first, second = tables.pair_dims[at, 0], tables.pair_dims[at, 1]
    row = tables.pair_of[at, 2] + (chosen[first] - layout.offset[first]) * tables.pair_of[at, 3]
    return tables.pair[row + chosen[second] - layout.offset[second], edge, count]


@njit
def count(problem, layout, tables, chosen, still, base, counts):  # type: ignore[no-untyped-def]
    """Values by memory, operand, (read, write); ``base`` 0: of all instances, BUSIEST: of the busiest one."""
    counts[:] = 0
    for edge in range(layout.edge_operand.size):
        operand, outer, inner = layout.edge_operand[edge], layout.edge_outer[edge], layout.edge_inner[edge]
        reads = _value(layout, tables, chosen, still, edge, base + READS)
        if operand != problem.output:
            counts[outer, operand, 0] += reads
            if inner >= 0:
                counts[inner, operand, 1] += _value(layout, tables, chosen, still, edge, base + FILLS)
            continue
        counts[outer, operand, 1] += reads
        counts[outer, operand, 0] += reads - _value(layout, tables, chosen, still, edge, base + FIRST_READS)
        if inner >= 0:
            fills = _value(layout, tables, chosen, still, edge, base + FILLS)
            counts[inner, operand, 0] += fills if problem.drain_reads else 0
            counts[inner, operand, 1] += fills - _value(layout, tables, chosen, still, edge, base + FIRST_FILLS)


@njit
def _actions(problem, values, memory, operand, kind):  # type: ignore[no-untyped-def]
    size = problem.action_bits[memory, kind]
    if size == 0:
        return float(values)
    called = values * problem.bits[memory, operand] / size
    return called if problem.fractional else float(ceil(called - ROUNDING))


@njit
def latency_of(problem, counts, memory, instances):  # type: ignore[no-untyped-def]
    """Seconds of one memory, ``counts`` spread over so many instances."""
    total, longest, summed = 0.0, 0.0, 0.0
    for kind in range(2):
        called = 0.0
        for operand in range(counts.shape[1]):
            called += _actions(problem, counts[memory, operand, kind], memory, operand, kind) / instances
        time = called / problem.rate[memory, kind]
        total += called
        summed += time
        longest = max(longest, time)
    if problem.flat_rate[memory]:
        return total / problem.flat_rate[memory]
    return longest if problem.is_max[memory] else summed


@njit
def energy_of(problem, counts, memory):  # type: ignore[no-untyped-def]
    """Joules of the actions of one memory."""
    energy = 0.0
    for kind in range(2):
        for operand in range(counts.shape[1]):
            called = _actions(problem, counts[memory, operand, kind], memory, operand, kind)
            energy += called * problem.energy[memory, kind]
    return energy


@njit
def _used(tables, chosen, part):  # type: ignore[no-untyped-def]
    used = 1
    for dim in range(chosen.size):
        used *= tables.instances[chosen[dim], part]
    return used


@njit
def cost(problem, layout, tables, chosen, still, counts):  # type: ignore[no-untyped-def]
    """Energy in joules and latency in seconds."""
    memories = problem.size.size
    macs = np.ones(2, np.int64)
    for dim in range(chosen.size):
        macs[0] *= tables.whole[chosen[dim]]
        macs[1] *= tables.busiest[chosen[dim]]
    count(problem, layout, tables, chosen, still, 0, counts)
    energy, leak, latency = macs[0] * problem.compute[0], problem.compute[2], 0.0
    for memory in range(memories):
        energy += energy_of(problem, counts, memory)
        leak += problem.leak[memory]
        if problem.fractional:
            latency = max(latency, latency_of(problem, counts, memory, _used(tables, chosen, memory)))
    if problem.fractional:
        return _with_leak(energy, leak, max(latency, macs[0] / _used(tables, chosen, memories) / problem.compute[1]))
    count(problem, layout, tables, chosen, still, BUSIEST, counts)
    for memory in range(memories):
        latency = max(latency, latency_of(problem, counts, memory, 1))
    return _with_leak(energy, leak, max(latency, macs[1] / problem.compute[1]))


@njit
def _with_leak(energy, leak, latency):  # type: ignore[no-untyped-def]
    return energy + leak * latency, latency


@njit
def _tile(layout, problem, chosen, dim, place):  # type: ignore[no-untyped-def]
    return layout.chains[chosen[dim], place - 1] if place else problem.extents[dim]


@njit
def hold(problem, layout, chosen, sliding, loops, held):  # type: ignore[no-untyped-def]
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


@njit
def window_below(layout, loops, place):  # type: ignore[no-untyped-def]
    """The stage of the first loop below a place if tiles may slide there, else -1."""
    for stage in range(place, layout.kinds.size):
        if loops[stage]:
            return stage if layout.kinds[stage] == WINDOW else -1
    return -1


@njit
def fits(problem, held):  # type: ignore[no-untyped-def]
    """Whether every memory holds what it must."""
    for memory in range(held.size):
        if held[memory] > problem.size[memory] * (1 + ROUNDING):
            return False
    return True
