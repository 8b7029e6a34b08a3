"""DiT: one step of a diffusion transformer.

Peebles and Xie, "Scalable Diffusion Models with Transformers", 2023. A noisy latent image goes in as patches; the time
of the step and the class are one row, from which each block makes the shift and the scale of its norms and what its
results are multiplied by ("adaLN-Zero"). Fields and names are those of the class ``DiT`` that its authors published,
with ``model_type`` beside them. Guidance runs two samples for an image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers import feed_forward
from archsim.frontend.transformers.attention import AttentionForm, full_attention
from archsim.frontend.transformers.decoder import MOST_HEADS, MOST_LAYERS
from archsim.frontend.transformers.run_shape import AskedShape

EPSILON = 1e-6  # of all norms
FREQUENCIES, SLOWEST = 128, 10000.0  # of the time's cosines and sines


@dataclass(frozen=True, slots=True)
class _Sizes:
    width: int
    heads: int
    inner: int
    patch: int
    out: int  # channels


def dit(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Patches, blocks, and the noise (and its variance) that is predicted for each pixel."""
    side, channels = fields.size("input_size"), fields.size("in_channels", 4)
    sizes = _read_sizes(fields, side, channels)
    depth, classes = fields.size("depth", high=MOST_LAYERS), fields.size("num_classes", 1000)
    if not fields.is_zero("class_dropout_prob"):
        fields.real("class_dropout_prob", 0.1, high=1.0)
        classes += 1  # one stands for no class, where training left some out
    batch = asked.of_samples()
    latent = graph.input("x", (batch, channels, side, side))
    condition = _condition(graph, sizes.width, batch, classes)
    value = _patches(graph, sizes, latent)
    for index in range(depth):
        with graph.module(f"blocks.{index}"):
            value = _block(graph, sizes, value, condition)
    graph.output(_image(graph, sizes, value, condition, side // sizes.patch))


def _read_sizes(fields: ConfigFields, side: int, channels: int) -> _Sizes:
    width, heads = fields.size("hidden_size"), fields.size("num_heads", high=MOST_HEADS)
    if width % heads:
        fields.wrong("num_heads", f"a divisor of {width}, hidden_size")
    patch = fields.size("patch_size")
    if side % patch:
        fields.wrong("patch_size", f"a divisor of {side}, input_size")
    both, inner = fields.flag("learn_sigma", True), int(width * fields.real("mlp_ratio", 4.0, high=64.0))
    if inner < 1:
        fields.wrong("mlp_ratio", f"a number that makes one or more of {width}, hidden_size")
    return _Sizes(width, heads, inner, patch, channels * (1 + both))


def _condition(graph: ModuleGraph, width: int, batch: int, classes: int) -> str:
    """(batch, hidden): time and class, behind the activation that each block begins with."""
    time, labels = graph.input("t", (batch, 1)), graph.input("y", (batch,), "int64")
    with graph.module("t_embedder"):
        inverse = SLOWEST ** (-np.arange(FREQUENCIES) / FREQUENCIES)
        angles = graph.add("Mul", "angles", time, graph.numbers("frequencies", inverse.reshape(1, -1), "float32"))
        waves = graph.add("Concat", "waves", graph.add("Cos", "cos", angles), graph.add("Sin", "sin", angles), axis=1)
        moved = feed_forward.plain(graph, waves, width, "silu", ("mlp.0", "mlp.1", "mlp.2"), out=width)
    kind = graph.embedding("y_embedder.embedding_table", labels, classes, width)
    return graph.activation("c.silu", graph.add("Add", "c", moved, kind), "silu")


def _patches(graph: ModuleGraph, sizes: _Sizes, latent: str) -> str:
    """(batch, rows, hidden), with positions, which are computed beforehand, added."""
    batch, channels, side, _ = graph.shape(latent)
    count, patch = (side // sizes.patch) ** 2, (sizes.patch, sizes.patch)
    weights = graph.weight("x_embedder.proj.weight", sizes.width, channels, *patch)
    bias = graph.weight("x_embedder.proj.bias", sizes.width)
    parts = graph.add("Conv", "x_embedder.proj", latent, weights, bias, strides=patch, kernel_shape=patch)
    flat = graph.reshape("x_embedder.flatten", parts, batch, sizes.width, count)
    rows = graph.add("Transpose", "x_embedder.transpose", flat, perm=(0, 2, 1))
    return graph.add("Add", "embedded", rows, graph.weight("pos_embed", 1, count, sizes.width))


def _block(graph: ModuleGraph, sizes: _Sizes, value: str, condition: str) -> str:
    """x + gate * attention(moved(norm(x))), then x + gate * feed_forward(moved(norm(x)))."""
    shift, scale, gate, mlp_shift, mlp_scale, mlp_gate = _made(graph, condition, 6)
    attended = _attention(graph, sizes, _moved(graph, "norm1", value, shift, scale))
    value = _gated(graph, "attn", value, attended, gate)
    normed = _moved(graph, "norm2", value, mlp_shift, mlp_scale)
    with graph.module("mlp"):
        fed = feed_forward.plain(graph, normed, sizes.inner, "gelu_pytorch_tanh", ("fc1", "act", "fc2"))
    return _gated(graph, "mlp", value, fed, mlp_gate)


def _made(graph: ModuleGraph, condition: str, count: int) -> list[str]:
    """(batch, 1, hidden) each: what is made of the condition."""
    batch, width = graph.shape(condition)
    every = graph.linear("adaLN_modulation.1", condition, count * width, bias=True)
    rows = graph.reshape("adaLN_modulation.rows", every, batch, 1, count * width)
    return [graph.cut(f"adaLN_modulation.{at}.cut", rows, 2, at * width, (at + 1) * width) for at in range(count)]


def _moved(graph: ModuleGraph, name: str, value: str, shift: str, scale: str) -> str:
    """norm(x) * (1 + scale) + shift; the norm has no weights of its own."""
    ones = graph.numbers(f"{name}.ones", np.ones(graph.shape(value)[-1]), "float32")
    normed = graph.add("LayerNormalization", name, value, ones, axis=-1, epsilon=EPSILON)
    factor = graph.add("Add", f"{name}.factor", scale, graph.numbers(f"{name}.one", 1.0, "float32"))
    return graph.add("Add", f"{name}.shifted", graph.add("Mul", f"{name}.scaled", normed, factor), shift)


def _gated(graph: ModuleGraph, name: str, value: str, made: str, gate: str) -> str:
    return graph.add("Add", f"{name}.residual", value, graph.add("Mul", f"{name}.gated", made, gate))


def _attention(graph: ModuleGraph, sizes: _Sizes, value: str) -> str:
    with graph.module("attn"):
        every = graph.linear("qkv", value, 3 * sizes.width, bias=True)
        query, key, new = (
            graph.heads(part, graph.cut(f"{part}.cut", every, 2, at * sizes.width, (at + 1) * sizes.width), sizes.heads)
            for at, part in enumerate(("q", "k", "v"))
        )
        context = full_attention(graph, "attn", query, key, new, AttentionForm())
        return graph.linear("proj", graph.joined_heads("attn_output", context), sizes.width, bias=True)


def _image(graph: ModuleGraph, sizes: _Sizes, value: str, condition: str, count: int) -> str:
    """(batch, channels, height, width) of ``count`` patches each way."""
    batch, patch = graph.shape(value)[0], sizes.patch
    with graph.module("final_layer"):
        shift, scale = _made(graph, condition, 2)
        moved = _moved(graph, "norm_final", value, shift, scale)
        pixels = graph.linear("linear", moved, patch * patch * sizes.out, bias=True)
    parted = graph.reshape("unpatchify.patches", pixels, batch, count, count, patch, patch, sizes.out)
    turned = graph.add("Transpose", "unpatchify.transpose", parted, perm=(0, 5, 1, 3, 2, 4))
    return graph.reshape("unpatchify", turned, batch, sizes.out, count * patch, count * patch)
