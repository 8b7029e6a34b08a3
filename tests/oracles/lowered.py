"""The mapping of a compiled layer as a LoopTree on its chip's hierarchy.

Above: where the tensors lie, then the mapping's loops and Keeps. Below them the array's own loops: folds of what its
dataflow holds, the spread over its fan-outs, and what streams past. An array lays the flattened product of dims over
a fan-out; a LoopTree lays dims, each in parts of its own. So it may need more folds, never fewer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from math import prod

from archsim.base.errors import MappingError
from archsim.ir.mapping import Keep, Loop, MapNode
from mapper.cost.chip_rates import ChipCosts
from mapper.looptree.chip import OPERANDS, array_of, axis_dims, held, hierarchy_of, layer_einsum, ways
from mapper.looptree.nest import Nest
from mapper.lower.frame import Frame
from mapper.problem.operands import ACC, OUT


def nest_of(frame: Frame, chip: ChipCosts, dtypes: Mapping[str, str]) -> Nest:
    """The LoopTree on ``hierarchy_of`` that a layer runs on an array.

    Raises MappingError as ``layer_einsum`` does, and for windows that the array's dataflow makes use of: PEs on a
    diagonal share inputs, and a LoopTree knows rows and columns alone.
    """
    if frame.problem.windows:
        shared = ", ".join(f"{window.output} and {window.tap}" for window in frame.problem.windows)
        raise MappingError(
            f"layer '{frame.name}': the dataflow of '{frame.problem.unit}' shares inputs between {shared}, which no "
            "LoopTree of its fan-outs does"
        )
    nodes = _above(frame)
    nodes += _inside(frame, chip, dtypes, len(nodes))
    return Nest(layer_einsum(frame.problem), tuple(nodes))


def _above(frame: Frame) -> list[MapNode]:
    """Tensors, and the mapping's nodes without those of what lies whole on chip, and of the bias."""
    nodes = frame.mapping.nodes
    placed = ways(frame.problem)
    found: list[MapNode] = [Keep(name, placed[name][0].name, 1, at) for at, name in enumerate(OPERANDS)]
    below = dict[int, int]()  # node of the mapping -> place of the first one that is left at or behind it
    slid = dict[int, tuple[Keep, int]]()
    for number in sorted(range(len(nodes)), key=lambda n: _rank(nodes, n)):
        node = nodes[number]
        below.setdefault(_rank(nodes, number)[0], len(found))
        if isinstance(node, Loop):
            found.append(node)
        elif (keep := _kept(frame, node, len(found))) is not None:
            if node.reserve_at != number:
                slid[len(found)] = keep, _rank(nodes, node.reserve_at)[0]
            found.append(keep)
    for place, (keep, run) in slid.items():
        found[place] = replace(keep, reserve_at=below.get(run, len(found)))
    return found


def _rank(nodes: tuple[MapNode, ...], number: int) -> tuple[int, bool]:
    """Keeps between two loops keep their order, but for the sums, which are drained to the output: they come last."""
    node = nodes[number] if number < len(nodes) else None
    loops = sum(isinstance(other, Loop) for other in nodes[:number])
    return 2 * loops + isinstance(node, Loop), isinstance(node, Keep) and node.operand == ACC


def _kept(frame: Frame, node: Keep, at: int) -> Keep | None:
    plan = frame.problem.kept(node.operand, node.level)
    if plan is None or plan.resident or plan.operand not in (*OPERANDS, ACC):
        return None
    operand = OUT if plan.name == ACC else plan.operand
    way = ways(frame.problem)[operand]
    place = way[-1] if plan.name == ACC else next(p for p in way if p.memory == node.level and p.holds == "tiles")
    return Keep(operand, place.name, node.slots, at)


def _inside(frame: Frame, chip: ChipCosts, dtypes: Mapping[str, str], start: int) -> list[MapNode]:
    """Loops of the array over a tile of the innermost memories."""
    problem, hierarchy = frame.problem, hierarchy_of(frame.problem, chip, dtypes)
    array, _ = array_of(problem, chip, dtypes)
    operands = held(array)
    index = {dim for operand in operands for dim in problem.operand(operand).dims}
    tiles = frame.tiles(len(frame.loops))
    laid = axis_dims(problem, chip, dtypes)
    shares = {axis.name: _spread(laid[axis.name], tiles, axis.fanout) for axis in hierarchy.axes}
    spread = {dim: share for of_axis in shares.values() for dim, share in of_axis.items()}
    nodes: list[MapNode] = [Loop(dim, spread.get(dim, 1)) for dim in tiles if dim in {*index, *spread}]
    nodes = [node for node in nodes if isinstance(node, Loop) and node.tile < tiles[node.dim]]
    nodes += [Loop(dim, 1, axis) for axis, dims in shares.items() for dim, share in dims.items() if share > 1]
    for operand, register in zip(operands, hierarchy.memories[-len(operands) :], strict=True):
        nodes.append(Keep(operand, register.name, 1, start + len(nodes)))
    left = [dim for dim in tiles if dim not in {*index, *spread} and tiles[dim] > 1]
    return [*nodes, *(Loop(dim, 1) for dim in left)]


def _spread(dims: tuple[str, ...], tiles: Mapping[str, int], fanout: int) -> dict[str, int]:
    """Parts of dims laid over a fan-out at once, such that they take the fewest folds; of equal ones the inner dims."""
    options = [sorted({-(-tiles[dim] // parts) for parts in range(1, tiles[dim] + 1)}, reverse=True) for dim in dims]
    fitting = (sizes for sizes in product(*options) if prod(sizes) <= fanout)
    best = min(fitting, key=lambda sizes: (prod(-(-tiles[d] // s) for d, s in zip(dims, sizes, strict=True)), sizes))
    return dict(zip(dims, best, strict=True))
