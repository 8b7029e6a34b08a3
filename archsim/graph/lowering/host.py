"""Operators without a rule, run on the host: whole tensors go there and back."""

from __future__ import annotations

from archsim.ir.graph import Node
from archsim.ops.kit.access import Access, at
from archsim.ops.kit.builder import Builder, Parts

HOST_BYTES = 4  # the host computes in 32-bit floats


def lower_host(node: Node, build: Builder) -> None:
    """One host layer. ``attributes``: ``flops``, estimated as one per element read or written, and ``bytes`` of
    those in 32-bit floats. Raises UnsupportedError for nodes with several outputs or none.
    """
    outputs = [name for name in node.outputs if name]
    if len(outputs) != 1:
        node.unsupported(f"cannot run on the host with {len(outputs)} outputs")
    names = [name for name in node.inputs if name]
    extents: dict[str, int] = {}
    accesses = []
    for operand, name in [*((f"in{i}", name) for i, name in enumerate(names)), ("out", outputs[0])]:
        dims = tuple(f"{operand}_{axis}" for axis in range(len(build.shape(name))))
        extents.update(zip(dims, build.shape(name), strict=True))
        accesses.append(Access(operand, name, tuple(at(dim) for dim in dims)))
    elements = sum(build.value(name).elements for name in (*names, outputs[0]))
    attributes = {**node.attributes, "flops": elements, "bytes": elements * HOST_BYTES}
    bare = Node(node.name, node.op, node.inputs, node.outputs, attributes)
    build.layer(bare, "host", extents, tuple(accesses[:-1]), accesses[-1], parts=Parts(free=tuple(extents)))
