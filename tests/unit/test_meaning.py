"""What vector functions mean in numbers, against ONNX Runtime and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from archsim.base.errors import ModelError
from archsim.ir.functions import Function
from archsim.ir.graph import GraphNode, GraphValue
from archsim.ops.kit.catalogue import family, meanings
from archsim.ops.kit.meaning import FunctionCall, apply

UNARY: dict[str, dict[str, Any]] = {
    "Abs": {},
    "Ceil": {},
    "Celu": {"alpha": 0.7},
    "Elu": {"alpha": 0.3},
    "Erf": {},
    "Exp": {},
    "Floor": {},
    "HardSigmoid": {"alpha": 0.4, "beta": 0.3},
    "HardSwish": {},
    "LeakyRelu": {"alpha": 0.2},
    "Neg": {},
    "Reciprocal": {},
    "Relu": {},
    "Round": {},
    "Selu": {},
    "Sigmoid": {},
    "Sign": {},
    "Softplus": {},
    "Softsign": {},
    "Tanh": {},
    "Mish": {},
}
DATA = np.array([[-3.5, -2.5, -1.0, -0.3, 0.5, 0.9, 1.5, 2.5, 7.0]], np.float32)


def in_runtime(op: str, attributes: dict[str, Any], *inputs: np.ndarray) -> np.ndarray:
    names = [f"x{index}" for index in range(len(inputs))]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in zip(names, inputs, strict=True)]
    node = helper.make_node(op, names, ["y"], **attributes)
    graph = helper.make_graph([node], "one", infos, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, dict(zip(names, inputs, strict=True)))[0])


def of_step(op: str, attributes: dict[str, Any], *values: np.ndarray, over: tuple[str, ...] = ()) -> np.ndarray:
    """The meaning of the function that the operator's layer names."""
    node = GraphNode("n", op, tuple(f"x{i}" for i in range(len(values))), ("y",), attributes)
    found = family(node)
    assert found.epilogue is not None
    from archsim.ir.graph import Graph

    graph = Graph("g", (node,), {f"x{i}": GraphValue(f"x{i}", v.shape, "input") for i, v in enumerate(values)}, (), ())
    (step,) = found.epilogue(node, graph) or ()
    (function,) = step.functions
    return apply(function, meanings(), FunctionCall(values, ("n", "c"), (), None, dict(function.parameters)))


@pytest.mark.parametrize("op", UNARY)
def test_functions_of_one_element(op: str) -> None:
    found = of_step(op, UNARY[op], DATA.astype(np.float64))
    np.testing.assert_allclose(found, in_runtime(op, UNARY[op], DATA), rtol=2e-6, atol=2e-6)


def call(name: str, *values: Any, reduced: tuple[int, ...] = (), inside: Any = None, **parameters: Any) -> np.ndarray:
    arrays = tuple(np.asarray(value, np.float64) for value in values)
    dims = tuple("abcd"[: arrays[0].ndim])
    return apply(Function(name), meanings(), FunctionCall(arrays, dims, reduced, inside, parameters))


def test_one_value_is_reduced_several_are_combined() -> None:
    grid = [[1.0, 2.0, 4.0], [-3.0, 5.0, 0.5]]
    assert call("add", grid, reduced=(1,)).tolist() == [[7.0], [2.5]]
    assert call("max", grid, reduced=(0, 1)).tolist() == [[5.0]]
    assert call("average", grid, reduced=(0,)).tolist() == [[-1.0, 3.5, 2.25]]
    assert call("multiply", grid, reduced=(1,)).tolist() == [[8.0], [-7.5]]
    assert call("square_add", grid, reduced=(1,)).tolist() == [[21.0], [34.25]]
    assert call("add", grid, [[1.0], [2.0]], [[10.0]]).tolist() == [[12.0, 13.0, 15.0], [9.0, 17.0, 12.5]]
    assert call("average", grid, grid).tolist() == grid
    assert call("subtract", [1.0], [4.0]).tolist() == [-3.0]


def test_guards_leave_points_out() -> None:
    grid, inside = [[-1.0, -2.0, -4.0]], [[True, True, False]]
    assert call("max", [[-1.0, -2.0, 0.0]], reduced=(1,), inside=inside).tolist() == [[-1.0]]
    assert call("average", grid, reduced=(1,), inside=inside).tolist() == [[-1.5]]
    assert call("add", grid, reduced=(1,), inside=inside).tolist() == [[-3.0]]


def test_rows_over_several_extents() -> None:
    data = np.arange(12.0).reshape(2, 3, 2)
    found = call("softmax", data, over=("a", "c"))
    np.testing.assert_allclose(found.sum(axis=(0, 2)), 1.0)
    lrn = call("lrn", data, over=("b",), size=3, alpha=0.1, beta=0.75, bias=2.0)
    attributes = {"size": 3, "alpha": 0.1, "beta": 0.75, "bias": 2.0}
    expected = in_runtime("LRN", attributes, data.astype(np.float32)[..., None])
    np.testing.assert_allclose(lrn, expected[..., 0], rtol=1e-5)


def test_an_unknown_function_is_named() -> None:
    with pytest.raises(ModelError, match="vector function 'twist' has no meaning in numbers; known: .*softmax"):
        call("twist", [1.0])


def test_every_step_of_every_operator_has_a_meaning() -> None:
    """What lowering may emit, for the functions that are named in the operators' files."""
    known = meanings()
    for op in ("Relu", "Clip", "Cast", "Gelu", "Swish", "Not", "Log", "Sqrt"):
        step = __import__("archsim.ops.activation", fromlist=["_STEPS"])._STEPS[op]
        assert all(function.name in known for function in step.functions)
    assert {"requantise", "add", "max", "where", "prelu", "pow", "less", "log_softmax", "rms_norm"} <= set(known)
    assert onnx.defs.has("Gelu")


@pytest.mark.filterwarnings("error")
def test_a_cast_of_what_no_integer_is_says_nothing() -> None:
    """Masks of minus infinity are cast in files whose results are not read there; a user can do nothing about it."""
    node = GraphNode("cast", "Cast", ("x",), ("y",), {"to": "int64"})
    (found,) = family(node).reference(node, np.array([1.5, -np.inf, np.nan]))
    assert found.dtype == np.int64 and found[0] == 1
