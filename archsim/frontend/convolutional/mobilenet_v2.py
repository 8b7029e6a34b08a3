"""MobileNetV2: inverted residuals, which widen, filter each channel by itself and narrow again.

Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018, table 2. Fields and names are those of
transformers' MobileNetV2ForImageClassification; the numbers of channels and the strides are no fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from archsim.frontend.configs.asked import AskedParameters
from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ACTIVATIONS, ModuleGraph
from archsim.frontend.convolutional.blocks import Convolution, Pads, classified, normed, read_labels, rounded_width

STEM, LAST = 32, 1280
CHANNELS = (16, 24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320)  # of the stem and of each block
STRIDES = (2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1)
KERNEL = 3
STEM_STRIDE = 2
OUTPUT_STRIDES = (2, 4, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class _Sizes:
    multiplier: float
    divisor: int
    least: int
    expansion: float
    tensorflow_pads: bool
    function: str
    epsilon: float

    def width(self, channels: int) -> int:
        """Of so many channels of the published table."""
        return rounded_width(int(round(channels * self.multiplier)), self.divisor, self.least)

    def wide(self, channels: int) -> int:
        """Channels between widening and narrowing."""
        return rounded_width(int(round(channels * self.expansion)), self.divisor, self.least)


def mobilenet_v2(graph: ModuleGraph, fields: ConfigFields, asked: AskedParameters) -> None:
    """Stem, blocks, a convolution to the last width, and a classifier."""
    sizes = _Sizes(
        fields.real("depth_multiplier", 1.0, high=16.0),
        fields.size("depth_divisible_by", 8),
        fields.size("min_depth", 8),
        fields.real("expand_ratio", 6.0, high=64.0),
        fields.flag("tf_padding", True),
        fields.word("hidden_act", "relu6", ACTIVATIONS),
        fields.real("layer_norm_eps", 0.001),
    )
    side, channels = fields.size("image_size", 224), fields.size("num_channels", 3)
    stem, fine = fields.flag("first_layer_is_expansion", True), fields.flag("finegrained_output", True)
    last = LAST if fine and sizes.multiplier < 1.0 else sizes.width(LAST)
    labels, steps = read_labels(fields), tuple(_strides(_output_stride(fields)))
    value = graph.input("pixel_values", (asked.of_samples(), channels, side, side))
    with graph.module("mobilenet_v2"):
        value = _stem(graph, sizes, value, stem)
        for number, ((stride, dilation), out) in enumerate(zip(steps, CHANNELS[1:], strict=True)):
            with graph.module(f"layer.{number}"):
                value = _residual(graph, sizes, value, sizes.width(out), stride, dilation)
        value = _convolution(graph, sizes, "conv_1x1", value, Convolution(last))
    graph.output(classified(graph, value, labels))


def _output_stride(fields: ConfigFields) -> int:
    found = fields.size("output_stride", OUTPUT_STRIDES[-1])
    return found if found in OUTPUT_STRIDES else fields.wrong("output_stride", ", ".join(map(str, OUTPUT_STRIDES)))


def _strides(most: int) -> Iterator[tuple[int, int]]:
    """(stride, dilation) of each block; from a stride of ``most`` of the whole on, filters spread instead."""
    whole, dilation = STEM_STRIDE, 1
    for stride in STRIDES:
        if whole == most:
            yield 1, dilation
            dilation *= stride
        else:
            yield stride, 1
            whole *= stride


def _stem(graph: ModuleGraph, sizes: _Sizes, value: str, expands: bool) -> str:
    """``expands``: the first convolution is the widening one of the first block."""
    with graph.module("conv_stem"):
        wide = sizes.width(STEM)
        value = _filtered(graph, sizes, "first_conv", value, Convolution(wide, KERNEL, STEM_STRIDE))
        if not expands:
            value = _convolution(graph, sizes, "expand_1x1", value, Convolution(wide))
        value = _filtered(graph, sizes, "conv_3x3", value, Convolution(wide, KERNEL, depthwise=True))
        return _convolution(graph, sizes, "reduce_1x1", value, Convolution(sizes.width(CHANNELS[0])), False)


def _residual(graph: ModuleGraph, sizes: _Sizes, value: str, out: int, stride: int, dilation: int) -> str:
    """narrow(filter(widen(x))), and x added where it has the same shape."""
    before = graph.shape(value)[1]
    wide = sizes.wide(before)
    moved = _convolution(graph, sizes, "expand_1x1", value, Convolution(wide))
    form = Convolution(wide, KERNEL, stride, dilation=dilation, depthwise=True)
    moved = _filtered(graph, sizes, "conv_3x3", moved, form)
    moved = _convolution(graph, sizes, "reduce_1x1", moved, Convolution(out), False)
    return graph.add("Add", "residual", value, moved) if stride == 1 and before == out else moved


def _filtered(graph: ModuleGraph, sizes: _Sizes, name: str, value: str, form: Convolution) -> str:
    """A convolution with pads."""
    pads = _pads(graph.shape(value)[2], form) if sizes.tensorflow_pads else (form.kernel // 2 * form.dilation,) * 4
    padded = Convolution(form.out, form.kernel, form.stride, pads, form.dilation, form.depthwise)
    return _convolution(graph, sizes, name, value, padded)


def _pads(size: int, form: Convolution) -> Pads:
    """As TensorFlow pads: as few as let every stride begin within the image, the odd one behind."""
    whole = max(form.kernel - (size % form.stride or form.stride), 0)
    before, behind = whole // 2 * form.dilation, (whole - whole // 2) * form.dilation
    return before, before, behind, behind


def _convolution(
    graph: ModuleGraph, sizes: _Sizes, name: str, value: str, form: Convolution, active: bool = True
) -> str:
    names = f"{name}.convolution", f"{name}.normalization"
    return normed(graph, value, form, names, sizes.epsilon, sizes.function if active else "")
