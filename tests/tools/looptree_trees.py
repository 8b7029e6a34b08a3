"""Random LoopTrees of any kind on random hierarchies without limits, for comparing counts."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from archsim.ir.mapping import Keep, Loop, MapNode
from mapper.looptree.conventions import Convention
from mapper.looptree.einsum import Einsum, convolution, gemm
from mapper.looptree.hierarchy import READ, WRITE, Action, Axis, Compute, Hierarchy, Memory
from mapper.looptree.nest import Nest

ALL = frozenset("IWO")


def tree(generator: Random, convention: Convention) -> tuple[Nest, Hierarchy, Convention]:
    """A LoopTree, where it is, and the convention with one or two slots."""
    hierarchy, einsum = _hierarchy(generator), _einsum(generator)
    nest = _Grown(generator, einsum, hierarchy).nest()
    return nest, hierarchy, replace(convention, slots=generator.randint(1, 2))


def _einsum(generator: Random) -> Einsum:
    if generator.random() < 0.5:
        return gemm(*(generator.randint(1, 9) for _ in range(3)))
    extents = {dim: generator.randint(1, 5) for dim in "nmcpqrs"}
    return convolution(extents, generator.randint(1, 3), generator.randint(1, 2))


def _memory(generator: Random, name: str) -> Memory:
    actions = {
        action: Action(generator.random(), 1 + generator.random(), generator.choice((0, 1, 8, 24)))
        for action in (READ, WRITE)
    }
    rule, rate = generator.choice(("sum", "max")), generator.choice((None, 2.0))
    bits = {"O": generator.choice((8, 16))}
    return Memory(name, None, frozenset(), ALL, actions, rule, rate, generator.random(), bits)


def _hierarchy(generator: Random) -> Hierarchy:
    parts: list[Memory | Axis] = [_memory(generator, "M0")]
    for level in range(1, generator.randint(2, 4)):
        for number in range(generator.choice((0, 1, 2))):
            reuse = frozenset(name for name in "IWO" if generator.random() < 0.5)
            parts.append(Axis(f"axis{level}{number}", 99, reuse))
        parts.append(_memory(generator, f"M{level}"))
    return Hierarchy("random", (*parts, Axis("lanes", 99, frozenset("I"))), Compute("MAC", Action(1, 1, 0), None, 0.3))


class _Grown:
    def __init__(self, generator: Random, einsum: Einsum, hierarchy: Hierarchy) -> None:
        self.generator, self.einsum, self.hierarchy = generator, einsum, hierarchy
        self.tile = dict(einsum.extents)
        self.nodes: list[MapNode] = [Keep(operand.name, "M0", 1, at) for at, operand in enumerate(einsum.operands)]

    def nest(self) -> Nest:
        for block in self.hierarchy.blocks():
            for part in block:
                if isinstance(part, Axis):
                    self._loops(part.name, 2)
                    self._loops("", 1)
            self._tiles([part.name for part in block if isinstance(part, Memory) and part.name != "M0"])
        self.nodes += [Loop(dim, 1) for dim, tile in self.tile.items() if tile > 1]
        for at, node in enumerate(self.nodes):
            if isinstance(node, Keep) and node.level != "M0":
                self.nodes[at] = replace(node, reserve_at=self._reserve(at, node))
        return Nest(self.einsum, tuple(self.nodes))

    def _tiles(self, names: list[str]) -> None:
        queues = {o.name: [name for name in names if self.generator.random() < 0.7] for o in self.einsum.operands}
        while any(queues.values()):
            self._loops("", 2)
            operand = self.generator.choice([name for name, queue in queues.items() if queue])
            self.nodes.append(Keep(operand, queues[operand].pop(0), self.generator.randint(1, 2), 0))
        self._loops("", 3)

    def _loops(self, axis: str, most: int) -> None:
        for _ in range(self.generator.randint(0, most)):
            dim = self.generator.choice(list(self.tile))
            tile = self.generator.randint(1, self.tile[dim])
            self.nodes.append(Loop(dim, tile, axis))
            self.tile[dim] = tile

    def _reserve(self, at: int, keep: Keep) -> int:
        below = next((place for place in range(at + 1, len(self.nodes)) if isinstance(self.nodes[place], Loop)), at)
        loop = self.nodes[below]
        slides = isinstance(loop, Loop) and not loop.axis and loop.dim in self.einsum.operand(keep.operand).dims
        return below + 1 if slides and self.generator.random() < 0.5 else at
