"""Operators that pass their input on at inference: Identity and Dropout."""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, known_data
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input; Dropout in training mode has no rule."""
    if inputs[0] is None:
        node.fail("needs an input")
    training = known_data(inputs[2]) if len(inputs) > 2 else None
    if training is not None and np.any(training):
        node.unsupported("in training mode; export the model for inference")
    return (inputs[0].shape, inputs[0].shape)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """A view of the input: of what passes write after aliases are gone."""
    build.view(node, node.outputs[0], lambda layout: layout)


def reference(node: GraphNode, data: Array, *others: Array | None) -> tuple[Array, ...]:
    """The input itself, and an all-true mask."""
    return (data, np.ones(data.shape, bool))


FAMILY = OperatorFamily(("Identity", "Dropout"), shapes, reference, lower, result="alias", order="same")
