"""Work on constants alone: it is done before the model runs, and told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from archsim.graph.lowering.lower import to_workload
from archsim.ir.forms.workload import workload_from_yaml, workload_to_yaml
from archsim.ir.graph import Graph, GraphNode, GraphValue

QUERIES, WIDTH, ROWS = 5, 8, 3


def detector(stored: bool) -> Graph:
    """Queries that are stored, or come in, go through a product and attend to themselves; the model's rows, which come
    in, attend to the result."""
    kind = "constant" if stored else "input"
    values = [
        GraphValue("queries", (1, 1, QUERIES, WIDTH), kind, sources=("queries",) if stored else ()),
        GraphValue("weight", (WIDTH, WIDTH), "constant", sources=("weight",)),
        GraphValue("x", (1, 1, ROWS, WIDTH), "input"),
    ]
    nodes = (
        GraphNode("project", "MatMul", ("queries", "weight"), ("p",)),
        GraphNode("self", "Attention", ("p", "p", "p"), ("s",)),
        GraphNode("cross", "Attention", ("x", "s", "s"), ("y",)),
    )
    inputs = ("x",) if stored else ("x", "queries")
    return Graph("detector", nodes, {value.name: value for value in values}, inputs, ("y",))


def test_products_of_constants_are_counted_and_named() -> None:
    """As many as where the same queries come in; bytes and MACs of the model itself are without them."""
    stored, given = (to_workload(detector(each), batch=1, sha256="") for each in (True, False))
    ahead = QUERIES * WIDTH * WIDTH + 2 * QUERIES * QUERIES * WIDTH
    assert (stored.folded_macs, given.folded_macs) == (ahead, 0)
    assert stored.macs == 2 * ROWS * QUERIES * WIDTH == given.macs - ahead
    assert stored.warnings == (
        f"{ahead} MACs of 2 nodes on constants are done before the model runs, not counted: project, self",
    )
    assert not given.warnings


def test_weights_that_are_a_part_of_others_are_counted() -> None:
    """Of one stored tensor the exporter cuts the weights of queries, keys and values."""
    whole = detector(True)
    values = {name: value for name, value in whole.values.items() if name != "weight"} | {
        "every": GraphValue("every", (WIDTH, 3 * WIDTH), "constant", sources=("every",)),
        "sizes": GraphValue("sizes", (3,), "constant", "int64", np.full(3, WIDTH)),
    }
    cut = GraphNode("cut", "Split", ("every", "sizes"), ("weight", "rest", "last"), {"axis": 1})
    found = to_workload(replace(whole, nodes=(cut, *whole.nodes), values=values), batch=1, sha256="")
    assert found.folded_macs == to_workload(whole, batch=1, sha256="").folded_macs


def test_the_text_of_a_workload_keeps_them() -> None:
    stored = to_workload(detector(True), batch=1, sha256="")
    assert workload_from_yaml(workload_to_yaml(stored)) == stored


def test_what_nothing_reads_is_not_told() -> None:
    """The queries that attend to themselves are left: only the product is needed."""
    whole = detector(True)
    nodes = (whole.nodes[0], replace(whole.nodes[2], inputs=("x", "p", "p")), whole.nodes[1])
    found = to_workload(replace(whole, nodes=nodes), batch=1, sha256="")
    assert found.folded_macs == QUERIES * WIDTH * WIDTH


@pytest.mark.parametrize("op", ["Add", "Mul"])
def test_what_sums_no_products_is_not_told(op: str) -> None:
    data = np.ones((2, 2), np.float32)
    values = {
        "a": GraphValue("a", (2, 2), "constant", data=data, sources=("a",)),
        "x": GraphValue("x", (2, 2), "input"),
    }
    nodes = (GraphNode("twice", op, ("a", "a"), ("t",)), GraphNode("last", "Add", ("x", "t"), ("y",)))
    found = to_workload(Graph("sum", nodes, values, ("x",), ("y",)), batch=1, sha256="")
    assert (found.folded_macs, found.warnings) == (0, ())
