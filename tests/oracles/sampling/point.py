"""Points of a space for searches that sample it: drawn, moved by steps, crossed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from math import exp, log, prod
from random import Random

from mapper.looptree.hierarchy import Axis, Memory
from mapper.looptree.nest import Nest
from mapper.looptree.search.space import Space
from tests.oracles.sampling.grown import BELOW, Node, Point, repaired

ANOTHER = 0.5  # chance of one more step to a neighbour, each time


class Points:
    """Points of a space, by a generator of a fixed seed."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space, self.generator = space, Random(seed)
        self.dims = tuple(space.einsum.extents)
        self.operands = tuple(operand.name for operand in space.einsum.operands)

    def fit(self, point: Point) -> tuple[Point, Nest] | None:
        """The point made to fit the memories, and its LoopTree."""
        return repaired(self.space, point, self.generator)

    def least(self) -> Point:
        """Every memory keeps what it must, in the smallest tiles; fan-outs are used as little as they may be."""
        point = self.draw()
        musts = {(name, m.name) for m in self.space.hierarchy.memories for name in m.keep}
        held = {operand for operand, _ in musts}
        kept = frozenset(musts | {node for node in point.kept if node[0] not in held})
        shares = {axis.name: self._shares[axis.name][0] for axis in self.space.hierarchy.axes}
        tiles = {node: dict.fromkeys(self.dims, 1) for node in point.tiles}
        return replace(point, kept=kept, tiles=tiles, shares=shares, windows=frozenset())

    def draw(self) -> Point:
        """Anywhere in the space."""
        order = tuple(node for block in self.space.hierarchy.blocks() for node in self._order(block))
        places = (*order, BELOW)
        wished = {dim: sorted((self._tile(dim) for _ in order), reverse=True) for dim in self.dims}
        return Point(
            self._kept(),
            order,
            {node: {dim: wished[dim][at] for dim in self.dims} for at, node in enumerate(order)},
            {node: self._shuffled(self.dims) for node in places},
            {axis.name: self._spread(axis) for axis in self.space.hierarchy.axes},
            frozenset(node for node in order if node[0] and self.generator.random() < 0.5),
        )

    def neighbour(self, point: Point) -> Point:
        """A step away, at times more: a tile, an order of loops or nodes, a tile kept or not, a window, a fan-out."""
        steps = [self._other_tile] * 4 + [self._other_loops] * 2 + [self._other_order, self._other_kept]
        steps += [self._other_window, self._other_share]
        point = self.generator.choice(steps)(point)
        while self.generator.random() < ANOTHER:
            point = self.generator.choice(steps)(point)
        return point

    def cross(self, first: Point, second: Point) -> Point:
        """Nodes and orders of one; of every dim the tiles, of every axis the shares of either."""
        own = {dim: self.generator.random() < 0.5 for dim in self.dims}
        tiles = {
            node: {dim: (first if own[dim] else second).tiles[node][dim] for dim in self.dims} for node in first.order
        }
        shares = {name: (first, second)[self.generator.randrange(2)].shares[name] for name in first.shares}
        return replace(first, tiles=tiles, shares=shares)

    def _shuffled(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.generator.sample(names, len(names)))

    def _tile(self, dim: str) -> int:
        """Evenly over orders of magnitude."""
        return round(exp(self.generator.uniform(0, log(self.space.einsum.extents[dim]))))

    def _kept(self) -> frozenset[Node]:
        memories = self.space.hierarchy.memories
        kept = {
            (name, memory.name)
            for memory in memories
            for name in self.operands
            if name in memory.keep or (name in memory.may_keep and self.generator.random() < 0.5)
        }
        for name in self.operands:
            places = [memory.name for memory in memories if name in memory.allowed]
            if places and not any(operand == name for operand, _ in kept):
                kept.add((name, self.generator.choice(places)))
        return frozenset(kept)

    def _order(self, block: tuple[Memory | Axis, ...]) -> Iterator[Node]:
        if isinstance(block[0], Axis):
            yield from (("", name) for name in self._shuffled(tuple(axis.name for axis in block)))
            return
        memories = [part for part in block if isinstance(part, Memory)]
        for group in [[memory] for memory in memories] if self.space.in_order else [memories]:
            queues = {name: [m.name for m in group if name in m.allowed] for name in self.operands}
            while any(queues.values()):
                name = self.generator.choice([name for name in self.operands if queues[name]])
                yield name, queues[name].pop(0)

    @cached_property
    def _shares(self) -> Mapping[str, list[dict[str, int]]]:
        """Every way to spread dims over an axis that uses it as far as it must be; the least use first."""
        found = {}
        for axis in self.space.hierarchy.axes:
            ways = [dict(way) for way in self._ways(axis, self.space.spread[axis.name], axis.fanout)]
            if axis.most_used:
                least = self.space.least_rounds[axis.name]
                ways = [way for way in ways if self.space.rounds(axis.name, way) <= least]
            found[axis.name] = sorted(ways, key=lambda way: prod(way.values()))
        return found

    def _ways(self, axis: Axis, dims: tuple[str, ...], room: int) -> Iterator[tuple[tuple[str, int], ...]]:
        if not dims:
            yield ()
            return
        for share in self._worth(dims[0], room):
            for rest in self._ways(axis, dims[1:], room // share):
                yield ((dims[0], share), *rest)

    def _worth(self, dim: str, room: int) -> list[int]:
        """Shares of a dim, of those with the same rounds the smallest."""
        by_rounds: dict[int, int] = {}
        for share in self.space.shares(dim, room):
            by_rounds.setdefault(-(-self.space.einsum.extents[dim] // share), share)
        return list(by_rounds.values())

    def _spread(self, axis: Axis) -> dict[str, int]:
        """Any way to spread dims over an axis; ways that use more of it more often."""
        ways = self._shares[axis.name]
        return self.generator.choices(ways, [prod(way.values()) for way in ways])[0]

    def _other_tile(self, point: Point) -> Point:
        if not point.order:
            return point
        at, dim = self.generator.randrange(len(point.order)), self.generator.choice(self.dims)
        now = point.tiles[point.order[at]][dim]
        step = self.generator.choice((2, 3))
        wish = self.generator.choice((now * step, max(1, now // step), self._tile(dim)))
        tiles = dict(point.tiles)
        for node in point.order[:at]:  # room for a larger one
            tiles[node] = {**tiles[node], dim: max(tiles[node][dim], wish)}
        tiles[point.order[at]] = {**tiles[point.order[at]], dim: wish}
        return replace(point, tiles=tiles)

    def _other_loops(self, point: Point) -> Point:
        node = self.generator.choice((*point.order, BELOW))
        return replace(point, loops={**point.loops, node: self._shuffled(self.dims)})

    def _other_order(self, point: Point) -> Point:
        swaps = [at for at in range(len(point.order) - 1) if self._may_swap(point.order[at], point.order[at + 1])]
        if not swaps:
            return self._other_loops(point)
        at = self.generator.choice(swaps)
        first, second = point.order[at], point.order[at + 1]
        tiles = {**point.tiles, first: point.tiles[second], second: point.tiles[first]}
        return replace(point, order=(*point.order[:at], second, first, *point.order[at + 2 :]), tiles=tiles)

    def _may_swap(self, first: Node, second: Node) -> bool:
        if not first[0] or not second[0]:
            together = any({first[1], second[1]} <= {part.name for part in b} for b in self.space.hierarchy.blocks())
            return first[0] == second[0] and together
        if first[0] == second[0]:
            return False
        if self.space.in_order:
            return first[1] == second[1]
        blocks = self.space.hierarchy.blocks()
        return any({first[1], second[1]} <= {part.name for part in block} for block in blocks)

    def _other_kept(self, point: Point) -> Point:
        free = [
            (name, memory.name)
            for memory in self.space.hierarchy.memories
            for name in self.operands
            if name in memory.may_keep - memory.keep
        ]
        if not free:
            return self._other_tile(point)
        node = self.generator.choice(free)
        alone = sum(operand == node[0] for operand, _ in point.kept) == 1
        if node in point.kept and alone:
            return self._other_tile(point)
        return replace(point, kept=point.kept ^ {node})

    def _other_window(self, point: Point) -> Point:
        tiles = [node for node in point.order if node[0]]
        return replace(point, windows=point.windows ^ {self.generator.choice(tiles)})

    def _other_share(self, point: Point) -> Point:
        axes = self.space.hierarchy.axes
        if not axes:
            return self._other_tile(point)
        axis = self.generator.choice(axes)
        return replace(point, shares={**point.shares, axis.name: self._spread(axis)})
