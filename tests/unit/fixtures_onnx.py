"""Small ONNX models for tests, written to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from archsim.base.errors import ModelError
from archsim.frontend.onnx.load import load_onnx

Array = npt.NDArray[Any]


def model(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, tuple[int | str, ...]],
    outputs: list[str],
    weights: dict[str, Array] | None = None,
    opset: int = 17,
) -> onnx.ModelProto:
    """A model whose outputs' shapes are found by ONNX's own inference; inputs that choose rows are integers."""
    rows = {node.input[1] for node in nodes if node.op_type.startswith("Gather") and len(node.input) > 1}
    graph = helper.make_graph(
        nodes,
        "test",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64 if name in rows else TensorProto.FLOAT, shape)
            for name, shape in inputs.items()
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def save(path: Path, proto: onnx.ModelProto, name: str = "model.onnx") -> Path:
    """Write a model, return its path."""
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_bytes(proto.SerializeToString())
    return path / name


def reference(proto: onnx.ModelProto, inputs: dict[str, Array]) -> dict[str, Array]:
    """Results of the ONNX reference evaluator."""
    names = [output.name for output in proto.graph.output]
    return dict(zip(names, ReferenceEvaluator(proto).run(None, inputs), strict=True))


def weights_of(proto: onnx.ModelProto) -> dict[str, Array]:
    """All stored tensors."""
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}


def random(*shape: int, seed: int = 0) -> Array:
    """Random float32 values, the same in every run."""
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


def write_nodes(folder: Path, nodes: list[Any], inputs: dict[str, Any], outputs: list[str], **stored: Any) -> Path:
    """``one.onnx``: nodes of ONNX's own domain and ONNX Runtime's, with float inputs of these shapes and stored
    arrays by name."""
    held = [numpy_helper.from_array(np.asarray(array), name) for name, array in stored.items()]
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    proto = helper.make_model(helper.make_graph(nodes, "one", given, made, held), opset_imports=opsets, ir_version=10)
    return save(folder, proto, "one.onnx")


def refused(path: Path, match: str, **options: str) -> None:
    """A file ends in one message of one line, which says what matches."""
    with pytest.raises(ModelError, match=match) as caught:
        load_onnx(path, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
