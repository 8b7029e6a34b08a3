"""Nearest-neighbour enlargement by whole factors: a copy in which each input element is written several times."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, known_data
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import moved


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """Sizes times the scales (third input) or the sizes given (fourth input)."""
    if inputs[0] is None:
        node.fail("needs an input")
    factors = _factors(node, inputs)
    return (tuple(size * factor for size, factor in zip(inputs[0].shape, factors, strict=True)),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One copy layer over the input's elements and their repetitions."""
    source, out = node.inputs[0], node.outputs[0]
    factors = _factors(node, tuple(build.value(name) if name else None for name in node.inputs))
    dims = build.dims(source)
    extents = build.extents(source)
    index = []
    for dim, factor in zip(dims, factors, strict=True):
        index.append(at((dim, factor), f"{dim}_repeat") if factor > 1 else at(dim))
        extents.update({f"{dim}_repeat": factor} if factor > 1 else {})
    reads = (LogicalAccess("in0", source, tuple(at(dim) for dim in dims)),)
    build.layer(node, "copy", extents, reads, LogicalAccess("out", out, tuple(index)))


def reference(node: GraphNode, data: Array, *others: Array | None) -> tuple[Array, ...]:
    """NumPy's repeat along each axis."""
    scales, sizes = (*others, None, None, None)[1:3]
    for axis, factor in enumerate(_whole(node, data.shape, scales, sizes)):
        data = np.repeat(data, factor, axis=axis)
    return (data,)


def _factors(node: GraphNode, inputs: Inputs) -> tuple[int, ...]:
    if node.text("mode", "nearest") != "nearest" or inputs[0] is None:
        node.unsupported(f"mode '{node.text('mode', 'nearest')}'; allowed nearest")
    scales, sizes = (*(known_data(value) for value in inputs[1:]), None, None, None)[1:3]
    return _whole(node, inputs[0].shape, scales, sizes)


def _whole(node: GraphNode, shape: Shape, scales: Array | None, sizes: Array | None) -> tuple[int, ...]:
    """The factor of each axis; raises UnsupportedError where it is not a whole number."""
    if scales is not None and scales.size:
        found = [float(scale) for scale in scales]
    elif sizes is not None and sizes.size:
        found = [int(size) / old for size, old in zip(sizes, shape, strict=True)]
    else:
        node.unsupported("its scales are computed at run time")
    if len(found) != len(shape) or any(factor < 1 or factor != int(factor) for factor in found):
        node.unsupported(f"scales {found}; allowed whole numbers, one an axis")
    factors = tuple(int(factor) for factor in found)
    if any(_source(node, x, factor) != x // factor for factor in factors for x in range(2 * factor)):
        node.unsupported("rounds positions so that elements are not repeated evenly")
    return factors


def _source(node: GraphNode, x: int, factor: int) -> int:
    """Input index of output position ``x`` under the node's coordinate and rounding modes."""
    half = node.text("coordinate_transformation_mode", "half_pixel") != "asymmetric"
    position = Fraction(2 * x + 1, 2 * factor) - Fraction(1, 2) if half else Fraction(x, factor)
    mode = node.text("nearest_mode", "round_prefer_floor")
    if mode == "floor":
        return max(0, floor(position))
    if mode == "ceil":
        return ceil(position)
    shift = Fraction(1, 2)
    return max(0, ceil(position - shift) if mode == "round_prefer_floor" else floor(position + shift))


FAMILY = OperatorFamily(("Resize",), shapes, reference, lower, order="same", steers=(1, 2, 3), rounding=moved)
