"""Attention as one operator: its parts, in equal numbers, however heads, masks and older keys are stated."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from archsim.base.errors import ModelError
from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants, inputs_of
from archsim.graph.passes.manager import PassOptions, passed
from archsim.ir.graph import Graph, GraphNode, GraphValue
from archsim.ops.attention import FAMILY
from archsim.ops.softmax import FAMILY as SOFTMAX
from tests.tools.graphs import Writer
from tests.unit.fixtures_onnx import random as drawn

Q, K, V = drawn(2, 4, 3, 8), drawn(2, 2, 5, 8), drawn(2, 2, 5, 6)
JOINED = drawn(2, 3, 32), drawn(2, 5, 16), drawn(2, 5, 12)
HEADS = {"q_num_heads": 4, "kv_num_heads": 2}
OLDER = drawn(2, 2, 7, 8), drawn(2, 2, 7, 6)
SEEN = np.tri(3, 5, 2, dtype=bool)

CASES: list[tuple[dict[str, Any], list[Any]]] = [
    ({}, [drawn(1, 2, 4, 8), drawn(1, 2, 4, 8), drawn(1, 2, 4, 8)]),
    ({}, [Q, K, V]),
    ({"scale": 0.3, "softcap": 2.0}, [Q, K, V]),
    ({}, [Q, K, V, SEEN]),
    ({}, [Q, K, V, drawn(2, 4, 3, 5)]),
    ({}, [Q, K, V, drawn(2, 1, 3, 5)]),
    ({"is_causal": 1}, [drawn(1, 2, 4, 8), drawn(1, 2, 4, 8), drawn(1, 2, 4, 8)]),
    (HEADS, list(JOINED)),
    ({"q_num_heads": 4, "kv_num_heads": 2, "is_causal": 1}, [JOINED[0], JOINED[1][:, :3], JOINED[2][:, :3]]),
]


def in_onnx(attributes: dict[str, Any], arrays: list[Any], outputs: list[str]) -> list[np.ndarray]:
    names = [f"i{at}" if array is not None else "" for at, array in enumerate(arrays)]
    fed = {name: array for name, array in zip(names, arrays, strict=True) if name}
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in fed.items()
    ]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph([helper.make_node("Attention", names, outputs, **attributes)], "one", inputs, made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    return [np.asarray(each) for each in ReferenceEvaluator(model).run(None, fed)]


def graph_of(attributes: dict[str, Any], arrays: list[Any], outputs: list[str]) -> tuple[Graph, dict[str, Any]]:
    to = Writer(random.Random(0))
    names = []
    for at, array in enumerate(arrays):
        names.append(to.source(f"i{at}", array.shape, str(array.dtype)) if array is not None else "")
    values = dict(to.values)
    node = GraphNode("attention", "Attention", tuple(names), tuple(outputs), attributes)
    shapes = FAMILY.shapes(node, tuple(values.get(name) for name in names))
    values |= {name: GraphValue(name, shape, "activation") for name, shape in zip(outputs, shapes, strict=True)}
    inputs = tuple(name for name in names if name)
    return Graph("one", (node,), values, inputs, tuple(outputs)), {
        n: a for n, a in zip(names, arrays, strict=True) if n
    }


SINKS = drawn(4)


@pytest.mark.parametrize("mask", [None, SEEN, np.zeros((3, 5), bool)])
def test_a_sink_is_one_more_key_without_a_value(mask: Any) -> None:
    """Its score is what the head's sink says; where all else is masked, nothing comes out."""
    arrays = [Q, K, V, mask, None, None, None, SINKS]
    scores = Q @ np.repeat(K, 2, 1).swapaxes(2, 3) * 8**-0.5
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    wide = np.exp(np.concatenate([scores, np.broadcast_to(SINKS.reshape(1, 4, 1, 1), (2, 4, 3, 1))], 3))
    wanted = (wide / wide.sum(3, keepdims=True))[..., :5] @ np.repeat(V, 2, 1)
    graph, given = graph_of({}, arrays, ["y"])
    np.testing.assert_allclose(FAMILY.reference(graph.nodes[0], *arrays)[0], wanted, rtol=2e-5, atol=2e-5)
    parts = passed(graph, PassOptions()).canonical
    found = reference.real(parts, Constants(parts, {}, 0, {}), given)
    np.testing.assert_allclose(found["y"], wanted, rtol=2e-5, atol=2e-5)


def test_rows_of_nothing_give_nothing() -> None:
    """Where sink and scores are minus infinity, as in the definition of attention."""
    node = GraphNode("n", "Softmax", ("x", "s"), ("y",), {"axis": -1, "masked_rows": 0})
    (found,) = SOFTMAX.reference(node, np.full((1, 3), -np.inf), np.full((1, 1), -np.inf))
    assert not found.any()


def test_sinks_that_do_not_fit() -> None:
    with pytest.raises(ModelError, match=r"sinks \[3\]; allowed one for each of 4 heads"):
        graph_of({}, [Q, K, V, None, None, None, None, SINKS[:3]], ["y"])
    rows = GraphValue("x", (2, 3), "input")
    for op, shape, says in (("Softmax", (2, 3), "sink .2, 3. does not fit rows"), ("LogSoftmax", (2, 1), "has a sink")):
        node = GraphNode("n", op, ("x", "sink"), ("y",), {"axis": -1})
        with pytest.raises(ModelError, match=says):
            SOFTMAX.shapes(node, (rows, GraphValue("sink", shape, "input")))


@pytest.mark.parametrize(("attributes", "arrays"), CASES)
def test_definition_and_parts_are_those_of_onnx(attributes: dict[str, Any], arrays: list[Any]) -> None:
    (wanted,) = in_onnx(attributes, arrays, ["y"])
    graph, given = graph_of(attributes, arrays, ["y"])
    (whole,) = FAMILY.reference(graph.nodes[0], *arrays)
    np.testing.assert_allclose(whole, wanted, rtol=2e-5, atol=2e-5)
    parts = passed(graph, PassOptions()).canonical
    assert "Attention" not in {node.op for node in parts.nodes}
    numbers = {name: np.asarray(array) for name, array in given.items()}
    found = reference.real(parts, Constants(parts, {}, 0, {}), numbers)
    np.testing.assert_allclose(found["y"], wanted, rtol=2e-5, atol=2e-5)


def test_keys_before_the_first_query_may_stand_among_the_others() -> None:
    """With ``past`` of them, a causal query s sees keys up to s + past: what a mask says in ONNX, which has no such."""
    (wanted,) = in_onnx({}, [Q, K, V, SEEN], ["y"])
    graph, given = graph_of({"is_causal": 1, "past": 2}, [Q, K, V], ["y"])
    (whole,) = FAMILY.reference(graph.nodes[0], Q, K, V)
    np.testing.assert_allclose(whole, wanted, rtol=2e-5, atol=2e-5)
    parts = passed(graph, PassOptions()).canonical
    found = reference.real(parts, Constants(parts, {}, 0, {}), given)
    np.testing.assert_allclose(found["y"], wanted, rtol=2e-5, atol=2e-5)


def test_older_keys_and_values_come_first() -> None:
    arrays = [Q, K, V, None, *OLDER]
    wanted = in_onnx({}, arrays, ["y", "keys", "values"])
    graph, given = graph_of({}, arrays, ["y", "keys", "values"])
    parts = passed(graph, PassOptions()).canonical
    found = reference.real(parts, Constants(parts, {}, 0, {}), given)
    for name, array in zip(("y", "keys", "values"), wanted, strict=True):
        np.testing.assert_allclose(found[name], array, rtol=2e-5, atol=2e-5)


def test_parts_have_names_and_shared_keys_are_read_in_place() -> None:
    graph, _ = graph_of({}, [Q, K, V], ["y"])
    parts = passed(graph, PassOptions()).canonical
    named = {node.name: node.op for node in parts.nodes if node.op not in ("Reshape", "Transpose")}
    assert named == {"attention.scores": "MatMul", "attention.softmax": "Softmax", "attention.context": "MatMul"}
    assert parts.shape("attention.keys") == (2, 2, 1, 8, 5)


@pytest.mark.parametrize(
    ("attributes", "arrays", "message"),
    [
        ({}, [Q, drawn(2, 3, 5, 8), drawn(2, 3, 5, 6)], "do not fit"),
        ({}, [JOINED[0], JOINED[1], JOINED[2]], "q_num_heads 0 does not divide 32 elements"),
        ({"past": 6}, [Q, K, V], "past 6; allowed 0 to its 5 keys"),
        ({}, [drawn(2, 3), K, V], "needs queries, keys and values of 3 or 4 axes"),
    ],
)
def test_what_does_not_fit_is_refused(attributes: dict[str, Any], arrays: list[Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        graph_of(attributes, arrays, ["y"])


def test_inputs_are_drawn_for_its_parts() -> None:
    graph, _ = graph_of({}, [Q, K, V], ["y"])
    assert {name: array.shape for name, array in inputs_of(graph, 0, {}).items()} == {
        "i0": Q.shape, "i1": K.shape, "i2": V.shape,
    }  # fmt: skip


def test_a_mask_that_is_computed_selects_as_a_given_one_does() -> None:
    """What a comparison or a cast makes true or false, behind any number of views."""
    graph, given = graph_of({}, [Q, K, V, SEEN], ["y"])
    far = GraphValue("far", (1, 1, 3, 5), "input")
    shown = GraphNode("sees", "Greater", ("far", "zero"), ("seen",))
    turned = GraphNode("turn", "Reshape", ("seen", "sizes"), ("i3",))
    values = {
        **graph.values,
        "far": far,
        "zero": GraphValue("zero", (), "constant", data=np.float32(0)),
        "sizes": GraphValue("sizes", (2,), "constant", "int64", np.array([3, 5])),
        "seen": GraphValue("seen", (1, 1, 3, 5), "activation"),
        "i3": GraphValue("i3", (3, 5), "activation"),
    }
    inputs = (*graph.inputs[:3], "far")
    computed = Graph("one", (shown, turned, *graph.nodes), values, inputs, graph.outputs)
    parts = passed(computed, PassOptions()).canonical
    fed = {**{name: given[name] for name in graph.inputs[:3]}, "far": np.where(SEEN, 1.0, -1.0)[None, None]}
    (wanted,) = in_onnx({}, [Q, K, V, SEEN], ["y"])
    found = reference.real(parts, Constants(parts, {}, 0, {}), fed)
    np.testing.assert_allclose(found["y"], wanted, rtol=2e-5, atol=2e-5)


def test_rows_that_see_nothing_are_zeros() -> None:
    seen = SEEN.copy()
    seen[1] = False
    graph, given = graph_of({}, [Q, K, V, seen], ["y"])
    parts = passed(graph, PassOptions()).canonical
    found = reference.real(parts, Constants(parts, {}, 0, {}), given)
    (whole,) = FAMILY.reference(graph.nodes[0], Q, K, V, seen)
    for made in (found["y"], whole):
        assert not made[:, :, 1].any() and np.isfinite(made).all()


@pytest.mark.parametrize(("count", "outputs"), [(7, ["y"]), (3, ["y", "k", "v", "scores"])])
def test_forms_without_parts_are_refused(count: int, outputs: list[str]) -> None:
    arrays = [Q, K, V, None, None, None, np.array([5, 5])][:count]
    with pytest.raises(ModelError, match="puts out its scores, is told how many keys count"):
        graph_of({}, arrays, outputs)
