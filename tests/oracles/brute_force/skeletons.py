"""Every way to keep operands and to order the nodes of a LoopTree: what is there before any loop has a tile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations, product

from mapper.looptree.hierarchy import Axis, Memory
from mapper.looptree.search.space import Space

TEMPORAL, WINDOW = -1, -2  # kinds of stages; others are numbers of axes
Node = tuple[str, str]  # operand, memory; or '', axis


@dataclass(frozen=True)
class Skeleton:
    """Nodes outermost first: ``outer`` the outermost tile of each operand, ``inner`` other tiles and fan-outs.

    Stages are where loops go: between nodes a dim has one temporal loop at most. Directly below a tile there may be
    one more loop, over which tiles slide; a fan-out is a stage too.
    """

    outer: tuple[Node, ...]
    inner: tuple[Node, ...]
    kinds: tuple[int, ...]
    windows: tuple[frozenset[str], ...]  # by stage: dims that may slide there
    places: tuple[int, ...]  # by node of inner: stages above it

    @cached_property
    def keeps(self) -> tuple[tuple[str, str, int], ...]:
        """Operand, memory and number of stages above it, of every tile."""
        inner = zip(self.inner, self.places, strict=True)
        return (*((*node, 0) for node in self.outer), *((*node, place) for node, place in inner if node[0]))


def skeletons(space: Space) -> Iterator[Skeleton]:
    """All of a space, in a fixed order."""
    for kept in product(*(_subsets(space, memory) for memory in space.hierarchy.memories)):
        tiles = dict(zip((memory.name for memory in space.hierarchy.memories), kept, strict=True))
        outermost: dict[str, str] = {}
        for name, operands in tiles.items():
            for operand in operands:
                outermost.setdefault(operand, name)
        if len(outermost) < len(space.einsum.operands):
            continue  # an operand that is kept nowhere
        inner = {name: [o for o in operands if outermost[o] != name] for name, operands in tiles.items()}
        whole = [(operand.name, outermost[operand.name]) for operand in space.einsum.operands]
        outer = tuple(sorted(whole, key=lambda node: list(tiles).index(node[1])))
        for blocks in product(*(_orders(space, block, inner) for block in space.hierarchy.blocks())):
            nodes = _inside(space, outer, tuple(node for block in blocks for node in block))
            if nodes is not None:
                yield _staged(space, outer, nodes)


def _subsets(space: Space, memory: Memory) -> list[tuple[str, ...]]:
    """Operands that a memory keeps: those that it must and any of the others that it may."""
    names = [operand.name for operand in space.einsum.operands]
    free = [name for name in names if name in memory.may_keep - memory.keep]
    chosen = [set(some) for count in range(len(free) + 1) for some in combinations(free, count)]
    return [tuple(name for name in names if name in memory.keep or name in some) for some in chosen]


def _orders(space: Space, block: tuple[Memory | Axis, ...], inner: dict[str, list[str]]) -> list[tuple[Node, ...]]:
    if isinstance(block[0], Axis):
        axes = [("", axis.name) for axis in block if space.spread[axis.name]]
        return [tuple(axes)] if space.factors == "divisors" else list(permutations(axes))
    if space.in_order:
        levels = [list(permutations([(operand, memory.name) for operand in inner[memory.name]])) for memory in block]
        return [tuple(node for level in order for node in level) for order in product(*levels)]
    queues: dict[str, list[Node]] = {}
    for memory in block:
        for operand in inner[memory.name]:
            queues.setdefault(operand, []).append((operand, memory.name))
    return list(_merged({name: tuple(queue) for name, queue in queues.items()}))


def _merged(queues: dict[str, tuple[Node, ...]]) -> Iterator[tuple[Node, ...]]:
    """All interleavings of the operands' tiles."""
    if not any(queues.values()):
        yield ()
    for name, queue in queues.items():
        if queue:
            for rest in _merged(queues | {name: queue[1:]}):
                yield (queue[0], *rest)


def _inside(space: Space, outer: tuple[Node, ...], nodes: tuple[Node, ...]) -> tuple[Node, ...] | None:
    """Nodes but for fan-outs outside an operand that is held whole; None when a tile would lie outside it."""
    ranks = {part.name: rank for rank, part in enumerate(space.hierarchy.parts)}
    blocks = {part.name: number for number, block in enumerate(space.hierarchy.blocks()) for part in block}
    order = ranks if space.in_order else blocks
    deepest = max(order[name] for _, name in outer)
    if any(operand and order[name] < deepest for operand, name in nodes):
        return None
    return tuple(node for node in nodes if node[0] or order[node[1]] > deepest)


def _staged(space: Space, outer: tuple[Node, ...], nodes: tuple[Node, ...]) -> Skeleton:
    numbers = {axis.name: number for number, axis in enumerate(space.hierarchy.axes)}
    kinds, windows, places = [TEMPORAL], [frozenset[str]()], []
    run: list[Node] = []  # tiles with nothing but tiles between them and here
    for operand, name in nodes:
        places.append(len(kinds))
        run = [*run, (operand, name)] if operand else []
        if not operand:
            kinds.append(numbers[name])
            windows.append(frozenset())
        sliding = _sliding(space, run)
        if sliding:
            kinds.append(WINDOW)
            windows.append(sliding)
        if operand or space.factors != "divisors":
            kinds.append(TEMPORAL)
            windows.append(frozenset())
    return Skeleton(outer, nodes, tuple(kinds), tuple(windows), tuple(places))


def _sliding(space: Space, run: list[Node]) -> frozenset[str]:
    """Dims over which a tile of limited room may slide."""
    found: set[str] = set()
    for operand, memory in run:
        if space.hierarchy.memory(memory).size_bits is None:
            continue
        found |= space.windows(space.einsum.operand(operand))
    return frozenset(found)
