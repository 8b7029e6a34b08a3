"""Operators of ONNX Runtime's own domain: the numbers of their parts, their multiply-accumulates, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from archsim.base.errors import ModelError
from archsim.frontend.load import load_model
from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants
from archsim.graph.passes.manager import PassOptions, passed
from archsim.ir.graph import Graph, GraphValue
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.ops.kit.catalogue import find
from tests.tools.operator_cases import CASES, MS, in_runtime, neutral, outputs_of
from tests.unit.fixtures_onnx import random, write_nodes

PARTED = [case for case in CASES if case[0].startswith(MS) or case[0] == "SimplifiedLayerNormalization"]


def graph_of(op: str, attributes: dict[str, Any], arrays: list[Any], outputs: list[str]) -> Graph:
    """Floats with three axes and more are inputs, the rest is stored, bytes too."""
    node = neutral(op, attributes, arrays, outputs)
    values = {
        f"i{at}": GraphValue(f"i{at}", array.shape, "constant", str(array.dtype), array)
        if array.ndim < 3 or array.dtype == np.uint8
        else GraphValue(f"i{at}", array.shape, "input")
        for at, array in enumerate(arrays)
        if array is not None
    }
    found = find(op)
    assert found is not None
    shapes = found.shapes(node, tuple(values.get(name) for name in node.inputs))
    inputs = tuple(name for name, value in values.items() if value.kind == "input")
    values |= {name: GraphValue(name, shape, "activation") for name, shape in zip(outputs, shapes, strict=True)}
    return Graph("one", (node,), values, inputs, tuple(name for name in outputs if name))


@pytest.mark.parametrize(("op", "attributes", "arrays"), PARTED, ids=[f"{n}-{c[0]}" for n, c in enumerate(PARTED)])
def test_parts_have_the_numbers_of_the_runtime(op: str, attributes: dict[str, Any], arrays: list[Any]) -> None:
    outputs = outputs_of(op)
    wanted = in_runtime(op, attributes, arrays, outputs)
    graph = graph_of(op, attributes, arrays, outputs)
    parts = passed(graph, PassOptions()).canonical
    assert not any(node.op.startswith(MS) or node.op in ("Attention",) for node in parts.nodes)
    fed = {name: np.asarray(arrays[int(name[1:])]) for name in graph.inputs}
    found = reference.real(parts, Constants(parts, {}, 0, {}), fed)
    for name, array in zip(parts.outputs, wanted, strict=True):
        np.testing.assert_allclose(found[name], array, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("op", "bias"), [("SkipLayerNormalization", 4), ("SkipSimplifiedLayerNormalization", 3)])
@pytest.mark.parametrize("biased", [False, True])
def test_what_is_normalised_is_an_output_too(op: str, bias: int, biased: bool) -> None:
    rows = random(2, 6, 8)
    arrays = [rows, rows + 1, *(random(8, seed=at) for at in range(bias - 2 + biased))]
    outputs = ["o0", "", "", "o3"]
    wanted = in_runtime(f"{MS}{op}", {"epsilon": 1e-5}, arrays, outputs)
    graph = graph_of(f"{MS}{op}", {"epsilon": 1e-5}, arrays, outputs)
    parts = passed(graph, PassOptions()).canonical
    found = reference.real(parts, Constants(parts, {}, 0, {}), {"i0": arrays[0], "i1": arrays[1]})
    for name, array in zip(("o0", "o3"), (each for each in wanted if each.size), strict=True):
        np.testing.assert_allclose(found[name], array, rtol=2e-5, atol=2e-5)


def save(folder: Path, nodes: list[Any], inputs: dict[str, Any], outputs: list[str], **stored: Any) -> str:
    return str(write_nodes(folder, nodes, inputs, outputs, **stored))


def own(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
    return helper.make_node(op, inputs, outputs, name=op.lower(), domain="com.microsoft", **attributes)


def decoder(folder: Path, valid: int | None = 4) -> str:
    """A step of a decoder as ONNX Runtime's tools write it: 4 heads of 16 over 2 of keys, 3 older rows, 1 new.

    ``valid``: of these, as seqlens_k and total_sequence_length say; None: they are inputs."""
    nodes = [
        own("SkipSimplifiedLayerNormalization", ["x", "skip", "gamma"], ["n", "", "", "s"], epsilon=1e-5),
        *(helper.make_node("MatMul", ["n", f"w{each}"], [each], name=f"to_{each}") for each in "qkv"),
        own(
            "GroupQueryAttention",
            ["q", "k", "v", "pk", "pv", "lengths", "total", "cos", "sin"],
            ["a", "key", "value"],
            num_heads=4,
            kv_num_heads=2,
            do_rotary=1,
        ),
        helper.make_node("MatMul", ["a", "wo"], ["o"], name="out"),
        own("FastGelu", ["o"], ["g"]),
        helper.make_node("Add", ["g", "s"], ["y"], name="add"),
    ]
    weights = {f"w{each}": random(64, size) for each, size in (("q", 64), ("k", 32), ("v", 32), ("o", 64))}
    inputs = {"x": [1, 1, 64], "skip": [1, 1, 64], "pk": [1, 2, 3, 16], "pv": [1, 2, 3, 16]}
    weights |= {"gamma": random(64), "cos": random(8, 8), "sin": random(8, 8, seed=1)}
    if valid is None:
        return save(folder, nodes, {**inputs, "lengths": [1], "total": [1]}, ["y", "key", "value"], **weights)
    lengths = {"lengths": np.asarray([[valid - 1]], np.int32), "total": np.asarray(valid, np.int32)}
    return save(folder, nodes, inputs, ["y", "key", "value"], **lengths, **weights)


def test_a_decoder_has_exact_macs_and_verifies(tmp_path: Path) -> None:
    path = decoder(tmp_path)
    workload = load_model(path)
    assert workload.macs == 64 * (64 + 32 + 32 + 64) + 4 * 16 * 4 * 2  # heads x elements x keys, scores and context
    assert verify(VerifyOptions(Job(path, "edge_npu"))).met


def test_lengths_that_leave_rows_of_keys_out_are_refused(tmp_path: Path) -> None:
    says = r"node 'groupqueryattention' .*seqlens_k 2, where all older and new rows of keys make 3"
    with pytest.raises(ModelError, match=says):
        load_model(decoder(tmp_path, 3))
    assert not any("seqlens_k" in each for each in load_model(decoder(tmp_path)).warnings)


def test_lengths_of_the_run_are_said_to_be_taken_as_those_of_all_rows(tmp_path: Path) -> None:
    found = [each for each in load_model(decoder(tmp_path, None)).warnings if "seqlens_k" in each]
    assert len(found) == 1 and "'groupqueryattention'" in found[0] and "are taken as valid" in found[0]


def test_keys_without_older_ones_are_put_out_as_they_come(tmp_path: Path) -> None:
    inputs = {each: [2, 6, 8] for each in ("q", "k", "v")}
    nodes = [helper.make_node("Relu", [each], [f"{each}r"]) for each in inputs]
    nodes += [own("MultiHeadAttention", ["qr", "kr", "vr"], ["y", "key", "value"], num_heads=2)]
    path = save(tmp_path, nodes, inputs, ["y", "key", "value"])
    assert verify(VerifyOptions(Job(path, "edge_npu"))).met


@pytest.mark.parametrize(
    ("op", "attributes", "inputs", "outputs", "message"),
    [
        ("SkipLayerNormalization", {}, 3, ["o0", "mean"], "puts out mean or deviation"),
        ("RotaryEmbedding", {"rotary_embedding_dim": 4, "num_heads": 2}, 4, ["o0"], "rotates a part of each head"),
        ("GroupQueryAttention", {"num_heads": 2, "local_window_size": 4}, 3, ["o0"], "sees a window of keys alone"),
        ("MultiHeadAttention", {"num_heads": 2}, 1, ["o0"], "queries, keys and values in one input"),
        ("MultiHeadAttention", {"num_heads": 2}, 5, ["o0"], "a mask of keys"),
    ],
)
def test_forms_without_parts_are_refused(
    op: str, attributes: dict[str, Any], inputs: int, outputs: list[str], message: str
) -> None:
    arrays = [random(2, 6, 8) for _ in range(inputs)]
    with pytest.raises(ModelError, match=message):
        graph_of(f"{MS}{op}", attributes, arrays, outputs)


TURNS = {"do_rotary": 1}


@pytest.mark.parametrize(
    ("attributes", "changed", "message"),
    [
        ({"num_heads": -4}, {}, "has num_heads -4 and kv_num_heads 2; allowed 1 or more of each"),
        ({"kv_num_heads": 0}, {}, "has num_heads 4 and kv_num_heads 0; allowed 1 or more of each"),
        ({}, {1: (1, 6, 32)}, "has keys without values, or values without keys"),
        ({}, {3: (2, 3), 4: (2, 3)}, r"past keys \[2, 3\]; allowed 1 x 2 x rows x 16, as new ones have"),
        ({}, {3: (1, 2, 3, 8), 4: (1, 2, 3, 8)}, r"past keys \[1, 2, 3, 8\]; allowed 1 x 2 x rows x 16"),
        (TURNS, {}, "needs cos_cache and sin_cache"),
        (TURNS, {7: (9, 8)}, "needs cos_cache and sin_cache"),
        (TURNS, {7: (9, 8), 8: (8, 8)}, r"'i8' has shape \[8, 8\]; allowed two axes, 9 rows or more"),
        (TURNS, {7: (1, 9, 8), 8: (9, 8)}, r"'i7' has shape \[1, 9, 8\]; allowed two axes, 9 rows or more"),
    ],
)
def test_inputs_of_an_attention_that_do_not_fit_are_told(
    attributes: dict[str, Any], changed: dict[int, tuple[int, ...]], message: str
) -> None:
    """Queries, keys and values in one input, behind 3 older rows."""
    shapes = {0: (1, 6, 128), 3: (1, 2, 3, 16), 4: (1, 2, 3, 16), **changed}
    arrays = [random(*shapes[at]) if at in shapes else None for at in range(max(shapes) + 1)]
    with pytest.raises(ModelError, match=message):
        graph_of(f"{MS}GroupQueryAttention", {"num_heads": 4, "kv_num_heads": 2, **attributes}, arrays, ["o0"])
