"""What convolutional classifiers have in common: convolutions with a normalisation behind, widths, and the end."""

from __future__ import annotations

from dataclasses import dataclass

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ModuleGraph

MOST_BLOCKS = 1024
Pads = tuple[int, int, int, int]  # before rows, before columns, behind rows, behind columns


@dataclass(frozen=True, slots=True)
class Convolution:
    """A square convolution without bias: ``out`` channels; ``depthwise``: each channel by itself."""

    out: int
    kernel: int = 1
    stride: int = 1
    pads: Pads = (0, 0, 0, 0)
    dilation: int = 1
    depthwise: bool = False


def normed(
    graph: ModuleGraph, value: str, form: Convolution, names: tuple[str, str], epsilon: float, function: str = ""
) -> str:
    """A convolution, a batch normalisation (``names`` of both) and an activation behind it, where one is named."""
    channels = graph.shape(value)[1]
    side, each = (form.kernel, form.kernel), 1 if form.depthwise else channels
    conv = graph.add(
        "Conv", names[0], value, graph.weight(f"{names[0]}.weight", form.out, each, *side),
        kernel_shape=side, strides=(form.stride, form.stride), pads=form.pads,
        dilations=(form.dilation, form.dilation), group=channels if form.depthwise else 1,
    )  # fmt: skip
    numbers = (graph.weight(f"{names[1]}.{key}", form.out) for key in ("weight", "bias", "running_mean", "running_var"))
    found = graph.add("BatchNormalization", names[1], conv, *numbers, epsilon=epsilon)
    return graph.activation(f"{names[1]}.{function}", found, function) if function else found


def rounded_width(channels: float, divisor: int, least: int) -> int:
    """The multiple of ``divisor`` that is nearest to a number of channels, at least ``least``, and one more where that
    takes more than a tenth away (Howard et al., 2017, and the code of MobileNet's and EfficientNet's authors)."""
    found = max(least, int(channels + divisor / 2) // divisor * divisor)
    return found + divisor if found < 0.9 * channels else found


def read_labels(fields: ConfigFields) -> int:
    """How many classes a classifier has; the class of the weights has to be one."""
    fields.head("ForImageClassification")
    return fields.labels()


def classified(graph: ModuleGraph, value: str, labels: int, pool: str = "GlobalAveragePool") -> str:
    """(batch, labels), of the mean (or what ``pool`` says) of each channel."""
    batch, channels = graph.shape(value)[:2]
    pooled = graph.reshape("pooled", graph.add(pool, "pooler", value), batch, channels)
    return graph.linear("classifier", pooled, labels, bias=True)
