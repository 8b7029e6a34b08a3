"""The numbers of an ONNX file: what it stores, and the same model with other numbers in place of some."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper

from archsim.base.errors import ModelError
from archsim.ir.graph import Array

ROUNDING = "accuracy_level"  # to how many bits ONNX Runtime may round the rows that a node multiplies


def load_whole(path: Path) -> onnx.ModelProto:
    """The model with all its contents, those beside the file included. The file was read without them before."""
    try:
        return onnx.load(path)
    except (OSError, DecodeError, onnx.checker.ValidationError) as error:
        raise ModelError(f"{path}: its weights cannot be read ({error}); export it again") from None


def stored_arrays(model: onnx.ModelProto) -> dict[str, Array]:
    """Contents of every stored tensor by name."""
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].type == onnx.AttributeProto.TENSOR:
            found[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    return found


def with_numbers(model: onnx.ModelProto, drawn: Mapping[str, Array], outputs: tuple[str, ...]) -> onnx.ModelProto:
    """A copy in which ``drawn`` replaces constants by name, every one of ``outputs`` that exists is an output, and the
    runtime may not compute in fewer bits than values have."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    for node in graph.node:
        _in_full(node)
    kept_nodes = [node for node in graph.node if not any(name in drawn for name in node.output)]
    kept_tensors = [tensor for tensor in graph.initializer if tensor.name not in drawn]
    kept_inputs = [value for value in graph.input if value.name not in drawn]
    for field, kept in ((graph.node, kept_nodes), (graph.initializer, kept_tensors), (graph.input, kept_inputs)):
        del field[:]
        field.extend(kept)
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in drawn.items())
    known = {name for node in graph.node for name in node.output}
    del graph.output[:]
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs if name in known)
    return made


def _in_full(node: onnx.NodeProto) -> None:
    """Take away the leave to round what a node reads (MatMulNBits)."""
    kept = [attribute for attribute in node.attribute if attribute.name != ROUNDING]
    if len(kept) < len(node.attribute):
        del node.attribute[:]
        node.attribute.extend(kept)
