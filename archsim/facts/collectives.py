"""Collectives as moves between nodes: pure expansions, by rings, trees and doubling.

Every node holds a buffer of the same elements. A collective is a list of moves of pieces of it, each from one node to
one or more others, there stored or combined (``add``, ``max``) with what the buffer has. Moves have steps: those of one
step may go on at once, and a move may start when the moves of earlier steps that end at its source, or that read or
write the same piece of its targets, have ended.

Ring: in p - 1 steps every node sends one of p pieces to the next one: (p - 1)/p of the buffer leaves and enters each
node in a reduce-scatter and in an all-gather, twice that in an all-reduce. Source: Thakur, Rabenseifner, Gropp,
"Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005.
Doubling: as many bytes in ceil(log2 p) steps: in step k of an all-gather node i sends all that it has, 2^k pieces, to
node i - 2^k (in the last step, those that are missing there); a reduce-scatter is that backwards, combined on the way;
one after the other they are an all-reduce. Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for
all-to-all communications in multiport message-passing systems", IEEE TPDS 8(11), 1997.
Tree: halves of the nodes, in ceil(log2 p) steps, of the whole buffer.
Chain: the whole buffer from node to node, in p - 1 steps; several buffers follow one another along it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from archsim.base.errors import ConfigError, nearest

Combine = Literal["", "add", "max"]


@dataclass(frozen=True, slots=True)
class CollectiveHop:
    """Elements ``start`` to ``stop`` of the buffer go from ``source`` to ``targets``, combined with what is there."""

    step: int
    source: int
    targets: tuple[int, ...]
    start: int
    stop: int
    combine: Combine = ""

    @property
    def elements(self) -> int:
        """How many are sent, once."""
        return self.stop - self.start


def pieces(elements: int, parts: int) -> list[tuple[int, int]]:
    """The buffer in ``parts`` pieces of almost one size; some are empty when there are too few elements."""
    edges = [elements * part // parts for part in range(parts + 1)]
    return list(zip(edges, edges[1:], strict=False))


def expand(
    name: str, nodes: Sequence[int], elements: int, *, root: int = 0, combine: Combine = "add"
) -> list[CollectiveHop]:
    """The moves of a collective among ``nodes``, in order of their steps, without those of nothing.

    ``root``: the place in ``nodes`` of the one that broadcasts, gathers, or ends with the combination. Raises
    ConfigError for an unknown name, repeated nodes and a root that is none.
    """
    if name not in COLLECTIVES:
        raise ConfigError(f"collective '{name}': allowed {', '.join(COLLECTIVES)}{nearest(name, COLLECTIVES)}")
    if not nodes or len(set(nodes)) != len(nodes) or elements < 0:
        raise ConfigError(f"collective {name}: found nodes {list(nodes)}, {elements} elements; allowed different nodes")
    if not 0 <= root < len(nodes):
        raise ConfigError(f"collective {name}: root: found {root}; allowed 0 to {len(nodes) - 1}")
    found = [hop for hop in COLLECTIVES[name](list(nodes), elements, root, combine) if hop.elements and hop.targets]
    return sorted(found, key=lambda hop: (hop.step, hop.source, hop.start))


def _broadcast(nodes: list[int], elements: int, root: int, combine: Combine) -> Iterator[CollectiveHop]:
    """One read, as many writes."""
    yield CollectiveHop(0, nodes[root], tuple(node for node in nodes if node != nodes[root]), 0, elements)


def _broadcast_tree(nodes: list[int], elements: int, root: int, combine: Combine) -> Iterator[CollectiveHop]:
    """Those that have it send it to as many that have not."""
    order = nodes[root:] + nodes[:root]
    have, step = 1, 0
    while have < len(order):
        for place in range(min(have, len(order) - have)):
            yield CollectiveHop(step, order[place], (order[have + place],), 0, elements)
        have, step = 2 * have, step + 1


def _gather(nodes: list[int], elements: int, root: int, combine: Combine) -> Iterator[CollectiveHop]:
    """Each node's own piece goes to the root."""
    for place, (start, stop) in enumerate(pieces(elements, len(nodes))):
        if place != root:
            yield CollectiveHop(0, nodes[place], (nodes[root],), start, stop)


def _reduce(nodes: list[int], elements: int, root: int, combine: Combine) -> Iterator[CollectiveHop]:
    """The whole of each other node's buffer goes straight to the root, one after the other."""
    order = nodes[root:] + nodes[:root]
    for step, node in enumerate(order[1:]):
        yield CollectiveHop(step, node, (nodes[root],), 0, elements, combine)


def _reduce_chain(nodes: list[int], elements: int, root: int, combine: Combine) -> Iterator[CollectiveHop]:
    """From node to node towards the root, combined at each: as many steps, but no node receives twice."""
    order = nodes[root:] + nodes[:root]
    for step, place in enumerate(range(len(order) - 1, 0, -1)):
        yield CollectiveHop(step, order[place], (order[place - 1],), 0, elements, combine)


def _reduce_tree(nodes: list[int], elements: int, root: int, combine: Combine) -> Iterator[CollectiveHop]:
    """A broadcast by tree, backwards, combined on the way."""
    yield from _backwards(_broadcast_tree(nodes, elements, root, combine), combine)


def _reduce_scatter(nodes: list[int], elements: int, root: int, combine: Combine) -> Iterator[CollectiveHop]:
    """Node i ends with piece i of the combination: it comes round the ring, combined at each node, and ends there."""
    count, cut = len(nodes), pieces(elements, len(nodes))
    for step in range(count - 1):
        for place in range(count):
            start, stop = cut[(place - step - 1) % count]
            yield CollectiveHop(step, nodes[place], (nodes[(place + 1) % count],), start, stop, combine)


def _all_gather(nodes: list[int], elements: int, root: int, combine: Combine) -> Iterator[CollectiveHop]:
    """Node i's piece i goes round the ring."""
    count, cut = len(nodes), pieces(elements, len(nodes))
    for step in range(count - 1):
        for place in range(count):
            start, stop = cut[(place - step) % count]
            yield CollectiveHop(step, nodes[place], (nodes[(place + 1) % count],), start, stop)


def _all_gather_doubling(nodes: list[int], elements: int, root: int, combine: Combine) -> Iterator[CollectiveHop]:
    """Node i's pieces, from i on round the ring, go to node i - 2^k."""
    count, cut = len(nodes), pieces(elements, len(nodes))
    for step in range((count - 1).bit_length()):
        far = 1 << step
        for place in range(count):
            for start, stop in _stretches(cut, place, min(far, count - far)):
                yield CollectiveHop(step, nodes[place], (nodes[(place - far) % count],), start, stop)


def _stretches(cut: list[tuple[int, int]], first: int, number: int) -> Iterator[tuple[int, int]]:
    """So many pieces from the first one on, those beyond the buffer's end from its start."""
    beyond = first + number - len(cut)
    yield cut[first][0], cut[min(first + number, len(cut)) - 1][1]
    if beyond > 0:
        yield cut[0][0], cut[beyond - 1][1]


def _reduce_scatter_halving(nodes: list[int], elements: int, root: int, combine: Combine) -> Iterator[CollectiveHop]:
    """Node i ends with piece i of the combination: an all-gather by doubling, backwards, combined on the way."""
    yield from _backwards(_all_gather_doubling(nodes, elements, root, combine), combine)


def _all_reduce_halving(nodes: list[int], elements: int, root: int, combine: Combine) -> Iterator[CollectiveHop]:
    yield from _reduce_scatter_halving(nodes, elements, root, combine)
    yield from _after(_all_gather_doubling(nodes, elements, root, combine), (len(nodes) - 1).bit_length())


def _all_reduce(nodes: list[int], elements: int, root: int, combine: Combine) -> Iterator[CollectiveHop]:
    yield from _reduce_scatter(nodes, elements, root, combine)
    yield from _after(_all_gather(nodes, elements, root, combine), len(nodes) - 1)


def _all_reduce_tree(nodes: list[int], elements: int, root: int, combine: Combine) -> Iterator[CollectiveHop]:
    up = list(_reduce_tree(nodes, elements, root, combine))
    yield from up
    yield from _after(_broadcast_tree(nodes, elements, root, combine), 1 + max((hop.step for hop in up), default=0))


def _backwards(hops: Iterator[CollectiveHop], combine: Combine) -> Iterator[CollectiveHop]:
    """Hops to one node each, the last ones first and from target to source."""
    forward = list(hops)
    last = max((hop.step for hop in forward), default=0)
    for hop in forward:
        yield CollectiveHop(last - hop.step, hop.targets[0], (hop.source,), hop.start, hop.stop, combine)


def _after(hops: Iterator[CollectiveHop], steps: int) -> Iterator[CollectiveHop]:
    for hop in hops:
        yield CollectiveHop(steps + hop.step, hop.source, hop.targets, hop.start, hop.stop, hop.combine)


COLLECTIVES: dict[str, Callable[[list[int], int, int, Combine], Iterator[CollectiveHop]]] = {
    "broadcast": _broadcast,
    "broadcast_tree": _broadcast_tree,
    "gather": _gather,
    "reduce": _reduce,
    "reduce_chain": _reduce_chain,
    "reduce_tree": _reduce_tree,
    "reduce_scatter": _reduce_scatter,
    "reduce_scatter_halving": _reduce_scatter_halving,
    "all_gather": _all_gather,
    "all_gather_doubling": _all_gather_doubling,
    "all_reduce": _all_reduce,
    "all_reduce_halving": _all_reduce_halving,
    "all_reduce_tree": _all_reduce_tree,
}
