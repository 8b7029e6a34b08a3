"""Exact counts of the values that move in a LoopTree, by operand and memory.

An edge runs from a tile to the one inside it (or to the compute units). Inputs: a tile is filled once an iteration of
the loops above it and read from its parent once for all instances that share it. The output: a tile is drained to its
parent, reduced over the instances that may, and filled again with the partial sums that are there, which no tile needs
the first time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from archsim.ir.mapping import Keep, Loop
from mapper.looptree.conventions import Convention
from mapper.looptree.einsum import Operand
from mapper.looptree.hierarchy import READ, WRITE, Hierarchy
from mapper.looptree.nest import Nest

Count = tuple[str, str, str]  # memory, operand, read | write


@dataclass(frozen=True)
class Edge:
    """From the tile at place ``parent`` in memory ``outer`` to that at ``child`` in ``inner`` ('' = compute units)."""

    operand: Operand
    outer: str
    parent: int
    inner: str
    child: int


def edges(nest: Nest) -> Iterator[Edge]:
    """Every edge of every operand."""
    for operand in nest.einsum.operands:
        places = [(keep.level, place) for place, keep in nest.keeps[operand.name]]
        for (outer, parent), (inner, child) in zip(places, [*places[1:], ("", len(nest.nodes))], strict=True):
            yield Edge(operand, outer, parent, inner, child)


def counts(nest: Nest, hierarchy: Hierarchy, convention: Convention, busiest: bool = False) -> dict[Count, int]:
    """Values read and written by (memory, operand, action): of all instances, or of the ``busiest`` one of each."""
    found: dict[Count, int] = {}
    for edge in edges(nest):
        outer, inner = (_Side(nest, hierarchy, convention, edge, level, busiest) for level in (edge.outer, edge.inner))
        if edge.operand.is_output:
            _output(found, edge, outer, inner, convention)
        else:
            _add(found, edge, edge.outer, READ, outer.reads())
            _add(found, edge, edge.inner, WRITE, inner.fills())
    return found


def _output(found: dict[Count, int], edge: Edge, outer: _Side, inner: _Side, convention: Convention) -> None:
    written = outer.reads()
    _add(found, edge, edge.outer, WRITE, written)
    _add(found, edge, edge.outer, READ, written - outer.first_reads())
    drained = inner.fills()
    _add(found, edge, edge.inner, READ, drained if convention.drain_reads else 0)
    _add(found, edge, edge.inner, WRITE, inner.refilled())


def _add(found: dict[Count, int], edge: Edge, memory: str, action: str, count: int) -> None:
    if memory:
        key = (memory, edge.operand.name, action)
        found[key] = found.get(key, 0) + count


class _Side:
    """An edge seen from the memory at one of its ends: which loops count in its traffic."""

    def __init__(
        self, nest: Nest, hierarchy: Hierarchy, convention: Convention, edge: Edge, memory: str, busiest: bool
    ) -> None:
        self.nest, self.edge, self.convention = nest, edge, convention
        above = nest.above(edge.child)
        spatial = [(at, loop) for at, loop in above if loop.axis]
        self.shared = {at for at, loop in spatial if at > edge.parent and _shares(hierarchy, edge.operand, loop)}
        self.still = set() if convention.bill_all or not edge.inner else _still(nest, edge)
        self.one = _instances(nest, memory, edge.child) if busiest else set()
        self.loops = above

    def fills(self) -> int:
        """Values that enter (or leave) all inner tiles."""
        return self._values(self.still | self.one)

    def reads(self) -> int:
        """Values that the outer tile gives (or takes), once for all instances that share them."""
        return self._values(self.still | self.one | self.shared)

    def first_reads(self) -> int:
        """Of the values that the outer tile takes, those that are the first: once in each copy of it."""
        within = {at for at, loop in self.loops if at > self.edge.parent or not loop.axis}
        return self._values(self._irrelevant(within) | self.one)

    def refilled(self) -> int:
        """Partial sums that go back into inner tiles: all but the first of each, to every instance that reduces."""
        within = {at for at, loop in self.loops if at not in self.shared and (at > self.edge.parent or not loop.axis)}
        return self.fills() - self._values(self._irrelevant(within) | self.one)

    def _irrelevant(self, places: set[int]) -> set[int]:
        dims = self.edge.operand.dims
        return {at for at, loop in self.loops if at in places and loop.dim not in dims}

    def _values(self, collapsed: set[int]) -> int:
        place = self.edge.child
        return self.nest.values(self.edge.operand, place, self.convention.footprint, collapsed)


def _shares(hierarchy: Hierarchy, operand: Operand, loop: Loop) -> bool:
    return loop.dim not in operand.dims and operand.name in hierarchy.axis(loop.axis).may_reuse


def _still(nest: Nest, edge: Edge) -> set[int]:
    """Temporal loops above the inner tile over which it does not change: nothing that indexes it loops below them.

    None when it slides: at the end of a loop below it holds the last window, not the first.
    """
    found: set[int] = set()
    if _slides(nest, edge):
        return found
    for at, loop in reversed(nest.above(edge.child)):
        if loop.axis:
            continue
        if loop.dim in edge.operand.dims:
            if nest.trips(at) > 1:
                break
        else:
            found.add(at)
    return found


def _slides(nest: Nest, edge: Edge) -> bool:
    keep = nest.nodes[edge.child]
    assert isinstance(keep, Keep)
    return any(nest.trips(at) > 1 for at, _ in nest.above(keep.reserve_at) if at > edge.child)


def _instances(nest: Nest, memory: str, child: int) -> set[int]:
    """Spatial loops above every tile of a memory: of what they spread one instance has one share."""
    places = [place for keeps in nest.keeps.values() for place, keep in keeps if keep.level == memory]
    first = min(places, default=child)
    return {at for at, loop in nest.above(first) if loop.axis}
