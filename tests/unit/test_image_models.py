"""Models of images from a config.json: counts of the published ones, numbers against PyTorch, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from archsim.base.errors import ConfigError, ModelError
from archsim.frontend.config_models import read_model
from archsim.frontend.convolutional.families import FAMILIES
from archsim.frontend.load import load_model
from archsim.graph.lowering.lower import lower_graph
from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants, inputs_of
from archsim.ir.graph import Array, Graph
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from tests.tools import small_transformers
from tests.tools.small_images import SMALL, written

MOBILENET = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
EFFICIENT = [(1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 3, 2), (6, 5, 112, 3, 1),
             (6, 5, 192, 4, 2), (6, 3, 320, 1, 1)]  # fmt: skip
# (t, c, n, s) of table 2 of MobileNetV2; (t, kernel, c, n, s) of table 1 of EfficientNet


def test_each_family_has_a_small_one() -> None:
    assert SMALL.keys() == FAMILIES.keys()


def test_mobilenet_v2() -> None:
    """By the table of its paper: widen, filter, narrow, at each stage's size."""
    side, before, macs, parameters = 112, 32, 112 * 112 * 27 * 32, 27 * 32 + 64
    for widening, channels, count, stride in MOBILENET:
        for number in range(count):
            wide, step = before * widening, stride if number == 0 else 1
            macs += (side * side * before * wide) * (widening > 1)
            side //= step
            macs += side * side * (9 * wide + wide * channels)
            parameters += (before * wide + 2 * wide) * (widening > 1) + 9 * wide + wide * channels
            parameters += 2 * (wide + channels)
            before = channels
    macs += 49 * 320 * 1280 + 1280 * 1000
    parameters += 320 * 1280 + 2 * 1280 + 1281 * 1000
    found = load_model("mobilenet_v2")
    assert found.macs == macs == 300_774_272  # published: 300 M
    assert found.parameters == parameters == 3_504_872  # as torchvision counts it


def test_efficientnet_b0() -> None:
    """By the table of its paper; what weighs channels is a quarter of a block's input wide."""
    side, before, macs, parameters = 112, 32, 112 * 112 * 27 * 32, 27 * 32 + 64
    for widening, kernel, channels, count, stride in EFFICIENT:
        for number in range(count):
            wide, narrow, step = before * widening, max(1, before // 4), stride if number == 0 else 1
            macs += (side * side * before * wide) * (widening > 1)
            side //= step
            macs += side * side * (kernel**2 * wide + wide * channels) + 2 * wide * narrow
            parameters += (before * wide + 2 * wide) * (widening > 1) + kernel**2 * wide + wide * channels
            parameters += 2 * (wide + channels) + 2 * wide * narrow + wide + narrow
            before = channels
    macs += 49 * 320 * 1280 + 1280 * 1000
    parameters += 320 * 1280 + 2 * 1280 + 1281 * 1000
    found = load_model("efficientnet_b0")
    assert found.macs == macs == 385_814_752  # published: 0.39 G
    assert found.parameters == parameters == 5_288_548  # as transformers, timm and torchvision count it


@pytest.mark.slow
@pytest.mark.parametrize("family", SMALL)
def test_a_small_model_is_verified(tmp_path: Path, family: str) -> None:
    """In real numbers and in int8, every layer."""
    outcome = verify(VerifyOptions(Job(str(written(tmp_path, family)), "edge_npu")))
    assert [(check.numbers, check.problem, check.passed) for check in outcome.checks] == [
        ("float64", "", True), ("int8", "", True),
    ]  # fmt: skip


# numbers against PyTorch: the same weights, in modules written after the papers


class Net:
    """Weights of a graph as tensors, and what its layers do, in torch."""

    def __init__(self, path: Path, batch: int = 2) -> None:
        self.torch = pytest.importorskip("torch")
        graph = lower_graph(read_model(path, "m", {"batch": batch}), batch=batch, sha256="").graph
        assert graph is not None
        self.graph: Graph = graph
        self.constants, self.inputs = Constants(graph, {}, 3, {}), inputs_of(graph, 3, {})
        self.f = self.torch.nn.functional
        self.config = json.loads(path.read_text())

    def result(self) -> Array:
        """What the graph computes."""
        return reference.real(self.graph, self.constants, self.inputs)[self.graph.outputs[0]]

    def at(self, name: str) -> Any:
        """A weight."""
        return self.torch.from_numpy(np.asarray(self.constants[name], np.float64))

    @property
    def pixels(self) -> Any:
        """The input."""
        return self.torch.from_numpy(np.asarray(self.inputs["pixel_values"], np.float64))

    def conv(self, x: Any, conv: str, norm: str, epsilon: float, stride: int = 1, groups: int = 1) -> Any:
        """Without pads, and a normalisation behind it."""
        x = self.f.conv2d(x, self.at(f"{conv}.weight"), stride=stride, groups=groups)
        scale, shift, mean, variance = (
            self.at(f"{norm}.{k}") for k in ("weight", "bias", "running_mean", "running_var")
        )
        return self.f.batch_norm(x, mean, variance, scale, shift, eps=epsilon)

    def linear(self, x: Any, name: str, bias: bool = True) -> Any:
        found = x @ self.at(f"{name}.weight")
        return found + self.at(f"{name}.bias") if bias else found

    def norm(self, x: Any, name: str) -> Any:
        return self.f.layer_norm(x, x.shape[-1:], self.at(f"{name}.weight"), self.at(f"{name}.bias"), 1e-5)

    def same_as(self, x: Any) -> None:
        """Compare."""
        np.testing.assert_allclose(self.result(), x.numpy(), rtol=1e-9, atol=1e-12)


def mobilenet(net: Net, pad: Callable[[int, int], tuple[int, int]]) -> None:
    """``pad``: points before and behind, of a size and a stride."""

    def filtered(x: Any, name: str, stride: int, groups: int) -> Any:
        down, across = pad(x.shape[2], stride), pad(x.shape[3], stride)
        x = net.f.pad(x, (*across, *down))
        return net.f.relu6(net.conv(x, f"{name}.convolution", f"{name}.normalization", epsilon, stride, groups))

    def point(x: Any, name: str) -> Any:
        return net.conv(x, f"{name}.convolution", f"{name}.normalization", epsilon)

    epsilon = net.config.get("layer_norm_eps", 0.001)
    stem = "mobilenet_v2.conv_stem"
    x = filtered(net.pixels, f"{stem}.first_conv", 2, 1)
    x = point(filtered(x, f"{stem}.conv_3x3", 1, x.shape[1]), f"{stem}.reduce_1x1")
    number = 0
    for _, channels, count, stride in MOBILENET[1:]:
        for at in range(count):
            name, step = f"mobilenet_v2.layer.{number}", stride if at == 0 else 1
            wide = net.f.relu6(point(x, f"{name}.expand_1x1"))
            narrow = point(filtered(wide, f"{name}.conv_3x3", step, wide.shape[1]), f"{name}.reduce_1x1")
            x, number = narrow + x if at else narrow, number + 1
        assert x.shape[1] >= channels * net.config["depth_multiplier"] * 0.9
    x = net.f.relu6(point(x, "mobilenet_v2.conv_1x1"))
    net.same_as(net.linear(x.mean((2, 3)), "classifier"))


def test_numbers_of_mobilenet_with_the_pads_of_tensorflow(tmp_path: Path) -> None:
    """As few as let each stride begin inside; images of 37 points have 19, 10, 5, 3 and 2 of them in turn."""

    def pad(size: int, stride: int) -> tuple[int, int]:
        whole = max((-(-size // stride) - 1) * stride + 3 - size, 0)
        return whole // 2, whole - whole // 2

    mobilenet(Net(written(tmp_path, "mobilenet_v2")), pad)


def test_numbers_of_mobilenet_with_pads_on_all_sides(tmp_path: Path) -> None:
    mobilenet(
        Net(written(tmp_path, "mobilenet_v2", tf_padding=False, layer_norm_eps=1e-5)), lambda size, stride: (1, 1)
    )


@pytest.mark.parametrize("even", [True, False])
def test_numbers_of_efficientnet(tmp_path: Path, even: bool) -> None:
    """Strides of 2 have a pad less in front, but for blocks that the file names."""
    net = Net(written(tmp_path, "efficientnet", depthwise_padding=None if even else list(range(16))))

    def pad(x: Any, kernel: int, less: bool) -> Any:
        half = kernel // 2
        return net.f.pad(x, (half - less, half, half - less, half))

    x = net.conv(pad(net.pixels, 3, True), "efficientnet.embeddings.convolution", "efficientnet.embeddings.batchnorm",
                 0.001, 2)  # fmt: skip
    x, number = net.f.silu(x), 0
    for widening, kernel, _, count, stride in EFFICIENT:
        for at in range(count):
            name, step, wide = f"efficientnet.encoder.blocks.{number}", stride if at == 0 else 1, x
            if widening > 1:
                wide = net.f.silu(net.conv(x, f"{name}.expansion.expand_conv", f"{name}.expansion.expand_bn", 0.001))
            wide = net.conv(pad(wide, kernel, even and step == 2), f"{name}.depthwise_conv.depthwise_conv",
                            f"{name}.depthwise_conv.depthwise_norm", 0.001, step, wide.shape[1])  # fmt: skip
            wide = net.f.silu(wide)
            mean, parts = wide.mean((2, 3), keepdim=True), f"{name}.squeeze_excite"
            mean = net.f.silu(net.f.conv2d(mean, net.at(f"{parts}.reduce.weight"), net.at(f"{parts}.reduce.bias")))
            weights = net.f.conv2d(mean, net.at(f"{parts}.expand.weight"), net.at(f"{parts}.expand.bias"))
            projection = f"{name}.projection"
            narrow = net.conv(wide * weights.sigmoid(), f"{projection}.project_conv", f"{projection}.project_bn", 0.001)
            x, number = narrow + x if at else narrow, number + 1
    x = net.f.silu(net.conv(x, "efficientnet.encoder.top_conv", "efficientnet.encoder.top_bn", 0.001))
    net.same_as(net.linear(x.mean((2, 3)), "classifier"))


@pytest.mark.parametrize("changes", [{}, {"image_size": 64, "use_absolute_embeddings": True, "qkv_bias": False}])
def test_numbers_of_swin(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Whole windows and padded ones (11 and 6 rows, windows of 4), shifted by a roll, with masks by their definition:
    a row sees those of its window that were beside it before the roll."""
    net = Net(small_transformers.written(tmp_path, "swin", **changes))
    torch, size, bias = net.torch, 4, changes.get("qkv_bias", True)

    def attended(x: Any, name: str, heads: int, shift: int) -> Any:
        batch, rows, _, width = x.shape
        whole = -(-rows // size) * size
        x = torch.roll(net.f.pad(x, (0, 0, 0, whole - rows, 0, whole - rows)), (-shift, -shift), (1, 2))
        places = torch.roll(torch.arange(whole * whole).reshape(whole, whole), (-shift, -shift), (0, 1))

        def cut(grid: Any) -> Any:
            count = whole // size
            parted = grid.reshape(grid.shape[0], count, size, count, size, -1).permute(0, 1, 3, 2, 4, 5)
            return parted.reshape(grid.shape[0], count * count, size * size, -1)

        inside, number = cut(x), cut(places[None, ..., None])[0, ..., 0]
        down, across = (part[:, :, None] - part[:, None, :] for part in (number // whole, number % whole))
        near = (down.abs() < size) & (across.abs() < size)  # others lie on the other side of the image
        q, k, v = (net.linear(inside, f"{name}.self.{part}", bias).unflatten(-1, (heads, -1)).transpose(2, 3)
                   for part in ("query", "key", "value"))  # fmt: skip
        row = torch.arange(size * size)
        steps = [part[:, None] - part[None, :] + size - 1 for part in (row // size, row % size)]
        table = net.at(f"{name}.self.relative_position_bias_table")[steps[0] * (2 * size - 1) + steps[1]]
        scores = q @ k.transpose(-1, -2) / (width // heads) ** 0.5 + table.permute(2, 0, 1)
        if shift:
            scores = scores + torch.where(near, 0.0, -100.0)[None, :, None]
        found = net.linear((scores.softmax(-1) @ v).transpose(2, 3).flatten(3), f"{name}.output.dense")
        count = whole // size
        found = found.reshape(batch, count, count, size, size, width).permute(0, 1, 3, 2, 4, 5)
        return torch.roll(found.reshape(batch, whole, whole, width), (shift, shift), (1, 2))[:, :rows, :rows]

    patches = "swin.embeddings.patch_embeddings.projection"
    x = net.f.conv2d(net.pixels, net.at(f"{patches}.weight"), net.at(f"{patches}.bias"), stride=4).permute(0, 2, 3, 1)
    x = net.norm(x, "swin.embeddings.norm")
    if "use_absolute_embeddings" in changes:
        x = x + net.at("swin.embeddings.position_embeddings").reshape(1, *x.shape[1:])
    for stage, heads in enumerate((3, 6)):
        for block in range(2):
            name = f"swin.encoder.layers.{stage}.blocks.{block}"
            shift = 2 * (block % 2) if x.shape[1] > size else 0
            x = x + attended(net.norm(x, f"{name}.layernorm_before"), f"{name}.attention", heads, shift)
            inner = net.f.gelu(net.linear(net.norm(x, f"{name}.layernorm_after"), f"{name}.intermediate.dense"))
            x = x + net.linear(inner, f"{name}.output.dense")
        if stage == 0:
            x = net.f.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
            joined = torch.cat([x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)], -1)
            name = "swin.encoder.layers.0.downsample"
            x = net.linear(net.norm(joined, f"{name}.norm"), f"{name}.reduction", bias=False)
    net.same_as(net.linear(net.norm(x, "swin.layernorm").mean((1, 2)), "classifier"))


def test_rows_of_shifted_windows_have_a_bound(tmp_path: Path) -> None:
    """A mask has a number for each row and each of its window: 2^26 of them at most."""
    assert load_model(small_transformers.written(tmp_path, "swin", image_size=4 * 2048)).macs
    with pytest.raises(
        ModelError, match="module 'swin.encoder.layers.0.blocks.1.attention.self.attn': 2049 x 2049 rows"
    ):
        load_model(small_transformers.written(tmp_path, "swin", image_size=4 * 2049))


# forms of the files

PUBLISHED = {  # what transformers writes beside the keys of the small files
    "mobilenet_v2": {
        "depth_divisible_by": 8, "min_depth": 8, "expand_ratio": 6.0, "output_stride": 32, "hidden_act": "relu6",
        "first_layer_is_expansion": True, "finegrained_output": True, "tf_padding": True, "layer_norm_eps": 0.001,
        "classifier_dropout_prob": 0.8, "semantic_loss_ignore_index": 255, "num_channels": 3, "initializer_range": 0.02,
    },
    "efficientnet": {
        "batch_norm_eps": 0.001, "batch_norm_momentum": 0.99, "depth_divisor": 8, "depthwise_padding": [],
        "drop_connect_rate": 0.2, "dropout_rate": 0.2, "hidden_act": "swish",
        "in_channels": [32, 16, 24, 40, 80, 112, 192],
        "out_channels": [16, 24, 40, 80, 112, 192, 320], "kernel_sizes": [3, 3, 5, 3, 5, 5, 3], "num_channels": 3,
        "num_block_repeats": [1, 2, 2, 3, 3, 4, 1], "num_hidden_layers": 64, "strides": [1, 2, 2, 2, 1, 2, 1],
        "expand_ratios": [1, 6, 6, 6, 6, 6, 6], "pooling_type": "mean", "squeeze_expansion_ratio": 0.25,
    },
}  # fmt: skip


@pytest.mark.parametrize("family", SMALL)
def test_files_as_transformers_writes_them(tmp_path: Path, family: str) -> None:
    shared = {
        "architectures": None,
        "torch_dtype": "float32",
        "id2label": dict.fromkeys("abcde", ""),
        "num_labels": None,
    }
    whole = load_model(written(tmp_path, family, **PUBLISHED[family], **shared))
    assert (whole.macs, whole.parameters) == (
        load_model(written(tmp_path, family)).macs, load_model(written(tmp_path, family)).parameters,
    )  # fmt: skip


def test_filters_spread_where_strides_end(tmp_path: Path) -> None:
    """From a stride of 8 of the whole on, later strides of 2 are dilations, of the blocks behind."""
    graph = read_model(written(tmp_path, "mobilenet_v2", output_stride=8), "m", {})
    found = {node.name.split(".")[2]: node for node in graph.nodes if node.name.endswith("conv_3x3.convolution")}
    assert [found[str(number)].attributes["dilations"] for number in (4, 5, 6, 12, 13, 15)] == [
        (1, 1), (1, 1), (2, 2), (2, 2), (4, 4), (4, 4),
    ]  # fmt: skip
    assert [found[str(number)].attributes["strides"] for number in (0, 2, 5, 12)] == [(2, 2), (2, 2), (1, 1), (1, 1)]


def test_widths_of_mobilenet(tmp_path: Path) -> None:
    """Below the plain width the last one stays, unless the file says otherwise."""

    def last(**changes: Any) -> int:
        (layer,) = (layer for layer in load_model(written(tmp_path, "mobilenet_v2", **changes)).layers
                    if layer.name == "mobilenet_v2.conv_1x1.convolution")  # fmt: skip
        return layer.dims["k"]

    assert [last(), last(finegrained_output=False), last(depth_multiplier=1.5)] == [1280, 320, 1920]
    plain = load_model(written(tmp_path, "mobilenet_v2"))
    more = load_model(written(tmp_path, "mobilenet_v2", first_layer_is_expansion=False))
    assert more.macs - plain.macs == 19 * 19 * 8 * 8


def test_depths_and_widths_of_efficientnet(tmp_path: Path) -> None:
    """B7: widths twice, depths 3.1 times, as its authors count 66 M parameters."""
    changes = {"width_coefficient": 2.0, "depth_coefficient": 3.1, "hidden_dim": 2560, "num_labels": 1000}
    found = load_model(written(tmp_path, "efficientnet", **changes))
    assert found.parameters == 66_347_960  # as torchvision counts it


def test_the_largest_of_each_channel(tmp_path: Path) -> None:
    found = load_model(written(tmp_path, "efficientnet", pooling_type="max"))
    assert [layer.op for layer in found.layers if layer.name == "pooler"] == ["GlobalMaxPool"]


@pytest.mark.parametrize(
    ("family", "changes", "says"),
    [
        ("mobilenet_v2", {"output_stride": 5}, "key 'output_stride': found 5; allowed 2, 4, 8, 16, 32"),
        ("mobilenet_v2", {"depth_multiplier": 0}, "key 'depth_multiplier': found 0; allowed a number above 0"),
        ("mobilenet_v2", {"hidden_act": "relu7"}, "key 'hidden_act': found \"relu7\"; .*did you mean 'relu'"),
        ("mobilenet_v2", {"architectures": ["MobileNetV2Model"]}, "key 'architectures': .*ForImageClassification"),
        ("mobilenet_v2", {"use_bn": True}, "key 'use_bn' is not known here"),
        ("efficientnet", {"strides": [1, 2]}, "key 'strides': .*; allowed a number for each of the 7 stages"),
        ("efficientnet", {"strides": [1, 2, 2, 2, 1, 2, 3]}, "key 'strides': .*; allowed 1 and 2"),
        ("efficientnet", {"in_channels": [32, 16, 24, 40, 80, 112, 256]}, "key 'in_channels': .*; allowed 32, of the"),
        ("efficientnet", {"hidden_dim": 1280}, "key 'hidden_dim': found 1280; allowed 320: width_coefficient and"),
        ("efficientnet", {"num_hidden_layers": 63}, "key 'num_hidden_layers': found 63; allowed 64"),
        ("efficientnet", {"num_block_repeats": [1024] * 7}, "key 'num_block_repeats': .*; allowed no more than 1024"),
        ("efficientnet", {"pooling_type": "median"}, "key 'pooling_type': found \"median\"; allowed mean, max"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, family: str, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelError, match=rf"{family}\.json: {says}"):
        load_model(written(tmp_path, family, **changes))


@pytest.mark.parametrize("family", SMALL)
def test_samples_are_all_that_may_be_asked(tmp_path: Path, family: str) -> None:
    path = written(tmp_path, family)
    assert load_model(path, batch=3).macs == 3 * load_model(path).macs
    with pytest.raises(ConfigError, match="has no parameter 'prompt' to set; known: batch"):
        load_model(path, parameters={"prompt": 8})
    with pytest.raises(ConfigError, match="has no phases; found 'decode'"):
        load_model(f"{path}:decode")
