"""Batch normalisation at inference: x * scale + shift per channel, with constants folded from its four parameters.

Behind a convolution or matmul it folds into weights and bias and costs nothing. Alone it is a vector layer of one lane
pass (one multiply-add), and absorbs the constant scales and shifts and the activation behind it.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, Graph, GraphNode, Inputs, Shape
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily, ScaleShift
from archsim.ops.kit.rounding import EPILOGUE, Sums
from archsim.ops.kit.scale_shift_layer import lower_affine

PARAMETERS = 4


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input; four parameters of size C."""
    if node.integer("training_mode", 0):
        node.unsupported("in training mode; export the model for inference")
    if inputs[0] is None or len(inputs) != 1 + PARAMETERS or len(inputs[0].shape) < 2:
        node.fail("needs an input of rank 2 or more and scale, bias, mean and variance")
    for value in inputs[1:]:
        if value is None or value.elements != inputs[0].shape[1]:
            node.fail(f"parameters must have {inputs[0].shape[1]} elements, one per channel")
    return (inputs[0].shape,)


def affine(node: GraphNode, graph: Graph) -> ScaleShift | None:
    """Scale and shift along axis 1 when the parameters are constants."""
    constant = all(value is not None and value.constant for value in graph.inputs_of(node)[1:])
    return ScaleShift(scale=True, shift=True, axis=1) if constant else None


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer: the folded scale and shift are operands."""
    if affine(node, build.graph) is None:
        node.unsupported("its parameters are computed at run time; export the model for inference")
    lower_affine(node, build, 1)


def reference(
    node: GraphNode, data: Array, scale: Array, bias: Array, mean: Array, variance: Array
) -> tuple[Array, ...]:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias."""
    wide = [part.reshape(1, -1, *[1] * (data.ndim - 2)) for part in (scale, bias, mean, variance)]
    root = np.sqrt(wide[3] + node.number("epsilon", 1e-5))
    return (((data - wide[2]) / root * wide[0] + wide[1]).astype(data.dtype),)


def rounding(node: GraphNode, data: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> Sums:
    """Input and mean, each times scale over root, and the bias: folded or not, these are what is added."""
    wide = [part.reshape(1, -1, *[1] * (data.ndim - 2)) for part in (scale, bias, mean, variance)]
    factor = np.abs(wide[0]) / np.sqrt(wide[3] + node.number("epsilon", 1e-5))
    return Sums((np.abs(data) + np.abs(wide[2])) * factor + np.abs(wide[1]), 2 * EPILOGUE)


def channel(node: GraphNode, graph: Graph) -> int:
    """Constant scales and shifts per channel behind it fold in."""
    return 1


FAMILY = OperatorFamily(
    ("BatchNormalization",),
    shapes,
    reference,
    lower,
    order="channels_last",
    channel=channel,
    activates=True,
    affine=affine,
    statistics=(3, 4),
    positive=(1, 4),
    arity=5,
    rounding=rounding,
)
