"""EfficientNet: inverted residuals whose channels are weighed by what is in all of the image (squeeze and excitation).

Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks", 2019: one family of sizes by two
coefficients. Fields and names are those of transformers' EfficientNetForImageClassification.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from archsim.frontend.configs.asked import AskedParameters
from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ACTIVATIONS, ModuleGraph
from archsim.frontend.convolutional.blocks import (
    MOST_BLOCKS,
    Convolution,
    Pads,
    classified,
    normed,
    read_labels,
    rounded_width,
)

STEM, LAST, STEM_KERNEL = 32, 1280, 3
STAGES = {  # what each stage reads and writes and so on, where a file states nothing
    "in_channels": [32, 16, 24, 40, 80, 112, 192],
    "out_channels": [16, 24, 40, 80, 112, 192, 320],
    "strides": [1, 2, 2, 2, 1, 2, 1],
    "kernel_sizes": [3, 3, 5, 3, 5, 5, 3],
    "expand_ratios": [1, 6, 6, 6, 6, 6, 6],
    "num_block_repeats": [1, 2, 2, 3, 3, 4, 1],
}
POOLS = {"mean": "GlobalAveragePool", "max": "GlobalMaxPool"}
LAYERS_EACH = 4  # by which transformers counts a block


@dataclass(frozen=True, slots=True)
class _Sizes:
    divisor: int
    coefficient: float
    squeezed: float
    function: str
    epsilon: float

    def width(self, channels: int) -> int:
        """Of so many channels of the smallest model."""
        return rounded_width(channels * self.coefficient, self.divisor, self.divisor)


@dataclass(frozen=True, slots=True)
class _Block:
    out: int
    stride: int
    kernel: int
    expansion: int
    first: bool  # of its stage: it has nothing to add to
    even: bool  # a stride of 2 has a pad less in front


def efficientnet(graph: ModuleGraph, fields: ConfigFields, asked: AskedParameters) -> None:
    """Stem, blocks, a convolution to the last width, and a classifier."""
    sizes = _Sizes(
        fields.size("depth_divisor", 8),
        fields.real("width_coefficient", 2.0, high=64.0),
        fields.real("squeeze_expansion_ratio", 0.25, high=64.0),
        fields.word("hidden_act", "swish", ACTIVATIONS),
        fields.real("batch_norm_eps", 0.001),
    )
    side, channels = fields.size("image_size", 600), fields.size("num_channels", 3)
    blocks, pool = _read_blocks(fields, sizes), POOLS[fields.word("pooling_type", "mean", POOLS)]
    last = sizes.width(LAST)
    if fields.size("hidden_dim", last) != last:
        fields.wrong("hidden_dim", f"{last}: width_coefficient and depth_divisor make so many of {LAST}")
    labels = read_labels(fields)
    value = graph.input("pixel_values", (asked.of_samples(), channels, side, side))
    with graph.module("efficientnet"):
        stem = Convolution(sizes.width(STEM), STEM_KERNEL, 2, _pads(STEM_KERNEL, 2, even=True))
        value = _normed(graph, sizes, value, stem, ("embeddings.convolution", "embeddings.batchnorm"))
        for number, block in enumerate(blocks):
            with graph.module(f"encoder.blocks.{number}"):
                value = _block(graph, sizes, block, value)
        value = _normed(graph, sizes, value, Convolution(last), ("encoder.top_conv", "encoder.top_bn"))
    graph.output(classified(graph, value, labels, pool))


def _read_blocks(fields: ConfigFields, sizes: _Sizes) -> list[_Block]:
    fields.assume(STAGES)
    stages = [fields.sizes(key, 1, MOST_BLOCKS * 64) for key in STAGES]
    for key, stated in zip(STAGES, stages, strict=True):
        if len(stated) != len(stages[0]) or not stated:
            fields.wrong(key, f"a number for each of the {len(stages[0])} stages of in_channels")
    if any(stride not in (1, 2) for stride in stages[2]):
        fields.wrong("strides", "1 and 2")
    _check_chain(fields, sizes, stages[0], stages[1])
    fields.only("num_hidden_layers", LAYERS_EACH * sum(stages[-1]), "it counts the parts of all num_block_repeats")
    coefficient = fields.real("depth_coefficient", 3.1, high=64.0)
    counts = [ceil(coefficient * count) for count in stages[-1]]
    if sum(counts) > MOST_BLOCKS:
        fields.wrong("num_block_repeats", f"no more than {MOST_BLOCKS} blocks, by depth_coefficient")
    uneven = fields.sizes("depthwise_padding") if fields.has("depthwise_padding") else ()
    found: list[_Block] = []
    for (_, out, stride, kernel, expansion, _), count in zip(zip(*stages, strict=True), counts, strict=True):
        for number in range(count):
            even = len(found) not in uneven
            found.append(_Block(sizes.width(out), 1 if number else stride, kernel, expansion, not number, even))
    return found


def _check_chain(fields: ConfigFields, sizes: _Sizes, before: tuple[int, ...], behind: tuple[int, ...]) -> None:
    """Refuse stages that do not read what the one before them writes."""
    if [sizes.width(size) for size in before] != [sizes.width(size) for size in (STEM, *behind[:-1])]:
        fields.wrong("in_channels", f"{STEM}, of the stem, and then out_channels of the stages before")


def _block(graph: ModuleGraph, sizes: _Sizes, block: _Block, value: str) -> str:
    """narrow(weigh(filter(widen(x)))), and x added in all blocks of a stage but its first."""
    channels = graph.shape(value)[1]
    wide, moved = channels * block.expansion, value
    if block.expansion != 1:
        names = "expansion.expand_conv", "expansion.expand_bn"
        moved = _normed(graph, sizes, moved, Convolution(wide), names)
    form = Convolution(wide, block.kernel, block.stride, _pads(block.kernel, block.stride, block.even), depthwise=True)
    moved = _normed(graph, sizes, moved, form, ("depthwise_conv.depthwise_conv", "depthwise_conv.depthwise_norm"))
    with graph.module("squeeze_excite"):
        moved = _weighed(graph, sizes, moved, max(1, int(channels * sizes.squeezed)))
    names = "projection.project_conv", "projection.project_bn"
    moved = normed(graph, moved, Convolution(block.out), names, sizes.epsilon)
    return moved if block.first or block.stride != 1 else graph.add("Add", "projection.residual", moved, value)


def _weighed(graph: ModuleGraph, sizes: _Sizes, value: str, narrow: int) -> str:
    """x * sigmoid(expand(activation(reduce(mean of x)))), by channel."""
    channels = graph.shape(value)[1]
    mean = graph.add("GlobalAveragePool", "squeeze", value)
    inner = graph.activation("act_reduce", _biased(graph, "reduce", mean, narrow), sizes.function)
    weights = graph.activation("act_expand", _biased(graph, "expand", inner, channels), "sigmoid")
    return graph.add("Mul", "weighed", value, weights)


def _biased(graph: ModuleGraph, name: str, value: str, out: int) -> str:
    """A convolution of one point, with a bias."""
    weights = graph.weight(f"{name}.weight", out, graph.shape(value)[1], 1, 1)
    return graph.add("Conv", name, value, weights, graph.weight(f"{name}.bias", out), kernel_shape=(1, 1))


def _normed(graph: ModuleGraph, sizes: _Sizes, value: str, form: Convolution, names: tuple[str, str]) -> str:
    return normed(graph, value, form, names, sizes.epsilon, sizes.function)


def _pads(kernel: int, stride: int, even: bool) -> Pads:
    """As many on all sides; of a stride of 2 one less in front where it is ``even``, as TensorFlow pads even sizes."""
    half = kernel // 2
    before = half - 1 if stride == 2 and even else half
    return before, before, half, half
