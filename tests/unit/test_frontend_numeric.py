"""Imported models compute what the ONNX reference computes: axes, strides, views, packed weights, order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from fixtures_interpreter import Interpreter
from fixtures_onnx import model, random, reference, save, weights_of
from onnx import helper

from archsim.frontend.onnx.load import load_onnx
from archsim.ir.workload import Workload

Array = npt.NDArray[Any]
node = helper.make_node


def same(
    tmp_path: Path, proto: onnx.ModelProto, shapes: dict[str, tuple[int, ...]], extra: dict[str, Array] | None = None
) -> Workload:
    """Import, interpret, compare every output; returns the workload."""
    inputs = {name: random(*shape, seed=7) for name, shape in shapes.items()}
    expected = reference(proto, inputs)
    workload = load_onnx(save(tmp_path, proto))
    machine = Interpreter(workload, {**weights_of(proto), **inputs, **(extra or {})})
    machine.run()
    for name, array in expected.items():
        np.testing.assert_allclose(machine.result(name, array.shape), array, rtol=2e-4, atol=2e-4)
    return workload


def ints(*numbers: int) -> Array:
    return np.asarray(numbers, np.int64)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolution_with_everything_then_flatten_and_gemm(tmp_path: Path, groups: int) -> None:
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], strides=[2, 1], pads=[1, 2, 0, 1], dilations=[1, 2], group=groups),
        node("Relu", ["c"], ["r"]),
        node("MaxPool", ["r"], ["m"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        node("Flatten", ["m"], ["f"]),
        node("Gemm", ["f", "w2", "b2"], ["y"], transB=1),
    ]
    shapes = {"x": (2, 4, 9, 8)}
    weights = {"w": random(8, 4 // groups, 3, 2), "b": random(8), "w2": random(5, 8 * 2 * 5), "b2": random(5)}
    workload = same(tmp_path, model(nodes, dict(shapes), ["y"], weights), shapes)
    assert [layer.kind for layer in workload.layers] == ["matmul", "vector", "matmul"]
    assert [view.op for view in workload.views] == ["Flatten"]
    gemm = workload.layers[-1]
    assert gemm.dims == {"m": 2, "n": 5, "k_0": 8, "k_1": 10}
    assert workload.tensors[gemm.inputs[1].tensor].shape == (5, 10, 8)  # reduction as the image lies: h and w, c


def test_nested_concat_is_placed_and_the_rest_is_copied(tmp_path: Path) -> None:
    nodes = [
        node("Conv", ["x", "w1"], ["a"]),
        node("Conv", ["x", "w1"], ["b"]),
        node("Concat", ["a", "b"], ["ab"], axis=1),
        node("Relu", ["ab"], ["r"]),
        node("Conv", ["r", "w2"], ["c"]),
        node("Concat", ["ab", "c", "x", "c"], ["y"], axis=1),
    ]
    shapes = {"x": (1, 2, 3, 4)}
    weights = {"w1": random(3, 2, 1, 1), "w2": random(2, 6, 1, 1)}
    workload = same(tmp_path, model(nodes, dict(shapes), ["y"], weights), shapes)
    copies = [layer for layer in workload.layers if layer.kind == "copy"]
    assert [workload.tensors[layer.inputs[0].tensor].name for layer in copies] == ["c", "x", "c"]
    assert workload.tensors["a"].view is not None and workload.tensors["a"].view.base == "y"
    assert [view.name for view in workload.views] == ["concat_3_3x4x6"]


def test_channel_shuffle_is_one_copy(tmp_path: Path) -> None:
    nodes = [
        node("Conv", ["x", "w1"], ["a"], group=2),
        node("Reshape", ["a", "s5"], ["a5"]),
        node("Transpose", ["a5"], ["t"], perm=[0, 2, 1, 3, 4]),
        node("Reshape", ["t", "s4"], ["b"]),
        node("Conv", ["b", "w2"], ["c"], group=6, pads=[1, 1, 1, 1]),
        node("Add", ["c", "b"], ["y"]),
    ]
    shapes = {"x": (2, 4, 3, 5)}
    weights = {"w1": random(6, 2, 1, 1), "s5": ints(2, 2, 3, 3, 5), "s4": ints(2, 6, 3, 5), "w2": random(6, 1, 3, 3)}
    workload = same(tmp_path, model(nodes, dict(shapes), ["y"], weights), shapes)
    assert [layer.name for layer in workload.layers if layer.kind == "copy"] == ["reshape_4_3x5x6"]
    assert [view.name for view in workload.views] == ["reshape_2_2x3x3x5", "transpose_3_3x2x3x5"]


def attention(batch: int, seq: int, heads: int, width: int) -> onnx.ModelProto:
    """Self-attention as PyTorch exports it, with residual, normalisation and a gated output."""
    model_width = heads * width
    nodes = []
    for part in "qkv":
        nodes += [
            node("MatMul", ["x", f"w{part}"], [f"{part}0"]),
            node("Add", [f"{part}0", f"bias_{part}"], [f"{part}1"]),
            node("Reshape", [f"{part}1", "heads"], [f"{part}2"]),
            node("Transpose", [f"{part}2"], [f"{part}3"], perm=[0, 2, 3, 1] if part == "k" else [0, 2, 1, 3]),
        ]
    nodes += [
        node("MatMul", ["q3", "k3"], ["scores"]),
        node("Div", ["scores", "root"], ["scaled"]),
        node("Softmax", ["scaled"], ["p"], axis=-1),
        node("MatMul", ["p", "v3"], ["context"]),
        node("Transpose", ["context"], ["ct"], perm=[0, 2, 1, 3]),
        node("Reshape", ["ct", "flat"], ["cf"]),
        node("MatMul", ["cf", "wo"], ["o"]),
        node("Add", ["o", "x"], ["sum"]),
        node("LayerNormalization", ["sum", "gamma", "beta"], ["y"], axis=-1),
    ]
    weights = {f"w{part}": random(model_width, model_width, seed=ord(part)) for part in "qkvo"}
    weights |= {f"bias_{part}": random(model_width, seed=ord(part)) for part in "qkv"}
    weights |= {"heads": ints(batch, seq, heads, width), "flat": ints(batch, seq, model_width)}
    weights |= {"root": np.float32(1.0), "gamma": random(model_width), "beta": random(model_width)}
    return model(nodes, {"x": (batch, seq, model_width)}, ["y"], weights)


def test_attention_needs_no_copy(tmp_path: Path) -> None:
    proto = attention(2, 5, 3, 4)
    stored = weights_of(proto)
    projections = {"q": "matmul_1_5x12", "k": "matmul_5_5x12", "v": "matmul_9_5x12"}
    extra = {f"{name}.bias": stored[f"bias_{part}"] for part, name in projections.items()}
    workload = same(tmp_path, proto, {"x": (2, 5, 12)}, extra)
    assert [layer.kind for layer in workload.layers] == ["matmul"] * 4 + ["vector", "matmul", "matmul", "vector"]
    scores = workload.layers[3]
    assert (scores.batch, scores.m, scores.n, scores.k) == (("b0", "b1"), ("m",), ("n",), ("k",))
    assert scores.fused == ("div_14_3x5x5",)


def test_views_of_views_and_moves(tmp_path: Path) -> None:
    nodes = [
        node("Split", ["x", "sizes"], ["s0", "s1"], axis=1),
        node("Slice", ["s1", "starts", "ends", "axes", "steps"], ["part"]),
        node("Sub", ["part", "s0"], ["d"]),
        node("Pad", ["d", "pads"], ["padded"]),
        node("Resize", ["padded", "", "scales"], ["big"], mode="nearest"),
        node("Relu", ["big"], ["r"]),
        node("ReduceMean", ["r"], ["mean"], axes=[2, 3], keepdims=1),
        node("Expand", ["mean", "shape"], ["wide"]),
        node("Mul", ["wide", "r"], ["y"]),
        node("Transpose", ["y"], ["z"], perm=[0, 2, 3, 1]),
    ]
    shapes = {"x": (1, 6, 4, 4)}
    weights = {
        "sizes": ints(2, 4),
        "starts": ints(0, 0),
        "ends": ints(3, 4),
        "axes": ints(1, 3),
        "steps": ints(2, 1),
        "pads": ints(0, 0, 1, 0, 0, 0, 0, 2),
        "scales": np.asarray([1, 1, 2, 3], np.float32),
        "shape": ints(1, 2, 10, 18),
    }
    workload = same(tmp_path, model(nodes, dict(shapes), ["y", "z"], weights), shapes)
    assert [view.op for view in workload.views] == ["Split", "Slice", "Expand", "Transpose"]
    assert workload.tensors["z"].kind == "output" and workload.tensors["y"].kind == "output"


def test_pooling_normalisation_and_broadcasts(tmp_path: Path) -> None:
    nodes = [
        node("LRN", ["x"], ["l"], size=3, alpha=0.5, beta=0.75, bias=2.0),
        node("AveragePool", ["l"], ["a"], kernel_shape=[2, 3], strides=[1, 2]),
        node("GlobalAveragePool", ["a"], ["g"]),
        node("Sigmoid", ["g"], ["gate"]),
        node("Mul", ["a", "gate"], ["scaled"]),
        node("Softmax", ["scaled"], ["y"], axis=1),
    ]
    shapes = {"x": (5, 5, 4, 7)}  # as many images as channels: the reference LRN normalises the first N channels only
    same(tmp_path, model(nodes, dict(shapes), ["y"]), shapes)


def test_reshape_that_no_view_can_say_copies_its_input(tmp_path: Path) -> None:
    nodes = [
        node("Conv", ["x", "w"], ["c"]),
        node("Reshape", ["c", "s"], ["r"]),
        node("Relu", ["r"], ["y"]),
    ]
    shapes = {"x": (1, 2, 4, 5)}
    weights = {"w": random(6, 2, 1, 1), "s": ints(1, 8, 15)}
    workload = same(tmp_path, model(nodes, dict(shapes), ["y"], weights), shapes)
    assert [layer.kind for layer in workload.layers] == ["matmul", "copy", "vector"]


def test_vectors_and_shared_weights(tmp_path: Path) -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("Transpose", ["w"], ["wt"], perm=[1, 0]),
        node("MatMul", ["a", "wt"], ["b"]),
        node("MatMul", ["w2", "b"], ["c"]),
        node("Einsum", ["c", "x"], ["y"], equation="mk,bk->bkm"),
    ]
    shapes = {"x": (3, 4)}
    weights = {"w": random(4, 5), "w2": random(2, 3)}
    extra = {"wt": weights["w"].T}
    workload = same(tmp_path, model(nodes, dict(shapes), ["y"], weights), shapes, extra)
    swapped = workload.layers[2]
    assert swapped.inputs[1].role == "weights" and swapped.m == ("n",) and swapped.n == ("m",)
    assert workload.parameters == 26
