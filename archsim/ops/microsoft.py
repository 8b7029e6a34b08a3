"""Operators of ONNX Runtime's own domain, com.microsoft, that its tools write: each is several of ONNX at once.

They are taken apart before they are lowered (archsim/graph/passes/microsoft.py), so that they cost what their parts do.
Meaning and defaults: ONNX Runtime, docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, OperatorAttribute, Shape
from archsim.ops import attention, layer_norm, rotary_embedding
from archsim.ops.activation import FAMILY as ACTIVATION
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import Sums, unknown

DOMAIN = "com.microsoft."
SIMPLIFIED = "SimplifiedLayerNormalization"  # which ONNX Runtime has in the domain of ONNX
SKIP, SKIP_SIMPLIFIED = f"{DOMAIN}SkipLayerNormalization", f"{DOMAIN}SkipSimplifiedLayerNormalization"
BIAS_GELU, FAST_GELU, QUICK_GELU = (f"{DOMAIN}{name}" for name in ("BiasGelu", "FastGelu", "QuickGelu"))
ROTARY = f"{DOMAIN}RotaryEmbedding"
MULTI_HEAD, GROUPED = f"{DOMAIN}MultiHeadAttention", f"{DOMAIN}GroupQueryAttention"
LENGTHS = ("seqlens_k", "total_sequence_length")
TABLES = slice(7, 9)  # inputs of GroupQueryAttention: cos_cache, sin_cache
EPSILON = {SKIP: 1e-12, SKIP_SIMPLIFIED: 1e-12}  # of others 1e-5
SUM = 3  # output of Skip operators: what is normalised


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """Output shapes; raises UnsupportedError for forms that have no parts."""
    assert inputs[0] is not None
    shape = inputs[0].shape
    if node.op in (SKIP, SKIP_SIMPLIFIED):
        if any(node.outputs[1:SUM]):
            node.unsupported("puts out mean or deviation")
        return (shape, (), (), shape)[: len(node.outputs)]
    if node.op in (MULTI_HEAD, GROUPED):
        plain, read = attention_of(node), attended(node, inputs)
        made = attention.shapes(plain, read)
        _refuse_shorter(node, inputs, read)
        _check_tables(node, inputs, read)
        return made
    if node.op == SIMPLIFIED and any(node.outputs[1:]):
        node.unsupported("puts out its deviation")
    if node.op == ROTARY and (node.integer("rotary_embedding_dim", 0) or node.number("scale", 1.0) != 1):
        node.unsupported("rotates a part of each head, or scales")
    return (shape,)


def lengths_of(node: GraphNode, inputs: Inputs) -> Inputs:
    """seqlens_k and total_sequence_length, where a GroupQueryAttention has them."""
    return tuple(value for value in inputs[5:7] if value is not None) if node.op == GROUPED else ()


def _refuse_shorter(node: GraphNode, inputs: Inputs, read: Inputs) -> None:
    """Raise UnsupportedError where stored lengths leave rows of keys out; seqlens_k are lengths less 1. ``read``: what
    the attention inside does."""
    if node.op != GROUPED:
        return
    rows = _rows_of_keys(inputs, read)
    for name, value, wanted in zip(LENGTHS, inputs[5:7], (rows - 1, rows), strict=False):
        wrong = [] if value is None or value.data is None else [int(n) for n in np.ravel(value.data) if n != wanted]
        if wrong:
            node.unsupported(f"has {name} {wrong[0]}, where all older and new rows of keys make {wanted}")


def _check_tables(node: GraphNode, inputs: Inputs, read: Inputs) -> None:
    """Raise ModelError where a GroupQueryAttention that rotates has no row of a table for each position."""
    if node.op != GROUPED or not node.integer("do_rotary", 0):
        return
    rows, tables = _rows_of_keys(inputs, read), inputs[TABLES]
    if len(tables) < 2 or None in tables:
        node.fail("rotates (do_rotary), for which it needs cos_cache and sin_cache")
    for value in tables:
        if value is not None and (len(value.shape) != 2 or value.shape[0] < rows):
            node.fail(f"'{value.name}' has shape {list(value.shape)}; allowed two axes, {rows} rows or more")


def _rows_of_keys(inputs: Inputs, read: Inputs) -> int:
    """Older and new ones."""
    keys, past = read[1], inputs[3:4]
    assert keys is not None
    return keys.shape[-2] + (past[0].shape[2] if past and past[0] is not None else 0)


def attention_of(node: GraphNode) -> GraphNode:
    """The attention inside, as ONNX has it; raises UnsupportedError for forms that it has not."""
    grouped = node.op == GROUPED
    allowed = (0, 1, 2, 3, 4, 5, 6, 7, 8) if grouped else (0, 1, 2, 3, 5, 6, 7)
    if any(name for place, name in enumerate(node.inputs) if place not in allowed):
        node.unsupported("has a mask of keys, packed or quantised caches, positions or sinks as an input")
    if node.integer("local_window_size", -1) != -1 or node.integer("smooth_softmax", 0):
        node.unsupported("sees a window of keys alone, or smooths its softmax")
    heads, shared = _heads(node)
    attributes = {
        "q_num_heads": heads,
        "kv_num_heads": shared,
        "is_causal": 1 if grouped else node.integer("unidirectional", 0),
        "softcap": node.number("softcap", 0.0),
    }
    if node.number("scale", 0.0):
        attributes["scale"] = node.number("scale", 0.0)
    mask, past = ("", node.inputs[3:5]) if grouped else (_name(node, 5), node.inputs[6:8])
    names = (*node.inputs[:3], mask, *past)
    return GraphNode(node.name, "Attention", names, node.outputs, attributes)


def attended(node: GraphNode, inputs: Inputs) -> Inputs:
    """What of the inputs the attention inside reads; where one has queries, keys and values, each part of it."""
    if is_joined(node, inputs):
        rows = inputs[0]
        assert rows is not None
        cuts = parts_of(node, rows.shape)
        inputs = (*(replace(rows, shape=(*rows.shape[:-1], end - start)) for start, end in cuts), *inputs[3:])
    if node.op == GROUPED and None in inputs[1:3]:
        node.fail("has keys without values, or values without keys")
    if len(inputs) < 3 or None in inputs[:3] or any(value is not None and len(value.shape) == 5 for value in inputs):
        node.unsupported("has queries, keys and values in one input")
    if node.op == GROUPED:
        return (*inputs[:3], None, *inputs[3:5])
    return (*inputs[:3], inputs[5] if len(inputs) > 5 else None, *inputs[6:8])


def is_joined(node: GraphNode, inputs: Sequence[object | None]) -> bool:
    """Whether the rows of a GroupQueryAttention's first input are a query, a key and a value one behind another."""
    return node.op == GROUPED and len(inputs) > 0 and not any(each is not None for each in inputs[1:3])


def parts_of(node: GraphNode, shape: Shape) -> tuple[tuple[int, int], ...]:
    """First element and end of query, key and value in such a row."""
    heads, keys = _heads(node)
    if len(shape) != 3 or shape[-1] % (heads + 2 * keys):
        node.fail(f"has rows of shape {list(shape)}, which are not {heads} + 2 x {keys} heads")
    size = shape[-1] // (heads + 2 * keys)
    return ((0, heads * size), (heads * size, (heads + keys) * size), ((heads + keys) * size, shape[-1]))


def _heads(node: GraphNode) -> tuple[int, int]:
    """Of queries, and of keys and values."""
    heads = node.integer("num_heads", 0)
    shared = node.integer("kv_num_heads", heads)
    if heads < 1 or shared < 1:
        node.fail(f"has num_heads {heads} and kv_num_heads {shared}; allowed 1 or more of each")
    return heads, shared


def _name(node: GraphNode, place: int) -> str:
    return node.inputs[place] if len(node.inputs) > place else ""


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """Of what is not taken apart: refused."""
    shapes(node, build.graph.inputs_of(node))


def reference(node: GraphNode, *operands: Array | None) -> tuple[Array, ...]:
    """By the operators inside."""
    arrays = tuple(None if operand is None else np.asarray(operand) for operand in operands)
    if node.op in (MULTI_HEAD, GROUPED):
        return _attention(node, arrays)
    data = np.asarray(arrays[0])
    if node.op == ROTARY:
        positions, cos, sin = (np.asarray(each) for each in arrays[1:4])
        rows = positions_of(positions, data.shape)
        plain = GraphNode(node.name, "RotaryEmbedding", (), (), rotation_of(node, data.shape, cos.shape))
        return rotary_embedding.reference(plain, data, cos[rows], sin[rows])
    if node.op in (BIAS_GELU, FAST_GELU, QUICK_GELU):
        bias = arrays[1] if len(arrays) > 1 else None
        shifted = data if bias is None else data + bias
        return ACTIVATION.reference(activation_of(node), shifted)
    return _normalised(node, data, arrays)


def rotation_of(node: GraphNode, shape: Shape, table: Shape) -> dict[str, OperatorAttribute]:
    """Attributes of the rotation inside: heads of a last axis that has them all follow from the table's pairs."""
    heads = node.integer("num_heads", 0) or shape[-1] // (2 * table[-1])
    return {"interleaved": node.integer("interleaved", 0), "num_heads": heads if len(shape) == 3 else 0}


def activation_of(node: GraphNode, *inputs: str) -> GraphNode:
    """The activation inside."""
    if node.op == QUICK_GELU:
        return GraphNode(node.name, "Swish", inputs, node.outputs, {"alpha": node.number("alpha", 1.702)})
    form = "none" if node.op == BIAS_GELU else "tanh"
    return GraphNode(node.name, "Gelu", inputs, node.outputs, {"approximate": form})


def norm_of(node: GraphNode) -> GraphNode:
    """The normalisation inside."""
    op = "LayerNormalization" if node.op == SKIP else "RMSNormalization"
    attributes = {"axis": node.integer("axis", -1), "epsilon": node.number("epsilon", EPSILON.get(node.op, 1e-5))}
    return GraphNode(node.name, op, (), node.outputs[:1], attributes)


def _normalised(node: GraphNode, data: Array, arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    if node.op == SIMPLIFIED:
        return layer_norm.reference(norm_of(node), data, np.asarray(arrays[1]))
    total, others = data + np.asarray(arrays[1]), arrays[2:]
    bias = others[2 if node.op == SKIP else 1] if len(others) > (2 if node.op == SKIP else 1) else None
    total = total if bias is None else total + bias
    beta = others[1] if node.op == SKIP and len(others) > 1 else None
    (result,) = layer_norm.reference(norm_of(node), total, np.asarray(others[0]), beta)
    return (result, np.zeros(()), np.zeros(()), total)[: len(node.outputs)]


def _attention(node: GraphNode, arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    plain = attention_of(node)
    if is_joined(node, arrays):
        rows = np.asarray(arrays[0])
        arrays = (*(rows[..., start:end] for start, end in parts_of(node, rows.shape)), *arrays[3:])
    query, key, value = arrays[:3]
    older = arrays[3:5] if node.op == GROUPED else arrays[6:8]
    if node.op == GROUPED and node.integer("do_rotary", 0):
        past = 0 if not older or older[0] is None else older[0].shape[2]
        rows = np.arange(past, past + np.asarray(query).shape[1])
        tables = tuple(np.asarray(table)[rows][None] for table in arrays[TABLES])
        turned = []
        for array, heads in ((query, "num_heads"), (key, "kv_num_heads")):
            attributes = {"num_heads": node.integer(heads, 0), "interleaved": node.integer("rotary_interleaved", 0)}
            turn = GraphNode(node.name, "RotaryEmbedding", (), (), attributes)
            turned.append(rotary_embedding.reference(turn, np.asarray(array), *tables)[0])
        query, key = turned
    if node.op == MULTI_HEAD and len(arrays) > 3 and arrays[3] is not None:
        sizes = np.cumsum([np.asarray(each).shape[-1] for each in (query, key)])
        parts = np.split(arrays[3], sizes)
        query, key, value = (np.asarray(each) + part for each, part in zip((query, key, value), parts, strict=True))
    mask = arrays[5] if node.op == MULTI_HEAD and len(arrays) > 5 else None
    return attention.reference(plain, query, key, value, mask, *older)


def positions_of(positions: Array, shape: Shape) -> Array:
    """Rows of the tables by batch and position: those stated, or all from one number on."""
    batch, rows = shape[0], shape[-2]
    return positions if positions.size != 1 or rows == 1 else np.arange(rows)[None].repeat(batch, 0) + positions.item()


def rounding(node: GraphNode, *operands: Array | None) -> Sums:
    """Its parts say."""
    return unknown(reference(node, *operands), operands)


FAMILY = OperatorFamily(
    (SIMPLIFIED, SKIP, SKIP_SIMPLIFIED, BIAS_GELU, FAST_GELU, QUICK_GELU, ROTARY, MULTI_HEAD, GROUPED),
    shapes,
    reference,
    lower,
    rounding=rounding,
)
