"""MatMulNBits of ONNX Runtime's own domain: a product with weights of a few bits, in blocks that share a scale.

    y[.., n] = bias[n] + sum over k of x[.., k] * (q[n, k] - zero[n, k // block_size]) * scale[n, k // block_size]

The file has q as bytes (N, blocks, block_size * bits / 8), the last block of a row padded, zeros as rows of bytes, and
half of the range, 2^(bits - 1), where it has no zeros. Meaning: ONNX Runtime, docs/ContribOperators.md. It becomes a
MatMul whose weights have a format of blocks (archsim/graph/passes/matmul_nbits.py).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from archsim.facts.number_formats import MOST_BLOCK
from archsim.ir.graph import Array, GraphNode, GraphValue, Inputs, Shape
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import Sums, unknown
from archsim.ops.quantize_linear import SCALE_TYPES

NAME = "com.microsoft.MatMulNBits"
WEIGHTS, SCALES, ZEROS, ORDER, BIAS = 1, 2, 3, 4, 5  # inputs
BITS = (4, 8)  # of the elements that formats have


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """(.., K) to (.., N)."""
    assert inputs[0] is not None
    depth, columns = node.integer("K", 0), node.integer("N", 0)
    if depth < 1 or columns < 1:
        node.fail(f"has K {depth} and N {columns}; allowed 1 or more of each")
    if inputs[0].shape[-1:] != (depth,):
        node.fail(f"reads rows of shape {list(inputs[0].shape)}; its weights have rows of K = {depth}")
    return ((*inputs[0].shape[:-1], columns),)


def blocks_of(node: GraphNode) -> int:
    """Blocks of a row of weights."""
    return -(-node.integer("K", 0) // node.integer("block_size", 1))


def refuse(node: GraphNode, inputs: Inputs) -> None:
    """Raise UnsupportedError for weights that no format of blocks says, ModelError for those of other sizes."""
    bits, block = node.integer("bits", 4), node.integer("block_size", 0)
    if bits not in BITS:
        node.unsupported(f"has weights of {bits} bits; allowed {' and '.join(map(str, BITS))}")
    if block < 2 or block > MOST_BLOCK or block * bits % 8:
        node.unsupported(f"has blocks of {block} weights; allowed 2 to {MOST_BLOCK} that fill bytes")
    if _given(inputs, ORDER) is not None:
        node.unsupported("has weights in another order (g_idx); allowed blocks that follow one another along K")
    if node.integer("weight_prepacked", 0):
        node.unsupported("has weights in the order of a kernel (weight_prepacked); allowed that of the file format")
    _check_types(node, inputs)
    _check_sizes(node, inputs, bits, block)
    _check_bias(node, inputs)


def _check_types(node: GraphNode, inputs: Inputs) -> None:
    for place, allowed in ((WEIGHTS, ("uint8",)), (SCALES, tuple(SCALE_TYPES)), (ZEROS, ("uint8",))):
        value = _given(inputs, place)
        if value is not None and not value.constant:
            node.unsupported(f"its weights are made at run time ('{value.name}'); allowed constants")
        if value is not None and value.dtype not in allowed:
            node.unsupported(f"'{value.name}' has elements of type {value.dtype}; allowed {', '.join(allowed)}")


def _check_sizes(node: GraphNode, inputs: Inputs, bits: int, block: int) -> None:
    columns, blocks = node.integer("N", 0), blocks_of(node)
    sizes = ((WEIGHTS, blocks * (block * bits // 8)), (SCALES, blocks), (ZEROS, -(-blocks * bits // 8)))
    for place, size in sizes:
        value = _given(inputs, place)
        if value is None or (value.elements == columns * size and value.shape[0] in (columns, value.elements)):
            continue
        node.fail(f"'{value.name}' has shape {list(value.shape)}; N, K, bits and block_size make {columns} x {size}")


def _check_bias(node: GraphNode, inputs: Inputs) -> None:
    bias, columns = _given(inputs, BIAS), node.integer("N", 0)
    if bias is not None and bias.shape != (columns,):
        node.fail(f"its bias '{bias.name}' has shape {list(bias.shape)}; allowed [{columns}]")
    if bias is not None and bias.constant and bias.dtype not in SCALE_TYPES:
        node.fail(f"its bias '{bias.name}' has elements of type {bias.dtype}; allowed {', '.join(SCALE_TYPES)}")
    if any(value is not None for value in inputs[BIAS + 1 :]):
        node.unsupported(f"has {len(inputs)} inputs; allowed {BIAS + 1}")


def _given(inputs: Inputs, place: int) -> GraphValue | None:
    return inputs[place] if len(inputs) > place else None


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """Of what has no product: refused."""
    refuse(node, build.graph.inputs_of(node))


def reference(node: GraphNode, *operands: Array | None) -> tuple[Array, ...]:
    """Weights (N, blocks, bytes): bits from the lowest on, less the zero of their block, times its scale."""
    arrays = tuple(None if operand is None else np.asarray(operand) for operand in operands)
    data, packed, scales = (np.asarray(each) for each in arrays[:ZEROS])
    bits, columns, depth = node.integer("bits", 4), node.integer("N", 0), node.integer("K", 0)
    zeros = arrays[ZEROS] if len(arrays) > ZEROS else None
    each = _unpacked(packed.reshape(columns, blocks_of(node), -1), bits).astype(np.float64)
    blocks = each.shape[1]
    zero = np.full((columns, blocks), 2.0 ** (bits - 1))
    if zeros is not None:
        zero = _unpacked(zeros.reshape(columns, -1), bits)[:, :blocks].astype(np.float64)
    weights = (each - zero[..., None]) * scales.reshape(columns, blocks, 1)
    result = data.astype(np.float64) @ weights.reshape(columns, -1)[:, :depth].T
    bias = arrays[BIAS] if len(arrays) > BIAS else None
    return (np.asarray(result if bias is None else result + bias, data.dtype),)


def _unpacked(packed: Array, bits: int) -> Array:
    """The numbers of a last axis of bytes."""
    unpacked = [(packed >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    return np.stack(unpacked, -1).reshape(*packed.shape[:-1], -1)


def rounding(node: GraphNode, *operands: Array | None) -> Sums:
    """Its product says."""
    return unknown(reference(node, *operands), operands)


def packed(node: GraphNode) -> Mapping[int, int]:
    """Weights in the bytes of the second input."""
    return {WEIGHTS: node.integer("N", 0) * node.integer("K", 0)}


FAMILY = OperatorFamily(
    (NAME,), shapes, reference, lower, arity=3, rounding=rounding, statistics=(SCALES, ZEROS, ORDER), packed=packed
)
