"""States in the graph: rows are appended in place, read behind that alone, and nothing else of a state moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from archsim.base.errors import ModelError
from archsim.graph.lowering.lower import lower_graph
from archsim.graph.passes.infer import infer
from archsim.graph.passes.manager import PassOptions, passed
from archsim.ir.check.workload import check_workload
from archsim.ir.graph import Graph, GraphNode, GraphState, GraphValue
from archsim.ir.text import workload_from_yaml, workload_to_yaml
from archsim.ir.workload import StateRows, Workload

CAPACITY, HEADS, WIDTH = 8, 2, 4


def decode(past: int, new: int, capacity: int = CAPACITY) -> Graph:
    """Attention over two states: rows of K are made by a layer, rows of V are an input."""
    rows, whole = (1, HEADS, new, WIDTH), (1, HEADS, capacity, WIDTH)
    values = {
        name: GraphValue(name, shape, "input") for name, shape in (("x", rows), ("q", (1, 2 * HEADS, new, WIDTH)))
    }
    values |= {name: GraphValue(name, whole, "state") for name in ("K", "V")}
    nodes = (
        GraphNode("make", "Exp", ("x",), ("made",)),
        GraphNode("keys", "Append", ("K", "made"), ("k",), {"axis": 2}),
        GraphNode("values", "Append", ("V", "x"), ("v",), {"axis": -2}),
        GraphNode("attend", "Attention", ("q", "k", "v"), ("y",), {"is_causal": 1, "past": past}),
    )
    states = {name: GraphState(2, past) for name in ("K", "V")}
    return Graph("decode", nodes, values, ("x", "q", "K", "V"), ("y",), states=states)


def workload_of(graph: Graph) -> Workload:
    workload = lower_graph(graph, batch=1, sha256="").workload
    check_workload(workload)
    return workload


@pytest.mark.parametrize(("past", "new"), [(0, 1), (3, 1), (3, 4), (0, 8), (7, 1)])
def test_rows_lie_behind_those_of_before(past: int, new: int) -> None:
    workload = workload_of(decode(past, new))
    tensors = workload.tensors
    for state in ("K", "V"):
        assert (tensors[state].kind, tensors[state].state) == ("state", StateRows(2, past))
        assert tensors[state].shape == (1, HEADS, CAPACITY, WIDTH)
    for layer, state in (("make", "K"), ("values", "V")):
        (written,) = (found.output for found in workload.layers if found.name == layer)
        view = tensors[written.tensor].view
        lies = (view.base, view.offset) if view is not None else (written.tensor, 0)
        assert written.role == "kv" and lies == (state, past * WIDTH)
        assert tensors[written.tensor].shape == (1, HEADS, new, WIDTH)
    for layer, state in (("attend.scores", "K"), ("attend.context", "V")):
        (read,) = (op for found in workload.layers if found.name == layer for op in found.inputs if op.name == "b")
        tensor = tensors[read.tensor]
        assert read.role == "kv" and tensor.elements == HEADS * (past + new) * WIDTH
        assert state == (tensor.view.base if tensor.view is not None else tensor.name)


def test_a_layer_writes_its_rows_in_place_and_an_input_is_copied_once() -> None:
    workload = workload_of(decode(3, 1))
    assert [(layer.name, layer.op, layer.kind) for layer in workload.layers[:2]] == [
        ("make", "Exp", "vector"),
        ("values", "Append", "copy"),
    ]
    assert ("keys", "Append", "K") in {(view.name, view.op, view.of) for view in workload.views}
    assert "values" not in {view.name for view in workload.views}


def test_rows_that_a_concatenation_wants_too_are_copied_there() -> None:
    """What lies in a state moves nowhere else, neither the appended rows nor all of them."""
    graph = decode(3, 1)
    joined = GraphNode("join", "Concat", ("k", "k"), ("both",), {"axis": 3})
    graph = replace(graph, nodes=(*graph.nodes, joined), outputs=("y", "both"))
    workload = workload_of(graph)
    assert [layer.name for layer in workload.layers if layer.kind == "copy"] == ["values", "join[0]", "join[1]"]


def test_an_append_that_nothing_reads_is_kept() -> None:
    graph = decode(2, 1)
    alone = replace(graph, nodes=(*graph.nodes[:3], GraphNode("out", "Exp", ("q",), ("y",))))
    assert [node.name for node in infer(alone).nodes] == ["make", "keys", "values", "out"]


def test_a_full_state_is_read_as_it_is() -> None:
    """Keys of an encoder are all there before the first step."""
    graph = decode(CAPACITY, 1)
    nodes = (GraphNode("attend", "Attention", ("q", "K", "V"), ("y",)),)
    workload = workload_of(replace(graph, nodes=nodes))
    assert {op.role for layer in workload.layers for op in layer.inputs if op.name == "b"} >= {"kv"}
    with pytest.raises(ModelError, match="reads all of 'K', of which 7 rows are there"):
        infer(replace(decode(7, 1), nodes=nodes))


def test_text_form() -> None:
    workload = workload_of(decode(3, 1))
    text = workload_to_yaml(workload)
    assert "  K: state [1, 2, 8, 4] axis 2 past 3\n" in text
    assert workload_from_yaml(text) == workload


def test_an_inferred_graph_knows_its_past() -> None:
    graph = infer(decode(3, 1))
    bare = replace(_with(graph, 1, attributes={"axis": 2}), states={name: GraphState(2, 3) for name in ("K", "V")})
    found = passed(bare, PassOptions()).inferred
    assert [node.attributes["past"] for node in found.nodes if node.op == "Append"] == [3, 3]


def _with(graph: Graph, at: int, **changes: Any) -> Graph:
    nodes = list(graph.nodes)
    nodes[at] = replace(nodes[at], **changes)
    return replace(graph, nodes=tuple(nodes))


GRAPH = decode(3, 1)
WRONG = [
    (decode(8, 1), "appends rows 8 to 8 to 'K', which has room for 8; give it room for 9 rows or more"),
    (decode(9, 1), "state 'K': 9 rows are there, of 8 .*room for 9 rows"),
    (decode(-1, 1), "-1 rows are there"),
    (replace(GRAPH, states={"K": GraphState(2, 3)}), "appends to 'V', which is no state"),
    (replace(GRAPH, states={**GRAPH.states, "k2": GraphState(2, 3)}), "state 'k2' is no state among the inputs"),
    (replace(GRAPH, states={**GRAPH.states, "x": GraphState(2, 3)}), "state 'x' is no state among the inputs"),
    (replace(GRAPH, states={**GRAPH.states, "K": GraphState(4, 3)}), "axis 4; allowed 0 to 3"),
    (_with(GRAPH, 1, attributes={"axis": 1}), "along axis 1; its rows follow along 2"),
    (_with(GRAPH, 1, inputs=("x", "made")), "appends to 'x', which is no state"),
    (_with(GRAPH, 1, inputs=("K", "q")), r"rows of shape \[1, 4, 1, 4\] do not fit the state 'K' of \[1, 2, 8, 4\]"),
    (_with(GRAPH, 2, inputs=("K", "x")), "appends to 'K', as 'keys' does; allowed one node"),
    (_with(GRAPH, 0, inputs=("K",)), "reads all of 'K', of which 3 rows are there"),
    (_with(GRAPH, 2, inputs=("V", "V")), "reads all of 'V', of which 3 rows are there"),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "message"), WRONG)
def test_what_a_state_does_not_have_is_refused(graph: Graph, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        infer(graph)


def test_infinity_reads_back() -> None:
    """As what a mask that is an operand selects, minus infinity is a number of a function."""
    workload = workload_of(decode(2, 3))
    (at,) = (at for at, layer in enumerate(workload.layers) if layer.op == "Softmax")
    softmax = workload.layers[at]
    function = replace(softmax.steps[0].functions[0], operands=(-np.inf,))
    masked = replace(softmax, steps=(replace(softmax.steps[0], functions=(function,)), *softmax.steps[1:]))
    workload = replace(workload, layers=(*workload.layers[:at], masked, *workload.layers[at + 1 :]))
    assert workload_from_yaml(workload_to_yaml(workload)) == workload
