"""Swin: rows of an image attend to those of their window, and windows shift by half from layer to layer.

Liu et al., "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows", 2021. Fields and names are those
of transformers' SwinForImageClassification. Between stages four neighbours become one row of twice the width.
"""

from __future__ import annotations

from dataclasses import dataclass

from archsim.frontend.configs.asked import AskedParameters
from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ACTIVATIONS, ModuleGraph
from archsim.frontend.transformers import feed_forward
from archsim.frontend.transformers.decoder import MOST_HEADS, MOST_LAYERS
from archsim.frontend.transformers.windows import Windows, from_windows, to_windows, window_attention

EMBEDDING_EPSILON = 1e-5  # of the norms that torch gives its own one
MOST_WINDOW = 64  # rows of a window each way; every two of its places have a stored distance
DEFAULTS = {"embed_dim": 96, "depths": [2, 2, 6, 2], "num_heads": [3, 6, 12, 24]}  # where a file states nothing


@dataclass(frozen=True, slots=True)
class _Sizes:
    window: int
    ratio: float
    bias: bool
    function: str
    epsilon: float


def swin(graph: ModuleGraph, fields: ConfigFields, asked: AskedParameters) -> None:
    """Patches, stages, norm, and a classifier on the mean of all rows."""
    fields.assume(DEFAULTS)
    sizes = _Sizes(
        fields.size("window_size", 7, high=MOST_WINDOW),
        fields.real("mlp_ratio", 4.0, high=64.0),
        fields.flag("qkv_bias", True),
        fields.word("hidden_act", "gelu", ACTIVATIONS),
        fields.real("layer_norm_eps", 1e-5),
    )
    side, patch, width = fields.size("image_size", 224), fields.size("patch_size", 4), fields.size("embed_dim")
    if side % patch:
        fields.wrong("patch_size", f"a divisor of {side}, image_size")
    stages = _read_stages(fields, width)
    _check_windows(fields, sizes, side // patch, len(stages))
    positions, channels = fields.flag("use_absolute_embeddings", False), fields.size("num_channels", 3)
    fields.head("ForImageClassification")
    labels = fields.labels()
    pixels = graph.input("pixel_values", (asked.of_samples(), channels, side, side))
    with graph.module("swin"):
        value = _embedded(graph, pixels, patch, width, positions)
        for number, (depth, heads) in enumerate(stages):
            with graph.module(f"encoder.layers.{number}"):
                for index in range(depth):
                    with graph.module(f"blocks.{index}"):
                        value = _block(graph, sizes, heads, value, shifted=index % 2 == 1)
                if number + 1 < len(stages):
                    value = _merged(graph, value)
        value = graph.layer_norm("layernorm", _rows(graph, "rows", value), sizes.epsilon)
        mean = graph.add("ReduceMean", "pooler", value, graph.numbers("pooler.axes", (1,)), keepdims=0)
    graph.output(graph.linear("classifier", mean, labels, bias=True))


def _read_stages(fields: ConfigFields, width: int) -> list[tuple[int, int]]:
    """(blocks, heads) of each stage."""
    depths, heads = fields.sizes("depths", 1, MOST_LAYERS), fields.sizes("num_heads", 1, MOST_HEADS)
    if not 1 <= len(depths) <= 8:
        fields.wrong("depths", "blocks of 1 to 8 stages")
    if len(heads) != len(depths) or any(width * 2**number % each for number, each in enumerate(heads)):
        fields.wrong("num_heads", f"divisors of {width}, embed_dim, and of its doubles, one for each of depths")
    fields.only("hidden_size", width * 2 ** (len(depths) - 1), "embed_dim doubles behind each of depths but the last")
    fields.only("num_layers", len(depths), "so many are in depths")
    return list(zip(depths, heads, strict=True))


def _check_windows(fields: ConfigFields, sizes: _Sizes, count: int, stages: int) -> None:
    """Refuse a stage of an image that is smaller than a window: its biases would be of another size."""
    for _ in range(stages):
        if count < sizes.window:
            fields.wrong("window_size", f"at most {count}: the smallest stage has so many rows")
        count = -(-count // 2)


def _embedded(graph: ModuleGraph, pixels: str, patch: int, width: int, positions: bool) -> str:
    """(batch, rows, columns, elements) of patches."""
    batch, channels, side, _ = graph.shape(pixels)
    each, count = (patch, patch), side // patch
    with graph.module("embeddings"):
        name = "patch_embeddings.projection"
        weights, bias = graph.weight(f"{name}.weight", width, channels, *each), graph.weight(f"{name}.bias", width)
        parts = graph.add("Conv", name, pixels, weights, bias, strides=each, kernel_shape=each)
        value = graph.add("Transpose", "patch_embeddings.transpose", parts, perm=(0, 2, 3, 1))
        value = graph.layer_norm("norm", value, EMBEDDING_EPSILON)
        if not positions:
            return value
        table = graph.weight("position_embeddings", 1, count * count, width)
        return graph.add("Add", "embedded", value, graph.reshape("positions", table, 1, count, count, width))


def _rows(graph: ModuleGraph, name: str, value: str) -> str:
    batch, rows, columns, width = graph.shape(value)
    return graph.reshape(name, value, batch, rows * columns, width)


def _block(graph: ModuleGraph, sizes: _Sizes, heads: int, value: str, shifted: bool) -> str:
    """x + attention(norm(x)), within windows, then x + feed_forward(norm(x))."""
    _, rows, _, width = graph.shape(value)
    windows = Windows(sizes.window, sizes.window // 2 if shifted and rows > sizes.window else 0)
    within = to_windows(graph, windows, graph.layer_norm("layernorm_before", value, sizes.epsilon))
    attended = window_attention(graph, windows, heads, sizes.bias, within, rows)
    value = graph.add("Add", "attention.residual", value, from_windows(graph, windows, attended, rows))
    normed = graph.layer_norm("layernorm_after", value, sizes.epsilon)
    names = "intermediate.dense", "intermediate.intermediate_act_fn", "output.dense"
    moved = feed_forward.plain(graph, normed, int(sizes.ratio * width), sizes.function, names)
    return graph.add("Add", "output.residual", value, moved)


def _merged(graph: ModuleGraph, value: str) -> str:
    """Four neighbours side by side, normed, and brought to twice the width."""
    with graph.module("downsample"):
        _, rows, columns, width = graph.shape(value)
        if rows % 2 or columns % 2:
            pads = graph.numbers("pads", (0, 0, 0, 0, 0, rows % 2, columns % 2, 0))
            value = graph.add("Pad", "padded", value, pads)
        parts = [
            graph.every_other(f"part_{row}{column}", value, (1, 2), (row, column), 2)
            for column in (0, 1) for row in (0, 1)
        ]  # fmt: skip
        joined = graph.add("Concat", "joined", *parts, axis=3)
        return graph.linear("reduction", graph.layer_norm("norm", joined, EMBEDDING_EPSILON), 2 * width)
