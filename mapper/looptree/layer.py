"""A compiled layer as an einsum: what its operands a, b and out are indexed by.

A LoopTree knows no offsets: values in the padding of an input count like others (``inside`` says how few they can be),
and the bias, which is added once, is no operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archsim.base.errors import MappingError
from archsim.ir.workload import Axis, Layer
from archsim.ir.workload import Operand as LayerOperand
from mapper.looptree.einsum import Coordinate, Einsum, Operand

NAMES = ("a", "b")
Terms = list[tuple[str, int]]


def einsum_of(layer: Layer, bits: Mapping[str, int] | None = None) -> Einsum:
    """The einsum of a matmul layer: operands a, b and out; ``bits`` of their values (8 where not given).

    Raises MappingError for a layer that is no matmul, that has bounds, since a LoopTree has all points of its dims, or
    of which a coordinate is a sum of more than two dims.
    """
    if layer.bounds:
        raise MappingError(
            f"layer '{layer.name}' ({layer.op}) has bounds, and a LoopTree has none; pass another --search"
        )
    if layer.kind != "matmul":
        raise MappingError(f"layer '{layer.name}' ({layer.op}) is no matmul, so it is no einsum of two operands")
    widths = bits or {}
    inputs = {operand.name: operand for operand in layer.inputs}
    found = [
        Operand(name, _coordinates(operand, layer), operand is layer.output, widths.get(name, 8))
        for name, operand in [*((name, inputs[name]) for name in NAMES), ("out", layer.output)]
    ]
    return Einsum(layer.name, dict(layer.dims), tuple(found))


def sums(axis: Axis, dims: Mapping[str, int]) -> list[Coordinate]:
    """Coordinates along an axis: dims whose steps reach over all others stand alone, the rest are one sum.

    A step among those that do not move farthest is kept: what lies between is moved with a tile (``span``).
    """
    left = sorted(((dim, step) for dim, step in axis.terms if dims[dim] > 1), key=lambda term: (-term[1], term[0]))
    found: list[Coordinate] = []
    while left:
        (dim, step), rest = left[0], left[1:]
        is_inner = bool(found) and not rest
        if is_inner or step < sum(near * (dims[name] - 1) for name, near in rest) + 1:
            return [*found, tuple(left)]
        found.append(((dim, 1),))
        left = rest
    return found


def _coordinates(operand: LayerOperand, layer: Layer) -> tuple[Coordinate, ...]:
    return tuple(_checked(operand, layer))


def _checked(operand: LayerOperand, layer: Layer) -> Iterator[Coordinate]:
    for number, axis in enumerate(operand.axes):
        for coordinate in sums(axis, layer.dims):
            if len(coordinate) > 2:
                dims = ", ".join(dim for dim, _ in coordinate)
                raise MappingError(
                    f"layer '{layer.name}' ({layer.op}): axis {number} of '{operand.name}' is a sum of dims {dims}; "
                    "a LoopTree indexes by sums of two"
                )
            yield coordinate
