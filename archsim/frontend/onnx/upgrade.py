"""Older operator forms to the newest one, in which archsim.ops speaks: what were attributes become constant inputs.

One small rule per operator; each says from which opset on nothing needs to be done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from archsim.base.errors import ModelError
from archsim.ir.graph import Array, GraphNode, GraphValue, OperatorAttribute


@dataclass(slots=True)
class OnnxUpgrade:
    """State of one import: the model's ``opset`` and the ``constants`` that upgrades add."""

    opset: int
    constants: dict[str, GraphValue] = field(default_factory=dict)

    def constant(self, node: GraphNode, what: str, array: Array) -> str:
        """A constant for ``node``; returns its name."""
        name = f"{node.outputs[0]}.{what}"
        self.constants[name] = GraphValue(name, array.shape, "constant", str(array.dtype), array)
        return name


def upgrade(node: GraphNode, state: OnnxUpgrade) -> GraphNode:
    """The node in its newest form."""
    before, rule = _RULES.get(node.op, (0, _unchanged))
    return rule(node, state) if state.opset < before else node


def _unchanged(node: GraphNode, state: OnnxUpgrade) -> GraphNode:
    return node


def _integers_to_input(key: str, position: int) -> Callable[[GraphNode, OnnxUpgrade], GraphNode]:
    """An integer-list attribute to input ``position``."""

    def rule(node: GraphNode, state: OnnxUpgrade) -> GraphNode:
        if key not in node.attributes:
            return node
        array = np.asarray(node.integers(key, ()), np.int64)
        return _with_inputs(node, {position: state.constant(node, key, array)}, (key,))

    return rule


def _slice(node: GraphNode, state: OnnxUpgrade) -> GraphNode:
    given = {key: node.integers(key, ()) for key in ("starts", "ends", "axes") if key in node.attributes}
    positions = {"starts": 1, "ends": 2, "axes": 3}
    inputs = {positions[key]: state.constant(node, key, np.asarray(value, np.int64)) for key, value in given.items()}
    return _with_inputs(node, inputs, tuple(given))


def _clip(node: GraphNode, state: OnnxUpgrade) -> GraphNode:
    inputs = {}
    for position, key in enumerate(("min", "max"), start=1):
        if key in node.attributes:
            inputs[position] = state.constant(node, key, np.asarray(node.number(key, 0.0), np.float32))
    return _with_inputs(node, inputs, ("min", "max"))


def _pad(node: GraphNode, state: OnnxUpgrade) -> GraphNode:
    pads = node.integers("pads", node.integers("paddings", ()))
    fill = np.asarray(node.number("value", 0.0), np.float32)
    inputs = {
        1: state.constant(node, "pads", np.asarray(pads, np.int64)),
        2: state.constant(node, "value", fill),
    }
    return _with_inputs(node, inputs, ("pads", "paddings", "value"))


def _softmax(node: GraphNode, state: OnnxUpgrade) -> GraphNode:
    """Before opset 13 the input is flattened to two axes at ``axis``, 1 if not given."""
    return replace(node, attributes={**node.attributes, "axis": node.integer("axis", 1), "flatten": 1})


_REPEATING: dict[str, OperatorAttribute] = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


def _upsample(node: GraphNode, state: OnnxUpgrade) -> GraphNode:
    """Upsample is Resize; its scales were an attribute before opset 9 and the second input after."""
    scales = node.inputs[1] if len(node.inputs) > 1 else ""
    if not scales:
        given = node.attributes.get("scales", ())
        scales = state.constant(node, "scales", np.asarray(given, np.float32))
    attributes = {key: value for key, value in node.attributes.items() if key != "scales"} | _REPEATING
    return replace(node, op="Resize", inputs=(node.inputs[0], "", scales), attributes=attributes)


def _resize(node: GraphNode, state: OnnxUpgrade) -> GraphNode:
    """Before opset 11 the scales were the second input, and positions were rounded down."""
    attributes = {**node.attributes, **_REPEATING}
    return replace(node, inputs=(node.inputs[0], "", *node.inputs[1:2]), attributes=attributes)


def _broadcast(node: GraphNode, state: OnnxUpgrade) -> GraphNode:
    """Before opset 7 broadcasting was limited and had an ``axis``."""
    if node.integer("broadcast", 0) and "axis" in node.attributes:
        raise ModelError(
            f"node '{node.name}' ({node.op}): broadcasts by the rules of opset {state.opset}; "
            "export with opset 7 or later"
        )
    return node


def _with_inputs(node: GraphNode, inputs: dict[int, str], drop: tuple[str, ...]) -> GraphNode:
    """The node with inputs set by position and attributes dropped."""
    count = max([len(node.inputs), *(position + 1 for position in inputs)])
    names = [node.inputs[i] if i < len(node.inputs) else "" for i in range(count)]
    for position, name in inputs.items():
        names[position] = name
    attributes: dict[str, OperatorAttribute] = {key: value for key, value in node.attributes.items() if key not in drop}
    return replace(node, inputs=tuple(names), attributes=attributes)


_ALWAYS = 1000
_RULES: dict[str, tuple[int, Callable[[GraphNode, OnnxUpgrade], GraphNode]]] = {
    "Unsqueeze": (13, _integers_to_input("axes", 1)),
    "Squeeze": (13, _integers_to_input("axes", 1)),
    "Split": (13, _integers_to_input("split", 1)),
    "ReduceSum": (13, _integers_to_input("axes", 1)),
    "ReduceMean": (18, _integers_to_input("axes", 1)),
    "ReduceMax": (18, _integers_to_input("axes", 1)),
    "ReduceMin": (18, _integers_to_input("axes", 1)),
    "ReduceProd": (18, _integers_to_input("axes", 1)),
    "ReduceSumSquare": (18, _integers_to_input("axes", 1)),
    "ReduceL1": (18, _integers_to_input("axes", 1)),
    "ReduceL2": (18, _integers_to_input("axes", 1)),
    "Reshape": (5, _integers_to_input("shape", 1)),
    "Slice": (10, _slice),
    "Clip": (11, _clip),
    "Pad": (11, _pad),
    "Softmax": (13, _softmax),
    "LogSoftmax": (13, _softmax),
    "Upsample": (_ALWAYS, _upsample),
    "Resize": (11, _resize),
    "Add": (7, _broadcast),
    "Sub": (7, _broadcast),
    "Mul": (7, _broadcast),
    "Div": (7, _broadcast),
}
