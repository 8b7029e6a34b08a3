"""Decoders with rotary positions and normalisation by the root of the mean square: Llama and those built like it.

    x = x + attention(norm(x));  x = x + feed_forward(norm(x))

A ``DecoderForm`` says what a family does its own way: heads and biases, norms of queries and keys, windows by layer,
sinks of softmax, caps on scores and logits, norms behind each block, projections stored side by side, experts, and
attention of other kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ACTIVATIONS, ModuleGraph
from archsim.frontend.transformers import feed_forward
from archsim.frontend.transformers.attention import AttentionForm, causal_attention
from archsim.frontend.transformers.rotary import (
    RotaryFrequencies,
    RotaryTables,
    rotate,
    write_tables,
)
from archsim.frontend.transformers.run_shape import AskedShape, RunShape

FULL, SLIDING = "full_attention", "sliding_attention"
MOST_LAYERS, MOST_HEADS = 1024, 4096
WriteFeedForward = Callable[[ModuleGraph, str, int], str]  # of a normed value and the layer's number
WriteRows = Callable[[ModuleGraph, RunShape], str]  # (batch, rows, hidden)
WriteAttention = Callable[[ModuleGraph, RunShape, str, RotaryTables], str]  # of a normed value


@dataclass(frozen=True, slots=True)
class DecoderForm:
    """Sizes of a decoder, and what its family does its own way."""

    hidden: int
    layers: int
    heads: int
    shared: int  # heads of keys and values
    width: int  # of a head
    vocabulary: int
    epsilon: float
    frequencies: RotaryFrequencies
    tied: bool
    feed_forward: WriteFeedForward
    windows: tuple[int, ...]
    scale: float = 0.0
    softcap: float = 0.0
    final_softcap: float = 0.0
    input_bias: bool = False
    output_bias: bool = False
    head_norms: bool = False
    outer_norms: bool = False
    sinks: bool = False
    embedding_scale: float = field(default=1.0)
    is_joined: bool = False
    near_frequencies: RotaryFrequencies | None = None  # of layers that slide, where theirs are others
    attention: WriteAttention | None = None  # in place of that by heads of keys and values
    embed: WriteRows | None = None  # in place of the embeddings of tokens alone
    module: str = "model"  # in which all but lm_head is


def read_heads(fields: ConfigFields, hidden: int, shared: int | None, width: int | None) -> tuple[int, int, int]:
    """(heads, heads of keys and values, elements of each); defaults of the family, None for none."""
    heads = fields.size("num_attention_heads", high=MOST_HEADS)
    found = fields.size("num_key_value_heads", shared if shared != 0 else heads, high=MOST_HEADS)
    if heads % found:
        fields.wrong("num_key_value_heads", f"a divisor of {heads}, num_attention_heads")
    if not fields.has("head_dim") and width is None and hidden % heads:
        fields.wrong("num_attention_heads", f"a divisor of {hidden}, hidden_size, where there is no head_dim")
    return heads, found, fields.size("head_dim", width or hidden // heads)


def read_windows(fields: ConfigFields, layers: int, default: tuple[bool, ...], needed: bool = False) -> tuple[int, ...]:
    """How many positions each layer sees, 0 for all before: by layer_types, else ``default`` says which slide.

    Raises ModelError where a window is ``needed`` and the file states none; null says that no layer slides."""
    if needed and not fields.states("sliding_window"):
        fields.fail("sliding_window", "is missing; allowed a number of positions, or null where no layer slides")
    window = fields.size("sliding_window", 0, low=0) if fields.has("sliding_window") else 0
    if fields.has("layer_types"):
        default = tuple(kind == SLIDING for kind in fields.words("layer_types", layers, (FULL, SLIDING)))
        if any(default) and not window:
            fields.fail("sliding_window", "is missing; layer_types has layers that slide")
    return tuple(window if slides else 0 for slides in default)


def read_activation(fields: ConfigFields, default: str | None = None) -> str:
    """hidden_activation, as Gemma has it, or hidden_act."""
    key = "hidden_activation" if fields.has("hidden_activation") else "hidden_act"
    fields.has("hidden_act")
    return fields.word(key, default, ACTIVATIONS)


def write_decoder(graph: ModuleGraph, form: DecoderForm, asked: AskedShape) -> None:
    """Embedding, layers, norm and lm_head."""
    run = asked.decoder()
    with graph.module(form.module):
        value = form.embed(graph, run) if form.embed else embed_tokens(graph, form, run.batch, run.rows)
        if form.embedding_scale != 1.0:
            factor = graph.numbers("embed_tokens.embed_scale", form.embedding_scale, "float32")
            value = graph.add("Mul", "embed_tokens.scaled", value, factor)
        far = near = write_tables(graph, "rotary_emb", form.frequencies, run)
        if form.near_frequencies is not None:
            near = write_tables(graph, "rotary_emb_local", form.near_frequencies, run)
        for index, window in enumerate(form.windows):
            with graph.module(f"layers.{index}"):
                value = _layer(graph, form, run, value, index, near if window else far)
        value = graph.rms_norm("norm", value, form.epsilon)
    logits = write_head(graph, value, run, form.vocabulary, f"{form.module}.embed_tokens.weight" if form.tied else "")
    graph.output(_capped(graph, logits, form.final_softcap) if form.final_softcap else logits)


def embed_tokens(graph: ModuleGraph, form: DecoderForm, batch: int, rows: int) -> str:
    """Of tokens that are an input."""
    with graph.top():
        indices = graph.input("input_ids", (batch, rows), "int64")
    return graph.embedding("embed_tokens", indices, form.vocabulary, form.hidden)


def write_head(graph: ModuleGraph, value: str, run: RunShape, vocabulary: int, tied: str, name: str = "lm_head") -> str:
    """Logits of all rows or of the last; ``tied``: the table of embeddings that they are made with, '' for none."""
    if run.last_only and run.rows > 1:
        value = graph.cut(f"{name}.last", value, 1, run.rows - 1, run.rows)
    if not tied:
        return graph.linear(name, value, vocabulary)
    weights = graph.add("Transpose", f"{name}.tied", tied, perm=(1, 0))
    return graph.add("MatMul", name, value, weights)


def _capped(graph: ModuleGraph, logits: str, cap: float) -> str:
    """Logits within a cap: cap * tanh(logits / cap)."""
    parted = graph.add("Mul", "softcap.scale", logits, graph.numbers("softcap.inverse", 1 / cap, "float32"))
    shared = graph.add("Tanh", "softcap.tanh", parted)
    return graph.add("Mul", "softcap", shared, graph.numbers("softcap.number", cap, "float32"))


def _layer(graph: ModuleGraph, form: DecoderForm, run: RunShape, value: str, index: int, tables: RotaryTables) -> str:
    scores = AttentionForm(form.scale, form.softcap, form.windows[index])
    normed = graph.rms_norm("input_layernorm", value, form.epsilon)
    with graph.module("self_attn"):
        if form.attention is not None:
            attended = form.attention(graph, run, normed, tables)
        else:
            attended = _attention(graph, form, run, normed, scores, tables)
    if form.outer_norms:
        attended = graph.rms_norm("post_attention_layernorm", attended, form.epsilon)
    value = graph.add("Add", "self_attn.residual", value, attended)
    before = "pre_feedforward_layernorm" if form.outer_norms else "post_attention_layernorm"
    moved = form.feed_forward(graph, graph.rms_norm(before, value, form.epsilon), index)
    if form.outer_norms:
        moved = graph.rms_norm("post_feedforward_layernorm", moved, form.epsilon)
    return graph.add("Add", "mlp.residual", value, moved)


def _attention(
    graph: ModuleGraph, form: DecoderForm, run: RunShape, value: str, scores: AttentionForm, tables: RotaryTables
) -> str:
    query, key, new = _projected(graph, form, value)
    if form.head_norms:
        query, key = (graph.rms_norm(f"{part}_norm", each, form.epsilon) for part, each in (("q", query), ("k", key)))
    query, key = (rotate(graph, f"{part}_rotary", each, tables) for part, each in (("q", query), ("k", key)))
    if form.sinks:
        scores = replace(scores, sinks=graph.weight("sinks", form.heads))
    context = causal_attention(graph, "attn", run, query, key, new, scores)
    return graph.linear("o_proj", graph.joined_heads("attn_output", context), form.hidden, form.output_bias)


def _projected(graph: ModuleGraph, form: DecoderForm, value: str) -> tuple[str, str, str]:
    """Queries, keys and values by heads."""
    counts = {"q_proj": form.heads, "k_proj": form.shared, "v_proj": form.shared}
    if not form.is_joined:
        made = [graph.linear(name, value, count * form.width, form.input_bias) for name, count in counts.items()]
    else:
        every, made, start = graph.linear("qkv_proj", value, sum(counts.values()) * form.width), [], 0
        for name, count in counts.items():
            made.append(graph.cut(name, every, 2, start, start + count * form.width))
            start += count * form.width
    query, key, new = (graph.heads(name, each, count) for each, (name, count) in zip(made, counts.items(), strict=True))
    return query, key, new


def gated_block(inner: int, function: str, bias: bool = False) -> WriteFeedForward:
    """The gated feed-forward block of most families."""
    return lambda graph, value, _: feed_forward.gated(graph, "mlp", value, inner, function, bias)


def joined_block(inner: int, function: str) -> WriteFeedForward:
    """The gated block with gate and up side by side."""
    return lambda graph, value, _: feed_forward.gated_joined(graph, "mlp", value, inner, function)
