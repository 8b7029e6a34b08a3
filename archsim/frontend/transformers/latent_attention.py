"""Attention whose keys and values are made of one short row for each position, the latent, which alone is kept.

DeepSeek-AI, "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model", 2024, section 2.1.
A position keeps ``latent`` elements and ``rotary`` elements of a key that all heads share. Where no older rows are
there, the keys and values of each head are made of the latents of the new rows (``kv_b_proj``). Behind older rows that
would make those of all positions again at every step; instead the weights that make keys go over the queries, those
that make values go over what attention writes, and all heads attend to the latents themselves, as to one head of keys
and values. Both compute the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers.attention import AttentionForm, appended, seen_before
from archsim.frontend.transformers.rotary import RotaryTables, rotate
from archsim.frontend.transformers.run_shape import RunShape

EPSILON = 1e-6  # of the norms of latents, whatever those of layers have
ELEMENTS_AXIS = 3  # of (batch, heads, rows, elements)


@dataclass(frozen=True, slots=True)
class LatentForm:
    """Sizes: of the latents of queries (0: queries are made at once) and of keys and values; of a head's keys the
    elements that are ``plain`` and those that are rotated, and of its values. ``scale``: of scores."""

    heads: int
    query_latent: int
    latent: int
    plain: int
    rotary: int
    value: int
    scale: float
    bias: bool = False


def latent_attention(graph: ModuleGraph, run: RunShape, source: str, tables: RotaryTables, form: LatentForm) -> str:
    """(batch, rows, hidden)."""
    plain, turned = _queries(graph, source, tables, form)
    rows = appended(graph, run, "latent", _new_rows(graph, source, tables, form))
    over = _over_latents if run.past else _over_heads
    context = over(graph, run, plain, turned, rows, form)
    return graph.linear("o_proj", graph.joined_heads("attn_output", context), graph.shape(source)[-1], form.bias)


def _queries(graph: ModuleGraph, source: str, tables: RotaryTables, form: LatentForm) -> tuple[str, str]:
    """(batch, heads, rows, elements): what is not rotated, and what is."""
    name, width = "q_proj", form.plain + form.rotary
    if form.query_latent:
        first = graph.linear("q_a_proj", source, form.query_latent, form.bias)
        name, source = "q_b_proj", graph.rms_norm("q_a_layernorm", first, EPSILON)
    every = graph.heads("q", graph.linear(name, source, form.heads * width), form.heads)
    plain, rest = _parted(graph, "q", every, form.plain)
    return plain, rotate(graph, "q_rotary", rest, tables)


def _new_rows(graph: ModuleGraph, source: str, tables: RotaryTables, form: LatentForm) -> str:
    """(batch, 1, rows, latent + rotary): what is kept of the new rows."""
    both = graph.linear("kv_a_proj_with_mqa", source, form.latent + form.rotary, form.bias)
    latent, rest = _parted(graph, "kv", graph.heads("kv", both, 1), form.latent)
    normed = graph.rms_norm("kv_a_layernorm", latent, EPSILON)
    return graph.add("Concat", "kv_row", normed, rotate(graph, "k_rotary", rest, tables), axis=ELEMENTS_AXIS)


def _over_heads(graph: ModuleGraph, run: RunShape, plain: str, turned: str, rows: str, form: LatentForm) -> str:
    """Keys and values of each head are made of the rows."""
    latent, shared = _parted(graph, "latent", rows, form.latent)
    count, width = run.keys, form.plain + form.value
    made = graph.linear("kv_b_proj", latent, form.heads * width)
    by_head = graph.heads("kv_b", graph.reshape("kv_b.rows", made, run.batch, count, form.heads * width), form.heads)
    key, value = _parted(graph, "kv_b", by_head, form.plain)
    sizes = graph.numbers("k_rotary.sizes", (run.batch, form.heads, count, form.rotary))
    key = graph.add("Concat", "k", key, graph.add("Expand", "k_rotary.heads", shared, sizes), axis=ELEMENTS_AXIS)
    query = graph.add("Concat", "q", plain, turned, axis=ELEMENTS_AXIS)
    return seen_before(graph, "attn", run.rows, run.past, (query, key, value), AttentionForm(form.scale))


def _over_latents(graph: ModuleGraph, run: RunShape, plain: str, turned: str, rows: str, form: LatentForm) -> str:
    """All heads attend to the rows as they are kept; the weights of kv_b_proj go over queries and results."""
    weights = graph.weight("kv_b_proj.key.weight", form.heads, form.plain, form.latent)
    moved = graph.add("MatMul", "kv_b_proj.key", plain, weights)
    query = graph.add("Concat", "q", moved, turned, axis=ELEMENTS_AXIS)
    latent = graph.cut("latent_value", rows, ELEMENTS_AXIS, 0, form.latent)
    found = seen_before(graph, "attn", run.rows, run.past, (query, rows, latent), AttentionForm(form.scale))
    return graph.add(
        "MatMul", "kv_b_proj.value", found, graph.weight("kv_b_proj.value.weight", form.heads, form.latent, form.value)
    )


def _parted(graph: ModuleGraph, name: str, source: str, first: int) -> tuple[str, str]:
    """The ``first`` elements of each row, and the others."""
    width = graph.shape(source)[ELEMENTS_AXIS]
    return (
        graph.cut(f"{name}.first", source, ELEMENTS_AXIS, 0, first),
        graph.cut(f"{name}.rest", source, ELEMENTS_AXIS, first, width),
    )
