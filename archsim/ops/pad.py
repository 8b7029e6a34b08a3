"""Zero padding as an operator of its own: one copy into a larger tensor, what lies outside the input is filled.

Elements of the input around it (``reflect``, ``edge``, ``wrap``) are looked up, axis by axis
(archsim/graph/passes/pad_mode.py).
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, Graph, GraphNode, Inputs, Shape, integers_of, known_data
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import moved

MODES = ("reflect", "edge", "wrap")


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """Sizes with the pads before and after; pads, fill value and axes are inputs 1 to 3."""
    if inputs[0] is None or len(inputs) < 2:
        node.fail("needs an input and pads")
    if node.text("mode", "constant") not in ("constant", *MODES):
        node.unsupported(f"mode '{node.text('mode', 'constant')}'; allowed constant, {', '.join(MODES)}")
    fill = known_data(inputs[2]) if len(inputs) > 2 else None
    if len(inputs) > 2 and inputs[2] is not None and (fill is None or np.any(fill)):
        node.unsupported("pads with another value than 0")
    shape = inputs[0].shape
    pads = _pads(
        node,
        len(shape),
        tuple(integers_of(node, value, "pads or axes") for value in (inputs[1], *inputs[3:4])),
    )
    if node.text("mode", "constant") in MODES:
        for size, width in zip(shape, pads, strict=True):
            places(node, size, width)
    return (tuple(size + before + after for size, (before, after) in zip(shape, pads, strict=True)),)


def places(node: GraphNode, size: int, width: tuple[int, int]) -> Array:
    """Which elements of an axis stand in the result, where pads are elements of it too."""
    mode = node.text("mode", "")
    most = {"reflect": size - 1, "wrap": size}.get(mode, max(width))
    if min(width) < 0 or max(width) > most:
        node.unsupported(f"pads {list(width)} of {size} elements by mode '{mode}'; allowed 0 to {most}")
    return np.pad(np.arange(size), width, mode=mode)  # type: ignore[call-overload, no-any-return]


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One copy layer over the elements of the result."""
    source, out = node.inputs[0], node.outputs[0]
    dims, pads = build.dims(out), pads_of(node, build.graph)
    index = tuple(at(dim, offset=-before) for dim, (before, _) in zip(dims, pads, strict=True))
    write = LogicalAccess("out", out, tuple(at(dim) for dim in dims))
    build.layer(node, "copy", build.extents(out), (LogicalAccess("in0", source, index),), write)


def pads_of(node: GraphNode, graph: Graph) -> list[tuple[int, int]]:
    """Pads before and after each axis."""
    given = [
        integers_of(node, graph.values[name], "pads or axes") for name in (node.inputs[1], *node.inputs[3:4]) if name
    ]
    return _pads(node, len(graph.shape(node.inputs[0])), tuple(given))


def reference(
    node: GraphNode, data: Array, pads: Array, fill: Array | None = None, axes: Array | None = None
) -> tuple[Array, ...]:
    """NumPy's pad; negative pads cut."""
    lists = (tuple(int(pad) for pad in pads), None if axes is None else tuple(int(axis) for axis in axes))
    widths = _pads(node, data.ndim, lists)
    if node.text("mode", "constant") in MODES:
        for axis, width in enumerate(widths):
            data = np.take(data, places(node, data.shape[axis], width), axis)
        return (data,)
    cut = tuple(slice(max(0, -low), size - max(0, -high)) for size, (low, high) in zip(data.shape, widths, strict=True))
    return (np.pad(data[cut], [(max(0, low), max(0, high)) for low, high in widths]),)


def _pads(node: GraphNode, rank: int, given: tuple[Shape | None, ...]) -> list[tuple[int, int]]:
    """Pads before and after each axis."""
    pads = given[0]
    axes = given[1] if len(given) > 1 and given[1] is not None else tuple(range(rank))
    if pads is None or len(pads) != 2 * len(axes):
        node.fail(f"needs {2 * len(axes)} pads")
    found = [(0, 0)] * rank
    for position, axis in enumerate(axes):
        found[axis % rank] = (pads[position], pads[position + len(axes)])
    return found


FAMILY = OperatorFamily(("Pad",), shapes, reference, lower, order="same", arity=2, rounding=moved)
