"""EmbeddingBag from its pieces, by every route, with the rows that were drawn before and the names that users know."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from archsim.base.errors import ModelError
from archsim.frontend.load import import_model
from archsim.graph.lowering.lower import LoweredModel, lower_graph
from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants, inputs_of
from archsim.graph.passes.infer import infer
from archsim.graph.passes.manager import PassOptions, passed
from archsim.ir.graph import Graph, GraphNode, GraphValue
from archsim.ops.kit.catalogue import family
from archsim.ops.kit.lookups import default_seed
from tests.tools.mutation_seeds import GOLDEN
from tests.tools.small_recommendation import written


def model(*nodes: GraphNode, outputs: tuple[str, ...] = ("y",), shape: tuple[int, ...] = (4, 3)) -> Graph:
    """Rows of a table of 20 rows by indices that are an input, and what becomes of them."""
    values = {
        "i": GraphValue("i", shape, "input", "int64"),
        "w": GraphValue("w", (*shape, 1), "input"),
        "t": GraphValue("t", (20, 8), "constant", sources=("t",)),
    }
    values |= {
        f"axes{at}": GraphValue(f"axes{at}", (1,), "constant", "int64", np.asarray([at], np.int64))
        for at in (-2, 0, 1, 2)
    }
    read = {name for node in nodes for name in node.inputs}
    inputs = tuple(name for name in ("i", "w") if name in read)
    return infer(Graph("m", nodes, values, inputs, outputs))


LOOK = GraphNode("look", "Gather", ("t", "i"), ("rows",), {"axis": 0})
TIMES = GraphNode("times", "Mul", ("w", "rows"), ("weighted",))


def pool(op: str = "ReduceSum", source: str = "rows", axis: int = 1, keepdims: int = 0) -> GraphNode:
    return GraphNode("pool", op, (source, f"axes{axis}"), ("y",), {"keepdims": keepdims})


def lowered(*nodes: GraphNode, lookups: dict[str, str] | None = None) -> LoweredModel:
    return lower_graph(model(*nodes), batch=4, sha256="", lookups=lookups)


@pytest.mark.parametrize(
    ("nodes", "attributes"),
    [
        ((LOOK, pool()), {"mode": "sum", "bag": (1,), "keepdims": 0}),
        ((LOOK, pool("ReduceMean", axis=-2)), {"mode": "mean", "bag": (1,), "keepdims": 0}),
        ((LOOK, pool("ReduceMax", keepdims=1)), {"mode": "max", "bag": (1,), "keepdims": 1}),
        ((LOOK, pool(axis=0)), {"mode": "sum", "bag": (0,), "keepdims": 0}),
        ((LOOK, TIMES, pool(source="weighted")), {"mode": "sum", "bag": (1,), "keepdims": 0}),
    ],
)
def test_a_look_up_and_what_pools_its_rows_are_one_layer(nodes: tuple[GraphNode, ...], attributes: object) -> None:
    """It computes what the pieces do, and draws the rows that the look-up would."""
    found = lowered(*nodes)
    (layer,) = found.workload.layers
    assert (layer.name, layer.op, layer.kind, dict(layer.attributes)) == (
        "look", "EmbeddingBag", "vector", {"axis": 0, **dict(attributes)},  # type: ignore[call-overload]
    )  # fmt: skip
    rows = layer.inputs[0].rows
    assert rows is not None and (rows.indices.kind, rows.indices.seed) == ("uniform", default_seed("i"))
    assert found.workload.parameters == 20 * 8
    graph = found.graph
    assert graph is not None
    constants, inputs = Constants(graph, {}, 0, {}), inputs_of(graph, 0, {})
    apart = reference.real(model(*nodes), constants, inputs)
    np.testing.assert_allclose(reference.real(graph, constants, inputs)["y"], apart["y"], rtol=1e-12)


@pytest.mark.parametrize(
    ("nodes", "outputs"),
    [
        ((LOOK, pool(axis=2)), ("y",)),  # the elements of a row
        ((LOOK, pool("ReduceMin")), ("y",)),
        ((LOOK, pool()), ("y", "rows")),
        ((LOOK, pool(), GraphNode("other", "Relu", ("rows",), ("z",))), ("y", "z")),
        ((LOOK, TIMES, pool("ReduceMean", "weighted")), ("y",)),
        ((LOOK, TIMES, pool(source="weighted")), ("y", "weighted")),
        ((LOOK, GraphNode("less", "Relu", ("rows",), ("less",)), pool(source="less")), ("y",)),
        ((LOOK, GraphNode("square", "Mul", ("rows", "rows"), ("less",)), pool(source="less")), ("y",)),
    ],
)
def test_rows_that_are_read_otherwise_are_written(nodes: tuple[GraphNode, ...], outputs: tuple[str, ...]) -> None:
    found = passed(model(*nodes, outputs=outputs), PassOptions()).canonical
    assert "GatherRows" in [node.op for node in found.nodes]
    assert "EmbeddingBag" not in [node.op for node in found.nodes]


def added(*sums: GraphNode, outputs: tuple[str, ...]) -> Graph:
    """A bag of rows of 8, a product of rows of 5 and 8 columns, and ``sums`` that ride on its result."""
    values = {
        "i": GraphValue("i", (4, 3), "input", "int64"),
        "t": GraphValue("t", (20, 8), "constant", sources=("t",)),
        "axes1": GraphValue("axes1", (1,), "constant", "int64", np.asarray([1], np.int64)),
        "x": GraphValue("x", (4, 5), "input"),
        "k": GraphValue("k", (5, 8), "constant", sources=("k",)),
    }
    product = GraphNode("product", "MatMul", ("x", "k"), ("p",))
    return infer(Graph("m", (LOOK, pool(), product, *sums), values, ("i", "x"), outputs))


def test_a_bag_that_a_sum_rides_on_is_kept() -> None:
    """The sum is fused into a product, which so reads the bag."""
    graph = added(GraphNode("sum", "Add", ("p", "y"), ("z",)), outputs=("z",))
    found = lower_graph(graph, batch=4, sha256="")
    assert [layer.op for layer in found.workload.layers] == ["EmbeddingBag", "MatMul"]
    assert found.workload.layers[1].fused and found.graph is not None
    constants, inputs = Constants(graph, {}, 0, {}), inputs_of(graph, 0, {})
    made = reference.real(found.graph, constants, inputs)["z"]
    np.testing.assert_allclose(made, reference.real(graph, constants, inputs)["z"], rtol=1e-12)


def test_rows_that_a_fused_sum_reads_too_are_written() -> None:
    """One bag of three rows, whose rows are also added to a product."""
    values = added(outputs=("y", "p")).values
    indices = replace(values["i"], shape=(4,))
    stated = {name: values[name] for name in ("t", "x", "k")} | {"i": indices}
    stated["axes0"] = GraphValue("axes0", (1,), "constant", "int64", np.asarray([0], np.int64))
    nodes = (
        LOOK,
        pool(axis=0),
        GraphNode("product", "MatMul", ("x", "k"), ("p",)),
        GraphNode("sum", "Add", ("p", "rows"), ("z",)),
    )
    found = passed(infer(Graph("m", nodes, stated, ("i", "x"), ("y", "z"))), PassOptions()).canonical
    assert [node.op for node in found.nodes if node.fused] == ["MatMul"]
    assert "EmbeddingBag" not in [node.op for node in found.nodes]


def test_a_stated_pattern_is_that_of_the_look_up() -> None:
    (layer,) = lowered(LOOK, pool(), lookups={"look": "zipf(exponent=1.5, seed=7)"}).workload.layers
    assert layer.inputs[0].rows is not None
    assert (layer.inputs[0].rows.indices.kind, layer.inputs[0].rows.indices.seed) == ("zipf", 7)


def test_a_bag_that_a_front_end_writes_has_a_pattern_too() -> None:
    bag = GraphNode("bag", "EmbeddingBag", ("t", "i"), ("y",), {"mode": "max"})
    (layer,) = lowered(bag, lookups={"bag": "uniform(seed=5)"}).workload.layers
    assert layer.inputs[0].rows is not None and layer.inputs[0].rows.indices.seed == 5
    (layer,) = lowered(bag).workload.layers
    assert layer.inputs[0].rows is not None and layer.inputs[0].rows.indices.seed == default_seed("i")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"attributes": {"mode": "min"}}, "mode 'min'; allowed sum, mean, max"),
        ({"attributes": {"bag": (2,)}}, r"axes \[2\]; allowed -2 to 1"),
        ({"attributes": {"mode": "mean"}, "inputs": ("t", "i", "w")}, "weights of shape .*, with mode sum"),
        ({"inputs": ("t", "i", "t")}, r"weights of shape \[20, 8\]; allowed \[4, 3, 1\]"),
    ],
)
def test_bags_that_are_refused(changes: dict[str, object], says: str) -> None:
    bag = replace(GraphNode("bag", "EmbeddingBag", ("t", "i"), ("y",)), **changes)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=rf"node 'bag' \(EmbeddingBag\): {says}"):
        model(bag)


def test_a_bag_needs_an_axis_of_its_indices() -> None:
    values = (GraphValue("t", (20, 8), "constant"), GraphValue("i", (), "input", "int64"))
    bag = GraphNode("bag", "EmbeddingBag", ("t", "i"), ("y",))
    with pytest.raises(ModelError, match="its indices have no axis; a bag needs one"):
        family(bag).shapes(bag, values)


YAML = """
schema: archsim.workload/1
name: words
source: "by definition: a test"
parameters: {batch: 2}
layers:
  - embedding: {name: emb, rows: 50, dim: 8, lookups: [batch, 3], reduce: mean}
"""


def test_every_route_ends_in_it(tmp_path: Path) -> None:
    """A config.json, a workload file and a program of torch.export, by the names of their look-ups."""
    path = tmp_path / "words.yaml"
    path.write_text(YAML)
    routes = (written(tmp_path), path, GOLDEN / "torch" / "bags.pt2")
    found = [
        [layer.name for layer in import_model(route).workload.layers if layer.op == "EmbeddingBag"] for route in routes
    ]
    assert found == [["sparse_arch.t_1.rows", "sparse_arch.t_2.rows"], ["emb.rows"], ["tables.0", "tables.1"]]
