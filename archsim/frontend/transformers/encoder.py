"""Layers in which every row sees every other one: of BERT (norms behind each block) and ViT (norms before it)."""

from __future__ import annotations

from dataclasses import dataclass

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ACTIVATIONS, ModuleGraph
from archsim.frontend.transformers.attention import AttentionForm, full_attention
from archsim.frontend.transformers.decoder import MOST_HEADS, MOST_LAYERS


@dataclass(frozen=True, slots=True)
class EncoderForm:
    """Sizes that BERT, ViT and CLIP state alike."""

    width: int
    layers: int
    heads: int
    inner: int
    function: str
    epsilon: float
    input_bias: bool = True


def read_encoder(fields: ConfigFields) -> EncoderForm:
    """Of a config.json."""
    width, heads = fields.size("hidden_size"), fields.size("num_attention_heads", high=MOST_HEADS)
    if width % heads:
        fields.wrong("num_attention_heads", f"a divisor of {width}, hidden_size")
    return EncoderForm(
        width,
        fields.size("num_hidden_layers", high=MOST_LAYERS),
        heads,
        fields.size("intermediate_size"),
        fields.word("hidden_act", "gelu", ACTIVATIONS),
        fields.real("layer_norm_eps", 1e-12),
        fields.flag("qkv_bias", True),
    )


def bert_layer(graph: ModuleGraph, form: EncoderForm, value: str) -> str:
    """norm(x + attention(x)), then norm(x + feed_forward(x))."""
    attended = _attention(graph, form, value)
    joined = graph.add("Add", "attention.output.residual", value, attended)
    value = graph.layer_norm("attention.output.LayerNorm", joined, form.epsilon)
    joined = graph.add("Add", "output.residual", value, _feed_forward(graph, form, value))
    return graph.layer_norm("output.LayerNorm", joined, form.epsilon)


def vit_layer(graph: ModuleGraph, form: EncoderForm, value: str) -> str:
    """x + attention(norm(x)), then x + feed_forward(norm(x))."""
    attended = _attention(graph, form, graph.layer_norm("layernorm_before", value, form.epsilon))
    value = graph.add("Add", "attention.output.residual", value, attended)
    moved = _feed_forward(graph, form, graph.layer_norm("layernorm_after", value, form.epsilon))
    return graph.add("Add", "output.residual", value, moved)


def _attention(graph: ModuleGraph, form: EncoderForm, value: str) -> str:
    with graph.module("attention"):
        with graph.module("self"):
            query, key, new = (
                graph.heads(part, graph.linear(part, value, form.width, form.input_bias), form.heads)
                for part in ("query", "key", "value")
            )
            context = full_attention(graph, "attn", query, key, new, AttentionForm())
            joined = graph.joined_heads("context", context)
        return graph.linear("output.dense", joined, form.width, bias=True)


def _feed_forward(graph: ModuleGraph, form: EncoderForm, value: str) -> str:
    inner = graph.linear("intermediate.dense", value, form.inner, bias=True)
    opened = graph.activation("intermediate.intermediate_act_fn", inner, form.function)
    return graph.linear("output.dense", opened, form.width, bias=True)
