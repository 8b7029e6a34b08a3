"""Products with weights of a few bits in blocks, from ONNX Runtime's tools: what they become, cost and give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from archsim.base.errors import ConfigError, ModelError
from archsim.frontend.load import import_model, load_model
from archsim.graph.numeric.constants import Constants
from archsim.graph.passes.manager import PassOptions, passed
from archsim.ir.graph import Graph, GraphNode, GraphValue
from archsim.lab.run.estimate import estimated
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.lab.verify.outcome import VerifyCheck
from archsim.ops import matmul_nbits as own
from mapper.execute.run import Executor
from tests.unit.fixtures_onnx import write_nodes

ROWS, COLUMNS, BLOCK = (2, 3), 24, 32
FLOATS = "a=fp16,acc=fp32,tables=fp16"
WIDE = {"mxu.rates": {"int8": 1, "fp32": "1/4"}}  # an array that computes in single precision, as the file says
NUMPY, RUNTIME = "NumPy, node by node", "ONNX Runtime"


def stored(depth: int, bits: int, zeros: bool, bias: bool, kind: Any = np.float32) -> dict[str, Any]:
    """What a file keeps of weights of ``depth`` rows."""
    draw, blocks = np.random.default_rng(depth + bits), -(-depth // BLOCK)
    found: dict[str, Any] = {"w": draw.integers(0, 256, (COLUMNS, blocks, BLOCK * bits // 8), np.uint8)}
    found["s"] = draw.uniform(0.01, 0.03, COLUMNS * blocks).astype(kind)
    if zeros:
        found["z"] = draw.integers(0, 256, COLUMNS * -(-blocks * bits // 8), np.uint8)
    if bias:
        found["b"] = draw.standard_normal(COLUMNS).astype(kind)
    return found


def product(name: str, depth: int, bits: int, held: dict[str, Any], **more: Any) -> onnx.NodeProto:
    inputs = ["x", "w", "s", "z" if "z" in held else "", "", "b" if "b" in held else ""]
    attributes = {"K": depth, "N": COLUMNS, "bits": bits, "block_size": BLOCK, **more}
    return helper.make_node("MatMulNBits", inputs, [f"{name}.y"], name=name, domain="com.microsoft", **attributes)


def written(
    folder: Path,
    depth: int = 64,
    bits: int = 4,
    zeros: bool = False,
    bias: bool = False,
    kind: Any = np.float32,
    **more: Any,
) -> str:
    held = stored(depth, bits, zeros, bias, kind)
    node = product("fc", depth, bits, held, **more)
    path = write_nodes(folder, [node], {"x": [*ROWS, depth]}, ["fc.y"], **held)
    if kind == np.float16:
        proto = onnx.load(path)
        for value in (*proto.graph.input, *proto.graph.output):
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
        onnx.save(proto, path)
    return str(path)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize(("depth", "bits"), [(64, 4), (80, 4), (64, 8), (80, 8)])
@pytest.mark.parametrize(("zeros", "bias"), [(False, False), (True, False), (False, True), (True, True)])
def test_imports_as_a_product_with_weights_in_blocks(
    tmp_path: Path, depth: int, bits: int, zeros: bool, bias: bool, kind: Any
) -> None:
    """As a config's: N rows of K elements along the last axis in memory; scales and zeros are no parameters."""
    workload = load_model(written(tmp_path, depth, bits, zeros, bias, kind))
    assert [(layer.name, layer.op, layer.kind) for layer in workload.layers] == [("fc", "MatMul", "matmul")]
    assert workload.macs == 2 * 3 * depth * COLUMNS
    assert workload.parameters == depth * COLUMNS + COLUMNS * bias
    held = {name: tensor for name, tensor in workload.tensors.items() if tensor.kind == "weight"}
    weights = held.pop("fc.weight")
    scale = {np.float16: "fp16", np.float32: "fp32"}[kind]
    assert weights.format == f"int{bits}/{BLOCK}:{scale}{'+z' if zeros else ''}"
    assert (weights.shape, weights.logical) == ((COLUMNS, depth), (1, 0))
    assert [tensor.shape for tensor in held.values()] == [(COLUMNS,)] * bias
    assert not [text for text in workload.warnings if "blocks" in text]


@pytest.mark.parametrize("depth", [64, 80])
@pytest.mark.parametrize(("bits", "zeros", "bias"), [(4, False, False), (4, True, True), (8, True, False)])
def test_weights_take_the_bytes_of_the_file(tmp_path: Path, depth: int, bits: int, zeros: bool, bias: bool) -> None:
    """Elements without the padding of the last block, a scale of 2 bytes and a zero of each block in rows of bytes."""
    path = written(tmp_path, depth, bits, zeros, bias, np.float16)
    found = estimated(Job(path, "edge_npu", dtype=FLOATS))["workload"]["weight_bytes"]
    row = depth * bits // 8 + -(-(-(-depth // BLOCK) * (16 + bits * zeros)) // 8)
    assert found == COLUMNS * row + COLUMNS * 4 * bias


def test_external_weights_are_not_read(tmp_path: Path) -> None:
    """The file beside the model is not there."""
    path = written(tmp_path, 64, 4, True, kind=np.float16)
    whole = load_model(path)
    proto = onnx.load(path)
    onnx.save(proto, path, save_as_external_data=True, location="beside.data", size_threshold=16)
    (tmp_path / "beside.data").unlink()
    alone = load_model(path)
    assert (alone.layers, alone.tensors, alone.parameters) == (whole.layers, whole.tensors, whole.parameters)


def test_weights_that_two_products_read_are_held_once(tmp_path: Path) -> None:
    held = stored(64, 4, True, False)
    nodes = [product(name, 64, 4, held) for name in ("one", "two")]
    path = str(write_nodes(tmp_path, nodes, {"x": [*ROWS, 64]}, ["one.y", "two.y"], **held))
    workload = load_model(path)
    assert [name for name, tensor in workload.tensors.items() if tensor.kind == "weight"] == ["one.weight"]
    assert workload.parameters == 64 * COLUMNS and workload.macs == 2 * 2 * 3 * 64 * COLUMNS


@pytest.mark.parametrize(("depth", "bits", "zeros"), [(64, 4, False), (80, 4, True), (80, 8, False), (64, 8, True)])
def test_weights_of_the_graph_are_those_of_the_runtime(depth: int, bits: int, zeros: bool) -> None:
    """Column by column, from rows that pick one weight each."""
    held = stored(depth, bits, zeros, bias=False)
    values = {name: GraphValue(name, a.shape, "constant", str(a.dtype), a, (name,)) for name, a in held.items()}
    values |= {"x": GraphValue("x", (depth, depth), "input"), "y": GraphValue("y", (depth, COLUMNS), "activation")}
    attributes = {"K": depth, "N": COLUMNS, "bits": bits, "block_size": BLOCK}
    node = GraphNode("fc", own.NAME, ("x", *held), ("y",), attributes)
    (wanted,) = own.reference(node, np.eye(depth, dtype=np.float32), *held.values())
    made = passed(Graph("one", (node,), values, ("x",), ("y",)), PassOptions()).canonical
    assert [each.op for each in made.nodes] == ["MatMul"]
    np.testing.assert_array_equal(Constants(made, held, 0, {})["fc.weight"], wanted)


def checked(path: str, dtype: str, **values: Any) -> VerifyCheck:
    """The check in real numbers; the one in integers is left out."""
    real, whole = verify(VerifyOptions(Job(path, "edge_npu", dtype=dtype, values=values))).checks
    assert whole.skipped and not real.problem
    return real


@pytest.mark.parametrize(("depth", "bits", "zeros", "bias"), [(64, 4, False, True), (80, 4, True, False),
                                                              (80, 8, True, True)])  # fmt: skip
def test_is_verified_in_the_format_of_the_file(tmp_path: Path, depth: int, bits: int, zeros: bool, bias: bool) -> None:
    """From the bytes of the file, against ONNX Runtime in single precision, and NumPy where the file has halves."""
    found = checked(written(tmp_path, depth, bits, zeros, bias), FLOATS, **WIDE)
    assert found.passed and found.reference.startswith(RUNTIME)
    found = checked(written(tmp_path, depth, bits, zeros, bias, np.float16), FLOATS)
    assert found.passed and found.reference == NUMPY


def test_leave_to_round_rows_is_not_taken(tmp_path: Path) -> None:
    """ONNX Runtime would multiply elements of 8 bits."""
    found = checked(written(tmp_path, accuracy_level=4), FLOATS, **WIDE)
    assert found.passed and found.reference.startswith(RUNTIME)


@pytest.mark.parametrize("text", ["int4/32:fp16", "int4/16", "fp8"])
def test_is_verified_in_another_format(tmp_path: Path, text: str) -> None:
    """Rounded anew; the file's runtime cannot be told, NumPy is."""
    found = checked(written(tmp_path, 80, 4, True, True), f"w={text},{FLOATS}")
    assert found.passed and found.reference == NUMPY


def test_wrong_bytes_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of one element in memory: the check fails."""
    fill = Executor.fill

    def flipped(self: Executor, tensor: str, values: np.ndarray) -> None:
        wrong = values.copy()
        if tensor == "fc.weight":
            wrong[7, 11] = int(wrong[7, 11]) ^ 4
        fill(self, tensor, wrong)

    path = written(tmp_path, 64, 4, True, kind=np.float16)
    assert checked(path, FLOATS).passed
    monkeypatch.setattr(Executor, "fill", flipped)
    assert not checked(path, FLOATS).passed


def test_scales_wider_than_an_array_computes_are_refused_with_what_fits(tmp_path: Path) -> None:
    path = written(tmp_path, 64, 4, True)
    says = r"no rate for fp16 x int4/32:fp32\+z, .*; --dtype weights=int4/32:fp16\+z has scales that it computes with"
    with pytest.raises(ConfigError, match=says):
        estimated(Job(path, "edge_npu", dtype=FLOATS))
    assert estimated(Job(path, "edge_npu", dtype=f"{FLOATS},w=int4/32:fp16+z"))["workload"]["weight_bytes"] > 0


@pytest.mark.parametrize(
    ("more", "swapped", "says"),
    [
        ({"bits": 2}, {"w": np.zeros((COLUMNS, 2, 8), np.uint8)}, "has weights of 2 bits; allowed 4 and 8"),
        ({"weight_prepacked": 1}, {}, r"order of a kernel \(weight_prepacked\)"),
        ({}, {"z": np.zeros(2 * COLUMNS, np.float32)}, "'z' has elements of type float32; allowed uint8"),
        ({}, {"s": np.zeros(COLUMNS, np.float32)}, r"'s' has shape \[24\]; N, K, bits and block_size make 24 x 2"),
        ({}, {"w": np.zeros((COLUMNS, 32), np.uint8), "g": np.zeros(64, np.int32)}, r"in another order \(g_idx\)"),
        ({"K": 32}, {}, "its weights have rows of K = 32"),
        ({"N": 0}, {}, "has K 64 and N 0; allowed 1 or more of each"),
        ({}, {"w": np.zeros((2, COLUMNS, 16), np.uint8)}, r"'w' has shape \[2, 24, 16\]; N, K, bits and"),
        ({}, {"b": np.zeros(1, np.float32)}, r"its bias 'b' has shape \[1\]; allowed \[24\]"),
        ({}, {"b": np.zeros(COLUMNS, np.int64)}, "its bias 'b' has elements of type int64; allowed float16"),
        ({}, {"b": np.zeros(COLUMNS, np.float32), "more": np.zeros(1, np.float32)}, "has 7 inputs; allowed 6"),
    ],
)
def test_what_no_format_says_is_refused_by_name(
    tmp_path: Path, more: dict[str, Any], swapped: dict[str, Any], says: str
) -> None:
    held = stored(64, 4, False, False) | swapped
    node = product("fc", 64, 4, held)
    kept = [each for each in node.attribute if each.name not in more]
    del node.attribute[:]
    node.attribute.extend([*kept, *(helper.make_attribute(key, value) for key, value in more.items())])
    node.input[4] = "g" if "g" in held else ""
    node.input.extend(["more"] if "more" in held else [])
    path = write_nodes(tmp_path, [node], {"x": [*ROWS, 64]}, ["fc.y"], **held)
    with pytest.raises(ModelError, match=rf"node 'fc' \(com.microsoft.MatMulNBits\): .*{says}"):
        import_model(str(path))


def test_weights_made_at_run_time_are_refused(tmp_path: Path) -> None:
    held = stored(64, 4, False, False)
    nodes = [helper.make_node("Relu", ["given"], ["s"], name="relu"), product("fc", 64, 4, held)]
    inputs = {"x": [*ROWS, 64], "given": list(held.pop("s").shape)}
    path = write_nodes(tmp_path, nodes, inputs, ["fc.y"], **held)
    with pytest.raises(ModelError, match=r"its weights are made at run time \('s'\); allowed constants"):
        import_model(str(path))


def attention_layer(folder: Path, rows: int, block: int) -> str:
    """Two products with weights of 4 bits around 4 heads of 16 over 2 of keys, which read all of the first; 3 older
    rows of keys and values."""
    draw, held, nodes = np.random.default_rng(rows), dict[str, Any](), list[onnx.NodeProto]()
    for name, source, columns in (("qkv", "x", 128), ("o", "a", 64)):
        held[f"w{name}"] = draw.integers(0, 256, (columns, 64 // block, block // 2), np.uint8)
        held[f"s{name}"] = draw.uniform(0.01, 0.03, (columns, 64 // block)).astype(np.float32)
        more = {"K": 64, "N": columns, "bits": 4, "block_size": block, "accuracy_level": 4}
        given = [source, f"w{name}", f"s{name}"]
        nodes.append(helper.make_node("MatMulNBits", given, [name], f"{name}_proj", domain="com.microsoft", **more))
    lengths = {"lengths": np.asarray([[rows + 2]], np.int32), "total": np.asarray(rows + 3, np.int32)}
    inputs = ["qkv", "", "", "pk", "pv", *lengths]
    grouped = helper.make_node("GroupQueryAttention", inputs, ["a", "key", "value"], "attention", num_heads=4,
                               kv_num_heads=2, domain="com.microsoft")  # fmt: skip
    nodes.insert(1, grouped)
    fed = {"x": [1, rows, 64], "pk": [1, 2, 3, 16], "pv": [1, 2, 3, 16]}
    return str(write_nodes(folder, nodes, fed, ["o", "key", "value"], **held, **lengths))


@pytest.mark.parametrize("rows", [1, 6])
@pytest.mark.parametrize("block", [16, 32])
def test_an_attention_layer_is_verified(tmp_path: Path, rows: int, block: int) -> None:
    """Rows that the last product reads head by head, which blocks of 32 run across."""
    path = attention_layer(tmp_path, rows, block)
    workload = load_model(path)
    assert workload.parameters == 64 * (128 + 64)
    assert {tensor.format for tensor in workload.tensors.values() if tensor.format} == {f"int4/{block}:fp32"}
    assert checked(path, FLOATS, **WIDE).passed
