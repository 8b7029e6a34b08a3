"""What is mapped: one einsum, its dims, and how each operand is indexed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from mapper.problem import geometry

Coordinate = tuple[tuple[str, int], ...]  # sum of dim x step: (("p", 2), ("r", 1)) is 2 p + r


@dataclass(frozen=True)
class Operand:
    """An input or the output. ``bits``: of a value, where a level does not say otherwise."""

    name: str
    coordinates: tuple[Coordinate, ...]
    is_output: bool = False
    bits: int = 8

    @cached_property
    def dims(self) -> frozenset[str]:
        """Dims that index it."""
        return frozenset(dim for coordinate in self.coordinates for dim, _ in coordinate)

    @cached_property
    def whole_dims(self) -> frozenset[str]:
        """Dims that index it alone: tiles of them do not overlap."""
        return frozenset(coordinate[0][0] for coordinate in self.coordinates if len(coordinate) == 1)


@dataclass(frozen=True)
class Einsum:
    """``output[...] += product of inputs``, for every point of ``extents``; the output is the last operand."""

    name: str
    extents: Mapping[str, int]
    operands: tuple[Operand, ...]

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return prod(self.extents.values())

    @property
    def output(self) -> Operand:
        """The operand that is written."""
        return self.operands[-1]

    def operand(self, name: str) -> Operand:
        """By name; raises KeyError."""
        return {operand.name: operand for operand in self.operands}[name]


def span(coordinate: Coordinate, tile: Mapping[str, int]) -> int:
    """Values from the first to the last one that a tile touches along a coordinate."""
    return geometry.positions(coordinate, tile)


def touched(coordinate: Coordinate, tile: Mapping[str, int]) -> int:
    """Values that a tile touches along a coordinate: of a strided window only those that are used."""
    if len(coordinate) == 1:
        return tile[coordinate[0][0]]
    (outer, far), (inner, near) = sorted(coordinate, key=lambda term: -term[1])
    if tile[inner] == 1 or tile[outer] == 1:
        return tile[inner] * tile[outer]
    if near == 1:
        return min(tile[inner], far) * (tile[outer] - 1) + tile[inner]
    return len({i * far + j * near for i, j in product(range(tile[outer]), range(tile[inner]))})


def gemm(m: int, k: int, n: int, bits: int = 8) -> Einsum:
    """O[m, n] += I[m, k] W[k, n]."""
    return Einsum(
        "gemm",
        {"m": m, "k": k, "n": n},
        (
            Operand("I", ((("m", 1),), (("k", 1),)), bits=bits),
            Operand("W", ((("k", 1),), (("n", 1),)), bits=bits),
            Operand("O", ((("m", 1),), (("n", 1),)), is_output=True, bits=bits),
        ),
    )


def convolution(shape: Mapping[str, int], stride: int = 1, dilation: int = 1, bits: int = 8) -> Einsum:
    """O[n, m, p, q] += I[n, c, p * stride + r, q * stride + s] W[m, c, r, s]; ``shape``: extents of n m c p q r s."""
    rows, columns = (("p", stride), ("r", dilation)), (("q", stride), ("s", dilation))
    return Einsum(
        "convolution",
        dict(shape),
        (
            Operand("I", ((("n", 1),), (("c", 1),), rows, columns), bits=bits),
            Operand("W", ((("m", 1),), (("c", 1),), (("r", 1),), (("s", 1),)), bits=bits),
            Operand("O", ((("n", 1),), (("m", 1),), (("p", 1),), (("q", 1),)), is_output=True, bits=bits),
        ),
    )
