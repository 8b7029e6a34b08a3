"""Rotary embedding by positions that the run states: its tables are looked up, in the numbers of ONNX."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants
from archsim.graph.passes.manager import PassOptions, passed
from archsim.ir.graph import Graph, GraphNode, GraphValue
from tests.unit.fixtures_onnx import random


@pytest.mark.parametrize(("shape", "heads"), [((2, 3, 6, 8), 0), ((2, 6, 24), 3)])
def test_tables_are_looked_up_at_the_positions(shape: tuple[int, ...], heads: int) -> None:
    data, cos, sin = random(*shape), random(16, 4), random(16, 4, seed=1)
    positions = np.asarray([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]], np.int64)
    attributes = {"num_heads": heads} if heads else {}
    names, arrays = ["x", "cos", "sin", "at"], [data, cos, sin, positions]
    node = helper.make_node("RotaryEmbedding", names, ["y"], **attributes)
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, arrays, strict=True)
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = helper.make_model(
        helper.make_graph([node], "one", inputs, [output]), opset_imports=[helper.make_opsetid("", 23)]
    )
    (wanted,) = ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))
    values = {
        "x": GraphValue("x", shape, "input"),
        "at": GraphValue("at", positions.shape, "input", "int64"),
        "cos": GraphValue("cos", cos.shape, "constant", data=cos),
        "sin": GraphValue("sin", sin.shape, "constant", data=sin),
        "y": GraphValue("y", shape, "activation"),
    }
    turn = GraphNode("turn", "RotaryEmbedding", tuple(names), ("y",), attributes)
    parts = passed(Graph("one", (turn,), values, ("x", "at"), ("y",)), PassOptions()).canonical
    assert [(node.name, node.op) for node in parts.nodes] == [
        ("turn.cos", "GatherRows"),
        ("turn.sin", "GatherRows"),
        ("turn", "RotaryEmbedding"),
    ]
    found = reference.real(parts, Constants(parts, {}, 0, {}), {"x": data, "at": positions})
    np.testing.assert_allclose(found["y"], wanted, rtol=2e-5, atol=2e-5)
