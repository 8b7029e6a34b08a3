"""Fold: windows that lie side by side come to lie a stride apart, and what falls on one output is added up.

    out[n, k, stride * j + m] = bias[k] + sum over u of in[n, k, (j - last + u) * kernel + m + stride * (last - u)]

with last = ceil(kernel / stride) - 1, over the windows j - last + u that there are and the window positions
m + stride * (last - u) below kernel; so for each spatial axis. It is what a transposed convolution does after its
product. Cost: 1 pass an index point, ceil(kernel / stride) for each output and axis; the bias rides on the last.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ir.workload import Guard, VectorStep
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import KERNEL, SPATIAL, LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import EPILOGUE, Sums, growth
from archsim.ops.kit.steps import join, step


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """(N, K, windows * kernel, ...) to (N, K, stride * ``steps``, ...)."""
    assert inputs[0] is not None
    kernel, strides, steps = (node.integers(key, ()) for key in ("kernel", "strides", "steps"))
    sizes = inputs[0].shape[2:]
    if not len(kernel) == len(strides) == len(steps) == len(sizes) or any(
        size % tap for size, tap in zip(sizes, kernel, strict=True)
    ):
        node.fail(f"kernel {list(kernel)}, strides {list(strides)} and steps {list(steps)} do not fit {list(sizes)}")
    return ((*inputs[0].shape[:2], *(stride * count for stride, count in zip(strides, steps, strict=True))),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer over outputs, cut by the stride, and the windows that reach each."""
    source, out = node.inputs[0], node.outputs[0]
    shape = build.shape(source)
    kernel, strides, steps = (node.integers(key, ()) for key in ("kernel", "strides", "steps"))
    extents, read, written, guards = {"n": shape[0]}, [at("n"), at("c")], [at("n"), at("c")], []
    spatial, windows = SPATIAL[-len(kernel) :], KERNEL[-len(kernel) :]
    for place, (dim, window) in enumerate(zip(spatial, windows, strict=True)):
        tap, stride, inner = kernel[place], strides[place], f"{dim}_inner"
        last = -(-tap // stride) - 1
        extents |= {dim: steps[place], inner: stride}
        read.append(at((dim, tap), inner, (window, tap - stride), offset=last * (stride - tap)))
        written.append(at((dim, stride), inner))
        if tap % stride:
            guards.append(Guard(at(inner, (window, -stride), offset=stride * last), tap))
    extents |= {"c": shape[1]}
    extents |= {window: -(-tap // stride) for window, tap, stride in zip(windows, kernel, strides, strict=True)}
    reads = [LogicalAccess("in0", source, tuple(read))]
    functions: tuple[VectorStep, ...] = (step("add", 1, operands=("in0",)),)
    if len(node.inputs) > 1 and node.inputs[1]:
        reads.append(LogicalAccess("in1", node.inputs[1], (at("c"),)))
        functions = join(functions[0], (step("add", 1, operands=("in1",)),))
    build.layer(
        node,
        "vector",
        extents,
        tuple(reads),
        LogicalAccess("out", out, tuple(written)),
        parts=LayerParts(whole=windows),
        steps=functions,
        guards=tuple(guards),
    )


def reference(node: GraphNode, data: Array, bias: Array | None = None) -> tuple[Array, ...]:
    """Every window position of all windows at once is added to every stride-th output."""
    kernel, strides, steps = (node.integers(key, ()) for key in ("kernel", "strides", "steps"))
    windows = tuple(size // tap for size, tap in zip(data.shape[2:], kernel, strict=True))
    sizes = tuple(stride * max(count, window - 1 - (-tap // stride)) for stride, count, window, tap in
                  zip(strides, steps, windows, kernel, strict=True))  # fmt: skip
    full = np.zeros((*data.shape[:2], *sizes))
    for position in np.ndindex(*kernel):
        taken = tuple(slice(tap, None, size) for tap, size in zip(position, kernel, strict=True))
        put = tuple(
            slice(tap, tap + (count - 1) * stride + 1, stride)
            for tap, count, stride in zip(position, windows, strides, strict=True)
        )
        full[(slice(None), slice(None), *put)] += data[(slice(None), slice(None), *taken)]
    kept = tuple(slice(stride * count) for stride, count in zip(strides, steps, strict=True))
    result = full[(slice(None), slice(None), *kept)]
    if bias is not None:
        result = result + bias.reshape(1, -1, *([1] * len(kernel)))
    return (np.asarray(result, data.dtype),)


def rounding(node: GraphNode, data: Array, bias: Array | None = None) -> Sums:
    """The same sum of magnitudes."""
    (magnitude,) = reference(node, np.abs(data), None if bias is None else np.abs(bias))
    kernel, strides = node.integers("kernel", ()), node.integers("strides", ())
    terms = int(np.prod([-(-tap // stride) for tap, stride in zip(kernel, strides, strict=True)]))
    return Sums(magnitude, growth(terms) + EPILOGUE, is_linear=True)


FAMILY = OperatorFamily(("Fold",), shapes, reference, lower, order="channels_last", rounding=rounding)
