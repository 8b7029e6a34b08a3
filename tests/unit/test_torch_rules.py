"""Every rule of the torch front end against torch: what the graph's operators make of numbers is what the module makes.

All tensors are inputs, so that every node has numbers to compute with; oracles are torch's own kernels.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from archsim import from_torch
from archsim.base.errors import ConfigError, ModelError
from archsim.frontend.load import import_model
from archsim.frontend.torch.export import ExportedModule, ModuleExport
from archsim.frontend.torch.sizes import OpenSizes
from archsim.frontend.torch.walk import graph_of
from archsim.graph.sort import topological
from archsim.ir.graph import Graph, UnsupportedError
from archsim.ops.kit.catalogue import family
from tests.tools.torch_fixtures import FOLDER, modules

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")
f = torch.nn.functional
pytestmark = pytest.mark.slow

ROWS, IMAGE, HEADS = (3, 8), (2, 6, 8, 8), (2, 4, 5, 8)
Case = tuple[Callable[..., Any], tuple[Any, ...]]


def numbers(*shape: int, low: float = -2.0) -> Any:
    """Fixed numbers, another set for each shape."""
    draw = np.random.default_rng(sum(size * (at + 1) for at, size in enumerate(shape)))
    return torch.tensor(draw.uniform(low, 2.0, shape).astype(np.float32))


def whole(most: int, *shape: int) -> Any:
    return torch.tensor(np.random.default_rng(most).integers(0, most, shape))


def without_gradient(x: Any) -> Any:
    with torch.no_grad():
        y = torch.sin(x)
    return y * 2


def into_a_slice(x: Any) -> Any:
    y = torch.empty_like(x)
    y[:, :3] = x[:, 5:]
    y[:, 3:] = x[:, 1:6]
    return y * 2


def into_columns(x: Any) -> Any:
    y = torch.zeros_like(x)
    y[:, 0::2] = x[:, :4]
    y[..., 1::2] = -x[:, 4:]
    return y + 1


def filled_element(x: Any) -> Any:
    y = x + 0
    y[:, 0] = 3.0
    y[1].mul_(2)
    return y


ONE: dict[str, Callable[[Any], Any]] = {
    "abs": torch.abs,
    "addcdiv": lambda x: torch.addcdiv(x, x + 1, x.abs() + 1, value=0.5),
    "addcmul": lambda x: torch.addcmul(x, x, x, value=-2.0),
    "all": lambda x: (x > -1).all(1) | (x > 1).any(1),
    "add number": lambda x: x + 2.5,
    "add alpha": lambda x: torch.add(x, x * 2, alpha=0.5),
    "add in place": lambda x: (x * 1).add_(3).relu_(),
    "amax": lambda x: x.amax(-1),
    "amin keepdim": lambda x: x.amin(0, keepdim=True),
    "arg max": lambda x: x.argmax(1),
    "arg max of all": lambda x: x.argmax() * 2,
    "arg min": lambda x: x.argmin(0, keepdim=True),
    "arg sort": lambda x: torch.argsort(x, 1, descending=True),
    "cast": lambda x: x.to(torch.float64) * 3,
    "ceil": torch.ceil,
    "chunk": lambda x: torch.cat(x.chunk(2, 1)[::-1], 1),
    "clamp": lambda x: x.clamp(-0.5, 0.75),
    "clamp by tensors": lambda x: x.clamp(x.mean(), x.amax(1, keepdim=True) - 0.5).clamp(max=x.mean() + 1),
    "clamp one side": lambda x: x.clamp(min=0.1),
    "cos": torch.cos,
    "comparison": lambda x: torch.where(x > 0.5, x, -x),
    "cumsum": lambda x: x.cumsum(1) + (x > 0).cumsum(0),
    "dropout": lambda x: f.dropout(x, 0.5, False) + 1,
    "elu": f.elu,
    "erf": torch.erf,
    "exp": torch.exp,
    "expand": lambda x: x[:1].expand(5, 8) * 2,
    "flatten": lambda x: x.view(3, 2, 4).flatten(1) * 1.5,
    "floor": torch.floor,
    "gelu": f.gelu,
    "gelu tanh": lambda x: f.gelu(x, approximate="tanh"),
    "hardsigmoid": f.hardsigmoid,
    "hardswish": f.hardswish,
    "hardtanh": f.hardtanh,
    "layer norm": lambda x: f.layer_norm(x, (8,)),
    "leaky relu": lambda x: f.leaky_relu(x, 0.2),
    "log": lambda x: torch.log(x.abs() + 1),
    "log softmax": lambda x: f.log_softmax(x, 1),
    "logical": lambda x: ((x > 0) & (x < 1)) | ~(x > -1),
    "masked fill": lambda x: x.masked_fill(x < 0, -9.0),
    "max of rows": lambda x: x.max(1).values,
    "mean": lambda x: x.mean(1, keepdim=True),
    "mean of all": lambda x: x.mean(),
    "mish": f.mish,
    "movedim": lambda x: x.view(3, 2, 4).movedim(0, 2) * 2,
    "narrow": lambda x: x.narrow(1, 2, 3) + 1,
    "ne": lambda x: torch.where(x != 0, x, x + 1),
    "neg": torch.neg,
    "norm": lambda x: torch.linalg.vector_norm(x, dim=1),
    "norm 1": lambda x: torch.linalg.vector_norm(x, ord=1, dim=1),
    "pad": lambda x: f.pad(x, (1, 2, 0, 1)),
    "permute": lambda x: x.view(3, 2, 4).permute(2, 0, 1) + 1,
    "pow": lambda x: x**2,
    "prod": lambda x: x.prod(1),
    "reciprocal": lambda x: torch.reciprocal(x.abs() + 1),
    "relu": torch.relu,
    "relu6": lambda x: f.relu6(x * 5),
    "remainder": lambda x: x % 0.75 + torch.fmod(x, 0.3),
    "repeat": lambda x: x.repeat(2, 1, 3) * 1.0,
    "rms norm": lambda x: f.rms_norm(x, (8,), eps=1e-6),
    "roll": lambda x: x.view(3, 2, 4).roll((1, -3), (0, 2)),
    "round": torch.round,
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 1),
    "rsub": lambda x: 3 - x,
    "select": lambda x: x[:, 3] + 1,
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "silu": f.silu,
    "silu in place": lambda x: f.silu(x + 1, inplace=True),
    "sin": torch.sin,
    "slice": lambda x: x[1:, 1:7:2] * 2,
    "slice from the end": lambda x: x[:, -3:] * 2,
    "softmax": lambda x: f.softmax(x, -1),
    "softplus": f.softplus,
    "sort": lambda x: torch.sort(x, 0).values,
    "sort from the largest": lambda x: torch.sort(x, descending=True).indices,
    "split": lambda x: x.split(3, 1)[0] * x.split(3, 1)[1],
    "split by sizes": lambda x: x.split([2, 6], 1)[1] * 2,
    "sqrt": lambda x: torch.sqrt(x.abs() + 1),
    "square by number": lambda x: 2**x,
    "squeeze": lambda x: x.unsqueeze(1).squeeze(1) * 2,
    "stack": lambda x: torch.stack([x, x * 2], 1),
    "sub": lambda x: x - x.mean(),
    "sum": lambda x: x.sum((0, 1)),
    "tanh": torch.tanh,
    "top": lambda x: x.topk(3).values * 2,
    "top from the smallest": lambda x: x.topk(2, 0, largest=False).indices,
    "transpose": lambda x: x.t() + 1,
    "truth": lambda x: (x > 0).to(torch.float32) * 2,
    "unbind": lambda x: x.unbind(0)[1] * x.unbind(0)[0],
    "unflatten": lambda x: x.unflatten(1, (2, 4)) * 2,
    "div": lambda x: x / 3,
    "copied into a slice": into_a_slice,
    "copied into columns": into_columns,
    "diff": lambda x: torch.diff(x, dim=1, prepend=x[:, :1] * 2),
    "exp2": lambda x: torch.exp2(x) + torch.expm1(x),
    "filled element": filled_element,
    "flip": lambda x: x.flip(0, 1) + 1,
    "frac": lambda x: torch.frac(x) + torch.trunc(x) * 2,
    "glu": f.glu,
    "hardshrink": f.hardshrink,
    "softshrink": f.softshrink,
    "isfinite": lambda x: torch.where(torch.isfinite(x / x.clamp(min=0)), x, x + 1),
    "lerp": lambda x: torch.lerp(x, x * 2, 0.25),
    "log1p": lambda x: torch.log1p(x.abs()) + torch.log2(x.abs() + 1) + torch.log10(x.abs() + 1),
    "log sigmoid": f.logsigmoid,
    "logsumexp": lambda x: torch.logsumexp(x, 1),
    "max and where": lambda x: x.max(1).values + x.max(1).indices + x.min(1).indices,
    "nan to num": lambda x: torch.nan_to_num(x / x.clamp(min=0), 3.0, 7.0, -7.0),
    "put at places": lambda x: x.index_put((torch.arange(2), torch.arange(2) + 1), x[:2, 5]),
    "put in rows": lambda x: x.index_put((torch.arange(2) * 2,), x[:2] * 3),
    "repeat interleave": lambda x: x.repeat_interleave(2, 1) * 1.5,
    "scatter": lambda x: x.scatter(1, torch.arange(6).view(3, 2) % 8, x[:, :2] * 9),
    "scatter a number where the largest are": lambda x: x.scatter(1, x.topk(3).indices, 5.0),
    "slice scatter": lambda x: torch.slice_scatter(x, x[:, :4] * 2, 1, 1, 8, 2),
    "square": torch.square,
    "std": lambda x: x.std(1) + x.var(1, unbiased=False),
    "threshold": lambda x: f.threshold(x, 0.1, -3.0),
    "tril": lambda x: x.tril(1) + x.triu(-1),
    "unfold": lambda x: x.unfold(1, 3, 2) * 2,
    "unfold side by side": lambda x: x.unfold(1, 4, 4) * 2,
    "var and mean": lambda x: torch.var_mean(x, 1, keepdim=True)[0] * torch.var_mean(x, 1, keepdim=True)[1],
    "div rounded": lambda x: torch.div(x, 0.7, rounding_mode="floor"),
    "isnan": lambda x: torch.where(torch.isnan(x), 0.0, x),
    "no grad": without_gradient,
    "range": lambda x: x + torch.arange(8),
    "places of known numbers": lambda x: x[:, torch.argsort(torch.arange(8) % 3, stable=True)],
    "places undone": lambda x: x[
        :, torch.empty(8, dtype=torch.int64).index_put((torch.arange(8) * 3 % 8,), torch.arange(8))
    ],
    "counts of known numbers": lambda x: x[:, :4] * torch.histc((torch.arange(9) % 4).float(), 4, 0, 3),
    "full": lambda x: x * torch.full((3, 1), 2.0) + torch.ones_like(x) + torch.eye(3, 8),
}
IMAGES: dict[str, Callable[[Any], Any]] = {
    "adaptive pool": lambda x: f.adaptive_avg_pool2d(x, (4, 2)),
    "adaptive pool to one": lambda x: f.adaptive_avg_pool2d(x, 1),
    "adaptive max pool": lambda x: f.adaptive_max_pool2d(x, (4, 2)),
    "bilinear": lambda x: f.interpolate(x, scale_factor=2, mode="bilinear"),
    "bilinear to a size": lambda x: f.interpolate(x, size=(11, 5), mode="bilinear"),
    "bilinear by corners": lambda x: f.interpolate(x, size=(11, 5), mode="bilinear", align_corners=True),
    "fold": lambda x: f.fold(x.view(2, 24, 16), (6, 6), (2, 2), padding=1, stride=2),
    "fold overlapping": lambda x: f.fold(x.reshape(2, 12, 32)[..., :25], (6, 6), (2, 2)),
    "instance norm": f.instance_norm,
    "pad by reflection": lambda x: f.pad(x, (1, 2, 3, 0), mode="reflect"),
    "pad by edges": lambda x: f.pad(x, (1, 2, 0, 4), mode="replicate"),
    "pad around": lambda x: f.pad(x, (2, 1, 1, 1), mode="circular"),
    "pixel unshuffle": lambda x: f.pixel_unshuffle(x, 2),
    "std of channels": lambda x: torch.std_mean(x, (2, 3), keepdim=True)[0] + x,
    "unfold of images": lambda x: f.unfold(x, (3, 2), 1, (1, 0), 2),
    "average pool": lambda x: f.avg_pool2d(x, 3, 2, 1),
    "average pool without pads": lambda x: f.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "group norm": lambda x: f.group_norm(x, 3),
    "max pool": lambda x: f.max_pool2d(x, 3, 2, 1),
    "max pool of one": lambda x: f.max_pool2d(x[0], 2),
    "nearest": lambda x: f.interpolate(x, scale_factor=2.0, mode="nearest"),
    "shuffle": lambda x: f.pixel_shuffle(x[:, :4], 2),
}
MANY: dict[str, Case] = {
    "addmm": (lambda b, x, w: torch.addmm(b, x, w, alpha=2, beta=0.5), (numbers(5), numbers(3, 8), numbers(8, 5))),
    "attention": (f.scaled_dot_product_attention, (numbers(*HEADS), numbers(2, 4, 7, 8), numbers(2, 4, 7, 6))),
    "attention causal": (
        lambda q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        (numbers(*HEADS), numbers(*HEADS) * 2, numbers(*HEADS) + 1),
    ),
    "attention mask": (
        lambda q, k, v, m: f.scaled_dot_product_attention(q, k, v, m > 0),
        (numbers(*HEADS), numbers(*HEADS) * 2, numbers(*HEADS) + 1, torch.ones(5, 5) - torch.triu(torch.ones(5, 5), 1)),
    ),
    "attention of shared heads": (
        lambda q, k, v: f.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        (numbers(*HEADS), numbers(2, 2, 7, 8), numbers(2, 2, 7, 6)),
    ),
    "attention of three axes": (f.scaled_dot_product_attention, (numbers(2, 5, 8), numbers(2, 7, 8), numbers(2, 7, 8))),
    "baddbmm": (
        lambda c, a, b: torch.baddbmm(c, a, b, beta=2, alpha=0.5),
        (numbers(2, 3, 5), numbers(2, 3, 4), numbers(2, 4, 5)),
    ),
    "batch norm": (
        f.batch_norm,
        (numbers(*IMAGE), numbers(6), numbers(6, low=0.5), numbers(6) + 1, numbers(6) - 1),
    ),
    "bags": (lambda t, i: f.embedding_bag(i, t, mode="mean"), (numbers(9, 4), whole(9, 3, 5))),
    "bags of the largest": (lambda t, i: f.embedding_bag(i, t, mode="max"), (numbers(9, 4), whole(9, 3, 5))),
    "bags of weighted rows": (
        lambda t, i, w: f.embedding_bag(i, t, mode="sum", per_sample_weights=w),
        (numbers(9, 4), whole(9, 3, 5), numbers(3, 5)),
    ),
    "bmm": (torch.bmm, (numbers(2, 3, 4), numbers(2, 4, 5))),
    "conv1d": (lambda x, w: f.conv1d(x, w, stride=2, padding=1), (numbers(2, 4, 9), numbers(5, 4, 3))),
    "conv2d": (lambda x, w, b: f.conv2d(x, w, b, 2, 1, 1, 2), (numbers(*IMAGE), numbers(4, 3, 3, 3), numbers(4))),
    "conv2d same": (lambda x, w: f.conv2d(x, w, padding="same"), (numbers(*IMAGE), numbers(4, 6, 4, 3))),
    "conv transpose": (
        lambda x, w, b: f.conv_transpose2d(x, w, b, 2, 1, 1),
        (numbers(*IMAGE), numbers(6, 4, 3, 3), numbers(4)),
    ),
    "conv transpose in groups": (
        lambda x, w: f.conv_transpose1d(x[:, :, 0], w, stride=2, groups=2),
        (numbers(*IMAGE), numbers(6, 2, 2)),
    ),
    "gather": (lambda x, i: x.gather(1, i), (numbers(3, 8), whole(8, 3, 4))),
    "index of far axes": (lambda x, i, j: x[i, :, j], (numbers(2, 3, 4), whole(2, 5), whole(4, 5))),
    "conv2d of one": (lambda x, w: f.conv2d(x[0], w, dilation=2), (numbers(*IMAGE), numbers(4, 6, 3, 3))),
    "conv3d": (lambda x, w: f.conv3d(x, w, padding=1), (numbers(1, 2, 4, 5, 6), numbers(3, 2, 3, 3, 3))),
    "einsum": (lambda a, b: torch.einsum("bij, bjk -> bik", a, b), (numbers(2, 3, 4), numbers(2, 4, 5))),
    "embedding": (lambda t, i: f.embedding(i, t), (numbers(9, 4), whole(9, 3, 5))),
    "group norm with weights": (
        lambda x, w, b: f.group_norm(x, 2, w, b),
        (numbers(*IMAGE), numbers(6) + 1, numbers(6) - 1),
    ),
    "index": (lambda x, i: x[:, i], (numbers(3, 8), whole(8, 4))),
    "index of two axes": (lambda x, i, j: x[:, i, j], (numbers(2, 3, 4), whole(3, 5), whole(4, 5))),
    "index select": (lambda x, i: torch.index_select(x, 1, i), (numbers(3, 8), whole(8, 4))),
    "layer norm with weights": (
        lambda x, w, b: f.layer_norm(x, (4, 8), w, b),
        (numbers(3, 4, 8), numbers(4, 8), numbers(4, 8) - 1),
    ),
    "linear": (f.linear, (numbers(3, 8), numbers(5, 8), numbers(5))),
    "linear of three axes": (f.linear, (numbers(2, 3, 8), numbers(5, 8), numbers(5))),
    "linear of one axis": (f.linear, (numbers(8), numbers(5, 8))),
    "matmul": (torch.matmul, (numbers(2, 3, 4), numbers(4, 5))),
    "maximum": (torch.maximum, (numbers(3, 8), numbers(8))),
    "minimum": (torch.minimum, (numbers(3, 8), numbers(8))),
    "mv": (torch.mv, (numbers(3, 8), numbers(8))),
    "pow of tensors": (lambda x, y: x.abs() ** y, (numbers(3, 8), numbers(8))),
    "prelu": (f.prelu, (numbers(2, 6, 4), numbers(6))),
    "rms norm with weights": (lambda x, w: f.rms_norm(x, (8,), w), (numbers(3, 8), numbers(8))),
    "where": (lambda x, y: torch.where(x > y, x, y), (numbers(3, 8), numbers(8))),
    "whole numbers": (lambda i, j: (i // 2) * j - i, (whole(9, 3, 5), whole(7, 3, 5))),
}
CASES: dict[str, Case] = (
    {name: (call, (numbers(*ROWS),)) for name, call in ONE.items()}
    | {name: (call, (numbers(*IMAGE),)) for name, call in IMAGES.items()}
    | MANY
)


class Wrapped(torch.nn.Module):  # type: ignore[misc]
    """A function as a module."""

    def __init__(self, call: Callable[..., Any]) -> None:
        super().__init__()
        self.call = call

    def forward(self, *values: Any) -> Any:
        return self.call(*values)


def graph(call: Callable[..., Any], inputs: tuple[Any, ...], decomposed: bool) -> Graph:
    found = ExportedModule(ModuleExport(Wrapped(call), inputs, {}))
    program = found.decomposed() if decomposed else found.program()
    return graph_of(program, "case", OpenSizes(program, {}, {}))


def computed(found: Graph, inputs: tuple[Any, ...]) -> Any:
    """The first output, by the reference of every node."""
    arrays = {name: value.data for name, value in found.values.items()}
    arrays |= {f"values_{at}": each.numpy() for at, each in enumerate(inputs)}
    for node in topological(found.nodes):
        given = [arrays[name] if name else None for name in node.inputs]
        arrays.update(zip(node.outputs, family(node).reference(node, *given), strict=False))
    return arrays[found.outputs[0]]


@pytest.mark.parametrize("decomposed", [False, True], ids=["as exported", "decomposed"])
@pytest.mark.parametrize("name", CASES)
def test_a_graph_computes_what_torch_computes(name: str, decomposed: bool) -> None:
    call, inputs = CASES[name]
    wanted = call(*(each.clone() for each in inputs)).numpy()
    found = computed(graph(call, inputs, decomposed), inputs)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: torch.rnn_tanh_cell(x, x, x.transpose(0, 1) @ x, x.transpose(0, 1) @ x), "aten.rnn_tanh_cell"),
        (lambda x: x.index_put((x[0].topk(2).indices % 3,), x[:2]), "known only when the model runs"),
        (lambda x: torch.rand_like(x) + x, "aten.rand_like"),
        (lambda x: f.embedding_bag(whole(3, 2, 2), x, padding_idx=1), "leaves rows out of its bags"),
        (lambda x: f.avg_pool1d(x, 2, divisor_override=3) if False else f.dropout(x, 0.5, True), "eval()"),
    ],
)  # fmt: skip
def test_calls_without_a_rule_are_refused_by_name(call: Callable[..., Any], said: str) -> None:
    with pytest.raises(UnsupportedError, match=said.replace("(", r"\(").replace(")", r"\)")):
        graph(call, (numbers(*ROWS),), False)


def test_a_module_and_its_stored_program_are_one_model() -> None:
    """The same layers, MACs and parameters, with or without weights, open dimensions stated by name."""
    found = modules()
    for name, (module, inputs, _) in found.items():
        stated = {"dynamic_shapes": ({0: torch.export.Dim("rows")},), "parameters": {"rows": 2}}
        made = from_torch(module, inputs, name=name, **(stated if name == "images_open" else {}))
        stored = import_model(FOLDER / f"{name}.pt2", batch=2 if name == "images_open" else None).workload
        assert [(layer.name, layer.op, layer.macs, layer.fused) for layer in made.layers] == [
            (layer.name, layer.op, layer.macs, layer.fused) for layer in stored.layers
        ]
        assert made.parameters == stored.parameters == sum(each.numel() for each in module.parameters())
        assert from_torch(module.to("meta"), inputs, **(stated if name == "images_open" else {})).layers == made.layers


def test_tied_weights_of_a_module_count_once() -> None:
    class Tied(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.table, self.head = torch.nn.Embedding(50, 8), torch.nn.Linear(8, 50, bias=False)
            self.head.weight = self.table.weight

        def forward(self, x: Any) -> Any:
            return self.head(self.table(x))

    assert from_torch(Tied(), (whole(50, 1, 4),)).parameters == 50 * 8


def test_what_is_no_module_and_what_cannot_be_exported_is_said() -> None:
    with pytest.raises(ConfigError, match="from_torch: found int; allowed a torch.nn.Module"):
        from_torch(3)
    with pytest.raises(ModelError, match="torch.export cannot export the module"):
        from_torch(Wrapped(lambda x: x.missing), (numbers(*ROWS),))
    with pytest.raises(ModelError, match="its dimension 'rows' is open; state it, as in --parameter rows=8"):
        from_torch(*modules()["images_open"][:2], dynamic_shapes=({0: torch.export.Dim("rows")},))


def test_tensors_that_are_plain_attributes_are_constants_of_the_model() -> None:
    """Of inner modules, in lists and mappings, shared, and such as are computed of a parameter."""

    class Inner(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.scale, self.others = torch.ones(8), [torch.ones(8), {"a": torch.zeros(8)}]

        def forward(self, x: Any) -> Any:
            return x * self.scale + self.others[0] + self.others[1]["a"]

    class Outer(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.head = Inner(), torch.nn.Linear(8, 5)
            self.again, self.made = self.inner.scale, self.head.weight * 2

        def forward(self, x: Any) -> Any:
            return self.head(self.inner(x) * self.again) + x @ self.made.T

    assert from_torch(Outer(), (numbers(*ROWS),)).macs == 2 * 3 * 8 * 5


def test_a_module_that_cannot_be_copied_is_said() -> None:
    module = Wrapped(lambda x: x + 1)
    module.lock = threading.Lock()
    with pytest.raises(ModelError, match="torch.export cannot export the module: TypeError: cannot pickle"):
        from_torch(module, (numbers(*ROWS),))


def test_a_number_behind_a_scale_that_is_not_read_is_an_immediate() -> None:
    class Scaled(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(1, 4, 1))

        def forward(self, x: Any) -> Any:
            return f.softmax(x, -1) * self.scale - 1.0

    assert [layer.op for layer in from_torch(Scaled(), (numbers(2, 4, 8),)).layers] == ["Softmax", "Mul"]


def test_weighted_bags_are_one_layer() -> None:
    class Weighted(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.bag = torch.nn.EmbeddingBag(9, 4, mode="sum")

        def forward(self, i: Any, w: Any) -> Any:
            return self.bag(i, per_sample_weights=w)

    (layer,) = from_torch(Weighted(), (whole(9, 3, 5), numbers(3, 5))).layers
    assert (layer.name, layer.op, len(layer.inputs)) == ("bag", "EmbeddingBag", 2)


def test_rows_by_what_a_look_up_of_computed_places_finds() -> None:
    """As RoBERTa takes the types of its tokens by their positions."""

    class Types(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(2, 8)
            self.register_buffer("types", torch.zeros(1, 20, dtype=torch.int64))

        def forward(self, x: Any) -> Any:
            return self.table(torch.gather(self.types, 1, torch.cumsum((x != 1).int(), 1)))

    found = from_torch(Types(), (whole(9, 1, 6),))
    assert [layer.op for layer in found.layers][-2:] == ["GatherRows", "GatherRows"]
    assert "are known at run time only" in found.warnings[-1]
