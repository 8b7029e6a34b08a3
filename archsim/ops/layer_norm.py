"""Layer, root-mean-square and instance normalisation: (x - mean) / sqrt(variance + epsilon) * scale + bias over a row.

Cost per element: mean 1 pass, subtraction 1, squares 1, per-row reciprocal root charged as 1 pass of the row,
scaling 1, scale and bias 1: 6 passes (root mean square: 4, without the mean). Rows are not tiled. Instance
normalisation's row is one channel of one image.
"""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.meaning import Meaning
from archsim.ops.kit.rounding import EPILOGUE, FUNCTION, Sums, growth
from archsim.ops.kit.steps import step

PASSES, RMS_PASSES = 6, 4


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input."""
    if inputs[0] is None or len(inputs[0].shape) < 2:
        node.fail("needs an input of rank 2 or more")
    shape = inputs[0].shape
    parameters = [shape[axis] for axis in _parameter_axes(node, shape)]
    for value in inputs[1:]:
        if value is not None and list(value.shape) != parameters:
            node.unsupported(f"scale or bias has shape {list(value.shape)}; allowed {parameters}")
    return (shape,)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer; the dims of a row are whole."""
    source, out = node.inputs[0], node.outputs[0]
    dims, shape = build.dims(out), build.shape(out)
    index = tuple(at(dim) for dim in dims)
    reads = [LogicalAccess("in0", source, index)]
    for name in node.inputs[1:]:
        if name:
            reads.append(
                LogicalAccess(f"in{len(reads)}", name, tuple(at(dims[a]) for a in _parameter_axes(node, shape)))
            )
    row = tuple(dims[axis] for axis in _row_axes(node, shape))
    name, passes = ("rms_norm", RMS_PASSES) if _is_rms(node) else ("layer_norm", PASSES)
    steps = build.steps(node, step(name, passes, over=row, epsilon=node.number("epsilon", 1e-5)))
    write = LogicalAccess("out", out, index)
    build.layer(node, "vector", build.extents(out), tuple(reads), write, parts=LayerParts(whole=row), steps=steps)


def reference(node: GraphNode, data: Array, scale: Array, bias: Array | None = None) -> tuple[Array, ...]:
    """By definition, in double precision."""
    axes, epsilon = _row_axes(node, data.shape), node.number("epsilon", 1e-5)
    others = _wide(node, data.shape, scale, bias)
    return (_normalised((data.astype(np.float64), *others), axes, epsilon, not _is_rms(node)).astype(data.dtype),)


def rounding(node: GraphNode, data: Array, scale: Array, bias: Array | None = None) -> Sums:
    """Input and mean, the variance as the difference of two means that some runtimes take, and the bias.

    With n elements in a row, m their mean, v their variance, r its root: the mean is off by the roundings of a sum of
    n magnitudes, v by those of n squares (and of m * m), which is a share of the result.
    """
    axes, epsilon = _row_axes(node, data.shape), node.number("epsilon", 1e-5)
    terms = growth(prod(data.shape[axis] for axis in axes)) + EPILOGUE
    mean = np.zeros(()) if _is_rms(node) else np.mean(data, axis=axes, keepdims=True)
    off_mean = 0.0 * mean if _is_rms(node) else np.mean(np.abs(data), axis=axes, keepdims=True)
    squares = np.mean(data * data, axis=axes, keepdims=True)
    variance = np.mean(np.square(data - mean), axis=axes, keepdims=True) + epsilon
    share = terms * (squares + mean * mean) / (2 * variance) + FUNCTION
    spread = terms * off_mean + np.abs(data) + np.abs(mean) + share * np.abs(data - mean)
    others = _wide(node, data.shape, scale, bias)
    magnitude = spread / np.sqrt(variance) * np.abs(others[0])
    return Sums(magnitude + EPILOGUE * np.abs(others[1]) if len(others) > 1 else magnitude, 1.0)


def _wide(node: GraphNode, shape: Shape, *parameters: Array | None) -> tuple[Array, ...]:
    """Scale and, perhaps, bias with the rank of the data."""
    view = [shape[axis] if axis in _parameter_axes(node, shape) else 1 for axis in range(len(shape))]
    return tuple(other.reshape(view) for other in parameters if other is not None)


def _normalised(values: tuple[Array, ...], axes: tuple[int, ...], epsilon: float, centred: bool) -> Array:
    """``values``: data, scale and, perhaps, bias."""
    data = values[0]
    if centred:
        data = data - np.mean(data, axis=axes, keepdims=True)
    root = np.sqrt(np.mean(data * data, axis=axes, keepdims=True) + epsilon)
    result = data / root * values[1] if len(values) > 1 else data / root
    return np.asarray(result + values[2] if len(values) > 2 else result)


def _over(centred: bool) -> Meaning:
    return lambda call: _normalised(call.values, call.axes("over"), call.number("epsilon", 1e-5), centred)


def _is_rms(node: GraphNode) -> bool:
    return node.op == "RMSNormalization"


def _row_axes(node: GraphNode, shape: Shape) -> tuple[int, ...]:
    """The axes that are normalised together."""
    if node.op == "InstanceNormalization":
        return tuple(range(2, len(shape)))
    axis = node.integer("axis", -1)
    if not -len(shape) <= axis < len(shape):
        node.fail(f"axis {axis}; allowed {-len(shape)} to {len(shape) - 1}")
    return tuple(range(axis % len(shape), len(shape)))


def _parameter_axes(node: GraphNode, shape: Shape) -> tuple[int, ...]:
    """The axes that scale and bias vary along."""
    return (1,) if node.op == "InstanceNormalization" else _row_axes(node, shape)


FAMILY = OperatorFamily(
    ("LayerNormalization", "RMSNormalization", "InstanceNormalization"),
    shapes,
    reference,
    lower,
    order="same",
    activates=True,
    rounding=rounding,
    functions={"layer_norm": _over(True), "rms_norm": _over(False)},
    positive=(1,),
)
