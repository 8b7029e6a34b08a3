"""Functions of several tensors element by element, with NumPy broadcasting: add, multiply, compare, select, power ...

Cost: one lane pass per operand after the first (division and general powers use the chip's slow functions). A constant
scale or shift along one axis is one multiply-add, and folds into the layer before it where it can. A remainder is a
quotient, rounded as it is converted, and a multiply-add: 2 passes.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from archsim.ir.graph import Array, Graph, GraphNode, GraphValue, Inputs, Shape, known_data, scalar
from archsim.ir.workload import Axis, VectorStep
from archsim.ops.kit.access import HERE, LogicalAccess, at
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily, ScaleShift
from archsim.ops.kit.meaning import elementwise
from archsim.ops.kit.rounding import EPILOGUE, FUNCTION, Sums
from archsim.ops.kit.scale_shift_layer import lower_affine
from archsim.ops.kit.steps import LOG_PASSES, step

_UFUNCS = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Sum": np.add,
    "Mean": np.add,
    "Max": np.maximum,
    "Min": np.minimum,
    "Pow": np.power,
    "Mod": np.mod,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "Equal": np.equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
}
_FUNCTIONS = {
    "Add": "add",
    "Sum": "add",
    "Mean": "average",
    "Sub": "subtract",
    "Mul": "multiply",
    "Div": "divide",
}
_AFFINE = ("Add", "Sub", "Mul", "Div")
_SECOND_ONLY = ("Sub", "Div")  # affine only when the constant is the second operand


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The broadcast shape."""
    found = [value.shape for value in inputs if value is not None]
    if len(set(found)) == 1:
        return (found[0],)
    try:
        return (tuple(np.broadcast_shapes(*found)),)
    except ValueError:
        node.fail(f"shapes {' and '.join(str(list(shape)) for shape in found)} do not broadcast")


def affine(node: GraphNode, graph: Graph) -> ScaleShift | None:
    """A product, quotient, sum or difference with a constant that varies along at most one axis."""
    values = graph.inputs_of(node)
    if node.op not in _AFFINE or len(values) != 2 or None in values:
        return None
    first, second = values
    if first is None or second is None or first.constant == second.constant:
        return None
    constant = first if first.constant else second
    if (first.constant and node.op in _SECOND_ONLY) or (constant.elements == 1 and constant.data is None):
        return None
    axes = _varying(constant, graph.shape(node.outputs[0]))
    if len(axes) > 1 or (second if first.constant else first).shape != graph.shape(node.outputs[0]):
        return None
    scale = node.op in ("Mul", "Div")
    return ScaleShift(scale=scale, shift=not scale, axis=axes[0] if axes else None)


def channel(node: GraphNode, graph: Graph) -> int | None:
    """The axis of the constant; further constants along it fold in."""
    found = affine(node, graph)
    return None if found is None else found.axis


def epilogue(node: GraphNode, graph: Graph) -> tuple[VectorStep, ...] | None:
    """The sum or product of a result and another value of its shape, which is ``in1`` of the command that drains it."""
    values = [value for value in graph.inputs_of(node) if value is not None and not value.constant]
    if node.op not in ("Add", "Mul") or len(values) != 2 or len(node.inputs) != 2 or values[0].shape != values[1].shape:
        return None
    return (step(_FUNCTIONS[node.op], 1, operands=("in1",)),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer over the elements of the result."""
    found = affine(node, build.graph)
    if found is not None:
        lower_affine(node, build, found.axis or 0)
        return
    out = node.outputs[0]
    dims, shape = build.dims(out), build.shape(out)
    reads: list[LogicalAccess] = []
    operands: list[str | float] = []
    for name in node.inputs:
        value = build.value(name)
        if value.constant and value.elements == 1 and value.data is not None:  # an immediate of the command
            operands.append(scalar(node, value))
            continue
        operands.append(f"in{len(reads)}")
        reads.append(LogicalAccess(f"in{len(reads)}", name, _index(value.shape, dims, shape)))
    write = LogicalAccess("out", out, tuple(at(dim) for dim in dims))
    steps = build.steps(node, _step(node, build, tuple(operands) if len(reads) < len(operands) else ()))
    build.layer(node, "vector", build.extents(out), tuple(reads), write, steps=steps)


def reference(node: GraphNode, *operands: Array) -> tuple[Array, ...]:
    """NumPy's ufunc; integer division truncates towards zero."""
    if node.op == "Where":
        return (np.asarray(np.where(*operands)),)
    if node.op == "PRelu":
        data, slope = operands
        return (np.asarray(np.where(data < 0, data * slope, data), data.dtype),)
    if node.op == "Div" and np.issubdtype(operands[0].dtype, np.integer):
        return (np.trunc(operands[0] / operands[1]).astype(operands[0].dtype),)
    if node.op == "Mod" and node.integer("fmod", 0):
        return (np.asarray(np.fmod(*operands)),)
    result = np.asarray(reduce(_UFUNCS[node.op], operands))
    if node.op == "Mean":
        result = np.asarray(result / len(operands), result.dtype)
    return (result.astype(operands[0].dtype) if node.op == "Pow" else result,)


def rounding(node: GraphNode, *operands: Array) -> Sums:
    """Sums add their operands; products, quotients and powers round themselves; the others choose or compare."""
    if node.op in ("Add", "Sub", "Sum", "Mean"):
        total = np.asarray(reduce(np.add, [np.abs(operand) for operand in operands]))
        return Sums(total / len(operands) if node.op == "Mean" else total, len(operands) + EPILOGUE)
    if node.op == "Mod":  # as far off as the quotient is, times the divisor
        return Sums(np.abs(operands[0]) + np.abs(operands[1]), EPILOGUE)
    if node.op in ("Mul", "Div", "Pow", "PRelu"):
        return Sums(np.abs(reference(node, *operands)[0]), FUNCTION if node.op == "Pow" else EPILOGUE)
    return Sums(np.zeros(()), 0.0)


def _step(node: GraphNode, build: WorkloadBuilder, operands: tuple[str | float, ...]) -> VectorStep:
    """Lane passes per element of the result; ``operands`` where some are immediates."""
    passes, slow = max(1, len(node.inputs) - 1), tuple[str, ...]()
    if node.op == "Where":
        passes = 1
    elif node.op == "Pow":
        passes, slow = _power(build.value(node.inputs[1]))
    elif node.op in ("Div", "Mod"):
        passes, slow = 1 if node.op == "Div" else 2, ("divide",)
    name = "fmod" if node.op == "Mod" and node.integer("fmod", 0) else node.op.lower()
    return step(_FUNCTIONS.get(node.op, name), passes, slow, operands)


def _power(exponent: GraphValue) -> tuple[int, tuple[str, ...]]:
    """Squares and cubes by products, roots by the root, others as exp(y * log x)."""
    data = known_data(exponent)
    value = float(data.reshape(-1)[0]) if data is not None and data.size == 1 else None
    if value in (2.0, 3.0):
        return int(value) - 1, ()
    return (1, ("sqrt",)) if value == 0.5 else (LOG_PASSES + 1, ("exp",))


def _index(shape: Shape, dims: tuple[str, ...], out: Shape) -> tuple[Axis, ...]:
    """One axis per axis of the operand, aligned at the end; extent 1 under a larger dim is broadcast."""
    first = len(out) - len(shape)
    pairs = zip(shape, dims[first:], out[first:], strict=True)
    return tuple(HERE if size == 1 < extent else at(dim) for size, dim, extent in pairs)


def _varying(value: GraphValue, out: Shape) -> list[int]:
    """Axes of the result along which a constant has more than one element."""
    return [len(out) - len(value.shape) + axis for axis, size in enumerate(value.shape) if size > 1]


def _select(condition: Array, first: Array, second: Array) -> Array:
    return np.asarray(np.where(condition != 0, first, second))


def _prelu(data: Array, slope: Array) -> Array:
    return np.asarray(np.where(data < 0, data * slope, data))


FAMILY = OperatorFamily(
    (*_UFUNCS, "Where", "PRelu"),
    shapes,
    reference,
    lower,
    order="same",
    channel=channel,
    activates=True,
    affine=affine,
    epilogue=epilogue,
    rounding=rounding,
    functions={
        "where": elementwise(_select),
        "fmod": elementwise(np.fmod),
        "prelu": elementwise(_prelu),
        **{op.lower(): elementwise(_UFUNCS[op]) for op in _UFUNCS if op not in (*_FUNCTIONS, "Max", "Min")},
    },
)
