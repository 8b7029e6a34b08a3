"""Partial sums of the same outputs on several cores: how they are added up on one of them, and what that takes.

Where a layer's reduction is spread, each core of a group has sums over its share of it. The root of the group adds all
of them up and finishes the outputs; the way there is a collective (``archsim.facts.collectives``): straight to the
root, along a chain, or up a tree. A core that others send to first copies its own partial sums beside its accumulators,
then fetches theirs one after the other, each a move with ``combine: add``. Its store engine does so, tile by tile,
before it stores the tile.

Of the ways the one is taken that is done first: with T tiles, s cycles to copy one and p to fetch one, and a root that
fetches f times, T (s + f p), and the p before the first tile can come to the root that tiles behind it do not wait for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from archsim.facts.collectives import CollectiveHop, expand
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import Flow, Reals
from mapper.cost.network_bounds import link_rate, trip
from mapper.problem.operands import ACC, BIAS, EPILOGUE, OUT, OperandPlan
from mapper.problem.problem import Problem

WAYS = ("reduce", "reduce_tree", "reduce_chain")
Bytes = dict[tuple[str, str], Reals]


@dataclass(frozen=True, slots=True)
class Way:
    """A collective among so many cores: how often the root ``fetches`` for a tile, the ``copies`` of a tile that are
    made, and the fetches (``ahead``) before the first tile beyond the root's own."""

    name: str
    fetches: int
    copies: int
    ahead: int


@dataclass(frozen=True)
class Adding:
    """What adding up takes, in reference cycles of the busiest store engine: (n,) arrays over cells.

    ``copied``, ``fetched``: bytes of all tiles that the root copies and fetches. ``engine``: its work; ``ahead``: until
    the first tile's partial sums can be with the root, beyond its own work; ``last``: the least between a core's last
    partial sum and its use.
    """

    way: Reals
    copied: Reals
    fetched: Reals
    engine: Reals
    ahead: Reals
    last: float


@cache
def ways(cores: int) -> tuple[Way, ...]:
    """The ways of adding up over so many cores."""
    return tuple(_way(name, cores) for name in WAYS)


def _way(name: str, cores: int) -> Way:
    hops = expand(name, range(cores), 1)
    fetches = sum(hop.targets[0] == 0 for hop in hops)
    return Way(name, fetches, len({hop.targets[0] for hop in hops}), _done(hops, 0) - fetches)


def _done(hops: list[CollectiveHop], node: int) -> int:
    """Fetches one after the other until a node has all that comes to it."""
    at = 0
    for hop in hops:
        if hop.targets[0] == node:
            at = max(at, _done(hops, hop.source)) + 1
    return at


def adding(problem: Problem, chip: ChipCosts, flow: Flow) -> Adding:
    """What adding up takes; ``flow``: the accumulator's traffic, on the core with the largest part."""
    plan, known = problem.operand(ACC), ways(problem.adders)
    size = flow.touched * plan.element_bytes
    chosen = _chosen(problem, chip, flow)
    fetches, ahead = (
        np.array([getattr(way, name) for way in known], dtype=np.float64)[chosen] for name in ("fetches", "ahead")
    )
    copy, fetch = _moves(problem, chip, plan, size, flow.moves)
    _, first = _moves(problem, chip, plan, flow.first * plan.element_bytes, np.ones(()))
    engine = copy + fetches * fetch
    return Adding(chosen, size, fetches * size, engine, ahead * first, max(chip.setup, chip.edge))


def least_after(problem: Problem, chip: ChipCosts) -> float:
    """Reference cycles of the descriptors and heads between the last partial sum and the whole one."""
    usual = chip.usual()
    fetches = min(way.fetches + way.ahead for way in ways(problem.adders))
    return usual.setup + fetches * (usual.setup + _between(problem, usual))


def chosen_way(problem: Problem, chip: ChipCosts, tiles: int, elements: int, tile: int) -> str:
    """The way for so many ``tiles`` of ``elements`` outputs in all, ``tile`` in the largest."""
    count, size, first = (np.array(float(value)) for value in (tiles, elements, tile))
    return WAYS[int(_chosen(problem, chip, Flow(size, size, first, count, size, size)))]


def _chosen(problem: Problem, chip: ChipCosts, flow: Flow) -> Reals:
    """Number of the way that is done first, of equals the first one."""
    plan, usual = problem.operand(ACC), chip.usual()
    copy, fetch = _moves(problem, usual, plan, flow.touched * plan.element_bytes, flow.moves)
    _, first = _moves(problem, usual, plan, flow.first * plan.element_bytes, np.ones(()))
    done = [copy + way.fetches * fetch + way.ahead * first for way in ways(problem.adders)]
    found: Reals = np.argmin(np.stack(np.broadcast_arrays(*done)), axis=0)
    return found


def _moves(problem: Problem, chip: ChipCosts, plan: OperandPlan, size: Reals, moves: Reals) -> tuple[Reals, Reals]:
    """Cycles of moves of ``size`` bytes in all: within a core, and from another one's accumulators."""
    noc = chip.architecture.noc
    assert noc is not None
    ports = min(chip.read_rate(plan.level), chip.write_rate(plan.level))
    way = _between(problem, chip)
    copy = np.maximum(size / ports + moves * chip.setup, moves * chip.edge)
    fetch = np.maximum(size / min(ports, link_rate(chip, noc)) + moves * (chip.setup + way), moves * chip.edge)
    return copy, fetch


def _between(problem: Problem, chip: ChipCosts) -> float:
    """Reference cycles of a head from core to core, as of any way over the network; 0 in bounds."""
    crossing = next((plan for plan in problem.operands if problem.crosses(plan)), None)
    return trip(chip, problem, crossing, both_ways=False) if crossing is not None else 0.0


def adding_bytes(problem: Problem, added: Adding) -> Bytes:
    """Bytes that a root reads and writes beside its accumulators: what it copies, fetches and adds to."""
    level = problem.operand(ACC).level
    moved = added.copied + added.fetched
    return {(level, "read"): moved, (level, "write"): moved}


def spared_bytes(problem: Problem, moved: Mapping[str, Flow], added: Adding) -> Bytes:
    """Bytes that other cores of a group move less than its root, summed over them (negative where more)."""
    acc, out, cores = problem.operand(ACC), problem.operand(OUT), _cores(problem)
    others = float(cores - cores // problem.adders)
    found: Bytes = {}

    def add(memory: str, direction: str, size: Reals) -> None:
        found[memory, direction] = found.get((memory, direction), np.zeros(())) + size

    add(out.level, "write", moved[OUT].touched * (out.element_bytes * others))
    add(out.level, "read", moved[OUT].touched * (out.element_bytes * others))
    for plan in problem.loads:
        if plan.name in (BIAS, EPILOGUE):
            add(plan.level, "write", moved[plan.name].filled * (plan.element_bytes * others))
    for plan in problem.added:
        add(plan.level, "read", moved[OUT].touched * (plan.element_bytes * others))
    roots = float(cores // problem.adders)
    tiles = moved[ACC].touched * acc.element_bytes
    made = np.array([float(way.copies) for way in ways(problem.adders)])[added.way]
    mine = tiles * (roots * (made + problem.adders - 1.0))  # copied, and added to what is there
    billed = (added.copied + added.fetched) * cores
    drained = tiles * others
    sent = tiles * (roots * (problem.adders - 1.0))
    add(acc.level, "read", drained + billed - mine - sent)
    add(acc.level, "write", billed - mine)
    return found


def _cores(problem: Problem) -> int:
    assert problem.spread is not None
    return problem.spread.cores
