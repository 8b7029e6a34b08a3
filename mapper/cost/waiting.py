"""What the engines of a core wait for one another, beside the ways of the first tile and of the last one.

A queue loads in order, slots of a ring are few, and some DRAM serves one transfer after the other. What follows from
that is expected of a mapping, and is no bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

import numpy as np

from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import Flow, Reals
from mapper.cost.unit_cycles import Work
from mapper.problem.operands import OperandPlan
from mapper.problem.problem import Problem

Queue = dict[OperandPlan, Reals]  # cycles of all tiles of each operand that one queue loads


def behind_whole(problem: Problem, done: Work, moved: Mapping[str, Flow], load_total: Reals, last: Reals) -> Reals:
    """What is left to compute of the whole tile before the last one when that is there, of the most finely cut operand.

    The ``last`` tile has a part of the work of a whole one, and of its load.
    """
    loads = [moved[plan.name].moves for plan in problem.loads]
    if not loads:
        return np.zeros(())
    tiles = np.maximum(reduce(np.maximum, loads), 1.0)
    whole = (done.array_total + done.vector_total) / tiles
    part = np.minimum(last / np.maximum(whole, 1.0), 1.0)
    found: Reals = np.maximum(whole - part * load_total / tiles, 0.0) * (tiles > 1)
    return found


def starved(done: Work, moved: Mapping[str, Flow], queues: Iterable[Queue]) -> Reals:
    """Cycles that units wait for the tiles of one operand while those of others come in through the same queue.

    A queue loads in order: the next tile of an outer loop after all inner ones of the one before, and with it those of
    the loops between. When they come the units have the inner tiles that wait in their slots, less what the last of
    them took to come.
    """
    total = np.zeros(())
    for queue in queues:
        for plan, all_tiles in queue.items() if len(queue) > 1 else ():
            moves = np.maximum(moved[plan.name].moves, 1.0)
            period = np.maximum(done.array_total, done.vector_total) / moves
            last = np.minimum(np.maximum(done.array_last, done.vector_last) / np.maximum(period, 1.0), 1.0)
            spared = period * (plan.slots - 1 + last) - all_tiles / moves * (1.0 + last)
            waited = np.zeros(())
            for turns, burst in _bursts([(moved[other.name].moves, time) for other, time in queue.items()], moves):
                waited = waited + turns * np.maximum(burst - spared, 0.0)
            total = np.maximum(total, waited)
    return total


def _bursts(queue: Sequence[tuple[Reals, Reals]], moves: Reals) -> Iterator[tuple[Reals, Reals]]:
    """How often tiles come in between those of an operand that ``moves`` as often, and the cycles that they take at a
    time, of a ``queue`` of (moves, cycles of all tiles) of each operand; the first time all units wait anyway."""
    outer = [(np.where(often < moves, often, 0.0), time / np.maximum(often, 1.0)) for often, time in queue]
    for at, (often, _) in enumerate(outer):
        burst = sum((tile * (other >= often) for other, tile in outer), np.zeros(()))
        seldom = reduce(np.maximum, [np.where(other < often, other, 1.0) for other, _ in outer])
        counted = reduce(np.logical_or, [other == often for other, _ in outer[:at]], np.zeros((), dtype=bool))
        yield np.where(counted, 0.0, np.maximum(often - seldom, 0.0)), burst


def stalled(chip: ChipCosts, problem: Problem, done: Work, moved: Mapping[str, Flow]) -> Reals:
    """Cycles that the vector unit stands still since no slot is free for results, in a DRAM that serves one transfer
    after the other: results stand behind a tile that takes longer to load than those before it to be drained.

    Such a tile is asked for when the array is through with the last one before it, while the results of the one before
    that are drained; these have a slot each but one.
    """
    total = np.zeros(())
    for out in problem.stores[:1]:
        made = np.maximum(moved[out.name].moves, 1.0)
        drained = done.vector_total / made - done.array_last + (out.slots - 1) * done.vector_last
        for plan in problem.loads:
            if chip.architecture.memory(plan.home).standard == "constant" and plan.home == out.home:
                flow, rate = moved[plan.name], chip.port_rate(plan.home, write=False)
                tile = flow.touched / np.maximum(flow.moves, 1.0) * (plan.element_bytes / rate)
                asked = chip.setup + chip.latency(plan.home, write=False) + tile
                often = np.where(flow.moves < made, np.maximum(flow.moves - 1.0, 0.0), 0.0)
                total = np.maximum(total, often * np.maximum(asked - drained, 0.0))
    return total


def behind_transfers(chip: ChipCosts, plans: Sequence[OperandPlan], moved: Mapping[str, Flow], *, write: bool) -> Reals:
    """Cycles that an engine waits for those of the other direction, in a DRAM that serves one transfer after the other.

    It asks for a tile when the one before is there. While the memory's latency goes by the other direction is served;
    what takes longer than that it stands behind, but for the first tile, which everybody waits for anyway.
    """
    total = np.zeros(())
    for plan in plans:
        if chip.architecture.memory(plan.home).standard == "constant":
            flow, rate = moved[plan.name], chip.port_rate(plan.home, write=write)
            tile = flow.touched / np.maximum(flow.moves, 1.0) * (plan.element_bytes / rate)
            shown = np.maximum(tile - chip.latency(plan.home, write=not write), 0.0)
            total = total + np.maximum(flow.moves - 1.0, 0.0) * shown
    return total


def last_written(chip: ChipCosts, problem: Problem, moved: Mapping[str, Flow]) -> Reals:
    """Cycles in which the tile that is stored last is written, one edge after the other, as large as all on average."""
    total = np.zeros(())
    for out in problem.stores:
        tile = moved[out.name].touched / np.maximum(moved[out.name].moves, 1.0)
        total = total + tile * out.element_bytes / chip.write_rate(out.home)
    return total
