"""Transposed convolution: its multiply-accumulates, and the numbers of ONNX Runtime in whole and in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from archsim.base.errors import ModelError
from archsim.graph.lowering.lower import lower_graph
from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants
from archsim.graph.passes.manager import PassOptions, passed
from archsim.ir.graph import Graph, GraphNode, GraphValue
from archsim.ops.kit.catalogue import find
from tests.unit.fixtures_onnx import random

# attributes, input, weights, bias
CASES: list[tuple[dict[str, Any], tuple[int, ...], tuple[int, ...], bool]] = [
    ({"strides": [2, 2]}, (2, 6, 5, 4), (6, 3, 2, 2), True),
    ({"strides": [2, 2], "pads": [1, 1, 1, 1]}, (1, 6, 5, 4), (6, 3, 4, 4), True),
    ({"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}, (1, 6, 5, 4), (6, 3, 3, 3), False),
    ({"strides": [3, 2], "pads": [0, 1, 1, 0], "group": 2}, (1, 6, 5, 4), (6, 3, 3, 3), True),
    ({"strides": [1, 1], "pads": [1, 0, 1, 2]}, (1, 6, 5, 4), (6, 3, 3, 3), True),
    ({"strides": [3, 4]}, (1, 6, 5, 4), (6, 3, 2, 2), True),
    ({"strides": [2, 2], "auto_pad": "SAME_UPPER"}, (1, 6, 5, 4), (6, 3, 3, 3), True),
    ({"strides": [2, 2], "auto_pad": "SAME_LOWER"}, (1, 6, 5, 4), (6, 3, 3, 3), True),
    ({"strides": [2, 2], "auto_pad": "VALID"}, (1, 6, 5, 4), (6, 3, 3, 3), True),
    ({"strides": [2, 2], "output_shape": [10, 9]}, (1, 6, 5, 4), (6, 3, 3, 3), True),
    ({"strides": [4], "pads": [2, 2]}, (1, 4, 9), (4, 2, 8), True),
    ({"strides": [2, 2, 2]}, (1, 2, 3, 2, 2), (2, 3, 3, 2, 2), False),
]


def operands(case: tuple[dict[str, Any], tuple[int, ...], tuple[int, ...], bool]) -> list[Any]:
    attributes, data, weights, biased = case
    columns = weights[1] * attributes.get("group", 1)
    return [random(*data), random(*weights, seed=1), *([random(columns, seed=2)] if biased else [])]


def in_runtime(attributes: dict[str, Any], arrays: list[Any]) -> np.ndarray:
    fed = {f"i{at}": array for at, array in enumerate(arrays)}
    node = helper.make_node("ConvTranspose", list(fed), ["y"], **attributes)
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in fed.items()]
    graph = helper.make_graph([node], "one", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, fed)[0])


def graph_of(attributes: dict[str, Any], arrays: list[Any]) -> Graph:
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in attributes.items()}
    names = tuple(f"i{at}" for at in range(len(arrays)))
    values = {
        name: GraphValue(name, array.shape, "constant" if at else "input", "float32", array if at else None)
        for at, (name, array) in enumerate(zip(names, arrays, strict=True))
    }
    node = GraphNode("up", "ConvTranspose", names, ("y",), plain)
    found = find("ConvTranspose")
    assert found is not None
    values["y"] = GraphValue("y", found.shapes(node, tuple(values[name] for name in names))[0], "activation")
    return Graph("one", (node,), values, ("i0",), ("y",))


@pytest.mark.parametrize("case", CASES, ids=[str(case[0]) for case in CASES])
def test_numbers_are_those_of_the_runtime(case: Any) -> None:
    arrays = operands(case)
    wanted, graph = in_runtime(case[0], arrays), graph_of(case[0], arrays)
    assert graph.shape("y") == wanted.shape
    found = find("ConvTranspose")
    assert found is not None
    np.testing.assert_allclose(found.reference(graph.nodes[0], *arrays)[0], wanted, rtol=2e-5, atol=2e-5)
    parts = passed(graph, PassOptions()).canonical
    made = reference.real(parts, Constants(parts, {}, 0, {}), {"i0": arrays[0]})
    np.testing.assert_allclose(made["y"], wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("case", CASES, ids=[str(case[0]) for case in CASES])
def test_macs_are_input_elements_times_the_weights_behind_them(case: Any) -> None:
    attributes, data, weights, _ = case
    workload = lower_graph(graph_of(attributes, operands(case)), batch=1, sha256="").workload
    assert workload.macs == int(np.prod(data)) * int(np.prod(weights[1:]))


def test_windows_side_by_side_are_one_layer_and_others_are_added_up() -> None:
    """4 x 4 windows two apart, cut by one: 6 x 5 steps of 2 x 2 outputs, each the sum of 2 x 2 windows."""
    whole = lower_graph(graph_of(CASES[0][0], operands(CASES[0])), batch=1, sha256="").workload
    assert [layer.name for layer in whole.layers] == ["up"]
    parts = lower_graph(graph_of(CASES[1][0], operands(CASES[1])), batch=1, sha256="").workload
    assert [layer.name for layer in parts.layers] == ["up", "up.fold"]
    assert [view.name for view in parts.views] == ["up.crop"]
    fold = parts.layers[1]
    points = int(np.prod(list(fold.dims.values())))
    assert points * sum(step.passes for step in fold.steps) == 3 * (6 * 2) * (5 * 2) * 2 * 2


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"dilations": [2, 2]}, r"dilations \[2, 2\]; allowed 1"),
        ({"strides": [0, 1]}, r"do not fit \(3, 3\)"),
        ({"pads": [1, 1]}, r"do not fit \(3, 3\)"),
        ({"pads": [9, 9, 9, 9]}, "allowed 0 or more, and 1 or more"),
        ({"group": 4}, "in 4 groups do not fit"),
        ({"auto_pad": "SOME"}, "auto_pad 'SOME'; allowed NOTSET"),
    ],
)
def test_what_has_no_rule_is_refused(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        graph_of(attributes, operands(({}, (1, 6, 5, 4), (6, 3, 3, 3), True)))
