"""ZigZag's best mappings beside ours: the same memories and costs, one cost model for both.

The output has two widths: partial sums where they go back to an inner memory, else final values. How they lie in a
memory follows from the mapping, so a search assumes a width for each memory and what it finds is priced with the true
ones. Its bound holds for the assumed widths alone, so nothing is called optimal here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from archsim.base.errors import MappingError
from mapper.looptree.conventions import ZIGZAG
from mapper.looptree.cost import Cost, evaluate
from mapper.looptree.counts import edges
from mapper.looptree.nest import Nest
from mapper.looptree.search.found import Budget
from mapper.looptree.search.objective import OBJECTIVES
from mapper.looptree.search.optimal import search
from mapper.looptree.search.space import Space
from tests.oracles.zigzag.files import OUTPUT, PJ, ZigzagAccelerator, ZigzagLayer

ANY_DIMS: Mapping[str, frozenset[str]] = {}  # every dim on every fan-out


@dataclass(frozen=True)
class PricedMapping:
    """A mapping and its cost in our model; ``level_pj``: (operand, memory) -> pJ. Seconds are cycles.

    ``stopped``: a search for it used up its time.
    """

    nest: Nest
    cost: Cost
    level_pj: Mapping[tuple[str, str], float]
    utilization: float
    stopped: bool = False

    @property
    def energy_pj(self) -> float:
        """Of all parts."""
        return self.cost.energy_j / PJ

    @property
    def cycles(self) -> float:
        """Of the slowest part."""
        return self.cost.latency_s


def price(accelerator: ZigzagAccelerator, layer: ZigzagLayer, nest: Nest) -> PricedMapping:
    """Cost of a mapping with the width of the output in each memory that follows from it.

    Raises MappingError where it does not fit.
    """
    spilled = _spilled(nest)
    bits = {
        name: layer.partial_bits if accelerator.memory_of(OUTPUT, name) in spilled else layer.final_bits
        for name in accelerator.holding(OUTPUT)
    }
    hierarchy = accelerator.hierarchy(bits)
    cost = evaluate(nest, hierarchy, ZIGZAG)
    level_pj: dict[tuple[str, str], float] = {}
    for (memory, operand, action), count in cost.actions.items():
        if operand:
            pj = count * hierarchy.memory(memory).actions[action].energy_j / PJ
            level_pj[operand, memory] = level_pj.get((operand, memory), 0.0) + pj
    return PricedMapping(nest, cost, level_pj, layer.einsum.macs / accelerator.peak / cost.latency_s)


def _spilled(nest: Nest) -> set[str]:
    """Memories to which partial sums go: a reduction loops above the tile inside."""
    found = set()
    for edge in edges(nest):
        loops = [loop for at, loop in nest.above(edge.child) if not loop.axis and nest.trips(at) > 1]
        if edge.operand.is_output and any(loop.dim not in edge.operand.dims for loop in loops):
            found.add(edge.outer)
    return found


def best(
    accelerator: ZigzagAccelerator,
    layer: ZigzagLayer,
    objective: str,
    axis_dims: Mapping[str, frozenset[str]],
    seconds: float | None = None,
) -> PricedMapping:
    """The best that the search finds within ``seconds`` of CPU time for each assumption of widths.

    Raises MappingError when nothing fits.
    """
    found: list[PricedMapping] = []
    stopped = False
    reason = MappingError(f"no mapping of '{layer.name}'")
    for bits in _widths(accelerator, layer):
        space = Space(layer.einsum, accelerator.hierarchy(bits), ZIGZAG, "spatial", axis_dims=axis_dims)
        try:
            one = search(space, OBJECTIVES[objective], Budget(seconds))
            stopped = stopped or not (one.proven or one.doubt)
            found.append(price(accelerator, layer, one.nest))
        except MappingError as error:
            reason = error
    if not found:
        raise reason
    return replace(better_of(objective, *found), stopped=stopped)


def better_of(objective: str, *found: PricedMapping) -> PricedMapping:
    """The first that is best by an objective."""
    return min(found, key=lambda priced: OBJECTIVES[objective].key(priced.cost.energy_j, priced.cost.latency_s))


def _widths(accelerator: ZigzagAccelerator, layer: ZigzagLayer) -> list[dict[str, int]]:
    """Partial sums in the inner memories of the output, final values in the outer ones: every place to change."""
    inner_first = accelerator.holding(OUTPUT)
    return [
        {name: layer.partial_bits if at <= last else layer.final_bits for at, name in enumerate(inner_first)}
        for last in range(len(inner_first))
    ]
