"""Models that state their own elements (QuantizeLinear, DequantizeLinear): imported, computed, compared."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from fixtures_onnx import model, save
from onnx import TensorProto, helper, numpy_helper

from archsim.frontend.load import import_model
from archsim.graph.numeric.quantise import Quantised
from archsim.ir.graph import UnsupportedError
from archsim.lab.run.job import Job
from archsim.lab.run.run import execute
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions

Array = Any
node = helper.make_node
EDGE = "edge_npu"


class Writer:
    """A graph in which every activation is quantised and dequantised, as converters write it."""

    def __init__(self, kind: type[np.generic], power_of_two: bool) -> None:
        self.kind, self.power_of_two = kind, power_of_two
        self.nodes: list[onnx.NodeProto] = []
        self.stored: dict[str, Array] = {}
        self.random = np.random.default_rng(5)

    def scale(self, largest: float) -> np.float32:
        exact = largest / 127
        return np.float32(2.0 ** np.ceil(np.log2(exact)) if self.power_of_two else exact)

    def rounded(self, name: str, largest: float, zero: int = 0) -> str:
        """An activation through its elements; returns the name behind."""
        self.stored[f"{name}.s"] = self.scale(largest)
        self.stored[f"{name}.z"] = np.asarray(zero, self.kind)
        self.nodes.append(node("QuantizeLinear", [name, f"{name}.s", f"{name}.z"], [f"{name}.q"]))
        self.nodes.append(node("DequantizeLinear", [f"{name}.q", f"{name}.s", f"{name}.z"], [f"{name}.d"]))
        return f"{name}.d"

    def weight(self, name: str, *shape: int) -> str:
        values = self.random.standard_normal(shape) * (2 / np.prod(shape[1:])) ** 0.5
        scale = self.scale(float(np.abs(values).max()))
        self.stored |= {f"{name}.q": np.clip(np.rint(values / scale), -127, 127).astype(np.int8), f"{name}.s": scale}
        self.nodes.append(node("DequantizeLinear", [f"{name}.q", f"{name}.s"], [name]))
        return name

    def proto(self, shape: tuple[int, ...]) -> onnx.ModelProto:
        return model(self.nodes, {"x": shape}, [self.nodes[-1].output[0]], self.stored, opset=17)


def network(kind: type[np.generic], power_of_two: bool) -> onnx.ModelProto:
    """Convolution and relu, a depthwise one, a residual sum, a concatenation of other elements, pooling, a product."""
    to = Writer(kind, power_of_two)
    zero = 0 if kind is np.int8 else 128
    x = to.rounded("x", 4.0, zero)
    to.nodes.append(node("Conv", [x, to.weight("w1", 8, 3, 3, 3)], ["c1"], pads=[1, 1, 1, 1]))
    to.nodes.append(node("Relu", ["c1"], ["r1"]))
    r1 = to.rounded("r1", 5.0, zero)
    to.nodes.append(node("Conv", [r1, to.weight("w2", 8, 1, 3, 3)], ["c2"], pads=[1, 1, 1, 1], group=8))
    c2 = to.rounded("c2", 6.0, zero + 3)
    to.nodes.append(node("Add", [r1, c2], ["sum"]))
    total = to.rounded("sum", 9.0, zero - 2)
    to.nodes.append(node("Concat", [total, c2], ["both"], axis=1))
    both = to.rounded("both", 9.0, zero)
    to.nodes.append(node("MaxPool", [both], ["pool"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))
    pool = to.rounded("pool", 9.0, zero)
    to.nodes.append(node("GlobalAveragePool", [pool], ["mean"]))
    mean = to.rounded("mean", 3.0, zero + 5)
    to.nodes += [node("Flatten", [mean], ["flat"]), node("Gemm", ["flat", to.weight("w3", 10, 16)], ["g"], transB=1)]
    to.rounded("g", 4.0, zero)
    return to.proto((1, 3, 9, 7))


@pytest.mark.parametrize("power_of_two", [True, False])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_a_quantised_network(tmp_path: Path, kind: type[np.generic], power_of_two: bool) -> None:
    path = save(tmp_path, network(kind, power_of_two))
    outcome = verify(VerifyOptions(Job(str(path), EDGE), interleavings=2))
    assert outcome.met, outcome.checks
    real, ours, runtime = outcome.checks
    assert real.reference.startswith("NumPy") and runtime.reference.startswith("ONNX Runtime")
    assert len(runtime.rows) >= 6 and not any(row.constant for row in ours.rows)
    if power_of_two:
        assert all(row.different == 0 for row in runtime.rows)
    else:
        assert sum(row.different for row in runtime.rows) <= 3


def test_stated_elements_cost_nothing_but_a_changed_concatenation_does(tmp_path: Path) -> None:
    workload = import_model(save(tmp_path, network(np.uint8, False))).workload
    kinds = [(layer.name, layer.kind) for layer in workload.layers if layer.op == "Concat"]
    assert kinds == [("concat_13_9x7x16[0]", "vector"), ("concat_13_9x7x16[1]", "vector")]
    assert {layer.op for layer in workload.layers} == {"Conv", "Add", "Concat", "MaxPool", "GlobalAveragePool", "Gemm"}
    assert "DequantizeLinear" in {view.op for view in workload.views}
    assert workload.parameters == 8 * 27 + 8 * 9 + 160


def test_an_activation_is_not_fused_across_its_elements(tmp_path: Path) -> None:
    to = Writer(np.int8, True)
    to.nodes.append(node("Conv", [to.rounded("x", 4.0), to.weight("w", 4, 2, 1, 1)], ["c"]))
    to.nodes.append(node("Sigmoid", [to.rounded("c", 1.0)], ["y"]))
    path = save(tmp_path, to.proto((1, 2, 3, 3)))
    assert [layer.op for layer in import_model(path).workload.layers] == ["Conv", "Sigmoid"]
    assert verify(VerifyOptions(Job(str(path), EDGE))).met


def test_scales_by_channel_of_an_activation_are_refused(tmp_path: Path) -> None:
    stored = {"s": np.ones(2, np.float32), "z": np.zeros(2, np.int8)}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1),
        node("DequantizeLinear", ["q", "s", "z"], ["d"], axis=1),
        node("Relu", ["d"], ["y"]),
    ]
    path = save(tmp_path, model(nodes, {"x": (1, 2, 3)}, ["y"], stored))
    with pytest.raises(UnsupportedError, match="has a scale for each channel of an activation; allowed one scale"):
        import_model(path)


def test_scales_by_channel_of_weights_become_one(tmp_path: Path) -> None:
    """Elements of weights have one scale here; the numbers are the file's, to within its rounding."""
    elements = np.array([[127, -64, 3], [-127, 5, 90]], np.int8)
    stored = {"w.q": elements, "w.s": np.array([0.5, 0.01], np.float32)}
    nodes = [node("DequantizeLinear", ["w.q", "w.s"], ["w"], axis=0), node("Gemm", ["x", "w"], ["y"], transB=1)]
    path = save(tmp_path, model(nodes, {"x": (2, 3)}, ["y"], stored))
    outcome = verify(VerifyOptions(Job(str(path), EDGE)))
    assert outcome.met
    held = numpy_helper.from_array(elements)
    assert held.dims == [2, 3]


@pytest.mark.parametrize(("stored_as", "block"), [("int8", 2), ("int4", 2), ("int4", 0)])
def test_weights_without_a_format_are_timed_as_others(tmp_path: Path, stored_as: str, block: int) -> None:
    """Blocks across the rows of a product, and elements below 8 bits with a scale for each row, are named in a warning;
    the numbers are the file's, to within its rounding."""
    elements = np.array([[7, -6, 3, 1], [-7, 5, 2, 4]], np.int8)
    scales = np.array([[0.5, 0.25, 1.0, 0.125]] if block else [0.5, 0.25], np.float32)
    attributes: dict[str, Any] = {"block_size": block} if block else {}
    nodes = [
        node("DequantizeLinear", ["w.q", "w.s"], ["w"], axis=0, **attributes),
        node("Gemm", ["x", "w"], ["y"], transB=1),
    ]
    stored: dict[str, Array] = {"w.q": elements, "w.s": scales}
    proto = model(nodes, {"x": (2, 4)}, ["y"], stored, opset=21)
    if stored_as == "int4":
        packed = helper.make_tensor("w.q", TensorProto.INT4, elements.shape, elements.ravel().tolist())
        proto.graph.initializer[0].CopyFrom(packed)
    path = save(tmp_path, proto)
    job = Job(str(path), EDGE)
    said = [text for text in execute(job).summary["provenance"]["warnings"] if "'w.q'" in text]
    assert len(said) == 1 and "timed in the chip's format of weights" in said[0]
    assert verify(VerifyOptions(job)).met


def test_accumulators_wrap_around() -> None:
    """In two's complement, one past the end is the other end."""
    holder: Any = SimpleNamespace(_accumulate="int32")
    totals = np.asarray([2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32 + 5])
    assert Quantised.sums(holder, totals).tolist() == [2**31 - 1, -(2**31), -(2**31), 2**31 - 1, 5]
