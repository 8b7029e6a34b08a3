"""Single elements picked by an array of indices: of constants alone, as exporters write them to build position tables.

Whole rows picked by computed indices are a Gather (archsim/graph/passes/gather_elements.py). Picking single elements
of values that are known only when the model runs has no rule, since where they lie is not known.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import moved


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """GatherElements: that of the indices; GatherND: their axes but the last, and the axes that they leave whole."""
    data, indices = inputs
    assert data is not None and indices is not None
    if node.op == "GatherElements":
        return (indices.shape,)
    shared = node.integer("batch_dims", 0)
    if not indices.shape or shared + indices.shape[-1] > len(data.shape):
        node.fail(f"indices of shape {list(indices.shape)} do not fit data of shape {list(data.shape)}")
    return ((*indices.shape[:-1], *data.shape[shared + indices.shape[-1] :]),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """Refused."""
    node.unsupported("picks elements of what is known only when the model runs")


def reference(node: GraphNode, data: Array, indices: Array) -> tuple[Array, ...]:
    """NumPy's take_along_axis; of GatherND one index tuple after the other."""
    if node.op == "GatherElements":
        axis = node.integer("axis", 0)
        size = data.shape[axis]
        return (_along(data, np.where(indices < 0, indices + size, indices), axis),)
    shared = node.integer("batch_dims", 0)
    if not shared:
        return (data[tuple(np.moveaxis(indices, -1, 0))],)
    lead = data.shape[:shared]
    rows = zip(data.reshape(-1, *data.shape[shared:]), indices.reshape(-1, *indices.shape[shared:]), strict=True)
    found = np.stack([row[tuple(np.moveaxis(index, -1, 0))] for row, index in rows])
    return (found.reshape(*lead, *found.shape[1:]),)


def _along(data: Array, indices: Array, axis: int) -> Array:
    """Elements along an axis; on the others the indices may be fewer than the data."""
    places: list[Array] = list(np.indices(indices.shape))
    places[axis] = indices
    return np.asarray(data[tuple(places)])


FAMILY = OperatorFamily(("GatherElements", "GatherND"), shapes, reference, lower, arity=2, rounding=moved)
