"""Llama, Mistral, Qwen 2 and 3, Gemma 1 and 2, Phi-3: what each states in its config.json and does its own way."""

from __future__ import annotations

from dataclasses import replace

from archsim.frontend.transformers.decoder import (
    MOST_LAYERS,
    DecoderForm,
    gated_block,
    joined_block,
    read_activation,
    read_heads,
    read_windows,
    write_decoder,
)
from archsim.frontend.transformers.fields import ConfigFields
from archsim.frontend.transformers.module_graph import ModuleGraph
from archsim.frontend.transformers.rotary import read_frequencies
from archsim.frontend.transformers.run_shape import AskedShape

OWN_HEADS = 0  # as many heads of keys and values as of queries, where a config states none


def read_form(fields: ConfigFields, shared: int | None = None, width: int | None = None, act: str = "silu",
              tied: bool = False) -> DecoderForm:  # fmt: skip
    """What all of them state. Defaults of the family: ``shared`` heads of keys and values (None: it has to be stated),
    ``width`` of a head (None: hidden_size / heads), activation and whether lm_head is ``tied`` to the embedding."""
    fields.head("ForCausalLM")
    hidden, layers = fields.size("hidden_size"), fields.size("num_hidden_layers", high=MOST_LAYERS)
    heads, kept, width = read_heads(fields, hidden, shared, width)
    fields.has("max_position_embeddings")  # where training ended; rotary positions go on
    fields.has("rope_theta")
    return DecoderForm(
        hidden, layers, heads, kept, width,
        vocabulary=fields.size("vocab_size"),
        epsilon=fields.real("rms_norm_eps", 1e-6),
        frequencies=read_frequencies(fields, width),
        tied=fields.flag("tie_word_embeddings", tied),
        feed_forward=gated_block(fields.size("intermediate_size"), read_activation(fields, act)),
        windows=(0,) * layers,
    )  # fmt: skip


def llama(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Llama 2, 3 and later ones of the type ``llama``."""
    form, bias = read_form(fields, OWN_HEADS), fields.flag("attention_bias", False)
    block = gated_block(
        fields.size("intermediate_size"), read_activation(fields, "silu"), fields.flag("mlp_bias", False)
    )
    fields.only("pretraining_tp", 1, "projections are not parted")
    write_decoder(graph, replace(form, input_bias=bias, output_bias=bias, feed_forward=block), asked)


def mistral(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Every layer slides where a window is stated."""
    form = read_form(fields)
    windows = read_windows(fields, form.layers, (True,) * form.layers, needed=True)
    write_decoder(graph, replace(form, windows=windows), asked)


def qwen2(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Biases on queries, keys and values; windows only where use_sliding_window says so."""
    form = read_form(fields)
    fields.only("use_mrope", False, "rows have one position each")
    write_decoder(graph, replace(form, input_bias=True, windows=_qwen_windows(fields, form.layers)), asked)


def qwen3(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Norms of queries and keys by head."""
    write_decoder(graph, qwen3_form(fields, fields.size("num_hidden_layers", high=MOST_LAYERS), 128), asked)


def qwen3_form(fields: ConfigFields, layers: int, width: int | None) -> DecoderForm:
    """Of Qwen 3, with or without experts; ``width`` of a head as of ``read_form``."""
    bias = fields.flag("attention_bias", False)
    form = replace(read_form(fields, width=width), input_bias=bias, output_bias=bias, head_norms=True)
    return replace(form, windows=_qwen_windows(fields, layers))


def gemma(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Embeddings are scaled by the root of their size and tied to lm_head."""
    form = read_form(fields, width=256, act="gelu_pytorch_tanh", tied=True)
    fields.only("use_bidirectional_attention", False, "rows see none behind them")
    bias = fields.flag("attention_bias", False)
    write_decoder(graph, replace(form, embedding_scale=form.hidden**0.5, input_bias=bias, output_bias=bias), asked)


def gemma2(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Norms before and behind each block, caps on scores and logits; every other layer slides, the first one too."""
    form = read_form(fields, width=256, act="gelu_pytorch_tanh", tied=True)
    fields.only("use_bidirectional_attention", False, "rows see none behind them")
    bias = fields.flag("attention_bias", False)
    slides = tuple(index % 2 == 0 for index in range(form.layers))
    found = replace(
        form,
        embedding_scale=form.hidden**0.5,
        input_bias=bias,
        output_bias=bias,
        scale=fields.real("query_pre_attn_scalar", float(form.width)) ** -0.5,
        softcap=fields.cap("attn_logit_softcapping"),
        final_softcap=fields.cap("final_logit_softcapping"),
        outer_norms=True,
        windows=read_windows(fields, form.layers, slides, needed=True),
    )
    write_decoder(graph, found, asked)


def phi3(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Queries, keys and values by one projection, gate and up by another."""
    form, bias = read_form(fields, OWN_HEADS), fields.flag("attention_bias", False)
    if bias:
        fields.wrong("attention_bias", "false: the joined projection has none")
    fields.only("partial_rotary_factor", 1.0, "heads are rotated whole")
    fields.has("original_max_position_embeddings")  # of a scaling that is refused
    block = joined_block(fields.size("intermediate_size"), read_activation(fields, "silu"))
    windows = read_windows(fields, form.layers, (True,) * form.layers)
    write_decoder(graph, replace(form, is_joined=True, feed_forward=block, windows=windows), asked)


def _qwen_windows(fields: ConfigFields, layers: int) -> tuple[int, ...]:
    slides = fields.flag("use_sliding_window", False)
    first = fields.size("max_window_layers", 28, low=0)
    default = tuple(slides and index >= first for index in range(layers))
    windows = read_windows(fields, layers, default, needed=slides)
    return windows if slides else (0,) * layers
