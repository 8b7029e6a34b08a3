"""A layer that is spread over the cores of a chip: which dims may be cut, and the part that one core has.

Any dim that may be cut is: batch, rows and columns of outputs, and of what the array does its reduction. A core has one
part of each; cores whose parts need the same tile of an operand get it at once (multicast), cores that share an output
add their partial sums up (``mapper.cost.partial_sums``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from archsim.ir.mapping import Keep, LayerMapping, Loop, MapNode
from archsim.spec.architecture import Architecture
from mapper.problem.looked_up import inside_rows
from mapper.problem.operands import ACC, OUT
from mapper.problem.problem import GROUPS, Problem, Spread


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
    apart = frozenset(name for name in shared if not noc.multicast and architecture.memory(name).kind != "dram")
    parts = tuple(-(-problem.layer.dims[dim] // tile) for dim, tile in loops)
    return Spread(noc.name, tuple(loops), parts, shared, apart)


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


def cuttable(problem: Problem, architecture: Architecture) -> list[str]:
    """Dims that can be spread over cores: reductions where DMA engines reach the array's accumulators; none inside
    rows that are looked up, which one core takes whole.
    """
    groups = GROUPS if _reaches_sums(problem, architecture) else GROUPS[:-1]
    names = [dim for group in groups for dim in problem.groups[group]]
    stuck = problem.beside | inside_rows(problem.layer)
    return [dim for dim in names if dim not in stuck and problem.layer.dims[dim] > 1]


def _reaches_sums(problem: Problem, architecture: Architecture) -> bool:
    if problem.engine != "array" or problem.operand(OUT).resident:
        return False
    memory = architecture.memory(problem.operand(ACC).level)
    return all(memory.bytes_per_cycle_of("dma", write=write) for write in (False, True))
