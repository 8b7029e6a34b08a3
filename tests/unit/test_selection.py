"""ArgMax, ArgMin, TopK: what they cost, two outputs of one node, equal indices in ONNX Runtime and in the Program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from archsim.base.errors import ModelError
from archsim.frontend.load import load_model
from archsim.ir.graph import GraphNode
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.ops.kit.catalogue import find
from archsim.ops.kit.meaning import FunctionCall
from tests.unit.fixtures_onnx import random

F, INTEGER = TensorProto.FLOAT, TensorProto.INT64


def write(folder: Path, nodes: list[Any], outputs: dict[str, int], **stored: Any) -> Path:
    """A file of these nodes behind an input x of 2 x 6 x 40."""
    held = [numpy_helper.from_array(np.asarray(array), name) for name, array in stored.items()]
    made = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    graph = helper.make_graph(nodes, "one", [helper.make_tensor_value_info("x", F, [2, 6, 40])], made, held)
    path = folder / "one.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return path


def top(**attributes: Any) -> Any:
    return helper.make_node("TopK", ["x", "k"], ["v", "i"], name="top", **attributes)


def test_a_node_of_two_outputs_is_a_layer_for_each(tmp_path: Path) -> None:
    """Both outputs are written in whole; each element taken is a round of two passes over the row."""
    workload = load_model(str(write(tmp_path, [top(axis=1)], {"v": F, "i": INTEGER}, k=[3])))
    assert [layer.name for layer in workload.layers] == ["top", "top.indices"]
    for layer in workload.layers:
        assert workload.tensors[layer.output.tensor].elements == 2 * 3 * 40
        points = int(np.prod(list(layer.dims.values())))
        assert points * sum(step.passes for step in layer.steps) == 2 * 3 * (2 * 6 * 40)
        assert {"d1", "rank"} == set(layer.whole)


def test_an_output_that_nothing_reads_is_no_layer(tmp_path: Path) -> None:
    node = helper.make_node("TopK", ["x", "k"], ["", "i"], name="top")
    assert [layer.name for layer in load_model(str(write(tmp_path, [node], {"i": INTEGER}, k=[3]))).layers] == [
        "top.indices"
    ]


def test_the_index_of_the_largest_is_two_passes_an_element(tmp_path: Path) -> None:
    node = helper.make_node("ArgMax", ["x"], ["y"], name="best", axis=2, keepdims=0)
    (layer,) = load_model(str(write(tmp_path, [node], {"y": INTEGER}))).layers
    assert dict(layer.dims) == {"d0": 2, "d1": 6, "d2": 40} and [step.passes for step in layer.steps] == [2]


@pytest.mark.parametrize(
    ("attributes", "count"), [({"axis": 1}, 3), ({"axis": -1, "largest": 0}, 7), ({"axis": 0}, 2), ({}, 40)]
)
def test_ties_are_taken_in_order_as_the_runtime_does(tmp_path: Path, attributes: dict[str, Any], count: int) -> None:
    data = np.round(random(2, 6, 40))
    path = write(tmp_path, [top(**attributes)], {"v": F, "i": INTEGER}, k=[count])
    wanted = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": data})
    found = find("TopK")
    assert found is not None
    node = GraphNode("top", "TopK", ("x", "k"), ("v", "i"), attributes)
    for ours, theirs in zip(found.reference(node, data, np.asarray([count])), wanted, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def test_rows_that_are_cut_in_parts_are_one_row() -> None:
    """A row over two extents; elements taken go along the third."""
    found = find("TopK")
    assert found is not None
    data = random(2, 1, 3, 4)
    parameters = {"over": ("a", "b"), "rank": ("rank",), "count": 5, "largest": 1}
    call = FunctionCall((data,), ("n", "rank", "a", "b"), (2, 3), None, parameters)
    wanted = -np.sort(-data.reshape(2, 12), axis=1)[:, :5]
    np.testing.assert_array_equal(found.functions["top"](call), wanted[:, :, None, None])
    places = found.functions["index_of_top"](call)[:, :, 0, 0].astype(int)
    np.testing.assert_array_equal(np.take_along_axis(data.reshape(2, 12), places, 1), wanted)


def test_more_than_there_are_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="takes 7 of 6 elements"):
        load_model(str(write(tmp_path, [top(axis=1)], {"v": F, "i": INTEGER}, k=[7])))
    with pytest.raises(ModelError, match="has 2 numbers as k; allowed one"):
        load_model(str(write(tmp_path, [top(axis=1)], {"v": F, "i": INTEGER}, k=[2, 3])))


def test_a_number_of_elements_that_is_not_there_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("TopK", ["x"], ["v", "i"], name="top")
    with pytest.raises(ModelError, match=r"node 'top' \(TopK\): has 1 input; needs 2"):
        load_model(str(write(tmp_path, [node], {"v": F, "i": INTEGER})))


def test_rows_picked_by_computed_indices_are_looked_up(tmp_path: Path) -> None:
    """As detectors take the boxes of their best scores: of one batch every element of a row has the row's index."""
    nodes = [
        helper.make_node("Slice", ["x", "zero", "one", "zero"], ["first"]),
        helper.make_node("ReduceMax", ["first", "two"], ["scores"], keepdims=0),
        helper.make_node("TopK", ["scores", "k"], ["v", "i"], axis=1, name="top"),
        helper.make_node("Unsqueeze", ["i", "two"], ["column"]),
        helper.make_node("Expand", ["column", "shape"], ["wide"]),
        helper.make_node("GatherElements", ["first", "wide"], ["boxes"], axis=1, name="boxes"),
        helper.make_node("GatherElements", ["scores", "i"], ["best"], axis=1, name="best"),
    ]
    stored = {"zero": [0], "one": [1], "two": [2], "k": [3], "shape": [1, 3, 40]}
    workload = load_model(str(write(tmp_path, nodes, {"boxes": F, "best": F}, **stored)))
    looked_up = {layer.name: layer for layer in workload.layers if any(each.rows for each in layer.inputs)}
    assert set(looked_up) == {"boxes", "best"}
    assert workload.tensors[looked_up["boxes"].output.tensor].elements == 3 * 40
    assert any("'boxes', 'best' look up are known at run time only" in each for each in workload.warnings)


def test_elements_that_are_no_rows_are_looked_up_by_their_numbers(tmp_path: Path) -> None:
    """Each row's places times the elements behind them, and the number of where the row begins."""
    nodes = [top(axis=1), helper.make_node("GatherElements", ["x", "i"], ["y"], axis=1, name="pick")]
    workload = load_model(str(write(tmp_path, nodes, {"y": F}, k=[3])))
    assert [(layer.name, layer.op) for layer in workload.layers][-3:] == [
        ("pick.place1", "Mul"), ("pick.numbers", "Add"), ("pick", "GatherRows")
    ]  # fmt: skip
    assert workload.layers[-1].inputs[0].rows is not None


@pytest.mark.parametrize("rows", [[1, 1], [1]])
def test_an_index_that_is_expanded_along_the_axis_is_no_list_of_rows(tmp_path: Path, rows: list[int]) -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "columns"], ["data"]),
        helper.make_node("Reshape", ["x", "one_row"], ["flat"]),
        helper.make_node("ArgMax", ["flat"], ["best"], name="best", axis=1),
        helper.make_node("Reshape", ["best", "rows"], ["index"]),
        helper.make_node("Expand", ["index", "shape"], ["wide"]),
        helper.make_node("GatherElements", ["data", "wide"], ["y"], axis=0, name="pick"),
    ]
    stored = {"columns": [160, 3], "one_row": [1, 480], "rows": rows, "shape": [4, 3]}
    workload = load_model(str(write(tmp_path, nodes, {"y": F}, **stored)))
    assert workload.layers[-1].op == "GatherRows" and any(layer.name == "pick.place0" for layer in workload.layers)


def test_the_program_finds_the_indices(tmp_path: Path) -> None:
    """Whole numbers, equal to those of the runtime."""
    path = write(tmp_path, [top(axis=2)], {"v": F, "i": INTEGER}, k=[4])
    outcome = verify(VerifyOptions(Job(str(path), "edge_npu")))
    assert outcome.met
    rows = {row.name: row for row in outcome.checks[0].rows}
    assert rows["top.indices"].different == 0
