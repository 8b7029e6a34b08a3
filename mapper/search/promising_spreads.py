"""Which spreads of a layer over the cores of a chip are searched: dims cut into parts, the promising ones first.

Spreads are ranked by what a run takes at least: the array's or vector unit's work on the largest part, and every byte
once over the memories that the cores share, over links between chips beside their ports, and into a core, DRAM at what
a crowd leaves of its rate. Of equals those come first that move less over the network. Those that cut a reduction are
searched where they promise more than any that does not, one for each number of cores that add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import ceil, inf, prod
from types import MappingProxyType

import numpy as np

from archsim.spec.architecture import Architecture
from archsim.spec.network import Noc
from mapper.cost.chip_rates import ChipCosts, drain_steps, fold_function, vector_time
from mapper.cost.dram_contention import slowdown, together
from mapper.cost.network_bounds import away_rate, away_tiles, link_rate, sent_each, usual_rate
from mapper.cost.network_loads import passage
from mapper.cost.partial_sums import least_after
from mapper.problem.array_axes import array_shape
from mapper.problem.core_partition import cuttable, spread_of
from mapper.problem.geometry import components
from mapper.problem.operands import ACC, OUT, OperandPlan
from mapper.problem.problem import Problem, Spread

SEARCHED = 3  # spreads of a layer that are searched whole
NEAR = 8  # those whose ways over the network are looked at to choose them
NO_TILES: Mapping[str, int] = MappingProxyType({})
CLOSE = 1.05  # who is so near to what the memories beyond the cores need gains nothing by cutting a reduction


def spreads(
    problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], tiles: Mapping[str, int] = NO_TILES
) -> list[Spread]:
    """The spreads to search, the most promising first; none on a chip of one core. ``tiles``: of dims whose tiles are
    stated, of which every core has whole ones."""
    noc = chip.architecture.noc
    if noc is None:
        return []
    outputs = [dim for dim in cuttable(problem, chip.architecture) if dim not in problem.groups["K"]]
    found = _spreads(problem, chip.architecture, outputs, tiles)
    plain = _by_links(_ranked(found, problem, chip, dtypes), problem, chip, noc)
    best, _, first = plain[0]
    if best <= CLOSE * max(_at_homes(problem.of_core(first), chip, noc)[0], default=0.0):
        return [spread for _, _, spread in plain[:SEARCHED]]
    summed: dict[int, Spread] = {}
    for cycles, _, spread in _ranked(_summing(problem, chip, dtypes, best, tiles), problem, chip, dtypes):
        if cycles < best:
            summed.setdefault(problem.of_core(spread).adders, spread)
    return [*(spread for _, _, spread in plain[:SEARCHED]), *islice(summed.values(), SEARCHED)]


def _ranked(
    found: Iterable[Spread], problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str]
) -> list[tuple[int, float, Spread]]:
    """Spreads with what ``_least`` says of them, the least first."""
    least = [(*_least(problem.of_core(spread), chip, dtypes), spread) for spread in found]
    return sorted(least, key=lambda entry: (*entry[:2], entry[2].parts))


def _by_links(
    ranked: Sequence[tuple[int, float, Spread]], problem: Problem, chip: ChipCosts, noc: Noc
) -> list[tuple[int, float, Spread]]:
    """The first few with what the busiest link takes for whole parts of all operands, the least first."""
    found = []
    for cycles, crossing, spread in ranked[:NEAR]:
        part, busiest = problem.of_core(spread), 0.0
        for plan in (*part.loads, *part.stores):
            if part.crosses(plan):
                elements, rate = np.asarray(_bytes(part, plan) / plan.element_bytes), usual_rate(chip, noc, part, plan)
                busiest += float(passage(noc, part, plan, elements, rate))
        found.append((max(cycles, ceil(busiest)), crossing, spread))
    return sorted(found, key=lambda entry: (*entry[:2], entry[2].parts))


def _summing(
    problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], best: float, tiles: Mapping[str, int]
) -> Iterator[Spread]:
    """Spreads that cut a reduction and whose cores can be done in less than ``best`` cycles at their arrays' peak."""
    dims = cuttable(problem, chip.architecture)
    if not any(dim in problem.groups["K"] for dim in dims):
        return
    array = next(part for part in chip.architecture.arrays if part.name == problem.unit)
    shape = array_shape(array, **problem.pair)
    most = best * chip.scale(array) * shape.rows * shape.cols * shape.rate
    for spread in _spreads(problem, chip.architecture, dims, tiles, most):
        if any(dim in problem.groups["K"] for dim, _ in spread.loops):
            yield spread


def _spreads(
    problem: Problem, architecture: Architecture, dims: Sequence[str], tiles: Mapping[str, int], most: float = inf
) -> Iterator[Spread]:
    """Each of the dims in some parts, no more of them together than cores, none of more points than ``most``."""
    assert architecture.noc is not None
    cores = architecture.noc.cores
    choices = [_parts(problem.dims[dim], cores, tiles.get(dim, 0)) for dim in dims]
    others = prod(extent for dim, extent in problem.dims.items() if dim not in dims)

    def grow(taken: tuple[tuple[str, int], ...], left: int, points: int) -> Iterator[Spread]:
        if len(taken) == len(choices):
            if points < most:
                loops = [(dim, tile) for dim, tile in taken if tile < problem.dims[dim]]
                yield spread_of(problem, architecture, loops)
            return
        dim = dims[len(taken)]
        for tile in choices[len(taken)]:
            count = -(-problem.dims[dim] // tile)
            if count <= left:
                yield from grow((*taken, (dim, tile)), left // count, points * tile)

    yield from grow((), cores, others)


def _parts(extent: int, cores: int, tile: int) -> list[int]:
    """Parts of a dim, the largest first: in one, in all numbers that divide the cores, each index by itself; of a dim
    whose ``tile`` is stated (else 0) in any number of parts of whole tiles. None is empty."""
    tiles, each = (-(-extent // tile), tile) if tile else (extent, 1)
    counts = range(1, min(tiles, cores) + 1)
    found = {min(extent, -(-tiles // count) * each) for count in counts if tile or cores % count == 0 or count == tiles}
    return sorted(found, reverse=True)


def _least(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str]) -> tuple[int, float]:
    """Reference cycles that a core's part takes at least, and bytes that cross the network."""
    noc = chip.architecture.noc
    assert noc is not None
    terms, into, crossing = _at_homes(problem, chip, noc)
    after = 0.0
    if problem.adders > 1:
        sums, after = _bytes(problem, problem.operand(ACC)), least_after(problem, chip)
        into += sums
        crossing += sums * (problem.adders - 1) * problem.share(problem.operand(OUT), problem.operand(OUT).home)
    needed = (_work(problem, chip, dtypes) + after, into / link_rate(chip, noc), *terms)
    return ceil(float(together(map(np.asarray, needed))) - 1e-6), crossing


def _at_homes(problem: Problem, chip: ChipCosts, noc: Noc) -> tuple[list[float], float, float]:
    """Reference cycles of every memory that tiles come from or go to; bytes into a core, and over the network."""
    at_memory: dict[tuple[str, bool], float] = {}
    over_ports: dict[tuple[str, bool], float] = {}
    away: dict[tuple[str, bool], float] = {}
    into = crossing = 0.0
    used = problem.spread.cores if problem.spread is not None else 1
    for plan in problem.operands:
        if plan.name == ACC or plan.home == plan.level:
            continue
        size, write = _bytes(problem, plan), plan.operand == OUT
        served = size * float(slowdown(chip, problem, plan))
        key = (plan.home, write and chip.architecture.memory(plan.home).kind != "dram")
        at_memory[key] = at_memory.get(key, 0.0) + served * problem.share(plan, plan.home)
        if problem.crosses(plan):
            crossing += size * problem.share(plan, plan.home)
            into += 0 if write else size
            sent = size * problem.share(plan, plan.home) * (1.0 if write else sent_each(noc, problem, plan))
            over_ports[plan.home, write] = over_ports.get((plan.home, write), 0.0) + sent
            tiles = away_tiles(noc, plan.home, used, problem.share(plan, plan.home))
            away[plan.home, write] = away.get((plan.home, write), 0.0) + size * tiles
    terms = [count / chip.port_rate(memory, write=write) for (memory, write), count in at_memory.items()]
    rate = link_rate(chip, noc)
    terms += [size / (rate * len(noc.shared[memory])) for (memory, _), size in over_ports.items()]
    for (memory, _), size in away.items():
        beside = away_rate(chip, noc, memory)
        terms += [] if beside is None else [size / beside]
    return terms, into, crossing


def _bytes(problem: Problem, plan: OperandPlan) -> float:
    parts = components(plan.axes, plan.shape, problem.layer.dims)
    return float(prod(part.size(problem.dims) for part in parts) * plan.element_bytes)


def _work(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str]) -> float:
    """Of the unit on a part in one piece."""
    extents = tuple(problem.dims.items())
    if problem.engine == "array":
        array = next(part for part in chip.architecture.arrays if part.name == problem.unit)
        return fold_function(chip, problem.layer, array, problem.pair)(extents)[0] / chip.scale(array)
    if problem.engine == "copy":
        return 0.0
    unit = next(part for part in chip.architecture.vectors if part.name == problem.vector)
    elements = prod(problem.dims.values())
    return vector_time(elements, drain_steps(problem.layer), unit, problem.operand(OUT).dtype) / chip.scale(unit)
