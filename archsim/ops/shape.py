"""Facts about a tensor's shape, and number ranges: constants as soon as shapes are known."""

from __future__ import annotations

from math import ceil, prod

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, known_data
from archsim.ops.kit.family import OperatorFamily


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """A vector of sizes (Shape), a scalar (Size) or the count of a range."""
    if node.op == "Range":
        return ((_count(node, [known_data(value) for value in inputs]),),)
    if inputs[0] is None:
        node.fail("needs an input")
    if node.op == "Size":
        return ((),)
    return ((len(_sizes(node, inputs[0].shape)),),)


def known(node: GraphNode, inputs: Inputs) -> Array | None:
    """The sizes, their product, or the range."""
    if node.op == "Range":
        return _range(node, [known_data(value) for value in inputs])
    if inputs[0] is None:
        node.fail("needs an input")
    if node.op == "Size":
        return np.asarray(prod(inputs[0].shape), np.int64)
    return np.asarray(_sizes(node, inputs[0].shape), np.int64)


def reference(node: GraphNode, *arrays: Array) -> tuple[Array, ...]:
    """The same from arrays."""
    if node.op == "Range":
        return (_range(node, list(arrays)),)
    if node.op == "Size":
        return (np.asarray(arrays[0].size, np.int64),)
    return (np.asarray(_sizes(node, arrays[0].shape), np.int64),)


def _sizes(node: GraphNode, shape: Shape) -> Shape:
    return shape[node.integer("start", 0) : node.integer("end", len(shape))]


def _count(node: GraphNode, bounds: list[Array | None]) -> int:
    start, limit, delta = _bounds(node, bounds)
    return max(0, ceil((limit - start) / delta))


def _range(node: GraphNode, bounds: list[Array | None]) -> Array:
    start, _, delta = _bounds(node, bounds)
    dtype = next(bound.dtype for bound in bounds if bound is not None)
    return (start + delta * np.arange(_count(node, bounds))).astype(dtype)


def _bounds(node: GraphNode, bounds: list[Array | None]) -> tuple[float, float, float]:
    if len(bounds) != 3 or any(bound is None for bound in bounds):
        node.fail("its bounds are computed at run time; export the model with fixed shapes")
    start, limit, delta = (float(bound.item()) for bound in bounds if bound is not None)
    if delta == 0:
        node.fail("has a step of 0")
    return start, limit, delta


FAMILY = OperatorFamily(("Shape", "Size", "Range"), shapes, reference, known=known)
