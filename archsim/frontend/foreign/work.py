"""Layers as other tools describe them: an einsum of two operands, each indexed by dims or by sums of two dims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from archsim.spec.nodes import Mark

ForeignCoordinate = tuple[tuple[str, int], ...]  # sum of dim x step: (("p", 2), ("r", 1)) is 2 p + r


@dataclass(frozen=True)
class ForeignOperand:
    """An operand. ``tensor``: its name; operands of two layers with one name and shape are one tensor."""

    tensor: str
    role: str  # inputs | weights | outputs
    coordinates: tuple[ForeignCoordinate, ...]

    @property
    def dims(self) -> frozenset[str]:
        """Dims that index it."""
        return frozenset(dim for coordinate in self.coordinates for dim, _ in coordinate)

    def shape(self, extents: Mapping[str, int]) -> tuple[int, ...]:
        """Values from the first to the last that are touched, along each coordinate."""
        return tuple(sum((extents[dim] - 1) * step for dim, step in terms) + 1 for terms in self.coordinates)


@dataclass(frozen=True)
class ForeignLayer:
    """One layer: ``kind`` product, add or pool; ``operands`` and then the result. ``padding``: dim of the result to the
    zeros before and behind the window's axis."""

    name: str
    mark: Mark
    place: str  # key path of the layer in its file
    extents: Mapping[str, int]
    operands: tuple[ForeignOperand, ...]
    result: ForeignOperand
    kind: str = "product"
    padding: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    pooling: str = "max"

    @property
    def macs(self) -> int:
        """Points of the einsum."""
        return prod(self.extents.values())


@dataclass(frozen=True)
class ForeignModel:
    """Layers in their order."""

    tool: str
    name: str
    file: str
    mark: Mark
    tasks: tuple[ForeignLayer, ...]
