"""A scale and shift by constants as a vector layer of its own (where no layer before it takes it up)."""

from __future__ import annotations

from archsim.ir.workload import VectorStep
from archsim.ops.graph.family import Affine, find
from archsim.ops.graph.nodes import Node
from archsim.ops.lowering.access import Access, at
from archsim.ops.lowering.builder import Builder


def lower_affine(node: Node, build: Builder, chain: tuple[Node, ...], axis: int) -> None:
    """One vector layer, one lane pass (multiply-add); scale and shift of ``chain`` folded, one element per channel.

    ``axis``: the logical axis along which the constants vary.
    """
    source, out = node.inputs[0], node.outputs[0]
    if build.value(source).constant:
        source = node.inputs[1]
    dims, shape = build.dims(out), build.shape(out)
    found = [affine for other in chain if (affine := _affine(other, build)) is not None]
    vectors = [affine for affine in found if affine.axis is not None]
    reads = [Access("in0", source, tuple(at(dim) for dim in dims))]
    for part, present in (
        ("scale", any(affine.scale for affine in vectors)),
        ("shift", any(affine.shift for affine in vectors)),
    ):
        if present:
            name = build.constant(f"{node.name}.{part}", (shape[axis],))
            reads.append(Access(f"in{len(reads)}", name, (at(dims[axis]),)))
    function = "+".join(
        name
        for name, present in (
            ("multiply", any(affine.scale for affine in found)),
            ("add", any(affine.shift for affine in found)),
        )
        if present
    )
    steps = build.steps(node, VectorStep(function, 1))
    write = Access("out", out, tuple(at(dim) for dim in dims))
    build.layer(node, "vector", build.extents(out), tuple(reads), write, steps=steps)


def _affine(node: Node, build: Builder) -> Affine | None:
    found = find(node.op)
    return found.affine(node, build.graph) if found is not None and found.affine is not None else None
