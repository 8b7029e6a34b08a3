"""Every operator's NumPy reference and shape rule against the ONNX reference evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from archsim.ir.graph import GraphNode, GraphValue
from archsim.ops.kit.catalogue import find, operators
from tests.tools.operator_cases import CASES, MS, OWN, Array, in_runtime, neutral, outputs_of


def nodes_of(op: str, attributes: dict[str, Any], names: list[str], outputs: list[str]) -> list[NodeProto]:
    """The operator in ONNX, where an Append is the rows of before and the new ones behind them."""
    if op != "Append":
        return [helper.make_node(op.removesuffix("Rows"), names, outputs, **attributes)]
    axis, ends = attributes["axis"], (0, attributes.get("past", 0))
    sizes = [
        helper.make_node("Constant", [], [name], value_ints=[number])
        for name, number in zip(("from", "to", "axis"), (*ends, axis), strict=True)
    ]
    older = helper.make_node("Slice", [names[0], "from", "to", "axis"], ["older"])
    return [*sizes, older, helper.make_node("Concat", ["older", names[1]], outputs, axis=axis)]


def run_onnx(op: str, attributes: dict[str, Any], arrays: list[Array | None], outputs: list[str]) -> list[Array]:
    if op in OWN:
        return OWN[op](attributes, arrays)
    if op.startswith(MS) or op == "SimplifiedLayerNormalization":
        return in_runtime(op, attributes, arrays, outputs)
    names = [f"i{i}" if array is not None else "" for i, array in enumerate(arrays)]
    kinds = {f"i{i}": helper.np_dtype_to_tensor_dtype(a.dtype) for i, a in enumerate(arrays) if a is not None}
    graph = helper.make_graph(
        nodes_of(op, attributes, names, outputs),
        "one",
        [helper.make_tensor_value_info(name, kind, None) for name, kind in kinds.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs if name],
    )
    opset = 24 if op in ("Attention", "RMSNormalization", "RotaryEmbedding", "Swish") else 20
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    feeds = {f"i{i}": array for i, array in enumerate(arrays) if array is not None}
    return [np.asarray(result) for result in ReferenceEvaluator(proto).run(None, feeds) if result is not None]


@pytest.mark.parametrize(("op", "attributes", "arrays"), CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)])
def test_reference_and_shape(op: str, attributes: dict[str, Any], arrays: list[Array | None]) -> None:
    outputs = outputs_of(op)
    expected = run_onnx(op, attributes, arrays, outputs)
    node = neutral(op, attributes, arrays, outputs)
    found = find(op)
    assert found is not None
    values = tuple(
        None if array is None else GraphValue(f"i{i}", array.shape, "constant", str(array.dtype), array)
        for i, array in enumerate(arrays)
    )
    shapes = found.shapes(node, values)
    results = found.reference(node, *arrays)
    for shape, result, wanted in zip(shapes, results, expected, strict=False):
        assert shape == wanted.shape
        np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5)


def test_a_filled_constant_is_zero_unless_it_says_otherwise() -> None:
    found, shape = find("ConstantOfShape"), np.asarray([2, 2], np.int64)
    assert found is not None and found.known is not None
    held = (GraphValue("i0", (2,), "constant", "int64", shape),)
    for attributes, wanted in (({}, 0.0), ({"value": 3.0}, 3.0)):
        node = GraphNode("n", "ConstantOfShape", ("i0",), ("o0",), attributes)
        for made in (found.known(node, held), *found.reference(node, shape)):
            assert made is not None and made.dtype == np.float32
            np.testing.assert_array_equal(made, np.full((2, 2), wanted))


def test_every_operator_is_compared() -> None:
    """A new operator needs a case here."""
    assert sorted({case[0] for case in CASES}) == sorted(operators())
