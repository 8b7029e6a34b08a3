"""Twice: every element doubled, in three passes of the vector unit."""

from __future__ import annotations

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.steps import step


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """That of the input."""
    if inputs[0] is None:
        node.fail("needs an input")
    return (inputs[0].shape,)


def reference(node: GraphNode, data: Array) -> tuple[Array, ...]:
    """In NumPy."""
    return (2 * data,)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One layer of the vector unit."""
    out = node.outputs[0]
    index = tuple(at(dim) for dim in build.dims(out))
    reads, writes = LogicalAccess("in0", node.inputs[0], index), LogicalAccess("out", out, index)
    build.layer(node, "vector", build.extents(out), (reads,), writes, steps=build.steps(node, step("twice", 3)))


FAMILY = OperatorFamily(
    ("Twice",), shapes, reference, lower, order="same", functions={"twice": lambda call: 2 * call.values[0]}
)
