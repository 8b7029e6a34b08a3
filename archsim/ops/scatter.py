"""ScatterND and ScatterElements: a copy in which some elements are others, at places that indices say.

Known beforehand, the places say for each row of the result which row of the input or of what is written it is: a
Concat of their parts, or a look-up (archsim/graph/passes/scatter.py). Places that are known only when the model runs
have no rule.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import moved


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """That of the input."""
    data, indices, updates = inputs[:3]
    assert data is not None and indices is not None and updates is not None
    if node.text("reduction", "none") != "none":
        node.unsupported(f"reduction '{node.text('reduction', '')}'; allowed none")
    if node.op == "ScatterElements":
        fits = len(indices.shape) == len(data.shape) and indices.shape == updates.shape
        axis = node.integer("axis", 0)
        fits = fits and -len(data.shape) <= axis < len(data.shape)
    else:
        depth = indices.shape[-1] if indices.shape else 0
        fits = 0 < depth <= len(data.shape) and updates.shape == (*indices.shape[:-1], *data.shape[depth:])
    if not fits:
        node.fail(f"indices {list(indices.shape)} and updates {list(updates.shape)} do not fit data {list(data.shape)}")
    return (data.shape,)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """Refused."""
    node.unsupported("writes at places that are known only when the model runs")


def reference(node: GraphNode, data: Array, indices: Array, updates: Array) -> tuple[Array, ...]:
    """NumPy's assignment by indices; of equal places the last one counts."""
    found, numbers = data.copy(), np.asarray(indices).astype(np.int64)
    if node.op == "ScatterND":
        found[tuple(np.moveaxis(numbers, -1, 0))] = updates
    else:
        places: list[Array] = list(np.indices(numbers.shape))
        places[node.integer("axis", 0)] = numbers
        found[tuple(places)] = updates
    return (found,)


FAMILY = OperatorFamily(
    ("ScatterND", "ScatterElements"), shapes, reference, lower, arity=3, steers=(1,), rounding=moved
)
