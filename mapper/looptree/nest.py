"""Tiles and iterations of a LoopTree: how often each tile size occurs at a place in it. Extents clamp.

Every count is a product over dims, because a loop cuts one dim. Loops may be *collapsed*: of a fan-out over instances
that get the same tile in one go only the first counts; of instances that work side by side only the busiest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from archsim.ir.mapping import Keep, Loop, MapNode
from mapper.looptree.einsum import Coordinate, Einsum, Operand

Footprint = Callable[[Coordinate, dict[str, int]], int]


@dataclass(frozen=True)
class Nest:
    """A LoopTree of an einsum; ``nodes`` outermost first, the compute units below all of them."""

    einsum: Einsum
    nodes: tuple[MapNode, ...]

    @cached_property
    def loops(self) -> tuple[tuple[int, Loop], ...]:
        """Loops with their places."""
        return tuple((place, node) for place, node in enumerate(self.nodes) if isinstance(node, Loop))

    @cached_property
    def keeps(self) -> Mapping[str, tuple[tuple[int, Keep], ...]]:
        """Keeps of each operand with their places, outermost first."""
        found: dict[str, list[tuple[int, Keep]]] = {operand.name: [] for operand in self.einsum.operands}
        for place, node in enumerate(self.nodes):
            if isinstance(node, Keep):
                found[node.operand].append((place, node))
        return {name: tuple(keeps) for name, keeps in found.items()}

    def above(self, place: int) -> list[tuple[int, Loop]]:
        """Loops above a place, outermost first."""
        return [(at, loop) for at, loop in self.loops if at < place]

    def tile(self, place: int) -> dict[str, int]:
        """The largest tile at a place."""
        tile = dict(self.einsum.extents)
        for _, loop in self.above(place):
            tile[loop.dim] = min(tile[loop.dim], loop.tile)
        return tile

    def trips(self, place: int) -> int:
        """Trips of the loop at a place in the largest tile."""
        loop = self.nodes[place]
        assert isinstance(loop, Loop)
        return -(-self.tile(place)[loop.dim] // loop.tile)

    def sizes(self, dim: str, place: int, collapsed: Iterable[int] = ()) -> dict[int, int]:
        """Extent of the tiles of a dim at a place -> how many there are."""
        once = frozenset(collapsed)
        sizes = {self.einsum.extents[dim]: 1}
        for at, loop in self.above(place):
            if loop.dim == dim:
                sizes = _once(sizes, loop.tile) if at in once else _cut(sizes, loop.tile)
        return sizes

    def iterations(self, dims: Iterable[str], place: int, collapsed: Iterable[int] = ()) -> int:
        """Iterations of the loops over ``dims`` above a place."""
        once = tuple(collapsed)
        return prod(sum(self.sizes(dim, place, once).values()) for dim in dims)

    def values(self, operand: Operand, place: int, footprint: Footprint, collapsed: Iterable[int] = ()) -> int:
        """Values of an operand's tiles at a place, summed over all iterations of all loops above it."""
        once = tuple(collapsed)
        others = [dim for dim in self.einsum.extents if dim not in operand.dims]
        count = self.iterations(others, place, once)
        for coordinate in operand.coordinates:
            count *= self._along(coordinate, place, footprint, once)
        return count

    def held(self, operand: Operand, keep: Keep, footprint: Footprint) -> int:
        """Values of the largest tile of a Keep, from where it reserves its memory."""
        tile = self.tile(keep.reserve_at)
        return prod(footprint(coordinate, tile) for coordinate in operand.coordinates)

    def _along(self, coordinate: Coordinate, place: int, footprint: Footprint, once: tuple[int, ...]) -> int:
        dims = [dim for dim, _ in coordinate]
        sizes = [self.sizes(dim, place, once).items() for dim in dims]
        total = 0
        for chosen in product(*sizes):
            tile = {dim: extent for dim, (extent, _) in zip(dims, chosen, strict=True)}
            total += footprint(coordinate, tile) * prod(count for _, count in chosen)
        return total


def _cut(sizes: Mapping[int, int], tile: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for extent, count in sizes.items():
        whole, rest = divmod(extent, tile)
        if whole:
            found[tile] = found.get(tile, 0) + whole * count
        if rest:
            found[rest] = found.get(rest, 0) + count
    return found


def _once(sizes: Mapping[int, int], tile: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for extent, count in sizes.items():
        first = min(extent, tile)
        found[first] = found.get(first, 0) + count
    return found
