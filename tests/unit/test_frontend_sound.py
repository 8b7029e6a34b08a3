"""ONNX files that parse and are wrong all the same: each is refused with one message that names what is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from fixtures_onnx import model, random, save
from onnx import TensorProto, helper

from archsim.base.errors import ModelError
from archsim.frontend.onnx.load import load_onnx

node = helper.make_node


def conv(**attributes: object) -> onnx.ModelProto:
    """A 3x3 convolution of 2 channels to 4 on 8x8 positions."""
    made = [node("Conv", ["x", "w"], ["y"], name="c", **attributes)]
    return model(made, {"x": (1, 2, 8, 8)}, ["y"], {"w": random(4, 2, 3, 3)})


def pool(**attributes: object) -> onnx.ModelProto:
    return model([node("MaxPool", ["x"], ["y"], name="p", **attributes)], {"x": (1, 2, 8, 8)}, ["y"])


def refused(tmp_path: Path, proto: onnx.ModelProto, match: str) -> None:
    with pytest.raises(ModelError, match=match) as caught:
        load_onnx(save(tmp_path, proto))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("code", [TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.UNDEFINED, 77])
def test_elements_that_no_engine_has(tmp_path: Path, code: int) -> None:
    proto = conv()
    proto.graph.input[0].type.tensor_type.elem_type = code
    refused(tmp_path, proto, "tensor 'x' has elements of type .*; allowed numbers: float32, ")


def test_elements_that_an_operator_may_not_read(tmp_path: Path) -> None:
    proto = conv()
    proto.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    refused(tmp_path, proto, r"node 'c' \(Conv\): input 1, 'x', has elements of type int64; allowed float32, float16")
    proto.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT16
    refused(tmp_path, proto, "'w', has elements of type float32 where 'x' has float16; allowed one type for both")
    proto.graph.node[0].domain = "com.example"  # of others' operators nothing is known
    refused(tmp_path, proto, "no rule")
    rows = model([node("Gather", ["t", "i"], ["y"])], {"i": (3,)}, ["y"], {"t": random(9, 4)})
    load_onnx(save(tmp_path, rows))
    rows.graph.input[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    refused(tmp_path, rows, "'i', has elements of type float64; allowed int32, int64")


def test_more_inputs_than_an_operator_has(tmp_path: Path) -> None:
    """A sink of a softmax is of this project's own graphs alone."""
    proto = model([node("Softmax", ["x", "s"], ["y"], name="n", axis=-1)], {"x": (2, 3)}, ["y"], {"s": random(2, 1)})
    refused(tmp_path, proto, r"node 'n' \(Softmax\): reads 2 inputs; allowed 1 in opset")


def test_operator_sets_of_the_future(tmp_path: Path) -> None:
    proto, newest = conv(), onnx.defs.onnx_opset_version()
    proto.opset_import[0].version = newest
    load_onnx(save(tmp_path, proto))
    proto.opset_import[0].version = 99
    refused(tmp_path, proto, f"states opset 99; allowed up to {newest}")


def test_a_kernel_that_is_not_that_of_the_weights(tmp_path: Path) -> None:
    load_onnx(save(tmp_path, conv(kernel_shape=[3, 3])))
    refused(tmp_path, conv(kernel_shape=[3, 1]), r"'c' \(Conv\): kernel_shape \[3, 1\] is not that .* \[3, 3\]")


def test_pads_beyond_the_kernel(tmp_path: Path) -> None:
    """A convolution may have a window of zeros alone at its edge; a maximum of nothing there is not."""
    load_onnx(save(tmp_path, conv(pads=[3, 3, 3, 3])))
    load_onnx(save(tmp_path, conv(pads=[5, 5, 5, 5], dilations=[2, 2])))
    refused(tmp_path, conv(pads=[0, 4, 0, 0]), r"pads \(0, 4\)\+\(0, 0\) go beyond its window \(3, 3\); .* at most 3")
    refused(tmp_path, conv(pads=[0, 0, 10**9, 0]), "go beyond its window")
    load_onnx(save(tmp_path, pool(kernel_shape=[3, 3], pads=[2, 2, 2, 2])))
    refused(tmp_path, pool(kernel_shape=[3, 3], pads=[3, 0, 0, 0]), r"'p' \(MaxPool\): pads .* allowed at most 2")


def test_one_name_for_two_things(tmp_path: Path) -> None:
    proto = conv()
    proto.graph.initializer.append(proto.graph.initializer[0])
    refused(tmp_path, proto, "two initializers have the name 'w'")
    twice = model([node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])], {"x": (2,)}, ["y"])
    refused(tmp_path, twice, "'y' is made twice")
    inputs = conv()
    inputs.graph.input.append(inputs.graph.input[0])
    refused(tmp_path, inputs, "two graph inputs have the name 'x'")
    default = conv()  # a stored tensor may be the default of an input
    default.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, (4, 2, 3, 3)))
    load_onnx(save(tmp_path, default))


def test_shapes_that_contradict(tmp_path: Path) -> None:
    proto = model([node("Relu", ["x"], ["r"]), node("Neg", ["r"], ["y"], name="n")], {"x": (2, 3)}, ["y"])

    def stating(name: str, shape: tuple[object, ...]) -> onnx.ModelProto:
        made = onnx.ModelProto()
        made.CopyFrom(proto)
        if name == "y":
            del made.graph.output[:]
        target = made.graph.output if name == "y" else made.graph.value_info
        target.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return made

    for shape in ((2, 3), ("batch", 3), (None, 3)):
        load_onnx(save(tmp_path, stating("r", shape)))
        assert load_onnx(save(tmp_path, stating("r", shape)), batch=5).batch == 5
    refused(tmp_path, stating("y", (2, 4)), r"'n' \(Neg\): makes \[2, 3\], but the file states shape \[2, 4\] for 'y'")
    refused(tmp_path, stating("r", (2, 3, 1)), r"makes \[2, 3\], but the file states shape \[2, 3, 1\] for 'r'")
    stored = conv()
    stored.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, (4, 2, 5, 5)))
    refused(tmp_path, stored, r"states shape \[4, 2, 5, 5\] for 'w', but it has \[4, 2, 3, 3\]")


def test_constants_of_nodes_have_types_too(tmp_path: Path) -> None:
    word = helper.make_tensor("v", TensorProto.STRING, [1], [b"four"])
    made = [node("Constant", [], ["s"], value=word), node("Reshape", ["x", "s"], ["y"])]
    refused(tmp_path, model(made, {"x": (4,)}, ["y"]), "tensor 's' has elements of type string")
    assert np.prod(load_onnx(save(tmp_path, conv())).tensors["y"].shape) == 4 * 36
