"""Bytes that any schedule moves, of networks of which they can be counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import archsim as ax
from archsim.lab.run.job import Job, build
from archsim.lab.run.least_of_network import least_of

HEAD = 'schema: archsim.workload/1\nname: n\nsource: "estimated: small"\n'


def moved(folder: Path, text: str, dtype: str = "", chip: str = "edge_npu") -> int:
    """Compulsory bytes of a workload file."""
    path = folder / "model.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    found = least_of(build(Job(path, chip, dtype=dtype or None)))
    assert found is not None
    return found.bytes


def test_weights_inputs_and_outputs_move_once(tmp_path: Path) -> None:
    """8 x 64 in, 64 x 32 weights with 32 sums of four bytes, 32 x 16 with 16; 8 x 16 out; nothing between."""
    dense = "inputs: {x: [8, 64]}\nlayers:\n  - dense: {name: one, out: 32}\n  - dense: {name: two, out: 16}\n"
    assert moved(tmp_path, dense) == 8 * 64 + 64 * 32 + 4 * 32 + 32 * 16 + 4 * 16 + 8 * 16


def test_weights_that_layers_share_come_in_once(tmp_path: Path) -> None:
    """And so do inputs that several read."""
    shared = (
        "inputs: {x: [8, 64], w: [64, 64]}\nlayers:\n"
        '  - einsum: {name: one, equation: "m k, k n -> m n", inputs: [x, w]}\n'
        '  - einsum: {name: two, equation: "m k, k n -> m n", inputs: [one, w]}\n'
        "  - add: {name: three, inputs: [two, x]}\n"
    )
    assert moved(tmp_path, shared) == 8 * 64 + 64 * 64 + 8 * 64


def test_what_a_stride_passes_over_does_not_count(tmp_path: Path) -> None:
    """A kernel of 1 that moves by 2 reads a quarter of its input."""
    conv = "inputs: {x: [1, 4, 16, 16]}\nlayers:\n  - conv: {name: c, out_channels: 8, kernel: 1, stride: 2}\n"
    assert moved(tmp_path, conv) == 4 * 8 * 8 + 4 * 8 + 4 * 8 + 8 * 8 * 8


def test_padding_does_not_count(tmp_path: Path) -> None:
    conv = "inputs: {x: [1, 4, 16, 16]}\nlayers:\n  - conv: {name: c, out_channels: 8, kernel: 3, pad: 1}\n"
    assert moved(tmp_path, conv) == 4 * 16 * 16 + 9 * 4 * 8 + 4 * 8 + 8 * 16 * 16


def test_packed_weights_count_as_they_are_stored(tmp_path: Path) -> None:
    """64 x 32 of four bits; each 32 of them with a scale of two bytes and a zero point of four bits."""
    dense = "inputs: {x: [8, 64]}\nlayers:\n  - dense: {name: one, out: 32, bias: false}\n"
    assert moved(tmp_path, dense, "w=int4/32") == 8 * 64 + 64 * 32 // 2 + 64 * 5 // 2 + 8 * 32


def test_parts_of_a_tensor_count_once_each(tmp_path: Path) -> None:
    """Results side by side in an output, and halves of an input that layers read apart."""
    parts = (
        "inputs: {x: [1, 8, 8, 8]}\nlayers:\n"
        "  - conv: {name: one, input: x, out_channels: 4, kernel: 1, bias: false}\n"
        "  - conv: {name: two, input: x, out_channels: 12, kernel: 1, bias: false}\n"
        "  - concat: {name: both, inputs: [one, two], axis: 1}\n"
    )
    assert moved(tmp_path, parts) == 8 * 64 + 8 * 4 + 8 * 12 + 16 * 64


def test_rows_that_are_looked_up_count_once(tmp_path: Path) -> None:
    """Of a table no more rows come in than look-ups, and those that are drawn again are there already."""
    found = [
        moved(
            tmp_path,
            f"layers:\n  - embedding: {{name: e, rows: {rows}, dim: 16, lookups: [1, 64], reduce: sum}}\n",
        )
        for rows in (1, 100000)
    ]
    assert found == [16 + 16, 64 * 16 + 16]


def test_a_state_comes_in_as_far_as_it_was_there() -> None:
    """The rows of before come in and those of this step go out, of keys and of values."""
    before, behind = (
        ax.run("gpt2:decode", "edge_npu", parameters={"context": context}, net=False).summary["compulsory_bytes"]
        for context in (128, 256)
    )
    assert behind - before == 128 * 2 * 12 * 768


def test_what_a_bound_ties_together_does_not_count_twice(tmp_path: Path) -> None:
    """A stored bias of causal scores: tiles above the diagonal are left out, and no run moves less than is counted."""
    heads, rows, width = 2, 64, 8
    shape = {"q": [1, heads, rows, width], "kt": [1, heads, width, rows], "v": [1, heads, rows, width]}
    mask = np.where(np.tri(rows, dtype=bool), 0, -1e30).astype(np.float32).reshape(1, 1, rows, rows)
    stored = {"bias": np.ones((1, heads, rows, rows), np.float32), "mask": mask}
    nodes = [
        helper.make_node("MatMul", ["q", "kt"], ["s"]),
        helper.make_node("Add", ["s", "bias"], ["t"]),
        helper.make_node("Add", ["t", "mask"], ["u"]),
        helper.make_node("Softmax", ["u"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["o"]),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in shape.items()]
    output = helper.make_tensor_value_info("o", TensorProto.FLOAT, shape["q"])
    weights = [numpy_helper.from_array(value, name) for name, value in stored.items()]
    graph = helper.make_graph(nodes, "biased", inputs, [output], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "biased.onnx")
    found = ax.run(tmp_path / "biased.onnx", "edge_npu", net=False).summary
    moved_bytes = found["dram"]["read_bytes"] + found["dram"]["write_bytes"]
    assert 4 * heads * rows * width <= found["compulsory_bytes"] <= moved_bytes


@pytest.mark.parametrize("model", ["hand_tracking", "gpt2:decode"])
def test_a_run_moves_hardly_more_where_all_has_room(model: str) -> None:
    found = ax.run(model, "edge_npu", set={"l1.size": "8MiB"}, net=False).summary
    moved_bytes = found["dram"]["read_bytes"] + found["dram"]["write_bytes"]
    assert found["compulsory_bytes"] <= moved_bytes < 1.03 * found["compulsory_bytes"]


def test_a_product_is_bound_by_its_engines_or_by_its_bytes() -> None:
    """Of 512 x 512 x 512 a part goes to the lanes, so that array (1,024 products a cycle) and vector unit (64, and as
    many results drained) end together; of one row of 2,048 all bytes come at 51.2 a cycle. Both are launched first."""
    launch, products, results = 2_000, 512**3, 512**2
    on_array, in_lanes, drained = products / 1_024, products / 64, results / 64
    share = (on_array - drained) / (on_array - drained + in_lanes)
    for sizes, cycles in (
        ({"m": 512, "n": 512, "k": 512}, launch + on_array * (1 - share)),
        ({"m": 1, "n": 2_048, "k": 2_048}, launch + (2_048 * 2_048 + 2 * 2_048) / 51.2),
    ):
        found = least_of(build(Job("gemm", "edge_npu", parameters=sizes)))
        assert found is not None
        assert found.cycles == pytest.approx(cycles, rel=1e-3)


def test_a_program_given_as_text_has_no_bound(tmp_path: Path) -> None:
    found = ax.run(Path("tests/golden/program.asm"), "tests/golden/chip.yaml").summary
    assert found["network_bound_cycles"] is None and found["gap"] is None and found["compulsory_bytes"] is None
