"""The space of a search, and whether a LoopTree lies in it.

Nodes: every memory keeps what it must and may keep what it may; tiles of an operand are ordered as the memories are.
Memories between two fan-outs may interleave (the inner tile of one operand above the outer one of another) unless
``in_order``. Loops of a fan-out lie between the tiles of the memories outside and inside it. Below all loops every dim
has tiles of 1. A tile may slide: between it and where it reserves its room lies one temporal loop of a window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Literal

from archsim.base.errors import MappingError
from archsim.ir.mapping import Keep, Loop
from mapper.looptree.conventions import ARCHSIM, Convention
from mapper.looptree.einsum import Einsum, Operand, touched
from mapper.looptree.hierarchy import Axis, Hierarchy
from mapper.looptree.nest import Nest

Factors = Literal["divisors", "spatial", "any"]


@dataclass(frozen=True)
class Space:
    """LoopTrees of an einsum on a hierarchy. ``tile_slots``: of every tile below the outermost memory, where the
    convention does not say.

    ``factors``: tiles divide the tile above (divisors); they are whole rounds of the instances inside, of which the
    last may have none, and the rounds divide those above (spatial); any. ``in_order``: all tiles of a memory lie above
    those of the memories inside it. ``axis_dims``: dims that may loop on an axis.
    """

    einsum: Einsum
    hierarchy: Hierarchy
    convention: Convention = ARCHSIM
    factors: Factors = "divisors"
    in_order: bool = False
    axis_dims: Mapping[str, frozenset[str]] = field(default_factory=dict)
    tile_slots: int = 2

    @property
    def slots(self) -> int:
        """Slots of every tile."""
        return self.tile_slots if self.convention.slots is None else self.convention.slots

    def windows(self, operand: Operand) -> frozenset[str]:
        """Dims of which an operand's tiles overlap or leave gaps: over these alone a tile may slide."""
        found: set[str] = set()
        for coordinate in operand.coordinates:
            left = [(dim, step) for dim, step in coordinate if self.einsum.extents[dim] > 1]
            if len(left) > 1 or (left and left[0][1] != 1 and self.convention.footprint is not touched):
                found |= {dim for dim, _ in left}
        return frozenset(found)

    @cached_property
    def spread(self) -> Mapping[str, tuple[str, ...]]:
        """Dims that may loop on each axis: those that index none of the operands it must reuse."""
        found = {}
        for axis in self.hierarchy.axes:
            barred = {dim for name in axis.must_reuse for dim in self.einsum.operand(name).dims}
            allowed = self.axis_dims.get(axis.name, frozenset(self.einsum.extents))
            found[axis.name] = tuple(dim for dim in self.einsum.extents if dim in allowed and dim not in barred)
        return found

    @cached_property
    def least_rounds(self) -> Mapping[str, int]:
        """Of axes that must be used as far as can be: the fewest rounds in which their dims can be worked off."""
        return {axis.name: self._fewest(axis) for axis in self.hierarchy.axes if axis.most_used}

    def rounds(self, axis: str, shares: Mapping[str, int]) -> int:
        """Rounds in which an axis works off its dims with ``shares`` instances for each."""
        return prod(-(-self.einsum.extents[dim] // shares.get(dim, 1)) for dim in self.spread[axis])

    def shares(self, dim: str, fanout: int) -> list[int]:
        """Numbers of instances to which a dim can be spread."""
        extent = self.einsum.extents[dim]
        limit = min(fanout, extent)
        if self.factors == "divisors":
            return [share for share in range(1, limit + 1) if extent % share == 0]
        return list(range(1, limit + 1))

    def _fewest(self, axis: Axis) -> int:
        dims = self.spread[axis.name]
        options = [self.shares(dim, axis.fanout) for dim in dims]
        if self.factors != "divisors":  # the largest share for a number of rounds of a dim
            options = [
                sorted({-(-self.einsum.extents[dim] // share) for share in o})
                for dim, o in zip(dims, options, strict=True)
            ]
            options = [
                sorted({-(-self.einsum.extents[dim] // r) for r in o}) for dim, o in zip(dims, options, strict=True)
            ]
        best = prod(self.einsum.extents[dim] for dim in dims)
        for chosen in product(*options):
            if prod(chosen) <= axis.fanout:
                best = min(best, self.rounds(axis.name, dict(zip(dims, chosen, strict=True))))
        return best


def check(nest: Nest, space: Space) -> None:
    """Raises MappingError with the first reason for which a LoopTree is not in the space (room aside)."""
    _check_keeps(nest, space)
    _check_order(nest, space)
    _check_axes(nest, space)
    _check_loops(nest, space)
    if space.factors == "spatial":
        _check_rounds(nest)
    _check_windows(nest, space)
    _check_whole(nest)


def _check_whole(nest: Nest) -> None:
    for operand, keeps in nest.keeps.items():
        first = keeps[0][0] if keeps else len(nest.nodes)
        if not keeps or nest.above(first):
            where = f"its outermost tile, in '{keeps[0][1].level}', lies below loops" if keeps else "no memory keeps it"
            raise MappingError(f"operand '{operand}' is whole nowhere: {where}")


def _check_windows(nest: Nest, space: Space) -> None:
    for operand in nest.einsum.operands:
        for place, keep in nest.keeps[operand.name]:
            between = [loop for at, loop in nest.loops if place < at < keep.reserve_at]
            windows = space.windows(operand)
            if len(between) > 1 or any(loop.axis or loop.dim not in windows for loop in between):
                raise MappingError(
                    f"'{keep.level}' reserves operand '{operand.name}' below loops over which its tile does not slide"
                )


def _check_keeps(nest: Nest, space: Space) -> None:
    for memory in space.hierarchy.memories:
        for operand in space.einsum.operands:
            kept = [keep for _, keep in nest.keeps[operand.name] if keep.level == memory.name]
            if len(kept) > 1:
                raise MappingError(f"operand '{operand.name}' is kept {len(kept)} times in '{memory.name}'")
            if not kept and operand.name in memory.keep:
                raise MappingError(f"'{memory.name}' must keep operand '{operand.name}'")
            if kept and operand.name not in memory.allowed:
                raise MappingError(f"'{memory.name}' cannot keep operand '{operand.name}'")


def _check_order(nest: Nest, space: Space) -> None:
    ranks = {part.name: rank for rank, part in enumerate(space.hierarchy.parts)}
    blocks = {part.name: number for number, block in enumerate(space.hierarchy.blocks()) for part in block}
    for name, keeps in nest.keeps.items():
        for (_, outer), (_, inner) in pairwise(keeps):
            if ranks[outer.level] > ranks[inner.level]:
                raise MappingError(f"operand '{name}': its tile in '{inner.level}' lies inside that in '{outer.level}'")
    order = ranks if space.in_order else blocks
    highest = ("", -1)
    for node in nest.nodes:
        name = node.level if isinstance(node, Keep) else node.axis
        if not name:
            continue
        rank = blocks[name] if isinstance(node, Loop) else order[name]
        if order is ranks and isinstance(node, Loop):
            rank = max(r for part, r in ranks.items() if blocks[part] == blocks[name])
        if rank < highest[1]:
            raise MappingError(f"'{name}' comes after '{highest[0]}', which is inside it")
        highest = (name, rank)


def _check_axes(nest: Nest, space: Space) -> None:
    for axis in space.hierarchy.axes:
        loops = [(at, loop) for at, loop in nest.loops if loop.axis == axis.name]
        for _, loop in loops:
            if loop.dim not in space.spread[axis.name]:
                raise MappingError(f"dim '{loop.dim}' may not loop on '{axis.name}'")
        shares: dict[str, int] = {}
        for at, loop in loops:
            shares[loop.dim] = shares.get(loop.dim, 1) * nest.trips(at)
        used = prod(shares.values())
        if used > axis.fanout:
            raise MappingError(f"'{axis.name}' has {axis.fanout} instances, the loops on it need {used}")
        if axis.most_used and space.rounds(axis.name, shares) > space.least_rounds[axis.name]:
            raise MappingError(f"'{axis.name}' must be used as far as can be; {used} of {axis.fanout} are used")


def _check_loops(nest: Nest, space: Space) -> None:
    for at, loop in nest.loops:
        above = nest.tile(at)[loop.dim]
        if not 0 < loop.tile <= above:
            raise MappingError(f"dim '{loop.dim}': a tile of {loop.tile} in one of {above}")
        if space.factors == "divisors" and above % loop.tile:
            raise MappingError(f"dim '{loop.dim}': a tile of {loop.tile} does not divide {above}")
    for dim, tile in nest.tile(len(nest.nodes)).items():
        if tile != 1:
            raise MappingError(f"dim '{dim}' still has tiles of {tile} below all loops")


def _check_rounds(nest: Nest) -> None:
    """Tiles are whole rounds of the instances that the fan-outs inside spread them to."""
    for dim, extent in nest.einsum.extents.items():
        loops = [(loop, nest.trips(at)) for at, loop in nest.loops if loop.dim == dim and nest.trips(at) > 1]
        lanes = prod(trips for loop, trips in loops if loop.axis)
        rounds = -(-extent // lanes)
        for loop, trips in loops:
            lanes //= trips if loop.axis else 1
            left, rest = divmod(loop.tile, lanes)
            if rest or rounds % left or (loop.axis and left != rounds):
                where = f" on '{loop.axis}'" if loop.axis else ""
                raise MappingError(
                    f"dim '{dim}': a tile of {loop.tile}{where}, with {rounds} rounds of {lanes} instances to divide"
                )
            rounds = left
