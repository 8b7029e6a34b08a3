"""What several numbers become along axes: the functions of vector commands, the same in NumPy, and its roundings.

One lane pass per input element; the scale of a mean rides on the last one. Of a norm 2, since the magnitude comes
first, or the root of each row after, which is charged as a pass of the row.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Shape
from archsim.ir.workload import VectorStep
from archsim.ops.kit.rounding import EPILOGUE, Sums, growth
from archsim.ops.kit.steps import step

FUNCTIONS = {
    "ReduceSum": "add",
    "ReduceMean": "average",
    "ReduceMax": "max",
    "ReduceMin": "min",
    "ReduceSumSquare": "square_add",
    "ReduceProd": "multiply",
    "ReduceL1": "norm_1",
    "ReduceL2": "norm_2",
}
_NORMS = ("ReduceL1", "ReduceL2")
_EXACT = ("ReduceMax", "ReduceMin")
_NUMPY = {"ReduceMean": "mean", "ReduceMax": "max", "ReduceMin": "min", "ReduceProd": "prod"}


def axes_of(node: GraphNode, rank: int, given: Shape | None) -> Shape:
    """The axes to reduce; none given means all, or with ``noop_with_empty_axes`` an unsupported no-op."""
    if not given:
        if node.integer("noop_with_empty_axes", 0):
            node.unsupported("reduces nothing")
        return tuple(range(rank))
    if any(not -rank <= axis < rank for axis in given):
        node.fail(f"axes {list(given)}; allowed {-rank} to {rank - 1}")
    return tuple(sorted({axis % rank for axis in given}))


def reduced_shape(shape: Shape, axes: Shape, keep: bool) -> Shape:
    """``shape`` with ``axes`` 1 or, without ``keep``, gone."""
    if keep:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def reducing_step(op: str) -> VectorStep:
    """The step that an operator of ``FUNCTIONS`` is on each element of its input."""
    return step(FUNCTIONS[op], 2 if op in _NORMS else 1)


def reduced(op: str, data: Array, axes: Shape, keep: bool) -> Array:
    """NumPy's reduction."""
    terms = data * data if op in ("ReduceSumSquare", "ReduceL2") else np.abs(data) if op == "ReduceL1" else data
    found = getattr(np, _NUMPY.get(op, "sum"))(terms, axis=axes, keepdims=keep)
    return np.asarray(np.sqrt(found) if op == "ReduceL2" else found, data.dtype)


def reduction_rounding(op: str, data: Array, axes: Shape, keep: bool) -> Sums:
    """The same of magnitudes, with as many roundings as terms; a maximum or minimum has none."""
    magnitude = reduced(op, np.abs(data), axes, keep)
    terms = data.size // max(1, magnitude.size)
    if op in _EXACT:
        return Sums(np.zeros(()), 0.0)
    return Sums(magnitude, (terms if op == "ReduceProd" else growth(terms)) + EPILOGUE)
