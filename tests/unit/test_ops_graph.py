"""The neutral graph: families by file name, order, folding, fusion, aliases, memory order, and lowering by hand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from archsim.base.errors import ConfigError, ModelError
from archsim.frontend.workload_yaml.layers import KINDS
from archsim.frontend.workload_yaml.writer import ACTIVATIONS
from archsim.graph.lowering.lower import to_workload
from archsim.graph.lowering.order import images
from archsim.graph.passes.alias import remove_aliases
from archsim.graph.passes.fuse import fuse
from archsim.graph.passes.infer import infer
from archsim.ir.graph import Graph, GraphNode, GraphValue, OperatorAttribute, Shape, UnsupportedError
from archsim.ops.kit.catalogue import family, find, operators


def graph(
    nodes: list[GraphNode], inputs: dict[str, Shape], outputs: list[str], weights: dict[str, Shape] | None = None
) -> Graph:
    values = {name: GraphValue(name, shape, "input") for name, shape in inputs.items()}
    for name, shape in (weights or {}).items():
        values[name] = GraphValue(name, shape, "constant", sources=(name,))
    return Graph("test", tuple(nodes), values, tuple(inputs), tuple(outputs))


def call(op: str, inputs: str, output: str, **attributes: OperatorAttribute) -> GraphNode:
    return GraphNode(output, op, tuple(inputs.split()), (output,), attributes)


def test_a_new_file_is_a_new_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file in a plugin directory: shape, cost and reference of an operator nobody knew."""
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "twice.py").write_text(
        "from archsim.ops.kit.steps import step\n"
        "from archsim.ops.kit.family import OperatorFamily\n"
        "from archsim.ops.kit.access import LogicalAccess as Access, at\n"
        "def lower(node, build):\n"
        "    out = node.outputs[0]\n"
        "    index = tuple(at(dim) for dim in build.dims(out))\n"
        "    build.layer(node, 'vector', build.extents(out), (Access('in0', node.inputs[0], index),),\n"
        "                Access('out', out, index), steps=build.steps(node, step('twice', 1)))\n"
        "FAMILY = OperatorFamily(('Twice',), lambda node, inputs: (inputs[0].shape,), lambda node, x: (2 * x,),\n"
        "                lower, order='same', activates=True)\n"
    )
    nodes = [call("Twice", "x", "t"), call("Relu", "t", "y")]
    with pytest.raises(UnsupportedError, match=r"node 't' \(Twice\): operator 'Twice' has no rule"):
        infer(graph(nodes, {"x": (2, 3)}, ["y"]))
    monkeypatch.setenv("ARCHSIM_PLUGINS", str(tmp_path))
    assert operators()["Twice"] == "twice"
    workload = to_workload(infer(graph(nodes, {"x": (2, 3)}, ["y"])), batch=2, sha256="")
    assert [(layer.op, layer.steps[0].function) for layer in workload.layers] == [("Twice", "twice+relu")]


def test_plugin_files_without_a_family_or_with_a_taken_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "ops"
    folder.mkdir()
    monkeypatch.setenv("ARCHSIM_PLUGINS", str(tmp_path))
    (folder / "hollow.py").write_text("x = 1\n")
    with pytest.raises(
        ConfigError,
        match=r"hollow\.py: is no operator: it does not define FAMILY; .*Operator",
    ):
        operators()
    (folder / "hollow.py").unlink()
    monkeypatch.setenv("ARCHSIM_PLUGINS", str(tmp_path) + "/")
    (folder / "mine.py").write_text("from archsim.ops.conv import FAMILY\n")
    with pytest.raises(ConfigError, match="'Conv' is already served by 'conv'"):
        operators()


def test_unknown_operators_name_the_nearest() -> None:
    with pytest.raises(UnsupportedError, match="did you mean 'MatMul'"):
        family(GraphNode("n", "Matmull", (), ("y",)))


def test_nodes_are_sorted_and_cycles_named() -> None:
    shuffled = [call("Relu", "b", "c"), call("Relu", "x", "a"), call("Relu", "a", "b")]
    assert [node.name for node in infer(graph(shuffled, {"x": (2,)}, ["c"])).nodes] == ["a", "b", "c"]
    cycle = [call("Add", "x b", "a"), call("Relu", "a", "b")]
    with pytest.raises(ModelError, match=r"cycle through 'a' \(Add\), 'b' \(Relu\)"):
        infer(graph(cycle, {"x": (2,)}, ["b"]))


def test_values_written_twice_or_by_nobody() -> None:
    with pytest.raises(ModelError, match="'b'.*writes 'a', which 'a' writes too"):
        infer(graph([call("Relu", "x", "a"), GraphNode("b", "Relu", ("x",), ("a",))], {"x": (2,)}, ["a"]))
    with pytest.raises(ModelError, match="reads 'z', which nothing produces"):
        infer(graph([call("Relu", "z", "a")], {"x": (2,)}, ["a"]))
    with pytest.raises(ModelError, match="graph output 'q' is produced by nothing"):
        infer(graph([call("Relu", "x", "a")], {"x": (2,)}, ["q"]))


def test_constants_fold_and_unused_nodes_go() -> None:
    nodes = [
        call("Unsqueeze", "w axes", "wide"),
        call("Shape", "x", "s"),
        call("Gather", "s two", "size"),
        call("Relu", "x", "dead"),
        call("Mul", "x wide", "y"),
    ]
    built = graph(nodes, {"x": (1, 5, 4, 3)}, ["y"], {"w": (5,)})
    values = {
        **built.values,
        "axes": GraphValue("axes", (2,), "constant", "int64", np.asarray([1, 2])),
        "two": GraphValue("two", (), "constant", "int64", np.asarray(2)),
    }
    inferred = infer(Graph("test", built.nodes, values, built.inputs, built.outputs))
    assert [node.name for node in inferred.nodes] == ["y"]
    assert inferred.values["size"].data == 4
    assert inferred.values["wide"].shape == (5, 1, 1) and inferred.values["wide"].sources == ("w",)
    assert inferred.warnings == ("1 nodes that no output needs were dropped",)


def test_zero_size_is_refused() -> None:
    with pytest.raises(ModelError, match=r"tensor 'w' has shape \[0, 4\]"):
        infer(graph([call("Gemm", "x w", "y", transB=1)], {"x": (2, 4)}, ["y"], {"w": (0, 4)}))


def test_what_folds_and_what_does_not() -> None:
    """Scale and shift along the channel fold; a second activation, a second reader and a graph output stop it."""
    norm = {"s": (4,), "b": (4,), "m": (4,), "v": (4,), "w": (4, 3, 1, 1)}
    nodes = [
        call("Conv", "x w", "c"),
        call("BatchNormalization", "c s b m v", "n"),
        call("Relu", "n", "r"),
        call("Sigmoid", "r", "g"),
        call("Mul", "g r", "y"),
    ]
    fused = fuse(infer(graph(nodes, {"x": (1, 3, 2, 2)}, ["y"], norm)))
    assert [(node.name, [other.name for other in node.fused]) for node in fused.nodes] == [
        ("c", ["n", "r"]),
        ("g", []),
        ("y", []),
    ]
    watched = fuse(infer(graph(nodes[:3], {"x": (1, 3, 2, 2)}, ["n", "r"], norm)))
    assert [(node.name, len(node.fused)) for node in watched.nodes] == [("c", 1), ("r", 0)]


def test_a_constant_along_another_axis_does_not_fold() -> None:
    nodes = [call("Conv", "x w", "c"), call("Mul", "c k", "y")]
    found = infer(graph(nodes, {"x": (1, 3, 2, 2)}, ["y"], {"w": (4, 3, 1, 1), "k": (2,)}))
    assert len(fuse(found).nodes) == 2
    workload = to_workload(found, batch=1, sha256="")
    assert workload.layers[1].inputs[1].axes[0].terms == (("q", 1),)


def test_aliases_disappear_and_are_listed() -> None:
    nodes = [call("Conv", "x w", "c"), call("Dropout", "c", "d"), call("Relu", "d", "r"), call("Identity", "r", "y")]
    found = infer(graph(nodes, {"x": (1, 3, 2, 2)}, ["y"], {"w": (4, 3, 1, 1)}))
    assert remove_aliases(found).outputs == ("r",)
    workload = to_workload(found, batch=1, sha256="")
    assert [layer.fused for layer in workload.layers] == [("r",)]
    assert [(view.name, view.of) for view in workload.views] == [("d", "r"), ("y", "r")]
    assert workload.tensors["r"].kind == "output"


def test_images_are_channels_last_and_attention_is_not() -> None:
    nodes = [
        call("Slice", "x starts ends", "cut"),
        call("Conv", "cut w", "c"),
        call("Add", "c side", "sum"),
        call("MatMul", "q k", "scores"),
        call("Softmax", "scores", "p"),
    ]
    built = graph(
        nodes,
        {"x": (1, 3, 4, 4), "side": (1, 4, 4, 4), "q": (1, 2, 5, 3), "k": (1, 2, 3, 5)},
        ["sum", "p"],
        {"w": (4, 3, 1, 1)},
    )
    values = dict(built.values)
    for name, data in (("starts", [0]), ("ends", [9])):
        values[name] = GraphValue(name, (1,), "constant", "int64", np.asarray(data))
    found = infer(Graph("test", built.nodes, values, built.inputs, built.outputs))
    assert images(found) == {"x", "cut", "c", "sum", "side"}


def test_unsupported_nodes_go_to_the_host_on_request() -> None:
    nodes = [call("Relu", "x", "a"), call("Mystery", "a w", "m", level=3), call("Relu", "m", "y")]
    built = graph(nodes, {"x": (2, 6)}, ["y"], {"w": (6,)})
    hinted = infer(Graph("test", built.nodes, built.values, built.inputs, built.outputs, {"m": (2, 3)}))
    with pytest.raises(UnsupportedError, match="Mystery"):
        to_workload(hinted, batch=2, sha256="")
    host = to_workload(hinted, batch=2, sha256="", on_unsupported="host").layers[1]
    assert (host.kind, host.op, host.attributes) == ("host", "Mystery", {"level": 3, "flops": 24, "bytes": 96})
    with pytest.raises(ModelError, match="allowed error, host"):
        to_workload(hinted, batch=2, sha256="", on_unsupported="gpu")


def test_families_of_each_kind() -> None:
    kinds = {op: find(op).result for op in ("Conv", "Reshape", "Dropout")}  # type: ignore[union-attr]
    assert kinds == {"Conv": "layer", "Reshape": "view", "Dropout": "alias"}


def test_every_operator_is_in_the_documentation() -> None:
    words = set(re.findall(r"\w+(?:\.\w+)*", (Path(__file__).parents[2] / "docs" / "operators.md").read_text()))
    assert set(operators()) <= words


def test_every_entry_kind_is_in_the_documentation() -> None:
    words = set(re.findall(r"\w+", (Path(__file__).parents[2] / "docs" / "operators.md").read_text()))
    assert {*KINDS, *ACTIVATIONS} - {"relu6"} <= words
