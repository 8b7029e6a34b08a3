"""Whether a stated LoopTree is one that the lowering knows: one Keep for each memory of an operand, each at its place.

Loops are in time (the array spreads a tile itself, by its dataflow). Sums stay in the accumulators until they are
complete: loops over reductions stand below the Keep of the accumulator, all others above it, and the output is kept
beside it. A vector command makes its outputs at once; a copy moves what it has just brought in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from archsim.base.errors import nearest
from archsim.ir.mapping import Keep, LayerMapping, Loop
from mapper.cost.tile_shares import geometry, is_block
from mapper.lower.frame import Frame
from mapper.problem.geometry import Component, halo
from mapper.problem.operands import ACC, OUT, OperandPlan
from mapper.problem.problem import Problem


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a stated mapping, and at which node (None: with the layer)."""

    node: int | None
    text: str


def faults(problem: Problem, mapping: LayerMapping, memories: tuple[str, ...]) -> Iterator[Fault]:
    """The faults of its loops, then of its Keeps; those of the whole tree only where each node is right by itself."""
    found = list(_loops(problem, mapping)) or list(_keeps(problem, mapping, memories))
    yield from found
    if not found:
        yield from _missing(problem, mapping)
        yield from _order(Frame(problem, mapping, {}), _nodes(problem, mapping))


def _loops(problem: Problem, mapping: LayerMapping) -> Iterator[Fault]:
    strips: dict[str, int] = {}
    for index, node in enumerate(mapping.nodes):
        if isinstance(node, Loop):
            text = _loop(problem, node, strips.get(node.dim))
            if text:
                yield Fault(index, text)
            strips[node.dim] = node.tile


def _loop(problem: Problem, loop: Loop, strip: int | None) -> str:
    """``strip``: the tile of the loop over the same dim further out."""
    dims = problem.dims
    if loop.dim not in dims:
        there = ", ".join(f"{dim} {extent}" for dim, extent in dims.items())
        return f"no dim '{loop.dim}'{nearest(loop.dim, dims)}; the layer has: {there}"
    if loop.axis:
        return f"dim '{loop.dim}' spread over '{loop.axis}': the unit spreads each tile itself; allowed loops in time"
    if not 1 <= loop.tile <= dims[loop.dim]:
        return f"tiles of {loop.tile} of dim '{loop.dim}'; allowed 1 to {dims[loop.dim]}"
    if loop.dim in problem.whole and loop.tile < dims[loop.dim]:
        return f"dim '{loop.dim}' is never cut in this layer (it shares an axis, or its sum is made at once)"
    return _in_strip(loop, strip, dims[loop.dim]) if strip is not None else ""


def _in_strip(loop: Loop, strip: int, extent: int) -> str:
    """What is wrong with tiles in strips: each strip must hold as many, and no tile may reach over its end."""
    if strip % loop.tile:
        return f"tiles of {loop.tile} of dim '{loop.dim}' in strips of {strip}; allowed sizes that divide {strip}"
    tiles, each = -(-extent // loop.tile), strip // loop.tile
    if tiles % each:
        return (
            f"strips of {strip} of dim '{loop.dim}' hold {each} tiles of {loop.tile}, the last one {tiles % each}; "
            f"allowed as many in each ({tiles} tiles in all)"
        )
    return ""


def _keeps(problem: Problem, mapping: LayerMapping, memories: tuple[str, ...]) -> Iterator[Fault]:
    known = [plan for plan in problem.operands if (plan.buffered or plan.resident) and not plan.follows]
    seen: set[tuple[str, str]] = set()
    for index, node in enumerate(mapping.nodes):
        if isinstance(node, Keep):
            at = [plan for plan in known if plan.operand == node.operand]
            plan = next((plan for plan in at if plan.level == node.level), None)
            if plan is None:
                yield Fault(index, _unknown(node, [plan.operand for plan in known], at, memories))
                continue
            if (node.operand, node.level) in seen:
                yield Fault(index, f"operand '{node.operand}' is kept already in '{node.level}'; allowed once")
            seen.add((node.operand, node.level))
            yield from _keep(problem, mapping, plan, index)


def _unknown(keep: Keep, operands: list[str], at: list[OperandPlan], memories: tuple[str, ...]) -> str:
    """What is wrong with a Keep of no operand, or in a memory that the operand does not pass."""
    if not at:
        names = ", ".join(dict.fromkeys(operands))
        return f"no operand '{keep.operand}' to keep{nearest(keep.operand, operands)}; allowed {names}"
    hint = "" if keep.level in memories else f" (no memory of the chip{nearest(keep.level, memories)})"
    levels = ", ".join(f"'{plan.level}'" for plan in at)
    return f"operand '{keep.operand}' kept in '{keep.level}'{hint}; allowed {levels}, on its path"


def _keep(problem: Problem, mapping: LayerMapping, plan: OperandPlan, index: int) -> Iterator[Fault]:
    keep, nodes = mapping.nodes[index], mapping.nodes
    assert isinstance(keep, Keep)
    if plan.resident and keep.slots:
        yield Fault(index, f"{keep.slots} slots of '{plan.operand}', which lies whole in '{plan.level}'; allowed 0")
    if not plan.resident and keep.slots < 1:
        few = keep.slots or "no"
        text = f"{few} slots of '{plan.operand}', which is not among the resident operands; allowed 1 or more"
        yield Fault(index, text)
    if plan.name == ACC and problem.engine == "vector" and keep.slots > 1:
        yield Fault(index, f"{keep.slots} slots of 'acc' on the vector unit, which works on one; allowed 1")
    if not index <= keep.reserve_at <= len(nodes):
        yield Fault(index, f"reserve_at {keep.reserve_at}; allowed {index} (its own place) to {len(nodes)}")
    elif keep.reserve_at != index:
        between = [node for node in nodes[index : keep.reserve_at] if isinstance(node, Loop)]
        text = _window(problem, plan, between, _tiles(problem, mapping, keep.reserve_at))
        if text:
            yield Fault(index, text)


def _tiles(problem: Problem, mapping: LayerMapping, until: int) -> dict[str, int]:
    cut = {node.dim: node.tile for node in mapping.nodes[:until] if isinstance(node, Loop)}
    return {**problem.dims, **cut}


def _window(problem: Problem, plan: OperandPlan, between: list[Loop], tiles: Mapping[str, int]) -> str:
    """Why ``plan`` is no sliding window over the loops ``between`` its Keep and its reservation ('' when it is)."""
    if len(between) != 1:
        return f"a window of '{plan.operand}' over {len(between)} loops; allowed one loop between keep and reserve_at"
    geo, dim = geometry(problem), between[0].dim
    if plan.operand in (OUT, ACC) or plan.resident or dim != geo.sliding:
        allowed = f"inputs, over '{geo.sliding}'" if geo.sliding else "none in this layer, whose tiles share no rows"
        return f"'{plan.operand}' as a sliding window over '{dim}'; allowed {allowed}"
    if dim not in tiles or not any(
        halo(part, dim, tiles[dim], problem.dims) for part in _moved(geo.parts[plan.name], dim)
    ):
        return f"tiles of '{plan.operand}' along '{dim}' share nothing; a window would keep no rows"
    if not is_block(geo, plan, tiles):
        return f"a window of '{plan.operand}' over '{dim}' is no block of rows; cut the dims outside it to 1 above it"
    return ""


def _moved(parts: tuple[Component, ...], dim: str) -> Iterator[Component]:
    return (part for part in parts if dim in dict(part.terms))


def _missing(problem: Problem, mapping: LayerMapping) -> Iterator[Fault]:
    stays = {plan.name for plan in problem.operands if plan.resident}
    for name in mapping.resident:
        if name not in stays:
            plan = next((plan for plan in problem.operands if plan.name == name), None)
            where = f"; its tensor '{plan.tensor}' lies in '{plan.home}'" if plan is not None else ""
            yield Fault(None, f"operand '{name}' does not stay on chip{where}; placements decide what does")
    for name in sorted(stays - set(mapping.resident)):
        tensor = problem.operand(name).tensor
        yield Fault(None, f"operand '{name}' stays on chip (tensor '{tensor}') but is not among the resident ones")
    kept = {(node.operand, node.level) for node in mapping.nodes if isinstance(node, Keep)}
    for plan in problem.operands:
        if plan.buffered and not plan.resident and not plan.follows and (plan.operand, plan.level) not in kept:
            where = f"in '{plan.level}'"
            missing = f"not kept {where}" if plan.operand in {name for name, _ in kept} else "kept nowhere"
            yield Fault(None, f"operand '{plan.operand}' is {missing}; it needs a Keep {where}")


def _nodes(problem: Problem, mapping: LayerMapping) -> dict[str, int]:
    """Node index of every plan's Keep and every loop (``for DIM in TILE``)."""
    found = {}
    for index, node in enumerate(mapping.nodes):
        if isinstance(node, Loop):
            found[f"for {node.dim} in {node.tile}"] = index
        elif (plan := problem.kept(node.operand, node.level)) is not None:
            found[plan.name] = index
    return found


def _order(frame: Frame, at: Mapping[str, int]) -> Iterator[Fault]:
    """Loops and Keeps that stand where the lowering cannot have them."""
    problem = frame.problem
    yield from _nested(frame, at)
    if problem.engine == "copy":
        yield from _copied(frame, at)
    elif problem.accumulates:
        yield from _summed(frame, at)
    elif not problem.operand(OUT).resident and frame.keeps[OUT][0] != len(frame.loops):
        yield Fault(
            at[OUT], "'out' is kept above a loop; a vector command fills a slot at once: keep it below all loops"
        )


def _nested(frame: Frame, at: Mapping[str, int]) -> Iterator[Fault]:
    """Tiles that are filled from slots that hold less."""
    for plan in frame.problem.operands:
        if plan.beyond and frame.keeps[plan.beyond][0] > frame.keeps[plan.name][0]:
            text = f"'{plan.operand}' is kept in '{plan.home}' below more loops than in '{plan.level}', which it fills"
            yield Fault(at[plan.beyond], text)


def _summed(frame: Frame, at: Mapping[str, int]) -> Iterator[Fault]:
    depth, outputs = frame.keeps[ACC][0], frame.problem.operand(OUT).dims
    for number, loop in enumerate(frame.loops):
        node = at[f"for {loop.dim} in {loop.tile}"]
        if number < depth and loop.dim not in outputs:
            yield Fault(
                node,
                f"the loop over '{loop.dim}', a reduction, stands above the Keep of 'acc': partial sums would leave "
                "the accumulators, which the lowering does not support; put it below",
            )
        if number >= depth and loop.dim in outputs:
            yield Fault(
                node,
                f"the loop over '{loop.dim}' stands below the Keep of 'acc', whose sums drain as one: put it above",
            )
    for plan in frame.problem.added:
        if not plan.resident and frame.keeps[plan.name][0] > depth:
            yield Fault(at[plan.name], f"'{plan.name}' is kept below a loop that stands below the Keep of 'acc'")
    out = frame.problem.operand(OUT)
    if not out.resident and frame.keeps[OUT][0] != depth:
        yield Fault(at[OUT], "'out' and 'acc' are kept below different loops; a drained tile is one slot of both")


def _copied(frame: Frame, at: Mapping[str, int]) -> Iterator[Fault]:
    source = frame.problem.operand("in0")
    if source.buffered:
        for loop in frame.loops[frame.keeps["in0"][0] :]:
            if loop.dim in source.dims:
                yield Fault(at["in0"], f"'in0' is kept above the loop over '{loop.dim}'; a copy moves whole slots")
