"""Linear resizing: every coordinate mode in the numbers of ONNX Runtime, taken apart or not, and what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from archsim.base.errors import ModelError
from archsim.frontend.load import load_model
from archsim.graph.lowering.lower import lower_graph
from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants
from archsim.graph.passes.manager import PassOptions, passed
from archsim.ir.graph import Graph, GraphNode, GraphValue
from archsim.ir.workload import Workload
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.ops.interpolate import Stride, strides_of
from archsim.ops.kit.catalogue import find
from tests.unit.fixtures_onnx import random

MODES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
)
SIZES: list[tuple[tuple[int, ...], tuple[float, ...] | None, tuple[int, ...] | None]] = [
    ((1, 2, 5, 6), (1, 1, 2, 2), None),
    ((1, 2, 5, 6), (1, 1, 4, 3), None),
    ((1, 2, 5, 6), None, (1, 2, 13, 9)),
    ((1, 2, 8, 6), None, (1, 2, 4, 1)),
    ((1, 2, 5, 6), (1, 1, 1.37, 0.6), None),
    ((1, 3, 7), None, (1, 3, 14)),
    ((1, 3, 7), (1, 1, 2.5), None),
    ((1, 3, 7), None, (1, 3, 7)),
]


def operands(mode: str, shape: tuple[int, ...], scales: Any, sizes: Any) -> list[Any]:
    """Input, region, scales and sizes; the region begins and ends inside, and reaches beyond."""
    region = None
    if mode == "tf_crop_and_resize":
        region = np.asarray([0.0] * (len(shape) - 1) + [0.2] + [1.0] * (len(shape) - 1) + [1.1], np.float32)
    if sizes is not None:
        return [random(*shape), region, None, np.asarray(sizes, np.int64)]
    return [random(*shape), region, np.asarray(scales, np.float32)]


def in_runtime(attributes: dict[str, Any], arrays: list[Any]) -> np.ndarray:
    names = [f"i{at}" if array is not None else "" for at, array in enumerate(arrays)]
    fed = {name: array for name, array in zip(names, arrays, strict=True) if name}
    node = helper.make_node("Resize", names, ["y"], **attributes)
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in fed.items()
    ]
    graph = helper.make_graph([node], "one", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, fed)[0])


def graph_of(attributes: dict[str, Any], arrays: list[Any]) -> Graph:
    names = tuple(f"i{at}" if array is not None else "" for at, array in enumerate(arrays))
    values = {
        name: GraphValue(name, array.shape, "constant" if at else "input", str(array.dtype), array if at else None)
        for at, (name, array) in enumerate(zip(names, arrays, strict=True))
        if name
    }
    node = GraphNode("up", "Resize", names, ("y",), attributes)
    found = find("Resize")
    assert found is not None
    values["y"] = GraphValue("y", found.shapes(node, tuple(values.get(name) for name in names))[0], "activation")
    return Graph("one", (node,), values, ("i0",), ("y",))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "scales", "sizes"), SIZES)
def test_numbers_are_those_of_the_runtime(mode: str, shape: tuple[int, ...], scales: Any, sizes: Any) -> None:
    attributes = {"mode": "linear", "coordinate_transformation_mode": mode}
    if mode == "tf_crop_and_resize" and sizes == shape:
        sizes = (*shape[:-1], shape[-1] + 1)  # the runtime takes no region of a result as large as its input
    arrays = operands(mode, shape, scales, sizes)
    wanted, graph = in_runtime(attributes, arrays), graph_of(attributes, arrays)
    assert graph.shape("y") == wanted.shape
    found = find("Resize")
    assert found is not None
    np.testing.assert_allclose(found.reference(graph.nodes[0], *arrays)[0], wanted, rtol=1e-5, atol=4e-6)
    parts = passed(graph, PassOptions()).canonical
    assert "Resize" not in {node.op for node in parts.nodes}
    made = reference.real(parts, Constants(parts, {}, 0, {}), {"i0": arrays[0]})
    np.testing.assert_allclose(made[parts.outputs[0]], wanted, rtol=1e-5, atol=4e-6)


def lowered(mode: str, scales: tuple[float, ...]) -> Workload:
    arrays = operands(mode, (1, 8, 6, 5), scales, None)
    graph = graph_of({"mode": "linear", "coordinate_transformation_mode": mode}, arrays)
    return lower_graph(graph, batch=1, sha256="").workload


def test_an_axis_is_a_layer_of_a_pass_for_each_neighbour() -> None:
    """Of 8 x 6 x 5 to 24 x 10: first the axis that grows by 2, then the one that grows by 4."""
    first, second = lowered("half_pixel", (1, 1, 4, 2)).layers
    assert (first.name, second.name) == ("up.axis3", "up")
    for layer, elements in ((first, 8 * 6 * 10), (second, 8 * 24 * 10)):
        points = int(np.prod(list(layer.dims.values())))
        assert points * sum(step.passes for step in layer.steps) == 2 * elements
        assert not any(step.slow for step in layer.steps)


def test_whole_factors_are_read_in_place_and_others_looked_up() -> None:
    for layer in (*lowered("half_pixel", (1, 1, 4, 2)).layers, *lowered("asymmetric", (1, 1, 3, 2)).layers):
        assert all(operand.rows is None for operand in layer.inputs)
    for layer in lowered("align_corners", (1, 1, 4, 2)).layers:
        assert [operand.rows is not None for operand in layer.inputs] == [True, False]


@pytest.mark.parametrize(
    ("rows", "strides"),
    [
        ((0, 0, 0, 1, 1, 1), ((2, 1), (3, 0))),
        ((-1, -1, 0, 0, 0, 0, 1, 1), ((2, 1), (2, 1), (2, 0))),
        ((0, 2, 4), ((3, 2),)),
        ((3,), ()),
        ((0, 0, 1, 1, 2), None),
    ],
)
def test_steps_give_the_rows(rows: tuple[int, ...], strides: Any) -> None:
    found = strides_of(rows)
    assert found == (None if strides is None else tuple(Stride(*each) for each in strides))
    if found is not None:
        made = np.asarray(rows[0])
        for stride in found:
            made = made[..., None] + stride.rows * np.arange(stride.extent)
        assert tuple(np.ravel(made).tolist()) == rows


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"mode": "cubic"}, "mode 'cubic'; allowed nearest, linear"),
        ({"mode": "linear", "antialias": 1}, "antialias"),
        ({"mode": "linear", "coordinate_transformation_mode": "corners"}, "'corners'; allowed half_pixel"),
        ({"mode": "linear", "extrapolation_value": 2.0}, "another value than 0"),
        ({"mode": "linear", "keep_aspect_ratio_policy": "not_larger"}, "'not_larger'; allowed stretch"),
    ],
)
def test_forms_without_a_rule_are_refused(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        graph_of(attributes, operands("half_pixel", (1, 2, 5, 6), (1, 1, 2, 2), None))


def test_scales_that_the_run_computes_are_refused() -> None:
    values = {
        "x": GraphValue("x", (1, 2, 4, 4), "input"),
        "s": GraphValue("s", (4,), "input"),
    }
    found = find("Resize")
    assert found is not None
    node = GraphNode("up", "Resize", ("x", "", "s"), ("y",), {"mode": "linear"})
    with pytest.raises(ModelError, match="scales are computed at run time"):
        found.shapes(node, (values["x"], None, values["s"]))


def test_axes_may_be_named(tmp_path: Path) -> None:
    """Opset 18: scales of some axes alone."""
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], name="up", mode="linear", axes=[3])
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray([2], np.float32), "s")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    (tmp_path / "one.onnx").write_bytes(model.SerializeToString())
    (layer,) = load_model(str(tmp_path / "one.onnx")).layers
    assert layer.op == "Interpolate" and layer.name == "up"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", [(1, 2, 1, 4), (1, 2, 4, 1), (1, 2, 1, 1)])
def test_an_axis_of_one_position_has_the_numbers_of_the_runtime(
    tmp_path: Path, mode: str, sizes: tuple[int, ...]
) -> None:
    attributes = {"mode": "linear", "coordinate_transformation_mode": mode}
    arrays = operands(mode, (1, 2, 5, 6), None, sizes)
    names = [f"i{at}" if array is not None else "" for at, array in enumerate(arrays)]
    stored = [numpy_helper.from_array(a, n) for n, a in zip(names[1:], arrays[1:], strict=True) if n]
    graph = helper.make_graph(
        [helper.make_node("Resize", names, ["y"], name="up", **attributes)],
        "one",
        [helper.make_tensor_value_info("i0", TensorProto.FLOAT, arrays[0].shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        stored,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    (tmp_path / "one.onnx").write_bytes(model.SerializeToString())
    assert verify(VerifyOptions(Job(str(tmp_path / "one.onnx"), "edge_npu"))).met
