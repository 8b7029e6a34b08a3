"""Llama, Mistral, Qwen 2 and 3, Gemma 1 to 3, Phi-3: what each states in its config.json and does its own way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers.decoder import (
    FULL,
    MOST_LAYERS,
    SLIDING,
    DecoderForm,
    gated_block,
    joined_block,
    read_activation,
    read_heads,
    read_windows,
    write_decoder,
)
from archsim.frontend.transformers.rotary import (
    RotaryFrequencies,
    check_width,
    plain_frequencies,
    read_frequencies,
    scaling_fields,
    stated_frequencies,
)
from archsim.frontend.transformers.run_shape import AskedShape

OWN_HEADS = 0  # as many heads of keys and values as of queries, where a config states none


def read_form(fields: ConfigFields, shared: int | None = None, width: int | None = None, act: str = "silu",
              tied: bool = False, frequencies: RotaryFrequencies | None = None) -> DecoderForm:  # fmt: skip
    """What all of them state. Defaults of the family: ``shared`` heads of keys and values (None: it has to be stated),
    ``width`` of a head (None: hidden_size / heads), activation and whether lm_head is ``tied`` to the embedding.
    ``frequencies``: where the family reads them its own way."""
    fields.head("ForCausalLM")
    hidden, layers = fields.size("hidden_size"), fields.size("num_hidden_layers", high=MOST_LAYERS)
    heads, kept, width = read_heads(fields, hidden, shared, width)
    fields.has("max_position_embeddings")  # where training ended; rotary positions go on
    fields.has("rope_theta")
    return DecoderForm(
        hidden, layers, heads, kept, width,
        vocabulary=fields.size("vocab_size"),
        epsilon=fields.real("rms_norm_eps", 1e-6),
        frequencies=frequencies or read_frequencies(fields, width),
        tied=fields.flag("tie_word_embeddings", tied),
        feed_forward=gated_block(fields.size("intermediate_size"), read_activation(fields, act)),
        windows=(0,) * layers,
    )  # fmt: skip


def llama(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Llama 2, 3 and later ones of the type ``llama``."""
    write_decoder(graph, llama_form(fields), asked)


def llama_form(fields: ConfigFields) -> DecoderForm:
    """Of the type ``llama``."""
    form, bias = read_form(fields, OWN_HEADS), fields.flag("attention_bias", False)
    block = gated_block(
        fields.size("intermediate_size"), read_activation(fields, "silu"), fields.flag("mlp_bias", False)
    )
    fields.only("pretraining_tp", 1, "projections are not parted")
    return replace(form, input_bias=bias, output_bias=bias, feed_forward=block)


def mistral(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Every layer slides where a window is stated."""
    form = read_form(fields)
    windows = read_windows(fields, form.layers, (True,) * form.layers, needed=True)
    write_decoder(graph, replace(form, windows=windows), asked)


def qwen2(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Biases on queries, keys and values; windows only where use_sliding_window says so."""
    form = read_form(fields)
    fields.only("use_mrope", False, "rows have one position each")
    windows = qwen_windows(fields, form.layers, lambda index, most: index >= most)
    write_decoder(graph, replace(form, input_bias=True, windows=windows), asked)


def qwen3(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Norms of queries and keys by head."""
    form = qwen3_form(fields, 128)
    windows = qwen_windows(fields, form.layers, lambda index, most: index >= most)
    write_decoder(graph, replace(form, windows=windows), asked)


def qwen3_form(fields: ConfigFields, width: int | None) -> DecoderForm:
    """Of Qwen 3, with or without experts, but for windows; ``width`` of a head as of ``read_form``."""
    bias = fields.flag("attention_bias", False)
    return replace(read_form(fields, width=width), input_bias=bias, output_bias=bias, head_norms=True)


def gemma(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Embeddings are scaled by the root of their size and tied to lm_head."""
    form = read_form(fields, width=256, act="gelu_pytorch_tanh", tied=True)
    fields.only("use_bidirectional_attention", False, "rows see none behind them")
    bias = fields.flag("attention_bias", False)
    write_decoder(graph, replace(form, embedding_scale=form.hidden**0.5, input_bias=bias, output_bias=bias), asked)


def gemma2(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Norms before and behind each block, caps on scores and logits; every other layer slides, the first one too."""
    form = _gemma_form(fields, read_form(fields, width=256, act="gelu_pytorch_tanh", tied=True))
    slides = tuple(index % 2 == 0 for index in range(form.layers))
    write_decoder(graph, replace(form, windows=read_windows(fields, form.layers, slides, needed=True)), asked)


def gemma3(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """As Gemma 2, with norms of queries and keys; all but every sixth layer slide, and rotate by frequencies of their
    own."""
    far, near = _gemma3_frequencies(fields, fields.size("head_dim", 256))
    form = read_form(fields, width=256, act="gelu_pytorch_tanh", tied=True, frequencies=far)
    form = replace(_gemma_form(fields, form), head_norms=True, near_frequencies=near)
    every = fields.size("_sliding_window_pattern", fields.size("sliding_window_pattern", 6))
    slides = tuple((index + 1) % every > 0 for index in range(form.layers))
    write_decoder(graph, replace(form, windows=read_windows(fields, form.layers, slides, needed=True)), asked)


def _gemma_form(fields: ConfigFields, form: DecoderForm) -> DecoderForm:
    """What Gemma 2 and 3 state beside the others."""
    fields.only("use_bidirectional_attention", False, "rows see none behind them")
    bias = fields.flag("attention_bias", False)
    return replace(
        form,
        embedding_scale=form.hidden**0.5,
        input_bias=bias,
        output_bias=bias,
        scale=fields.real("query_pre_attn_scalar", 256.0) ** -0.5,
        softcap=fields.cap("attn_logit_softcapping"),
        final_softcap=fields.cap("final_logit_softcapping"),
        outer_norms=True,
    )


def _gemma3_frequencies(fields: ConfigFields, width: int) -> tuple[RotaryFrequencies, RotaryFrequencies]:
    """Of layers that see all rows and of those that slide: of one mapping each, as newer files have them, or by
    rope_theta with its scaling and by rope_local_base_freq without any."""
    stated = scaling_fields(fields)
    if stated is None or not stated.has(FULL):
        far = read_frequencies(fields, width, 1e6)
        return far, plain_frequencies(fields.real("rope_local_base_freq", 1e4), width)
    check_width(fields, width)
    parts = [(stated.inner(kind), theta) for kind, theta in ((FULL, 1e6), (SLIDING, 1e4))]
    stated.finish()
    far, near = (stated_frequencies(part, part, part.real("rope_theta", theta), width) for part, theta in parts)
    return far, near


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


def qwen_windows(fields: ConfigFields, layers: int, where: Callable[[int, int], bool]) -> tuple[int, ...]:
    """Where use_sliding_window says that any layer slides, those by layer_types, else ``where`` says so of its number
    and max_window_layers."""
    slides = fields.flag("use_sliding_window", False)
    most = fields.size("max_window_layers", 28, low=0)
    default = tuple(slides and where(index, most) for index in range(layers))
    windows = read_windows(fields, layers, default, needed=slides)
    return windows if slides else (0,) * layers
