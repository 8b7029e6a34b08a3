"""How a layer may be spread over the cores of a chip: which dims are cut into how many parts, the promising ones first.

Any dim that moves the output and may be cut is: batch, rows and columns of outputs. A core has one part of each; cores
whose parts need the same tile of an operand get it at once (multicast). Reductions are not spread: sums stay in one
core. Spreads are ranked by what hardly any run can undercut: the array's or vector unit's work on the largest part, and
every byte once over the memories that the cores share, through the network's ports there, and into a core.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from archsim.ir.mapping import Keep, LayerMapping, Loop, MapNode
from archsim.spec.architecture import Architecture
from archsim.spec.network import Noc
from mapper.costs import ChipCosts, drain_steps, fold_function, vector_time
from mapper.geometry import components
from mapper.network import link_rate
from mapper.operands import ACC, OUT, OperandPlan
from mapper.port_shares import busiest_share
from mapper.problem import Problem, Spread

SEARCHED = 3  # spreads of a layer that are searched whole


def spreads(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str]) -> list[Spread]:
    """The spreads to search, the most promising first; none on a chip of one core."""
    noc = chip.architecture.noc
    if noc is None:
        return []
    found = {parts: _spread(problem, chip.architecture, parts) for parts in _parts(problem, noc.cores)}
    ranked = sorted(found.values(), key=lambda spread: (*_least(problem.of_core(spread), chip, dtypes), spread.parts))
    return ranked[:SEARCHED]


def spread_of(problem: Problem, architecture: Architecture, loops: Sequence[tuple[str, int]]) -> Spread:
    """The spread of a layer by tiles of some dims."""
    noc = architecture.noc
    assert noc is not None
    shared = frozenset(memory.name for memory in architecture.memories if memory.name not in noc.inside)
    parts = tuple(-(-problem.layer.dims[dim] // tile) for dim, tile in loops)
    return Spread(noc.name, tuple(loops), parts, shared)


def unspreadable(problem: Problem, node: MapNode, outer: Sequence[Loop]) -> str:
    """Why a stated loop cannot be one of those that spread a layer over cores, ``outer`` of which stand above it; '':
    it can."""
    if not isinstance(node, Loop) or not node.axis:
        return "a node above a loop that is spread over cores; allowed below all of them"
    free = cuttable(problem)
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


def _parts(problem: Problem, cores: int) -> Iterator[tuple[int, ...]]:
    """Parts of each dim that may be cut, no more of them together than cores."""
    dims = cuttable(problem)
    choices = [_counts(problem.dims[dim], cores) for dim in dims]

    def grow(taken: tuple[int, ...], left: int) -> Iterator[tuple[int, ...]]:
        if len(taken) == len(choices):
            yield taken
            return
        for count in choices[len(taken)]:
            if count <= left:
                yield from grow((*taken, count), left // count)

    yield from grow((), cores)


def cuttable(problem: Problem) -> list[str]:
    """Dims that can be spread over cores."""
    names = [dim for group in ("B", "M", "N") for dim in problem.groups[group]]
    return [dim for dim in names if dim not in problem.whole and problem.layer.dims[dim] > 1]


def _counts(extent: int, cores: int) -> list[int]:
    """Numbers of parts of a dim: 1, all that divide the cores, each index by itself; none of them empty."""
    wanted = {count for count in range(1, min(extent, cores) + 1) if cores % count == 0 or count == extent}
    return sorted({-(-extent // -(-extent // count)) for count in wanted})


def _spread(problem: Problem, architecture: Architecture, parts: tuple[int, ...]) -> Spread:
    dims = problem.layer.dims
    cut = [(dim, count) for dim, count in zip(cuttable(problem), parts, strict=True) if count > 1]
    return spread_of(problem, architecture, [(dim, -(-dims[dim] // count)) for dim, count in cut])


def _least(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str]) -> tuple[float, float]:
    """Reference cycles that a core's part takes, whatever its tiles, and bytes that cross the network."""
    noc = chip.architecture.noc
    assert noc is not None
    at_memory: dict[tuple[str, bool], float] = {}
    at_port: dict[tuple[str, bool], float] = {}
    into = crossing = 0.0
    for plan in problem.operands:
        if plan.name == ACC or plan.home == plan.level:
            continue
        size, write = _bytes(problem, plan), plan.operand == OUT
        key = (plan.home, write and chip.architecture.memory(plan.home).kind != "dram")
        at_memory[key] = at_memory.get(key, 0.0) + size * problem.share(plan, plan.home)
        if problem.crosses(plan):
            crossing += size * problem.share(plan, plan.home)
            into += 0 if write else size
            at_port[plan.home, write] = at_port.get((plan.home, write), 0.0) + size * _at_port(problem, plan, noc)
    terms = [count / chip.port_rate(memory, write=write) for (memory, write), count in at_memory.items()]
    linked = max([into, *at_port.values()]) / link_rate(chip, noc)
    return max([_work(problem, chip, dtypes), linked, *terms]), crossing


def _at_port(problem: Problem, plan: OperandPlan, noc: Noc) -> float:
    """How many times a core's bytes of an operand lie behind the busiest port of the memory beyond, of all cores'."""
    ports = len(noc.attach[plan.home])
    even = plan.rows is not None  # rows that are looked up lie anywhere
    share = 1 / ports if even else busiest_share(problem, plan, noc.message_bytes, ports)
    return problem.share(plan, plan.home) * share


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
