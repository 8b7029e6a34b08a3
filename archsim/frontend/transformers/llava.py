"""LLaVA: an image goes through the encoder of CLIP and a projector, and stands before the words that a Llama reads.

Liu et al., "Improved Baselines with Visual Instruction Tuning", 2024. Each sample has one image, whose rows are the
first of its prompt; decode reads their keys and values like any other's. ``vision_feature_layer`` says behind which of
the encoder's layers its rows are taken; those further on are not run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ACTIVATIONS, ModuleGraph
from archsim.frontend.transformers import feed_forward
from archsim.frontend.transformers.attention import AttentionForm, full_attention
from archsim.frontend.transformers.decoder import DecoderForm, embed_tokens, write_decoder
from archsim.frontend.transformers.encoder import EncoderForm, read_encoder
from archsim.frontend.transformers.llama import llama_form
from archsim.frontend.transformers.run_shape import DECODE, AskedShape, RunShape

LLAMA = {  # sizes of transformers' LlamaConfig, for files that state none of these, as those of LLaVA 1.5
    "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
}  # fmt: skip
SECOND_LAST = -2  # of hidden states, the first of which is the embedding's


@dataclass(frozen=True, slots=True)
class _Vision:
    """The encoder, of as many layers as are run, and the projector."""

    encoder: EncoderForm
    side: int
    patch: int
    channels: int
    with_class: bool
    projector: str
    projector_bias: bool

    @property
    def patches(self) -> int:
        return (self.side // self.patch) ** 2

    @property
    def rows(self) -> int:
        """Of the language model."""
        return self.patches + self.with_class


def llava(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """The image is run with the prompt alone."""
    fields.head("ForConditionalGeneration")
    text = fields.inner("text_config")
    if not any(text.has(key) for key in LLAMA):
        text.assume(LLAMA)
    text.assume({"model_type": "llama"})
    text.word("model_type", None, ("llama",))
    text.of_a_model(False)
    text.only("add_cross_attention", False, "words see words alone")
    form, vision = llama_form(text), _read_vision(fields)
    text.finish()
    fields.flag("tie_word_embeddings", form.tied)  # text_config says so
    fields.only("image_seq_length", vision.rows, "one row for each patch")
    for key in ("image_token_index", "image_token_id", "ignore_index", "pad_to_multiple_of"):
        fields.has(key)  # which tokens stand for the image

    def embed(graph: ModuleGraph, run: RunShape) -> str:
        return _embedded(graph, form, vision, run, asked)

    write_decoder(graph, replace(form, embed=embed, module="model.language_model"), asked)


def _read_vision(fields: ConfigFields) -> _Vision:
    found = fields.inner("vision_config")
    found.word("model_type", "clip_vision_model", ("clip_vision_model",))
    found.of_a_model(False)
    found.only("add_cross_attention", False, "patches see patches alone")
    found.has("tie_word_embeddings")  # of nothing: the encoder has no tokens
    found.assume({"hidden_act": "quick_gelu", "layer_norm_eps": 1e-5})
    found.only("qkv_bias", True, "projections of CLIP have biases")
    encoder = read_encoder(found)
    side, patch = found.size("image_size"), found.size("patch_size")
    if side % patch:
        found.wrong("patch_size", f"a divisor of {side}, image_size")
    for key in ("projection_dim", "vocab_size"):
        found.has(key)  # of CLIP as a whole
    strategy = fields.word("vision_feature_select_strategy", "default", ("default", "full"))
    vision = _Vision(
        replace(encoder, layers=_layers(fields, encoder.layers)),
        side,
        patch,
        found.size("num_channels", 3),
        strategy == "full",
        fields.word("projector_hidden_act", "gelu", ACTIVATIONS),
        fields.flag("multimodal_projector_bias", True),
    )
    found.finish()
    return vision


def _layers(fields: ConfigFields, every: int) -> int:
    taken = fields.integer("vision_feature_layer", SECOND_LAST, -every - 1, every)
    return taken if taken >= 0 else every + 1 + taken


def _embedded(graph: ModuleGraph, form: DecoderForm, vision: _Vision, run: RunShape, asked: AskedShape) -> str:
    """Rows of the image, and behind them those of words; in decode words alone."""
    if run.phase == DECODE:
        if run.past < vision.rows:
            asked.fail("prompt", f"found {run.past} older rows; an image takes {vision.rows} of them")
        return embed_tokens(graph, form, run.batch, run.rows)
    if run.rows <= vision.rows:
        asked.fail("prompt", f"found {run.rows}; an image takes {vision.rows} rows, and words come behind it")
    with graph.top(), graph.module("model"):
        with graph.module("vision_tower.vision_model"):
            value = _encoded(graph, vision, run.batch)
        image = value if vision.with_class else graph.cut("image_rows", value, 1, 1, 1 + vision.patches)
        names = ("linear_1", "act", "linear_2")
        with graph.module("multi_modal_projector"):
            image = feed_forward.plain(
                graph, image, form.hidden, vision.projector, names, form.hidden, vision.projector_bias
            )
    words = embed_tokens(graph, form, run.batch, run.rows - vision.rows)
    return graph.add("Concat", "image_and_words", image, words, axis=1)


def _encoded(graph: ModuleGraph, vision: _Vision, batch: int) -> str:
    """(batch, 1 + patches, elements)."""
    with graph.top():
        pixels = graph.input("pixel_values", (batch, vision.channels, vision.side, vision.side))
    form = vision.encoder
    size, count, name = (vision.patch, vision.patch), vision.patches, "embeddings.patch_embedding"
    weights = graph.weight(f"{name}.weight", form.width, vision.channels, *size)
    parts = graph.add("Conv", name, pixels, weights, strides=size, kernel_shape=size)
    flat = graph.reshape(f"{name}.flatten", parts, batch, form.width, count)
    rows = graph.add("Transpose", f"{name}.transpose", flat, perm=(0, 2, 1))
    sizes = graph.numbers("embeddings.class.shape", (batch, 1, form.width))
    token = graph.add("Expand", "embeddings.class", graph.weight("embeddings.class_embedding", 1, 1, form.width), sizes)
    joined = graph.add("Concat", "embeddings.joined", token, rows, axis=1)
    positions = graph.weight("embeddings.position_embedding.weight", 1, count + 1, form.width)
    value = graph.add("Add", "embeddings.added", joined, positions)
    value = graph.layer_norm("pre_layrnorm", value, form.epsilon)
    for index in range(form.layers):
        with graph.module(f"encoder.layers.{index}"):
            value = _layer(graph, form, value)
    return value


def _layer(graph: ModuleGraph, form: EncoderForm, value: str) -> str:
    normed = graph.layer_norm("layer_norm1", value, form.epsilon)
    with graph.module("self_attn"):
        query, key, new = (
            graph.heads(part, graph.linear(f"{part}_proj", normed, form.width, bias=True), form.heads)
            for part in ("q", "k", "v")
        )
        context = full_attention(graph, "attn", query, key, new, AttentionForm())
        made = graph.linear("out_proj", graph.joined_heads("attn_output", context), form.width, bias=True)
    value = graph.add("Add", "self_attn.residual", value, made)
    normed = graph.layer_norm("layer_norm2", value, form.epsilon)
    with graph.module("mlp"):
        made = feed_forward.plain(graph, normed, form.inner, form.function, ("fc1", "activation_fn", "fc2"))
    return graph.add("Add", "mlp.residual", value, made)
