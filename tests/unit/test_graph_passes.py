"""Graph passes: their order follows from what files say, and what a plugin returns is held to the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from archsim.base.errors import ConfigError
from archsim.base.registry import PLUGINS_VARIABLE
from archsim.graph.lowering.lower import lower_graph
from archsim.graph.passes import manager
from archsim.graph.passes.infer import infer
from archsim.graph.passes.lookups import _with_pattern
from archsim.ir.graph import Graph, GraphNode, GraphValue

PATTERNS = (
    "attention",
    "conv_transpose",
    "gather_elements",
    "gather_nd",
    "gelu",
    "pad_conv",
    "rms_norm",
    "rotary",
    "safe_softmax",
    "scatter",
    "swish",
)
FIRST = ("infer", "col2im", "group_norm", "matmul_nbits", "microsoft", "pad_mode", "resize", "rotary_positions", "tile")
LAST = ("bounds", "rotary_tables", "product_scale", "fuse", "lookups", "embedding_bag", "composites")
TREE = (*FIRST, "block_formats", "alias", *PATTERNS, *LAST)
SAME = "def run(graph, options): return graph\n"


@pytest.fixture
def passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of passes of a plugin directory."""
    (tmp_path / "passes").mkdir()
    monkeypatch.setenv(PLUGINS_VARIABLE, str(tmp_path))
    return tmp_path / "passes"


def model() -> Graph:
    """Two layers, one behind the other; not inferred."""
    nodes = (GraphNode("a", "Exp", ("x",), ("y",)), GraphNode("b", "Softmax", ("y",), ("z",)))
    return Graph("m", nodes, {"x": GraphValue("x", (2, 3), "input")}, ("x",), ("z",))


def test_order_of_the_tree() -> None:
    assert manager.order() == TREE and manager.names() == tuple(sorted(TREE))


@pytest.mark.parametrize(
    ("stated", "place"),
    [
        ('AFTER = ("infer",)', 5),
        ("AFTER = ()", 5),  # shapes are known to every pass
        ('AFTER = ("alias",)\nBEFORE = ("fuse",)', 16),
        ('AFTER = ("alias",)', 16),
        ('AFTER = ("product_scale",)', 26),
        ('AFTER = ("lookups",)', 28),
        ('AFTER = ()\nBEFORE = ("alias",)', 5),
    ],
)
def test_a_pass_runs_as_soon_as_those_before_it_have(passes: Path, stated: str, place: int) -> None:
    (passes / "mine.py").write_text(f"{stated}\n{SAME}")
    order = manager.order()
    assert order.index("mine") == place and tuple(name for name in order if name != "mine") == TREE


def test_passes_of_one_round_run_by_name(passes: Path) -> None:
    for name in ("zebra", "ant"):
        (passes / f"{name}.py").write_text(f'AFTER = ("composites",)\n{SAME}')
    assert manager.order() == (*TREE, "ant", "zebra")


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        (
            'AFTER = ("alais",)',
            r"mine\.py: names the graph pass 'alais', which there is not \(did you mean 'alias'\?\)",
        ),
        ('AFTER = ()\nBEFORE = ("nothing",)', "names the graph pass 'nothing'"),
        (
            'AFTER = ("fuse",)\nBEFORE = ("alias",)',
            "'alias', 'attention', 'bounds', 'composites', 'conv_transpose', 'embedding_bag', 'fuse', .*'swish' wait "
            "for one another",
        ),
        ('AFTER = ()\nBEFORE = ("infer",)', "wait for one another"),
        ('AFTER = "fuse"', "AFTER is 'fuse', which is no tuple"),
        ("", "it does not define AFTER"),
    ],
)
def test_what_cannot_be_put_in_order_is_refused(passes: Path, stated: str, says: str) -> None:
    (passes / "mine.py").write_text(f"{stated}\n{SAME}")
    with pytest.raises(ConfigError, match=says):
        manager.order()


EDIT = "from dataclasses import replace\nfrom archsim.ir.graph import GraphNode, GraphValue\nAFTER = ('infer',)\n"


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        ("None", r"mine\.py: run returned NoneType; allowed the archsim\.ir\.graph\.Graph"),
        ("replace(graph, nodes=graph.nodes[1:])", "'y' is read, but no node makes it any more"),
        ("replace(graph, nodes=graph.nodes[:1])", "the output 'z' is made by no node"),
        ("replace(graph, outputs=())", "its inputs and outputs are not those of the model"),
        (
            "replace(graph, nodes=(*graph.nodes, GraphNode('c', 'Exp', ('z',), ('w',))))",
            "writes 'w', which has no shape",
        ),
        ("replace(graph, nodes=(*graph.nodes, GraphNode('c', 'Exp', ('q',), ('z',))))", "writes 'z', which 'b' writes"),
        (
            "replace(graph, nodes=(*graph.nodes, GraphNode('c', 'Exp', ('q',), ())))",
            "reads 'q', which nothing produces",
        ),
    ],
)
def test_what_is_no_graph_of_the_model_is_refused(passes: Path, returned: str, says: str) -> None:
    (passes / "mine.py").write_text(f"{EDIT}def run(graph, options): return {returned}\n")
    with pytest.raises(ConfigError, match=says):
        manager.passed(model(), manager.PassOptions())


def test_a_plugin_is_told_of_and_hashed(passes: Path) -> None:
    """A node less: the Workload has a layer less, a warning, and a hash of its own that follows the plugin's code."""
    plain = lower_graph(model(), batch=2, sha256="s").workload
    assert plain.sha256 == "s" and plain.warnings == () and len(plain.layers) == 2
    text = EDIT + "def run(graph, options):\n    last = replace(graph.nodes[1], inputs=('x',))\n"
    (passes / "mine.py").write_text(text + "    return replace(graph, nodes=(last,))\n")
    found = lower_graph(model(), batch=2, sha256="s").workload
    assert [layer.name for layer in found.layers] == ["b"]
    assert found.warnings == ("graph pass 'mine' is a plugin and took part: of 2 nodes it left 1",)
    assert len(found.sha256) == 64 and found.sha256 == lower_graph(model(), batch=2, sha256="s").workload.sha256
    (passes / "mine.py").write_text(text + "    return replace(graph, nodes=(last,))  # edited\n")
    assert found.sha256 != lower_graph(model(), batch=2, sha256="s").workload.sha256


def test_nodes_may_be_returned_in_any_order(passes: Path) -> None:
    (passes / "mine.py").write_text(f"{EDIT}def run(graph, options): return replace(graph, nodes=graph.nodes[::-1])\n")
    found = lower_graph(model(), batch=2, sha256="").workload
    assert [layer.name for layer in found.layers] == ["a", "b"]
    assert found.warnings == ("graph pass 'mine' is a plugin and took part: 2 nodes before and after it",)


def test_an_inferred_graph_is_inferred_once() -> None:
    inferred = infer(model())
    assert manager.passed(inferred, manager.PassOptions()).inferred is inferred
    assert (
        manager.passed(model(), manager.PassOptions()).canonical
        == manager.passed(inferred, manager.PassOptions()).canonical
    )


def test_a_pattern_that_a_node_states_is_kept_whatever_its_indices_hold() -> None:
    """Constant indices say which rows are read only where nothing else does."""
    rows = np.arange(3, dtype=np.int64)
    values = {
        "t": GraphValue("t", (8, 4), "constant", "float32"),
        "i": GraphValue("i", (3,), "constant", "int64", rows),
    }
    graph = Graph("one", (), values, ("x",), ("y",))
    stated = GraphNode("n", "Gather", ("t", "i"), ("y",), {"indices": "uniform(seed=1)"})
    assert _with_pattern(stated, graph, {}, []).attributes["indices"] == "uniform(seed=1)"
    plain = GraphNode("n", "Gather", ("t", "i"), ("y",), {})
    assert _with_pattern(plain, graph, {}, []).attributes["indices"] != "uniform(seed=1)"
