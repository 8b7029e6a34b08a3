"""Whether a mapping that was not searched just now is one of a problem: what a file states, and what a cache has kept.

A cached entry is judged as a file is: its loops and Keeps, how it is spread over cores, its room, the rules. Where
others may have written it, it must also have the figures that the cost model gives it: one that was exchanged for a
worse one, checksum and all, has not. That takes 2 ms a layer, a third of what compiling takes beside, so the user's own
entries are spared it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from archsim.ir.mapping import Keep, LayerMapping, Loop
from archsim.spec.architecture import Architecture
from mapper.allocate.rings import wanted
from mapper.cost.chip_rates import ChipCosts
from mapper.given.priced import CELL, brought_again, price
from mapper.given.structure import Fault, faults
from mapper.problem.constraints import Rules
from mapper.problem.core_partition import of_core, on_cores, spread_of, unspreadable
from mapper.problem.menu import entries_of, on_menu
from mapper.problem.prefetched import prefetched
from mapper.problem.problem import Problem


def kept_fault(
    problem: Problem,
    mapping: LayerMapping,
    chip: ChipCosts,
    dtypes: Mapping[str, str],
    rules: Rules,
    figures: bool,
) -> str:
    """Why a mapping from a cache is none of ``problem`` on this chip; '' if it is one, and with ``figures`` has those
    that it states."""
    fault = next(_kept_faults(problem, mapping, chip.architecture, rules), None)
    if fault is not None or not figures:
        return fault.text if fault is not None else ""
    costs = price(on_cores(problem, chip.architecture, mapping), mapping, chip, dtypes)
    found = int(costs.bound[CELL]), int(costs.cycles[CELL])
    stated = mapping.bound_cycles, mapping.expected_cycles
    return "" if found == stated else f"it takes {found[1]:,} cycles where it states {stated[1]:,}"


def _kept_faults(problem: Problem, mapping: LayerMapping, architecture: Architecture, rules: Rules) -> Iterator[Fault]:
    if (mapping.kind, mapping.unit) != (problem.layer.kind, problem.unit):
        yield Fault(None, f"a {mapping.kind} on '{mapping.unit}'; the layer is a {problem.layer.kind}")
    stated = whole_of(problem)
    fault = spread_fault(stated, architecture, mapping)
    if fault is not None:
        yield fault
        return
    part = on_cores(stated, architecture, mapping)
    if problem.spread is not None and part.spread != problem.spread:
        yield Fault(None, "spread over cores in another way")
        return
    below = of_core(part, mapping)
    yield from faults(part, below, tuple(memory.name for memory in architecture.memories))
    yield from _overflows(part, below)
    yield from (Fault(None, text) for text in broken(part, below, rules))


def whole_of(problem: Problem) -> Problem:
    """The layer of which a problem may be one core's part."""
    return problem if problem.spread is None else replace(problem, spread=None, dims=dict(problem.layer.dims))


def spread_fault(problem: Problem, architecture: Architecture, mapping: LayerMapping) -> Fault | None:
    """Why a mapping of a whole layer cannot be spread over the cores as it states; None: it can, or there is one."""
    noc = architecture.noc
    if noc is None:
        return None
    loops = [node for node in mapping.nodes if isinstance(node, Loop) and node.axis == noc.name]
    for index, node in enumerate(mapping.nodes[: len(loops)]):
        text = unspreadable(problem, architecture, node, loops[:index])
        if text:
            return Fault(index, text)
    spread = spread_of(problem, architecture, [(loop.dim, loop.tile) for loop in loops])
    if spread.cores > noc.cores:
        return Fault(0, f"spread over {spread.cores} cores; allowed at most {noc.cores}, those of '{noc.name}'")
    return None


def _overflows(problem: Problem, mapping: LayerMapping) -> Iterator[Fault]:
    """Memories of which it wants more than the search had."""
    needs: dict[str, int] = {}
    for slot in wanted(problem, mapping):
        needs[slot.memory] = needs.get(slot.memory, 0) + slot.size_bytes
    for level, need in needs.items():
        if need > problem.capacity[level]:
            yield Fault(None, f"'{level}' overflows: needs {need:,} bytes; it has {problem.capacity[level]:,}")


def broken(problem: Problem, mapping: LayerMapping, rules: Rules) -> list[str]:
    """The rules that the mapping of one core's part breaks."""
    if not rules:
        return []
    loops = [(node.dim, node.tile) for node in mapping.nodes if isinstance(node, Loop)]
    tiles, order = {**problem.dims, **dict(loops)}, [dim for dim, _ in loops]
    innermost = {dim: at for at, dim in enumerate(order)}
    found = [
        f"tiles of '{dim}' are {tiles[dim]}, not {tile}"
        + (f": it is spread over {rules.unspread[dim]}" if dim in rules.unspread else "")
        for dim, tile in rules.tiles.items()
        if tiles[dim] != tile
    ]
    entries = entries_of(problem, rules.menu)
    if entries and not any(on_menu(problem, entry, tiles) for entry in entries):
        found.append("its tiles are none of the menu")
    found += [
        f"a loop over '{inner}' stands outside one over '{outer}'"
        for outer, inner in rules.before
        if inner in innermost and order.index(inner) < innermost.get(outer, 0)
    ]
    again = brought_again(problem, mapping)
    found += [f"'{name}' comes in more than once" for name in rules.stationary if name in again]
    begun = next((index for index, node in enumerate(mapping.nodes) if isinstance(node, Loop)), len(mapping.nodes))
    cut = {node.operand for node in mapping.nodes[begun:] if isinstance(node, Keep)}
    found += [f"'{name}' is not copied whole first" for name in sorted(prefetched(problem, rules.prefetch) & cut)]
    if rules.units is not None and mapping.unit not in rules.units:
        found.append(f"its unit is '{mapping.unit}'")
    return found
