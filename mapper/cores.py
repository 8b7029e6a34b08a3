"""How a layer may be spread over the cores of a chip: which dims are cut into how many parts, the promising ones first.

Any dim that may be cut is: batch, rows and columns of outputs, and of what the array does its reduction. A core has one
part of each; cores whose parts need the same tile of an operand get it at once (multicast), cores that share an output
add their partial sums up (``mapper.adding``). Spreads are ranked by what a run takes at least: the array's or vector
unit's work on the largest part, and every byte once over the memories that the cores share, over links between chips
beside their ports, and into a core, DRAM at what a crowd leaves of its rate. Of equals those come first that move less
over the network. Those that cut a reduction are searched where they promise more than any that does not, one for each
number of cores that add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import ceil, inf, prod

import numpy as np

from archsim.ir.mapping import Keep, LayerMapping, Loop, MapNode
from archsim.spec.architecture import Architecture
from archsim.spec.network import Noc
from mapper.adding import least_after
from mapper.costs import ChipCosts, array_shape, drain_steps, fold_function, vector_time
from mapper.crowd import slowdown, together
from mapper.geometry import components
from mapper.network import away_rate, away_tiles, link_rate
from mapper.operands import ACC, OUT, OperandPlan
from mapper.problem import GROUPS, Problem, Spread

SEARCHED = 3  # spreads of a layer that are searched whole
CLOSE = 1.05  # who is so near to what the memories beyond the cores need gains nothing by cutting a reduction


def spreads(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str]) -> list[Spread]:
    """The spreads to search, the most promising first; none on a chip of one core."""
    noc = chip.architecture.noc
    if noc is None:
        return []
    outputs = [dim for dim in cuttable(problem, chip.architecture) if dim not in problem.groups["K"]]
    plain = _ranked(_spreads(problem, chip.architecture, outputs), problem, chip, dtypes)
    best, _, first = plain[0]
    if best <= CLOSE * max(_at_homes(problem.of_core(first), chip, noc)[0], default=0.0):
        return [spread for _, _, spread in plain[:SEARCHED]]
    summed: dict[int, Spread] = {}
    for cycles, _, spread in _ranked(_summing(problem, chip, dtypes, best), problem, chip, dtypes):
        if cycles < best:
            summed.setdefault(problem.of_core(spread).adders, spread)
    return [*(spread for _, _, spread in plain[:SEARCHED]), *islice(summed.values(), SEARCHED)]


def _ranked(
    found: Iterable[Spread], problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str]
) -> list[tuple[int, float, Spread]]:
    """Spreads with what ``_least`` says of them, the least first."""
    least = [(*_least(problem.of_core(spread), chip, dtypes), spread) for spread in found]
    return sorted(least, key=lambda entry: (*entry[:2], entry[2].parts))


def _summing(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], best: float) -> Iterator[Spread]:
    """Spreads that cut a reduction and whose cores can be done in less than ``best`` cycles at their arrays' peak."""
    dims = cuttable(problem, chip.architecture)
    if not any(dim in problem.groups["K"] for dim in dims):
        return
    array = next(part for part in chip.architecture.arrays if part.name == problem.unit)
    shape = array_shape(array, dtypes["inputs"], dtypes["weights"])
    most = best * chip.scale(array) * shape.rows * shape.cols * shape.rate
    for spread in _spreads(problem, chip.architecture, dims, most):
        if any(dim in problem.groups["K"] for dim, _ in spread.loops):
            yield spread


def on_cores(problem: Problem, architecture: Architecture, mapping: LayerMapping) -> Problem:
    """The part that one core has of a problem as its mapping spreads it; all of it on a chip of one core."""
    noc = architecture.noc
    if noc is None:
        return problem
    loops = [(node.dim, node.tile) for node in mapping.nodes if isinstance(node, Loop) and node.axis == noc.name]
    return problem.of_core(spread_of(problem, architecture, loops))


def spread_of(problem: Problem, architecture: Architecture, loops: Sequence[tuple[str, int]]) -> Spread:
    """The spread of a layer by tiles of some dims."""
    noc = architecture.noc
    assert noc is not None
    shared = frozenset(memory.name for memory in architecture.memories if memory.name not in noc.inside)
    parts = tuple(-(-problem.layer.dims[dim] // tile) for dim, tile in loops)
    return Spread(noc.name, tuple(loops), parts, shared)


def unspreadable(problem: Problem, architecture: Architecture, node: MapNode, outer: Sequence[Loop]) -> str:
    """Why a stated loop cannot be one of those that spread a layer over cores, ``outer`` of which stand above it; '':
    it can."""
    if not isinstance(node, Loop) or not node.axis:
        return "a node above a loop that is spread over cores; allowed below all of them"
    free = cuttable(problem, architecture)
    if node.dim not in free or any(loop.dim == node.dim for loop in outer):
        allowed = ", ".join(dim for dim in free if all(loop.dim != dim for loop in outer)) or "none"
        return f"dim '{node.dim}' spread over cores; allowed {allowed}"
    extent = problem.layer.dims[node.dim]
    return "" if 1 <= node.tile <= extent else f"tiles of {node.tile} of dim '{node.dim}'; allowed 1 to {extent}"


def of_core(problem: Problem, mapping: LayerMapping) -> LayerMapping:
    """A mapping below the loops that spread it over cores: that of one core's part."""
    outer = len(problem.spread.loops) if problem.spread is not None else 0
    if not outer:
        return mapping
    below = mapping.nodes[outer:]
    nodes = tuple(replace(n, reserve_at=n.reserve_at - outer) if isinstance(n, Keep) else n for n in below)
    return replace(mapping, nodes=nodes)


def _spreads(problem: Problem, architecture: Architecture, dims: Sequence[str], most: float = inf) -> Iterator[Spread]:
    """Each of the dims in some parts, no more of them together than cores, none of more points than ``most``."""
    assert architecture.noc is not None
    choices = [_counts(problem.dims[dim], architecture.noc.cores) for dim in dims]
    others = prod(extent for dim, extent in problem.dims.items() if dim not in dims)

    def grow(taken: tuple[tuple[str, int], ...], left: int, points: int) -> Iterator[Spread]:
        if len(taken) == len(choices):
            if points < most:
                loops = [(dim, tile) for dim, tile in taken if tile < problem.dims[dim]]
                yield spread_of(problem, architecture, loops)
            return
        dim = dims[len(taken)]
        for count in choices[len(taken)]:
            if count <= left:
                tile = -(-problem.dims[dim] // count)
                yield from grow((*taken, (dim, tile)), left // count, points * tile)

    yield from grow((), architecture.noc.cores, others)


def cuttable(problem: Problem, architecture: Architecture) -> list[str]:
    """Dims that can be spread over cores: reductions where DMA engines reach the array's accumulators."""
    groups = GROUPS if _reaches_sums(problem, architecture) else GROUPS[:-1]
    names = [dim for group in groups for dim in problem.groups[group]]
    return [dim for dim in names if dim not in problem.whole and problem.layer.dims[dim] > 1]


def _reaches_sums(problem: Problem, architecture: Architecture) -> bool:
    if problem.engine != "array" or problem.operand(OUT).resident:
        return False
    memory = architecture.memory(problem.operand(ACC).level)
    return all(memory.bytes_per_cycle_of("dma", write=write) for write in (False, True))


def _counts(extent: int, cores: int) -> list[int]:
    """Numbers of parts of a dim: 1, all that divide the cores, each index by itself; none of them empty."""
    wanted = {count for count in range(1, min(extent, cores) + 1) if cores % count == 0 or count == extent}
    return sorted({-(-extent // -(-extent // count)) for count in wanted})


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
            tiles = away_tiles(noc, plan.home, used, problem.share(plan, plan.home))
            away[plan.home, write] = away.get((plan.home, write), 0.0) + size * tiles
    terms = [count / chip.port_rate(memory, write=write) for (memory, write), count in at_memory.items()]
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
        return fold_function(chip, problem.layer, array, dtypes)(extents)[0] / chip.scale(array)
    if problem.engine == "copy":
        return 0.0
    unit = next(part for part in chip.architecture.vectors if part.name == problem.vector)
    passes, slow, _ = drain_steps(problem.layer)
    elements = prod(problem.dims.values())
    return vector_time(elements, passes, slow, unit, problem.operand(OUT).dtype) / chip.scale(unit)
