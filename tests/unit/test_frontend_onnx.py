"""The ONNX front end: nine real graphs against independent counts, batches, and all that can be wrong in a file."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from fixtures_onnx import Array, model, random, refused, save
from onnx import TensorProto, helper, numpy_helper

from archsim.base.errors import ConfigError, ModelError
from archsim.frontend.load import load_model
from archsim.frontend.onnx.load import load_graph, load_onnx
from archsim.frontend.onnx.skim import skim
from archsim.ir.check.workload import check_workload
from archsim.ir.graph import GraphNode, GraphValue, UnsupportedError
from archsim.ir.indices import Indices
from archsim.ir.text import workload_from_yaml, workload_to_yaml
from archsim.ir.workload import Rows, Workload
from archsim.ops import gather

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
FILES = {
    "alexnet": "light_bvlc_alexnet.onnx",
    "densenet121": "light_densenet121.onnx",
    "inception_v1": "light_inception_v1.onnx",
    "inception_v2": "light_inception_v2.onnx",
    "resnet50": "light_resnet50.onnx",
    "shufflenet": "light_shufflenet.onnx",
    "squeezenet": "light_squeezenet.onnx",
    "vgg19": "light_vgg19.onnx",
    "zfnet512": "light_zfnet512.onnx",
}
MIB = 2**20
node = helper.make_node


@cache
def imported(name: str) -> Workload:
    return load_model(name)


@cache
def onnx_shapes(name: str) -> tuple[onnx.ModelProto, dict[str, tuple[int, ...]]]:
    proto = onnx.shape_inference.infer_shapes(onnx.load(str(LIGHT / FILES[name])), data_prop=True)
    infos = [*proto.graph.value_info, *proto.graph.output, *proto.graph.input]
    return proto, {info.name: tuple(d.dim_value for d in info.type.tensor_type.shape.dim) for info in infos}


@pytest.mark.parametrize("name", FILES)
def test_macs_equal_an_independent_count(name: str) -> None:
    """Every convolution and product counted from ONNX's own shape inference."""
    proto, shapes = onnx_shapes(name)
    total = 0
    for item in proto.graph.node:
        if item.op_type == "Conv":
            total += prod(shapes[item.output[0]]) * prod(shapes[item.input[1]][1:])
        elif item.op_type == "Gemm":
            total += prod(shapes[item.output[0]]) * prod(shapes[item.input[0]][1:])
    assert imported(name).macs == total


def test_macs_and_parameters_known_elsewhere() -> None:
    """ResNet-50: 25,557,032 parameters and 4.089 G MACs; VGG-19: 143,667,240 and 19.63 G."""
    assert (imported("resnet50").parameters, imported("resnet50").macs) == (25_557_032, 4_089_184_256)
    assert (imported("vgg19").parameters, imported("vgg19").macs) == (143_667_240, 19_632_062_464)


@pytest.mark.parametrize("name", FILES)
def test_shapes_equal_onnx_inference(name: str) -> None:
    _, shapes = onnx_shapes(name)
    graph, _ = load_graph(LIGHT / FILES[name])
    for item in graph.nodes:
        for output in item.outputs:
            assert graph.shape(output) == shapes.get(output, graph.shape(output))  # ONNX gives masks no shape


@pytest.mark.parametrize("name", FILES)
def test_every_node_is_a_layer_or_listed(name: str) -> None:
    """Law 45: nodes that are not layers are fused or views, by name."""
    graph, _ = load_graph(LIGHT / FILES[name])
    workload = imported(name)
    listed = {layer.name for layer in workload.layers} | {view.name for view in workload.views}
    listed |= {fused for layer in workload.layers for fused in layer.fused}
    assert {item.name for item in graph.nodes} == listed
    check_workload(workload)
    assert workload_from_yaml(workload_to_yaml(workload)) == workload


@pytest.mark.parametrize("name", FILES)
def test_batch_scales_layers_and_keeps_weights(name: str) -> None:
    """Shapes baked into Reshape for batch 1 follow the batch."""
    one, three = imported(name), load_model(name, batch=3)
    check_workload(three)
    assert (three.batch, three.macs, three.parameters) == (3, 3 * one.macs, one.parameters)
    assert [layer.name for layer in three.layers] == [layer.name for layer in one.layers]
    weights = {key: tensor for key, tensor in one.tensors.items() if tensor.kind == "weight"}
    assert weights == {key: tensor for key, tensor in three.tensors.items() if tensor.kind == "weight"}


@pytest.mark.parametrize("name", FILES)
def test_fusion_and_copies(name: str) -> None:
    """Only channel shuffles move data; every convolution carries its normalisation and activation."""
    workload = imported(name)
    copies = [layer.op for layer in workload.layers if layer.kind == "copy"]
    assert copies == (["Reshape"] * 16 if name == "shufflenet" else [])
    proto, _ = onnx_shapes(name)
    count = {kind: sum(item.op_type == kind for item in proto.graph.node) for kind in ("Conv", "BatchNormalization")}
    alone = [layer for layer in workload.layers if layer.op == "BatchNormalization"]
    assert sum(layer.op == "Conv" for layer in workload.layers) == count["Conv"]
    assert len(alone) == (62 if name == "densenet121" else 0)  # 121, of which 59 stand behind a convolution
    assert all(layer.steps[0].function == "multiply+add+relu" for layer in alone[:-1])
    assert "Relu" not in {layer.op for layer in workload.layers} or name in ("shufflenet", "inception_v1", "squeezenet")


def test_requantise_and_activation_are_one_pass() -> None:
    first = imported("resnet50").layers[0]
    assert [(step.function, step.passes, step.slow) for step in first.steps] == [("requantise+relu", 1, ())]
    assert [operand.name for operand in first.inputs] == ["a", "b", "bias"]
    assert first.dims == {"n": 1, "p": 112, "q": 112, "k": 64, "c": 3, "r": 7, "s": 7}


def test_dense_blocks_share_one_tensor() -> None:
    """DenseNet's chains of concatenations are placed in four tensors, one for each block."""
    workload = imported("densenet121")
    bases = {tensor.view.base for tensor in workload.tensors.values() if tensor.view is not None}
    channels = sorted(workload.tensors[base].shape[-1] for base in bases)
    assert channels == [256, 512, 1024, 1024]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory of a process is read from /proc")
def test_memory_of_all_nine_in_one_process() -> None:
    """All graphs in less than 250 MiB, weights of VGG-19 (574 MB) included: none is materialised.

    VmHWM, not ru_maxrss: that one starts at the peak of the process that started this one.
    """
    script = (
        "from archsim.frontend.load import load_model\n"
        f"for name in {sorted(FILES)!r}:\n"
        "    load_model(name)\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 250 * MIB


def test_large_stored_weights_are_never_read(tmp_path: Path) -> None:
    """A file of 20 MB: what is left of it is smaller than 1 kB, and that is all that is parsed."""
    weights = {"w": np.ones((1000, 5000), np.float32)}
    path = save(tmp_path, model([node("MatMul", ["x", "w"], ["y"])], {"x": (1, 1000)}, ["y"], weights))
    assert path.stat().st_size > 20_000_000
    found = skim(path)
    assert len(found.data) < 1000 and found.raw_bytes == {"w": 20_000_000}
    assert load_onnx(path).parameters == 5_000_000


def test_the_hash_is_that_of_the_file(tmp_path: Path) -> None:
    import hashlib

    path = save(tmp_path, model([node("Relu", ["x"], ["y"])], {"x": (2, 3)}, ["y"]))
    assert load_onnx(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


# --- what can be wrong -----------------------------------------------------------------------------------------------


def test_damaged_files(tmp_path: Path) -> None:
    whole = (LIGHT / FILES["squeezenet"]).read_bytes()
    path = tmp_path / "x.onnx"
    for size in (len(whole) - 1, len(whole) // 2, 40):
        path.write_bytes(whole[:size])
        refused(path, "cut short or damaged")
    path.write_bytes(b"")
    refused(path, "the file is empty")
    for junk in (
        b"PK\x03\x04" + b"zip" * 50,
        b"<html>no model</html>",
        b"\x7fELF\x02\x01" * 9,
        bytes(range(256)),
        b"\xff" * 64,
    ):
        path.write_bytes(junk)
        refused(path, "not an ONNX model|damaged")
    path.unlink()
    refused(path, "cannot be read")


def test_every_truncation_and_many_flips_end_in_one_message(tmp_path: Path) -> None:
    """No cut or flipped byte of a small model leads to anything but a Workload or a ModelError."""
    proto = model(
        [node("Conv", ["x", "w"], ["c"]), node("Relu", ["c"], ["r"]), node("Reshape", ["r", "s"], ["y"])],
        {"x": (1, 2, 4, 4)},
        ["y"],
        {"w": random(3, 2, 1, 1), "s": np.asarray([1, -1], np.int64)},
    )
    data = proto.SerializeToString()
    path = tmp_path / "x.onnx"
    generator = np.random.default_rng(1)
    cuts = [data[:size] for size in range(1, len(data), 3)]
    flips = []
    for _ in range(150):
        changed = bytearray(data)
        changed[generator.integers(len(data))] = generator.integers(256)
        flips.append(bytes(changed))
    for content in cuts + flips:
        path.write_bytes(content)
        try:
            load_onnx(path)
        except ModelError:
            continue


def test_graphs_that_cannot_be(tmp_path: Path) -> None:
    cyclic = [node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"])]
    refused(save(tmp_path, model(cyclic, {"x": (2,)}, ["b"])), "cycle through 'a'")
    zero = model([node("Relu", ["x"], ["y"])], {"x": (1, 0, 4)}, ["y"])
    refused(save(tmp_path, zero), "dimension 1 is 0")
    shrunk = model([node("Conv", ["x", "w"], ["y"])], {"x": (1, 1, 2, 2)}, ["y"], {"w": random(1, 1, 3, 3)})
    refused(save(tmp_path, shrunk), r"node 'y' \(Conv\): window \(3, 3\).*larger than its input")
    clash = model([node("Conv", ["x", "w"], ["y"])], {"x": (1, 3, 4, 4)}, ["y"], {"w": random(1, 2, 3, 3)})
    refused(save(tmp_path, clash), "3 channels.*do not fit")


def test_unknown_rank_and_dynamic_dimensions(tmp_path: Path) -> None:
    relu = [node("Relu", ["x"], ["y"])]
    proto = model(relu, {"x": (1,)}, ["y"])
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    refused(save(tmp_path, proto), "'x' has no known rank")
    refused(save(tmp_path, model(relu, {"x": ("batch", "height", 3)}, ["y"])), r"dimension 1 \('height'\) is dynamic")
    path = save(tmp_path, model(relu, {"x": ("batch", 5)}, ["y"]))
    assert load_onnx(path).layers[0].dims == {"d0": 1, "d1": 5}
    assert load_onnx(path, batch=8).layers[0].dims == {"d0": 8, "d1": 5}


def test_sizes_no_machine_has(tmp_path: Path) -> None:
    """10 GB declared and not there is refused; 10 GB made by a node is a shape like any other."""
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": (1, 50_000)}, ["y"], {"w": random(2, 2)})
    proto.graph.initializer[0].dims[:] = [50_000, 50_000]
    refused(save(tmp_path, proto), "declares 10,000,000,000 bytes, but the file holds 16")
    proto.graph.initializer[0].raw_data = b""
    refused(save(tmp_path, proto), "declares 10,000,000,000 bytes, but the file holds 0")
    proto.graph.initializer[0].dims[:] = [-5, 4]
    refused(save(tmp_path, proto), "negative dimension")
    shape = {"s": np.asarray([50_000, 50_000], np.int64)}
    made = [node("ConstantOfShape", ["s"], ["w"]), node("MatMul", ["x", "w"], ["y"])]
    workload = load_onnx(save(tmp_path, model(made, {"x": (1, 50_000)}, ["y"], shape)))
    assert (workload.macs, workload.parameters) == (2_500_000_000, 2_500_000_000)
    ranged = [node("Range", ["a", "b", "c"], ["r"]), node("Cast", ["r"], ["f"], to=1), node("Add", ["x", "f"], ["y"])]
    numbers = {name: np.asarray(value, np.int64) for name, value in (("a", 0), ("b", 10**12), ("c", 1))}
    assert load_onnx(save(tmp_path, model(ranged, {"x": (1,)}, ["y"], numbers))).layers[0].dims == {"d0": 10**12}


def test_no_opset_no_graph_no_input(tmp_path: Path) -> None:
    proto = model([node("Relu", ["x"], ["y"])], {"x": (2, 3)}, ["y"])
    proto.ClearField("opset_import")
    refused(save(tmp_path, proto), "states no opset")
    proto.ClearField("graph")
    refused(save(tmp_path, proto), "holds no graph")
    constant = model([node("Relu", ["w"], ["y"])], {}, ["y"], {"w": random(3)})
    refused(save(tmp_path, constant), "no input that a node reads")


def test_operators_that_are_refused(tmp_path: Path) -> None:
    branch = helper.make_graph([node("Relu", ["x"], ["z"])], "b", [], [helper.make_tensor_value_info("z", 1, None)])
    control = node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    proto = model([node("Not", ["b"], ["c"]), control], {"x": (2,), "b": (1,)}, ["y"])
    refused(save(tmp_path, proto), r"node 'y' \(If\): runs a subgraph")
    path = save(tmp_path, model([node("Det", ["x"], ["y"])], {"x": (2, 3, 3)}, ["y"]))
    refused(path, r"node 'y' \(Det\): operator 'Det' has no rule.*--on-unsupported host")
    custom = model([node("Magic", ["x"], ["y"], domain="com.example")], {"x": (2, 3)}, ["y"])
    custom.opset_import.append(helper.make_opsetid("com.example", 1))
    refused(save(tmp_path, custom), r"\(com\.example\.Magic\)")


def looked_up(tmp_path: Path, **options: Any) -> Workload:
    """A table of 9 rows of 4, looked up by an input of 2 x 3 indices."""
    proto = model([node("Gather", ["w", "x"], ["y"], name="emb")], {"x": (2, 3)}, ["y"], {"w": random(9, 4)})
    proto.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    workload = load_onnx(save(tmp_path, proto), **options)
    check_workload(workload)
    return workload


def test_look_ups_by_indices_of_the_run(tmp_path: Path) -> None:
    """Uniform with one warning, or as stated; the table is read by rows only."""
    (layer,) = looked_up(tmp_path).layers
    (operand,) = layer.inputs
    assert (layer.op, layer.kind, operand.role) == ("GatherRows", "copy", "tables")
    assert operand.rows is not None and operand.rows.axis == 0 and operand.rows.indices.kind == "uniform"
    assert operand.axes[0].terms == (("d0", 3), ("d1", 1)) and operand.axes[1].terms == (("d2", 1),)
    (warning,) = looked_up(tmp_path).warnings
    assert "'emb'" in warning and "uniform" in warning and "--lookups" in warning
    stated = looked_up(tmp_path, lookups={"emb": "zipf(exponent=1.5, seed=2)"})
    assert stated.layers[0].inputs[0].rows == Rows(0, Indices("zipf", 2, 1.5)) and not stated.warnings
    traced = looked_up(tmp_path, lookups={"emb": "trace(8, 0, 1, 2, 3, 8)"})
    assert traced.layers[0].inputs[0].rows == Rows(0, Indices("trace", trace=(8, 0, 1, 2, 3, 8)))
    assert workload_from_yaml(workload_to_yaml(traced)) == traced


@pytest.mark.parametrize(
    ("lookups", "message"),
    [
        ({"emd": "uniform(seed=0)"}, "no look-up of rows is called 'emd'.*did you mean 'emb'"),
        ({"emb": "uniform"}, r"--lookups emb: expected '\('"),
        ({"emb": "uniform(seed=0) x"}, "--lookups emb: expected the end of the pattern"),
        (
            {"emb": "trace(1, 2)"},
            r"node 'emb' \(GatherRows\): its trace has 2 rows up to 2; it looks 6 up in a table of 9",
        ),
        ({"emb": "trace(1, 2, 9, 0, 0, 0)"}, "rows up to 9"),
    ],
)
def test_access_patterns_that_do_not_fit(tmp_path: Path, lookups: dict[str, str], message: str) -> None:
    with pytest.raises((ConfigError, ModelError), match=message):
        looked_up(tmp_path, lookups=lookups)


def test_many_constant_indices_are_held_against_the_table_at_once() -> None:
    """4 M of them in tenths of a second of CPU; a list of numbers takes whole ones."""
    indices = np.zeros(1 << 22, np.int64)
    values = (GraphValue("x", (5, 3), "input"), GraphValue("i", indices.shape, "constant", "int64", indices))
    start = time.process_time()
    assert gather.shapes(GraphNode("g", "Gather", ("x", "i"), ("y",), {}), values) == ((1 << 22, 3),)
    assert time.process_time() - start < 0.2


def test_constant_indices_that_are_no_range_are_a_trace(tmp_path: Path) -> None:
    rows = np.asarray([4, -1, 0], np.int64)
    proto = model([node("Gather", ["x", "i"], ["y"], axis=1)], {"x": (2, 5, 3)}, ["y"], {"i": rows})
    workload = load_onnx(save(tmp_path, proto))
    (operand,) = workload.layers[0].inputs
    assert operand.role == "inputs" and operand.rows == Rows(1, Indices("trace", trace=(4, 4, 0)))
    assert not workload.warnings
    rows[0] = 5
    proto = model([node("Gather", ["x", "i"], ["y"], name="g", axis=1)], {"x": (2, 5, 3)}, ["y"], {"i": rows})
    refused(save(tmp_path, proto), "node 'g' .*: index 5; allowed -5 to 4")


def test_unsupported_operators_on_the_host(tmp_path: Path) -> None:
    """Shapes come from ONNX's own inference; the layers before and after stay on the chip."""
    nodes = [node("Relu", ["x"], ["a"]), node("Hardmax", ["a"], ["b"]), node("Sigmoid", ["b"], ["y"])]
    path = save(tmp_path, model(nodes, {"x": (2, 3)}, ["y"]))
    with pytest.raises(UnsupportedError):
        load_onnx(path)
    workload = load_onnx(path, on_unsupported="host")
    check_workload(workload)
    assert [layer.kind for layer in workload.layers] == ["vector", "host", "vector"]
    assert workload.layers[1].attributes["flops"] == 12
    twice = load_onnx(path, on_unsupported="host", batch=4)
    assert twice.tensors["b"].shape == (4, 3)


def test_old_forms_are_brought_up_to_date(tmp_path: Path) -> None:
    """What were attributes become inputs: one graph in the forms of opset 9 and of opset 13."""
    nodes = [
        node("Clip", ["x"], ["a"], min=0.0, max=6.0),
        node("Slice", ["a"], ["b"], starts=[1], ends=[3], axes=[1]),
        node("Pad", ["b"], ["c"], pads=[0, 0, 1, 1, 0, 0, 1, 1]),
        node("Unsqueeze", ["c"], ["d"], axes=[0]),
        node("Squeeze", ["d"], ["e"], axes=[0]),
        node("ReduceMean", ["e"], ["f"], axes=[2, 3], keepdims=0),
        node("Softmax", ["e"], ["g"]),
        node("Upsample", ["c", "s"], ["h"], mode="nearest"),
    ]
    weights: dict[str, Array] = {"s": np.asarray([1, 1, 2, 2], np.float32)}
    proto = model(nodes, {"x": (1, 4, 3, 3)}, ["f", "g", "h"], weights, opset=9)
    workload = load_onnx(save(tmp_path, proto))
    assert [layer.op for layer in workload.layers] == ["Clip", "Pad", "ReduceMean", "Softmax", "Resize"]
    softmax = next(layer for layer in workload.layers if layer.op == "Softmax")
    assert len(softmax.whole) == 3  # before opset 13 all axes from 1 on are one row
    with pytest.raises(ModelError, match="broadcasts by the rules of opset 6"):
        old = model([node("Add", ["x", "w"], ["y"], broadcast=1, axis=1)], {"x": (1, 4, 3)}, ["y"], {"w": random(4)}, 6)
        load_onnx(save(tmp_path, old))


def test_quantities_of_typed_and_external_tensors(tmp_path: Path) -> None:
    """Contents in typed lists instead of raw bytes are left out and checked as well."""
    tensor = helper.make_tensor("w", TensorProto.FLOAT, [40, 50], np.ones(2000, np.float32).tolist())
    graph = helper.make_graph(
        [node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", 1, (1, 40))],
        [helper.make_tensor_value_info("y", 1, None)],
        [tensor],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    path = save(tmp_path, proto)
    assert skim(path).typed_bytes == {"w": 8000}
    assert load_onnx(path).parameters == 2000
    proto.graph.initializer[0].dims[:] = [40, 5000]
    refused(save(tmp_path, proto), "declares 800,000 bytes")


def test_constants_given_by_nodes(tmp_path: Path) -> None:
    nodes = [
        node("Constant", [], ["w"], value=numpy_helper.from_array(random(5, 4))),
        node("Constant", [], ["shape"], value_ints=[1, 20]),
        node("Gemm", ["x", "w"], ["g"], transB=1),
        node("Reshape", ["g", "shape"], ["y"]),
    ]
    workload = load_onnx(save(tmp_path, model(nodes, {"x": (4, 4)}, ["y"])))
    assert workload.parameters == 20 and [view.name for view in workload.views] == ["reshape_2_1x20"]
