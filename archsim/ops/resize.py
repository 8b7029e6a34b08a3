"""Enlargement and reduction of images: to the nearest element by whole factors, or linear by any.

Nearest is a copy in which each input element is written several times. Linear is taken apart into one Interpolate for
each axis (archsim/graph/passes/resize.py), whose neighbours and weights are computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, known_data
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import EPILOGUE, Sums, moved


class Neighbours(NamedTuple):
    """Of every position along an axis: its first neighbour ``rows``, and the ``weights`` of that and the next."""

    rows: tuple[int, ...]
    weights: Array


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """Sizes times the scales (third input) or the sizes given (fourth input)."""
    if inputs[0] is None:
        node.fail("needs an input")
    shape = inputs[0].shape
    if node.text("mode", "nearest") == "linear":
        return (tuple(axis.after for axis in _axes(node, shape, *(known_data(value) for value in inputs[1:]))),)
    factors = _factors(node, inputs)
    return (tuple(size * factor for size, factor in zip(shape, factors, strict=True)),)


def neighbours(node: GraphNode, inputs: Inputs) -> dict[int, Neighbours]:
    """Of a linear node, by the axes along which its result differs from its input."""
    assert inputs[0] is not None
    axes = _axes(node, inputs[0].shape, *(known_data(value) for value in inputs[1:]))
    found = {place: _along(node, axis) for place, axis in enumerate(axes)}
    return {place: each for place, each in found.items() if not _is_same(each, axes[place])}


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
    """NumPy's repeat along each axis; linear by definition, in double precision."""
    if node.text("mode", "nearest") == "linear":
        return (_linear(node, data, others).astype(data.dtype),)
    scales, sizes = (*others, None, None, None)[1:3]
    for axis, factor in enumerate(_whole(node, data.shape, scales, sizes)):
        data = np.repeat(data, factor, axis=axis)
    return (data,)


def rounding(node: GraphNode, data: Array, *others: Array | None) -> Sums:
    """Nearest moves elements; linear adds two products an axis, of weights as wrong as positions are rounded."""
    if node.text("mode", "nearest") != "linear":
        return moved(node, data)
    magnitude, largest = _linear(node, np.abs(data), others), float(np.max(np.abs(data), initial=0.0))
    return Sums(magnitude * EPILOGUE + 4 * max(data.shape) * largest, data.ndim)


def _linear(node: GraphNode, data: Array, others: tuple[Array | None, ...]) -> Array:
    result = data.astype(np.float64)
    for place, axis in enumerate(_axes(node, data.shape, *others)):
        rows, weights = _along(node, axis)
        taken = [np.take(result, np.clip(np.asarray(rows) + tap, 0, axis.before - 1), place) for tap in (0, 1)]
        shape = [axis.after if other == place else 1 for other in range(data.ndim)]
        result = np.asarray(sum(each * weights[:, tap].reshape(shape) for tap, each in enumerate(taken)))
    return result


class _Axis(NamedTuple):
    """Sizes ``before`` and ``after``, the stated ``scale``, and the part of the input that is taken (``begin``, ``end``
    as shares of it)."""

    before: int
    after: int
    scale: float
    begin: float = 0.0
    end: float = 1.0


def _axes(
    node: GraphNode, shape: Shape, roi: Array | None = None, scales: Array | None = None, sizes: Array | None = None
) -> tuple[_Axis, ...]:
    """Every axis of a linear node; raises UnsupportedError for forms that have no rule."""
    _refuse_forms(node)
    places = [axis % len(shape) for axis in node.integers("axes", tuple(range(len(shape))))]
    stated = next((array for array in (scales, sizes) if array is not None and array.size), None)
    if stated is None:
        node.unsupported("its scales are computed at run time")
    if len(places) != stated.size:
        node.fail(f"has {stated.size} scales or sizes for {len(places)} axes")
    found = [_Axis(size, size, 1.0) for size in shape]
    for place, number in zip(places, stated.tolist(), strict=True):
        after = int(number) if stated is sizes else floor(shape[place] * number)
        found[place] = _Axis(shape[place], after, after / shape[place] if stated is sizes else number)
    if node.text(_COORDINATES, "half_pixel") == "tf_crop_and_resize":
        if roi is None or roi.size != 2 * len(places):
            node.unsupported("takes a region that is computed at run time")
        for at, place in enumerate(places):
            found[place] = found[place]._replace(begin=float(roi[at]), end=float(roi[at + len(places)]))
    return tuple(found)


def _refuse_forms(node: GraphNode) -> None:
    if node.text(_COORDINATES, "half_pixel") not in _POSITIONS:
        node.unsupported(f"{_COORDINATES} '{node.text(_COORDINATES, '')}'; allowed {', '.join(_POSITIONS)}")
    if node.integer("antialias", 0):
        node.unsupported("takes in more neighbours where it makes smaller (antialias)")
    if node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        node.unsupported(f"keep_aspect_ratio_policy '{node.text('keep_aspect_ratio_policy', '')}'; allowed stretch")
    if node.number("extrapolation_value", 0.0):
        node.unsupported("fills what lies outside with another value than 0")


def _symmetric(axis: _Axis, x: int) -> float:
    """Half pixels around the middle of the input, where a scale does not give a whole size."""
    centre = axis.before / 2
    return centre * (1 - axis.after / (axis.scale * axis.before)) + (x + 0.5) / axis.scale - 0.5


def _cropped(axis: _Axis, x: int) -> float:
    """Corners on corners of the region taken."""
    last = axis.before - 1
    if axis.after == 1:
        return 0.5 * (axis.begin + axis.end) * last
    return axis.begin * last + x * (axis.end - axis.begin) * last / (axis.after - 1)


_COORDINATES = "coordinate_transformation_mode"
_POSITIONS: dict[str, Callable[[_Axis, int], float]] = {  # of an output position in the input: ONNX, operator Resize
    "half_pixel": lambda axis, x: (x + 0.5) / axis.scale - 0.5,
    "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": lambda axis, x: (x + 0.5) / axis.scale - 0.5 if axis.after > 1 else 0.0,
    "align_corners": lambda axis, x: x * (axis.before - 1) / (axis.after - 1) if axis.after > 1 else 0.0,
    "asymmetric": lambda axis, x: x / axis.scale,
    "tf_crop_and_resize": _cropped,
}


def _along(node: GraphNode, axis: _Axis) -> Neighbours:
    """First neighbours and weights: what lies outside counts as the element at the edge, of a region taken as 0."""
    mode = node.text(_COORDINATES, "half_pixel")
    positions = np.array([_POSITIONS[mode](axis, x) for x in range(axis.after)])
    inside = (positions >= 0) & (positions <= axis.before - 1)
    rows = np.clip(np.floor(positions), -1, axis.before - 1)
    share = np.clip(positions, 0, axis.before - 1) - rows
    weights = np.stack([1 - share, share], -1)
    if mode == "tf_crop_and_resize":
        weights = weights * inside[:, None]
    return Neighbours(tuple(int(row) for row in rows), weights)


def _is_same(found: Neighbours, axis: _Axis) -> bool:
    return found.rows == tuple(range(axis.before)) and bool(np.all(found.weights == (1.0, 0.0)))


def _factors(node: GraphNode, inputs: Inputs) -> tuple[int, ...]:
    if node.text("mode", "nearest") != "nearest" or inputs[0] is None:
        node.unsupported(f"mode '{node.text('mode', 'nearest')}'; allowed nearest, linear")
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


FAMILY = OperatorFamily(("Resize",), shapes, reference, lower, order="same", steers=(1, 2, 3), rounding=rounding)
