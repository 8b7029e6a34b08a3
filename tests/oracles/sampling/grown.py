"""The LoopTree of a point, and a point that fits near one that does not.

A point wishes a tile of every dim at every node; from the outside in each becomes the largest tile of the space that is
no larger, divides what lies above where it must, and leaves enough for the fan-outs inside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd
from random import Random

from archsim.ir.mapping import Keep, Loop, MapNode
from mapper.looptree.cost import ROUNDING, held_bits
from mapper.looptree.hierarchy import Memory
from mapper.looptree.nest import Nest
from mapper.looptree.search.space import Factors, Space

Node = tuple[str, str]  # operand, memory; or '', axis
BELOW: Node = ("", "")  # the place below all nodes


@dataclass(frozen=True)
class Point:
    """``order``: every tile that a memory can keep and every axis, outermost first; of the tiles those in ``kept`` are.

    ``tiles``: dim -> tile wished for just above a node; ``loops``: order of the temporal loops there; ``shares``: axis
    -> dim -> instances; ``windows``: tiles that slide over the loop below them where they can.
    """

    kept: frozenset[Node]
    order: tuple[Node, ...]
    tiles: Mapping[Node, Mapping[str, int]]
    loops: Mapping[Node, tuple[str, ...]]
    shares: Mapping[str, Mapping[str, int]]
    windows: frozenset[Node]


@dataclass(frozen=True)
class Grown:
    """``tiles``: at each inner node, ``left``: instances that dims are spread to inside it."""

    nest: Nest
    tiles: Mapping[Node, Mapping[str, int]]
    left: Mapping[Node, Mapping[str, int]]


def grow(space: Space, point: Point) -> Grown:
    """The LoopTree of a point: of the space, room and the least use of axes aside."""
    top, inner = _placed(space, point)
    shares = _shares(space, point, inner)
    now, left = dict(space.einsum.extents), dict.fromkeys(space.einsum.extents, 1)
    for of_dims in shares.values():
        for dim, share in of_dims.items():
            left[dim] *= share
    nodes: list[MapNode] = [Keep(operand, memory, space.slots, at) for at, (operand, memory) in enumerate(top)]
    tiles: dict[Node, dict[str, int]] = {}
    lefts: dict[Node, dict[str, int]] = {}
    for node in inner:
        for dim in point.loops[node]:
            _loop(nodes, now, dim, fitting(space.factors, now[dim], point.tiles[node][dim], left[dim]))
        tiles[node], lefts[node] = dict(now), dict(left)
        if node[0]:
            nodes.append(Keep(*node, space.slots, len(nodes)))
            continue
        for dim, share in shares[node[1]].items():
            _loop(nodes, now, dim, -(-now[dim] // left[dim]) * (left[dim] // share), node[1])
            left[dim] //= share
    for dim in point.loops[BELOW]:
        _loop(nodes, now, dim, 1)
    return Grown(Nest(space.einsum, _sliding(space, nodes, point.windows)), tiles, lefts)


def fitting(factors: Factors, above: int, wish: int, left: int) -> int:
    """The largest legal tile in one of ``above`` that is at most ``wish`` and feeds ``left`` instances."""
    if wish >= above or left >= above:
        return above
    rounds = max(wish, left) // left
    return left * (rounds if factors == "any" else _divisor(-(-above // left), rounds))


@lru_cache(maxsize=1 << 16)
def _divisor(number: int, most: int) -> int:
    return next(tile for tile in range(most, 0, -1) if number % tile == 0)


def repaired(space: Space, point: Point, generator: Random) -> tuple[Point, Nest] | None:
    """A point with tiles small enough, where room is short, and its LoopTree; None when there is none near it."""
    while True:
        grown = grow(space, point)
        memory = _overfull(space, grown.nest)
        if memory is None:
            return replace(point, tiles={**point.tiles, **grown.tiles}), grown.nest
        smaller = _smaller(space, point, grown, memory, generator)
        if smaller is None:
            return None
        point = smaller


def _overfull(space: Space, nest: Nest) -> Memory | None:
    held = held_bits(nest, space.hierarchy, space.convention)
    for memory in space.hierarchy.memories:
        if memory.size_bits is not None and held[memory.name] > memory.size_bits * (1 + ROUNDING):
            return memory
    return None


def _smaller(space: Space, point: Point, grown: Grown, memory: Memory, generator: Random) -> Point | None:
    """With a smaller tile in a memory; else without one that need not be there; else spread to fewer instances."""
    names = [operand.name for operand in space.einsum.operands if (operand.name, memory.name) in point.kept]
    inner = [(name, memory.name) for name in names if (name, memory.name) in grown.tiles]
    cuts = [
        (node, dim)
        for node in inner
        for dim in space.einsum.extents
        if dim in space.einsum.operand(node[0]).dims and grown.tiles[node][dim] > grown.left[node][dim]
    ]
    if cuts:
        node, dim = generator.choice(cuts)
        wishes = {**grown.tiles[node], dim: grown.tiles[node][dim] // 2}
        return replace(point, tiles={**point.tiles, node: wishes})
    kept_at = {name: sum(operand == name for operand, _ in point.kept) for name in names}
    spare = [name for name in names if name not in memory.keep and kept_at[name] > 1]
    if spare:
        return replace(point, kept=point.kept - {(generator.choice(spare), memory.name)})
    return _narrower(space, point, grown, inner, generator)


def _narrower(space: Space, point: Point, grown: Grown, inner: list[Node], generator: Random) -> Point | None:
    dims = {dim for node in inner for dim in space.einsum.operand(node[0]).dims if grown.left[node][dim] > 1}
    found = [
        (axis.name, dim)
        for axis in space.hierarchy.axes
        for dim, share in point.shares[axis.name].items()
        if share > 1 and dim in dims and not axis.most_used
    ]
    if not found:
        return None
    axis_name, dim = generator.choice(found)
    shares = {**point.shares, axis_name: {**point.shares[axis_name], dim: 1}}
    return replace(point, shares=shares)


def _loop(nodes: list[MapNode], now: dict[str, int], dim: str, tile: int, axis: str = "") -> None:
    if tile < now[dim]:
        nodes.append(Loop(dim, tile, axis))
        now[dim] = tile


def _placed(space: Space, point: Point) -> tuple[list[Node], list[Node]]:
    """Outermost tile of every operand, and the nodes inside: none outside the deepest of those."""
    ranks = {part.name: rank for rank, part in enumerate(space.hierarchy.parts)}
    blocks = {part.name: number for number, block in enumerate(space.hierarchy.blocks()) for part in block}
    order = ranks if space.in_order else blocks
    outermost: dict[str, Node] = {}
    for node in sorted((node for node in point.order if node in point.kept), key=lambda node: ranks[node[1]]):
        outermost.setdefault(node[0], node)
    top = list(outermost.values())
    deepest = max(order[memory] for _, memory in top)
    inner = [node for node in point.order if (node in point.kept and node not in top) or not node[0]]
    return top, [node for node in inner if order[node[1]] >= deepest]


def _shares(space: Space, point: Point, inner: list[Node]) -> dict[str, dict[str, int]]:
    """Shares on the axes, of which together every dim has as many as it can be spread to."""
    rest = dict(space.einsum.extents)
    found: dict[str, dict[str, int]] = {}
    for operand, axis in inner:
        if operand:
            continue
        found[axis] = {}
        for dim, share in point.shares[axis].items():
            fit = gcd(share, rest[dim]) if space.factors == "divisors" else min(share, rest[dim])
            found[axis][dim] = fit
            rest[dim] //= fit
    return found


def _sliding(space: Space, nodes: list[MapNode], windows: frozenset[Node]) -> tuple[MapNode, ...]:
    for place, node in enumerate(nodes):
        if not isinstance(node, Keep) or (node.operand, node.level) not in windows:
            continue
        below = next((at for at in range(place, len(nodes)) if isinstance(nodes[at], Loop)), place)
        loop = nodes[below]
        if isinstance(loop, Loop) and not loop.axis and loop.dim in space.windows(space.einsum.operand(node.operand)):
            nodes[place] = replace(node, reserve_at=below + 1)
    return tuple(nodes)
