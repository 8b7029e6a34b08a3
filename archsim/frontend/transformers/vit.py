"""ViT: an image as patches with a token before them, an encoder, and a classifier on that token."""

from __future__ import annotations

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ACTIVATIONS, ModuleGraph
from archsim.frontend.transformers.encoder import EncoderForm, read_encoder, vit_layer
from archsim.frontend.transformers.run_shape import AskedShape

CLASSIFIER, PLAIN = "ViTForImageClassification", "ViTModel"


def vit(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Patches, layers, norm; a classifier, or the pooler of the plain model."""
    form, side, patch = read_encoder(fields), fields.size("image_size"), fields.size("patch_size")
    channels = fields.size("num_channels", 3)
    if side % patch:
        fields.wrong("patch_size", f"a divisor of {side}, image_size")
    fields.real("layer_norm_eps", 1e-12)
    named = fields.architecture(CLASSIFIER)
    if named not in (CLASSIFIER, PLAIN):
        fields.wrong("architectures", f"{CLASSIFIER}, {PLAIN}")
    pooler = fields.size("pooler_output_size", form.width), fields.word("pooler_act", "tanh", ACTIVATIONS)
    labels = fields.labels()
    batch = asked.of_samples()
    pixels = graph.input("pixel_values", (batch, channels, side, side))
    with graph.module("vit"):
        value = _embedded(graph, form, pixels, patch)
        for index in range(form.layers):
            with graph.module(f"encoder.layer.{index}"):
                value = vit_layer(graph, form, value)
        value = graph.layer_norm("layernorm", value, form.epsilon)
        first = graph.reshape("first", graph.cut("first_rows", value, 1, 0, 1), batch, form.width)
        if named == PLAIN:
            graph.output(value)
            pooled = graph.linear("pooler.dense", first, pooler[0], bias=True)
            graph.output(graph.activation("pooler.activation", pooled, pooler[1]))
            return
    graph.output(graph.linear("classifier", first, labels, bias=True))


def _embedded(graph: ModuleGraph, form: EncoderForm, pixels: str, patch: int) -> str:
    """The token of the class before the patches, with positions added."""
    batch, channels, side, _ = graph.shape(pixels)
    count = (side // patch) ** 2
    with graph.module("embeddings"):
        name = "patch_embeddings.projection"
        weights = graph.weight(f"{name}.weight", form.width, channels, patch, patch)
        parts = graph.add(
            "Conv", name, pixels, weights, graph.weight(f"{name}.bias", form.width),
            strides=(patch, patch), kernel_shape=(patch, patch),
        )  # fmt: skip
        flat = graph.reshape("patch_embeddings.flatten", parts, batch, form.width, count)
        rows = graph.add("Transpose", "patch_embeddings.transpose", flat, perm=(0, 2, 1))
        token = graph.add("Expand", "cls_tokens", graph.weight("cls_token", 1, 1, form.width),
                          graph.numbers("cls_tokens.shape", (batch, 1, form.width)))  # fmt: skip
        joined = graph.add("Concat", "joined", token, rows, axis=1)
        return graph.add("Add", "embedded", joined, graph.weight("position_embeddings", 1, count + 1, form.width))
