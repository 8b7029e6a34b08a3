"""Layers of the host: operators without a rule here, where the user allows them to run there.

Whole tensors go there and back, at one operation for each element and two for each multiply-accumulate (estimated).
No multiply-accumulate is lost in silence: those of operators that are known to have some are counted by formulas of
their own, and of any other operator a warning says that it counts none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from archsim.ir.graph import GraphNode, Shape
from archsim.ir.workload import Layer
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder

HOST_BYTES = 4  # the host computes in 32-bit floats
MACS = "macs"


def lower_host(node: GraphNode, build: WorkloadBuilder) -> None:
    """A host layer for each output; the first reads all inputs and does the work, others their share of the bytes.

    ``attributes``: ``flops``, estimated as one per element read or written and two per multiply-accumulate, ``bytes``
    of those elements in 32-bit floats, and ``macs`` where they are known.
    """
    outputs = [name for name in node.outputs if name]
    for place, output in enumerate(outputs):
        names = [name for name in node.inputs if name][: None if place == 0 else 1]
        extents: dict[str, int] = {}
        accesses = []
        for operand, name in [*((f"in{i}", name) for i, name in enumerate(names)), ("out", output)]:
            dims = tuple(f"{operand}_{axis}" for axis in range(len(build.shape(name))))
            extents.update(zip(dims, build.shape(name), strict=True))
            accesses.append(LogicalAccess(operand, name, tuple(at(dim) for dim in dims)))
        elements = build.value(output).elements
        elements += sum(build.value(name).elements for name in names) if place == 0 else 0
        macs = macs_of(node, build) if place == 0 else 0
        attributes = {**node.attributes, "flops": elements + 2 * (macs or 0), "bytes": elements * HOST_BYTES}
        attributes |= {} if macs is None else {MACS: macs}
        bare = GraphNode(node.name, node.op, node.inputs, node.outputs, attributes)
        parts, name = LayerParts(free=tuple(extents)), node.name if place == 0 else f"{node.name}.{place}"
        build.layer(bare, "host", extents, tuple(accesses[:-1]), accesses[-1], parts=parts, name=name)


def macs_of(node: GraphNode, build: WorkloadBuilder) -> int | None:
    """Multiply-accumulates of a node, None where no formula is known."""
    rule = _RULES.get(node.op.removeprefix("com.microsoft."))
    shapes = [build.shape(name) if name else () for name in node.inputs]
    return None if rule is None else rule(node, shapes, build.shape(next(name for name in node.outputs if name)))


def uncounted(layers: Sequence[Layer]) -> tuple[str, ...]:
    """One warning that names the layers of the host whose multiply-accumulates are not known."""
    hosted = (layer for layer in layers if layer.kind == "host" and MACS not in layer.attributes)
    names = [f"'{layer.name}' ({layer.op})" for layer in hosted]
    if not names:
        return ()
    return (f"multiply-accumulates of {', '.join(names)} on the host are not known and count none",)


Rule = Callable[[GraphNode, Sequence[Shape], Shape], int]


def _recurrent(node: GraphNode, shapes: Sequence[Shape], out: Shape) -> int:
    """Each step multiplies its input and its state by all weights: LSTM, GRU and RNN alike, of all directions."""
    return shapes[0][0] * shapes[0][1] * (prod(shapes[1]) + prod(shapes[2]))


def _convolved(weights: int) -> Rule:
    """Output elements times the weights behind each, which are this input."""
    return lambda node, shapes, out: prod(out) * prod(shapes[weights][1:])


def _product(node: GraphNode, shapes: Sequence[Shape], out: Shape) -> int:
    """Output elements times the elements of a row."""
    return prod(out) * (shapes[0][-2] if node.integer("transA", 0) else shapes[0][-1])


def _transposed(node: GraphNode, shapes: Sequence[Shape], out: Shape) -> int:
    return prod(shapes[0]) * prod(shapes[1][1:])


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent),
    **dict.fromkeys(("Conv", "ConvInteger", "DeformConv", "FusedConv"), _convolved(1)),
    "QLinearConv": _convolved(3),
    **dict.fromkeys(("MatMul", "MatMulInteger", "MatMulNBits", "QLinearMatMul", "FusedMatMul"), _product),
    **dict.fromkeys(("Gemm", "QGemm"), _product),
    "ConvTranspose": _transposed,
}
