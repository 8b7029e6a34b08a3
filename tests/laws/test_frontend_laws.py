"""Laws of imported workloads: nothing is free, pads count, depthwise counts once, and nothing depends on hash order."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from math import prod
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.frontend.load import load_model, names
from archsim.graph.lowering.lower import to_workload
from archsim.graph.passes.infer import infer
from archsim.ir.graph import Graph, GraphNode, GraphValue
from archsim.ir.workload import Layer, Workload

ROOT = Path(__file__).parents[2]
MODELS = sorted(names())
ROWS = {"llava_1_5_7b": {"prompt": 580}}  # an image, and words behind it
FEW_ROWS = {"prompt": 2}  # so that few of many experts have tokens
quick = settings(max_examples=60, deadline=None, derandomize=True)


@cache
def imported(name: str) -> Workload:
    writes = "phases" in names()[name]
    return load_model(name, parameters=ROWS.get(name, FEW_ROWS) if writes else None)


def convolution(
    n: int, c: int, k: int, groups: int, size: int, kernel: int, stride: int, pad: int, dilation: int = 1
) -> Layer:
    """A convolution of c and k channels per group."""
    values = {
        "x": GraphValue("x", (n, c * groups, size, size + 1), "input"),
        "w": GraphValue("w", (k * groups, c, kernel, kernel), "constant", sources=("w",)),
    }
    attributes = {"strides": (stride,) * 2, "pads": (pad,) * 4, "group": groups, "dilations": (dilation,) * 2}
    node = GraphNode("y", "Conv", ("x", "w"), ("y",), attributes)
    graph = Graph("t", (node,), values, ("x",), ("y",))
    return to_workload(infer(graph), batch=n, sha256="").layers[0]


sizes = st.integers(1, 5)


@quick
@given(sizes, sizes, sizes, sizes, st.integers(5, 12), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2))
def test_13_macs_count_pads(n: int, c: int, k: int, groups: int, size: int, kernel: int, stride: int, pad: int) -> None:
    """Law 13: MACs = N * OH * OW * K * C * FH * FW / groups, pads or not."""
    pad = min(pad, kernel)  # by more than its window no convolution is padded
    layer = convolution(n, c, k, groups, size, kernel, stride, pad)
    high, wide = ((extent + 2 * pad - kernel) // stride + 1 for extent in (size, size + 1))
    assert layer.macs == n * high * wide * (k * groups) * (c * groups) * kernel**2 // groups
    assert layer.batch == (("g",) if groups > 1 else ())
    assert prod(layer.dims[dim] for dim in layer.k) == c * kernel**2


@quick
@given(st.integers(2, 64), st.integers(3, 20), st.integers(1, 2))
def test_18_depthwise_counts_once(channels: int, size: int, stride: int) -> None:
    """Law 18: depthwise MACs are C * OH * OW * 9: never 0, never C * C * 9."""
    layer = convolution(1, 1, 1, channels, size, 3, stride, 1)
    high, wide = ((extent - 1) // stride + 1 for extent in (size, size + 1))
    assert layer.macs == channels * high * wide * 9
    assert layer.dims["g"] == channels


@pytest.mark.parametrize("name", MODELS)
def test_45_no_operator_is_free(name: str) -> None:
    """Law 45: every layer works or moves: MACs, lane passes or a copy, and bytes at both ends."""
    workload = imported(name)
    for layer in workload.layers:
        assert layer.inputs and prod(layer.dims.values()) > 0
        assert all(workload.tensors[operand.tensor].elements > 0 for operand in (*layer.inputs, layer.output))
        if layer.kind == "matmul":
            assert layer.macs > 0 and layer.steps[0].function.startswith("requantise")
        elif layer.kind == "vector":
            assert sum(step.passes for step in layer.steps) >= 1
        assert all(step.passes >= 1 for step in layer.steps)


@pytest.mark.parametrize("name", MODELS)
def test_each_tensor_has_its_writers(name: str) -> None:
    """An activation has one writer; the base of placed concatenations has several, with parts that do not overlap."""
    workload = imported(name)
    written: dict[str, set[int]] = {}
    for layer in workload.layers:
        tensor = workload.tensors[layer.output.tensor]
        base = tensor.view.base if tensor.view else tensor.name
        elements = _elements(tensor.shape, tensor.view.strides, tensor.view.offset) if tensor.view else None
        if elements is None:
            assert base not in written, layer.name
            written[base] = set()
        else:
            assert not written.setdefault(base, set()) & elements, layer.name
            written[base] |= elements


def _elements(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> set[int]:
    """Addresses along the innermost axis of the first and the last row: parts that overlap share one of them."""
    inner = min(range(len(shape)), key=lambda axis: (strides[axis], -shape[axis]))
    last = offset + sum((n - 1) * s for i, (n, s) in enumerate(zip(shape, strides, strict=True)) if i != inner)
    return {start + i * strides[inner] for start in (offset, last) for i in range(shape[inner])}


@pytest.mark.slow
def test_48_same_text_under_any_hash_seed() -> None:
    """Law 48: the same Workload, byte for byte, whatever the order of hashes."""
    script = (
        "import hashlib\n"
        "from archsim.frontend.load import load_model\n"
        "from archsim.ir.text import workload_to_yaml\n"
        "for name in ('shufflenet', 'bert_base_block'):\n"
        "    print(hashlib.sha256(workload_to_yaml(load_model(name)).encode()).hexdigest())\n"
    )
    texts = set()
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
        )
        texts.add(done.stdout)
    assert len(texts) == 1
