"""A scale and shift by constants as a vector layer of its own (where no layer before it takes it up)."""

from __future__ import annotations

import numpy as np

from archsim.ir.functions import Function
from archsim.ir.graph import Array, GraphNode
from archsim.ir.workload import VectorStep
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.folding import ScaleShiftChain, chain_of


def lower_affine(node: GraphNode, build: WorkloadBuilder, axis: int) -> None:
    """One vector layer, one lane pass (multiply-add) for the constant scales and shifts of ``node`` and behind it.

    They are folded: to one element per channel where they vary along the logical ``axis``, else to immediates.
    """
    source, out = node.inputs[0], node.outputs[0]
    if build.value(source).constant:
        source = node.inputs[1]
    dims, shape = build.dims(out), build.shape(out)
    chain = chain_of(build.graph, node)
    reads = [LogicalAccess("in0", source, tuple(at(dim) for dim in dims))]
    functions: list[Function] = []
    for name, part, kind in (("multiply", "scale", chain.scale), ("add", "shift", chain.shift)):
        if not kind:
            continue
        operand: str | float = f"in{len(reads)}"
        if kind == "channel":
            constant = build.constant(f"{node.name}.{part}", (shape[axis],))
            reads.append(LogicalAccess(str(operand), constant, (at(dims[axis]),), part))
        else:
            operand = _immediate(chain, part)
        functions.append(Function(name, (operand,) if functions else ("in0", operand)))
    steps = build.steps(node, VectorStep(tuple(functions), 1))
    write = LogicalAccess("out", out, tuple(at(dim) for dim in dims))
    build.layer(node, "vector", build.extents(out), tuple(reads), write, steps=steps)


def _immediate(chain: ScaleShiftChain, part: str) -> float:
    """The one number that all channels share, on which constants that vary along them have no bearing."""

    def held(name: str) -> Array | None:
        value = chain.graph.values[name]
        return np.ones(value.shape) if value.data is None else None

    scale, shift = chain.values(held)
    return float((scale if part == "scale" else shift).reshape(-1)[0])
