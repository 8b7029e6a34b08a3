"""Attention as one operator, as ONNX has it from opset 23 on: softmax(Q K^T * scale + mask) V, by heads.

Queries, keys and values are (batch, heads, rows, elements), or (batch, rows, heads * elements) with the numbers of
heads stated. Several heads of queries may share one of keys and values. Older keys and values come before the new ones.
Where they lie in a state they stand among the keys and values, and attribute ``past`` says how many they are: query s
then sees keys t <= s + past (``is_causal``). ONNX has no such attribute, and counts the inputs of before alone.
Attribute ``window``: of these keys a row sees the last so many alone, its own among them; ONNX has none.
An eighth input is a sink for each head of queries, see Softmax; ONNX has none.
It is lowered as its parts (archsim/graph/passes/attention.py): products, softmax and what scales and masks between.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import FUNCTION, Sums, growth
from archsim.ops.kit.visible import Band

QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, KEYS_THAT_COUNT, SINKS = range(8)


class Heads(NamedTuple):
    """Extents of an attention: ``queries`` heads of queries for each of ``shared`` heads of keys and values; ``rows``
    of queries, ``past`` keys before that of the first query and all ``keys``; elements of a key (``width``) and of a
    value (``out``)."""

    batch: int
    shared: int
    queries: int
    rows: int
    past: int
    keys: int
    width: int
    out: int
    joined: bool  # heads are joined in the last axis

    @property
    def result(self) -> Shape:
        """Shape of what comes out."""
        heads = self.shared * self.queries
        return (self.batch, self.rows, heads * self.out) if self.joined else (self.batch, heads, self.rows, self.out)


def heads_of(node: GraphNode, shapes: tuple[Shape | None, ...]) -> Heads:
    """The extents, from the shapes of the inputs; raises ModelError where these do not fit."""
    query, key, value = (_split(node, shapes[at], name) for at, name in zip(range(3), ("q", "kv", "kv"), strict=True))
    past = shapes[PAST_KEY] if len(shapes) > PAST_KEY else None
    if past is not None and (len(past) != 4 or (*past[:2], past[3]) != (*key[:2], key[3])):
        node.fail(f"past keys {list(past)}; allowed {key[0]} x {key[1]} x rows x {key[3]}, as new ones have")
    before = past[2] if past is not None else 0
    seen = node.integer("past", before)
    if not 0 <= seen <= before + key[2]:
        node.fail(f"past {seen}; allowed 0 to its {before + key[2]} keys")
    if query[0] != key[0] or query[3] != key[3] or key[:3] != value[:3] or query[1] % key[1]:
        node.fail(f"queries {list(query)}, keys {list(key)} and values {list(value)} do not fit")
    joined = len(shapes[QUERY] or ()) == 3
    return Heads(query[0], key[1], query[1] // key[1], query[2], seen, before + key[2], query[3], value[3], joined)


def _split(node: GraphNode, shape: Shape | None, which: str) -> Shape:
    """(batch, heads, rows, elements) of an operand."""
    if shape is None or len(shape) not in (3, 4):
        node.fail("needs queries, keys and values of 3 or 4 axes")
    if len(shape) == 4:
        return shape
    heads = node.integer(f"{which}_num_heads", 0)
    if heads < 1 or shape[2] % heads:
        node.fail(f"{which}_num_heads {heads} does not divide {shape[2]} elements")
    return (shape[0], heads, shape[1], shape[2] // heads)


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """What comes out, and keys and values with those of before."""
    if not is_known(node, inputs):
        node.unsupported("puts out its scores, is told how many keys count, or has older keys without values")
    heads = heads_of(node, tuple(None if value is None else value.shape for value in inputs))
    sinks = inputs[SINKS] if len(inputs) > SINKS else None
    if sinks is not None and sinks.shape != (heads.shared * heads.queries,):
        node.fail(f"sinks {list(sinks.shape)}; allowed one for each of {heads.shared * heads.queries} heads")
    band_of(node, heads)
    kept = heads.batch, heads.shared, heads.keys
    return (heads.result, (*kept, heads.width), (*kept, heads.out))[: max(1, len(node.outputs))]


def is_known(node: GraphNode, inputs: Inputs) -> bool:
    """Whether it is of a form that has parts."""
    given = [at < len(inputs) and inputs[at] is not None for at in (PAST_KEY, PAST_VALUE, KEYS_THAT_COUNT)]
    return given[0] == given[1] and not given[2] and not any(node.outputs[3:])


def band_of(node: GraphNode, heads: Heads) -> Band | None:
    """Which keys each row sees, None where all do; raises ModelError for a window that is none."""
    window = node.integer("window", 0)
    if window < 0 or (window and not node.integer("is_causal", 0)):
        node.fail(f"window {window}; allowed 1 or more, with is_causal")
    band = Band(heads.past, window)
    return band if node.integer("is_causal", 0) and not band.is_all(heads.rows, heads.keys) else None


def scale_of(node: GraphNode, heads: Heads) -> float:
    """What scores are multiplied by."""
    return node.number("scale", heads.width**-0.5)


def reference(node: GraphNode, *operands: Array | None) -> tuple[Array, ...]:
    """By definition, in double precision."""
    given = tuple(None if operand is None else operand.shape for operand in operands)
    heads = heads_of(node, given)
    query, key, value = (_by_heads(node, operands[at], name) for at, name in ((0, "q"), (1, "kv"), (2, "kv")))
    older = operands[PAST_KEY] if len(operands) > PAST_KEY else None
    if older is not None:
        key = np.concatenate([older, key], 2)
        value = np.concatenate([np.asarray(operands[PAST_VALUE]), value], 2)
    every = [np.repeat(each.astype(np.float64), heads.queries, 1) for each in (key, value)]
    scores = query.astype(np.float64) @ np.swapaxes(every[0], 2, 3) * scale_of(node, heads)
    cap = node.number("softcap", 0.0)
    scores = _masked(node, heads, operands, cap * np.tanh(scores / cap) if cap else scores)
    top = np.max(scores, -1, keepdims=True)
    sinks = operands[SINKS] if len(operands) > SINKS else None
    sink = np.full((1, 1, 1), -np.inf) if sinks is None else sinks.astype(np.float64).reshape(-1, 1, 1)
    top = np.maximum(top, sink)
    top = np.where(np.isneginf(top), 0.0, top)  # rows that are masked as a whole are zeros
    shares = np.exp(scores - top)
    total = np.sum(shares, -1, keepdims=True) + np.exp(sink - top)
    result = shares / np.where(total, total, 1.0) @ every[1]
    if heads.joined:
        result = np.swapaxes(result, 1, 2)
    made = (result.reshape(heads.result), key, value)
    return tuple(each.astype(np.asarray(operands[QUERY]).dtype) for each in made[: max(1, len(node.outputs))])


def _masked(node: GraphNode, heads: Heads, operands: tuple[Array | None, ...], scores: Array) -> Array:
    band = band_of(node, heads)
    if band is not None:
        scores = np.where(band.mask(heads.rows, heads.keys), scores, -np.inf)
    mask = operands[MASK] if len(operands) > MASK else None
    if mask is None:
        return scores
    return np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask


def _by_heads(node: GraphNode, operand: Array | None, which: str) -> Array:
    assert operand is not None
    batch, heads, rows, width = _split(node, operand.shape, which)
    return operand if operand.ndim == 4 else np.swapaxes(operand.reshape(batch, rows, heads, width), 1, 2)


def rounding(node: GraphNode, *operands: Array | None) -> Sums:
    """A product of as many terms as a key has elements under an exponential, and one of as many as there are keys."""
    query, key, value = (np.asarray(operands[at], np.float64) for at in range(3))
    heads = heads_of(node, tuple(None if operand is None else operand.shape for operand in operands))
    largest = float(np.max(np.abs(query))) * float(np.max(np.abs(key))) * heads.width * scale_of(node, heads)
    terms = growth(heads.width) * largest + growth(heads.keys) + FUNCTION
    return Sums(np.full(heads.result, float(np.max(np.abs(value)))), terms)


FAMILY = OperatorFamily(("Attention",), shapes, reference, arity=3, rounding=rounding)
