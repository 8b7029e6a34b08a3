"""A ModelProto to the neutral graph: names, shapes and small constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from archsim.base.errors import ModelError
from archsim.frontend.onnx.dtypes import NAMES
from archsim.frontend.onnx.read import holds_data, opset
from archsim.frontend.onnx.skim import is_mask
from archsim.frontend.onnx.upgrade import OnnxUpgrade, upgrade
from archsim.ir.graph import SMALL_ELEMENTS, Array, Graph, GraphNode, GraphValue, OperatorAttribute, Shape

_GRAPH_TYPES = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


def to_graph(model: onnx.ModelProto, name: str, batch: int | None) -> Graph:
    """The graph of a model. ``batch`` replaces dim 0 of the inputs that have the first input's (or a dynamic) dim 0.

    Raises ModelError for inputs of unknown rank, dynamic dimensions other than the batch, and operators with subgraphs.
    """
    values = {tensor.name: constant_of(tensor) for tensor in model.graph.initializer}
    inputs = _inputs(model.graph, set(values), batch)
    values.update({value.name: value for value in inputs})
    state = OnnxUpgrade(opset(model) or 0)
    nodes: list[GraphNode] = []
    for proto in model.graph.node:
        if proto.op_type == "Constant" and proto.domain in ("", "ai.onnx"):
            constant = _constant_node(proto)
            values[constant.name] = constant
        else:
            nodes.append(upgrade(_node(proto), state))
    values.update(state.constants)
    return Graph(
        name=name,
        nodes=_unique(nodes),
        values=values,
        inputs=tuple(value.name for value in inputs),
        outputs=tuple(output.name for output in model.graph.output),
    )


def constant_of(tensor: onnx.TensorProto, name: str = "") -> GraphValue:
    """A stored tensor as a value; its contents only when they are few and at hand, or those of a mask."""
    name = name or tensor.name
    shape, dtype = tuple(tensor.dims), NAMES.get(tensor.data_type, "unknown")
    here = tensor.data_location != onnx.TensorProto.EXTERNAL
    small = prod(shape) <= SMALL_ELEMENTS or is_mask(tensor.raw_data, (0, len(tensor.raw_data)), tensor.data_type)
    data = _contents(tensor, name) if here and small and (holds_data(tensor) or prod(shape) == 0) else None
    return GraphValue(name, shape, "constant", dtype, data, (name,))


def _contents(tensor: onnx.TensorProto, name: str) -> Array:
    try:
        return numpy_helper.to_array(tensor)
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise ModelError(f"tensor '{name}' cannot be decoded ({error}); export the model again") from None


def _inputs(graph: onnx.GraphProto, stored: set[str], batch: int | None) -> list[GraphValue]:
    """Graph inputs that are not stored tensors and that some node reads."""
    read = {name for node in graph.node for name in node.input}
    protos = [proto for proto in graph.input if proto.name not in stored and proto.name in read]
    if not protos:
        raise ModelError(f"graph '{graph.name}' has no input that a node reads; nothing depends on data")
    shapes = [_input_shape(proto) for proto in protos]
    leading = shapes[0][0] if shapes[0] else None
    found = []
    for proto, stored_sizes in zip(protos, shapes, strict=True):
        sizes = stored_sizes
        if sizes and (sizes[0] is None or (batch is not None and sizes[0] == leading)):
            sizes = (batch or 1, *sizes[1:])
        fixed = tuple(_fixed(proto, axis, size) for axis, size in enumerate(sizes))
        dtype = NAMES.get(proto.type.tensor_type.elem_type, "unknown")
        found.append(GraphValue(proto.name, fixed, "input", dtype))
    return found


def _input_shape(proto: onnx.ValueInfoProto) -> tuple[int | None, ...]:
    tensor = proto.type.tensor_type
    if not proto.type.HasField("tensor_type") or not tensor.HasField("shape"):
        raise ModelError(f"graph input '{proto.name}' has no known rank; export the model with fixed input shapes")
    return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim)


def _fixed(proto: onnx.ValueInfoProto, axis: int, size: int | None) -> int:
    if size is None:
        label = proto.type.tensor_type.shape.dim[axis].dim_param or "?"
        raise ModelError(
            f"graph input '{proto.name}': dimension {axis} ('{label}') is dynamic; "
            "only dimension 0 can be set (--batch), export the others with fixed sizes"
        )
    if size < 1:
        raise ModelError(f"graph input '{proto.name}': dimension {axis} is {size}; allowed 1 or more")
    return size


def _node(proto: onnx.NodeProto) -> GraphNode:
    outputs = tuple(proto.output)
    while outputs and not outputs[-1]:
        outputs = outputs[:-1]
    if not outputs:
        raise ModelError(f"node '{proto.name}' ({proto.op_type}): has no output; the file is damaged")
    name = proto.name or outputs[0]
    operator = proto.op_type if proto.domain in ("", "ai.onnx") else f"{proto.domain}.{proto.op_type}"
    inputs = tuple(proto.input)
    while inputs and not inputs[-1]:
        inputs = inputs[:-1]
    attributes: dict[str, OperatorAttribute] = {}
    for attribute in proto.attribute:
        if attribute.type in _GRAPH_TYPES:
            raise ModelError(
                f"node '{name}' ({operator}): runs a subgraph ('{attribute.name}'), which has no fixed cost; "
                "export the model without control flow"
            )
        attributes[attribute.name] = _plain(attribute)
    attributes = _typed(operator, attributes)
    return GraphNode(name, operator, inputs, outputs, attributes)


def _plain(attribute: onnx.AttributeProto) -> OperatorAttribute:
    """Numbers, text, tuples of them; tensors as arrays when small, else their shape."""
    if attribute.type == onnx.AttributeProto.TENSOR:
        value = constant_of(attribute.t)
        return value.shape if value.data is None else value.data
    found: Any = onnx.helper.get_attribute_value(attribute)
    if isinstance(found, bytes):
        return found.decode("utf-8", "replace")
    if isinstance(found, int | float):
        return found
    if found is None or not isinstance(found, Sequence):
        raise ModelError(f"attribute '{attribute.name}' holds no number, text or list of them; export the model again")
    return tuple(item.decode("utf-8", "replace") if isinstance(item, bytes) else item for item in found)


def _typed(operator: str, attributes: dict[str, OperatorAttribute]) -> dict[str, OperatorAttribute]:
    """Attributes that hold element types or one-element arrays, in words and numbers."""
    if operator == "Cast":
        kind = attributes.get("to")
        return {**attributes, "to": NAMES.get(kind, "float32") if isinstance(kind, int) else "float32"}
    if operator == "ConstantOfShape":
        array = attributes.get("value", np.zeros(1, np.float32))
        fill = np.asarray(array).reshape(-1)
        return {"value": float(fill[0]) if fill.size else 0.0, "dtype": str(fill.dtype)}
    return attributes


def _constant_node(proto: onnx.NodeProto) -> GraphValue:
    """The value of a Constant node in any of its forms."""
    name = proto.output[0]
    for attribute in proto.attribute:
        if attribute.type == onnx.AttributeProto.TENSOR:
            return constant_of(attribute.t, name)
        if attribute.name in ("value_int", "value_ints", "value_float", "value_floats"):
            kind = np.int64 if "int" in attribute.name else np.float32
            array = np.asarray(onnx.helper.get_attribute_value(attribute), kind)
            return GraphValue(name, array.shape, "constant", str(array.dtype), array, (name,))
    raise ModelError(f"node '{proto.name or name}' (Constant): holds no numbers; export it with a dense value")


def _unique(nodes: list[GraphNode]) -> tuple[GraphNode, ...]:
    """Nodes with names that occur once: a repeated name is replaced by that of the first output."""
    seen: set[str] = set()
    found = []
    for node in nodes:
        name = node.outputs[0] if node.name in seen and node.outputs else node.name
        seen.add(name)
        found.append(replace(node, name=name))
    return tuple(found)


def inferred_shapes(model: onnx.ModelProto, inputs: dict[str, Shape]) -> dict[str, Shape]:
    """Shapes by onnx.shape_inference for the given input shapes: hints for operators without a rule."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for proto in copy.graph.input:
        for dim, size in zip(proto.type.tensor_type.shape.dim, inputs.get(proto.name, ()), strict=False):
            dim.dim_value = size
    try:
        inferred = onnx.shape_inference.infer_shapes(copy, data_prop=True)
    except onnx.shape_inference.InferenceError:
        return {}
    found: dict[str, Shape] = {}
    for proto in (*inferred.graph.value_info, *inferred.graph.output):
        tensor = proto.type.tensor_type
        if tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in tensor.shape.dim):
            found[proto.name] = tuple(dim.dim_value for dim in tensor.shape.dim)
    return found
