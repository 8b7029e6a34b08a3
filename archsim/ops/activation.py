"""Functions of one element: activations, rounding, roots and exponentials.

Cost in lane passes (one multiply-add, comparison or selection with clamp) plus the slow functions of the chip:

- relu, leaky_relu, clip, abs, neg, hard_sigmoid, ...: 1 pass (piecewise linear: joins the requantise pass before it)
- sigmoid 1/(1+exp(-x)): 1 pass, exp, divide; tanh 1-2/(1+exp(2x)): 2 passes, exp, divide; swish x*sigmoid(x): 2,
exp, divide
- hard_swish x*clip(x/6+1/2): 2 passes; softsign x/(1+|x|): 1 pass, divide; elu, selu, celu: 2 passes, exp
- erf: 9 passes, exp, divide (``steps.ERF_PASSES``)
- gelu x/2*(1+erf(x/sqrt 2)): erf + 2; gelu with tanh: cubic argument 3 + tanh 2 + 2 = 7, exp, divide
- log: 8 passes (``steps.LOG_PASSES``); softplus log(1+exp x): 9, exp;
  mish x*(e*e+2e)/(e*e+2e+2) with e = exp x: 4, exp, divide

Behind a matmul or an elementwise layer an activation costs its steps there and no memory traffic.
"""

from __future__ import annotations

from collections.abc import Callable
from math import erf

import numpy as np

from archsim.ir.workload import VectorStep
from archsim.ops.graph.family import Family
from archsim.ops.graph.nodes import Array, Graph, Inputs, Node, Shape
from archsim.ops.lowering.access import Access, at
from archsim.ops.lowering.builder import Builder
from archsim.ops.lowering.steps import ERF_PASSES, LOG_PASSES

_STEPS = {
    "Abs": VectorStep("abs", 1),
    "Cast": VectorStep("cast", 1),
    "Ceil": VectorStep("ceil", 1),
    "Celu": VectorStep("celu", 2, ("exp",)),
    "Clip": VectorStep("clip", 1),
    "Elu": VectorStep("elu", 2, ("exp",)),
    "Erf": VectorStep("erf", ERF_PASSES, ("exp", "divide")),
    "Exp": VectorStep("exp", 1, ("exp",)),
    "Floor": VectorStep("floor", 1),
    "Gelu": VectorStep("gelu", ERF_PASSES + 2, ("exp", "divide")),
    "HardSigmoid": VectorStep("hard_sigmoid", 1),
    "HardSwish": VectorStep("hard_swish", 2),
    "LeakyRelu": VectorStep("leaky_relu", 1),
    "Log": VectorStep("log", LOG_PASSES),
    "Mish": VectorStep("mish", 4, ("exp", "divide")),
    "Neg": VectorStep("neg", 1),
    "Not": VectorStep("not", 1),
    "Reciprocal": VectorStep("reciprocal", 1, ("divide",)),
    "Relu": VectorStep("relu", 1),
    "Round": VectorStep("round", 1),
    "Selu": VectorStep("selu", 2, ("exp",)),
    "Sigmoid": VectorStep("sigmoid", 1, ("exp", "divide")),
    "Sign": VectorStep("sign", 1),
    "Softplus": VectorStep("softplus", LOG_PASSES + 1, ("exp",)),
    "Softsign": VectorStep("softsign", 1, ("divide",)),
    "Sqrt": VectorStep("sqrt", 1, ("sqrt",)),
    "Swish": VectorStep("swish", 2, ("exp", "divide")),
    "Tanh": VectorStep("tanh", 2, ("exp", "divide")),
}
_GELU_TANH = VectorStep("gelu_tanh", 7, ("exp", "divide"))


def shapes(node: Node, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input."""
    if inputs[0] is None:
        node.fail("needs an input")
    return (inputs[0].shape,)


def step_of(node: Node) -> VectorStep:
    """What the function costs per element."""
    if node.op == "Gelu" and node.text("approximate", "none") == "tanh":
        return _GELU_TANH
    return _STEPS[node.op]


def epilogue(node: Node, graph: Graph) -> tuple[VectorStep, ...] | None:
    """The function on another node's result; None for limits that are not constants."""
    limits = graph.inputs_of(node)[1:]
    if any(value is not None and not value.constant for value in limits):
        return None
    return (step_of(node),)


def lower(node: Node, build: Builder) -> None:
    """One vector layer over the elements."""
    if epilogue(node, build.graph) is None:
        node.unsupported("its limits are computed at run time")
    source, out = node.inputs[0], node.outputs[0]
    index = tuple(at(dim) for dim in build.dims(out))
    steps = build.steps(node, step_of(node))
    build.layer(
        node,
        "vector",
        build.extents(out),
        (Access("in0", source, index),),
        Access("out", out, index),
        steps=steps,
    )


def reference(node: Node, data: Array, *limits: Array | None) -> tuple[Array, ...]:
    """The function by its definition."""
    if node.op == "Clip":
        low, high = (*limits, None, None)[:2]
        return (np.asarray(np.clip(data, low, high), data.dtype),)
    if node.op == "Cast":
        return (data.astype(node.text("to", "float32")),)
    with np.errstate(all="ignore"):
        result = np.asarray(_FUNCTIONS[node.op](node, data))
    return (result if node.op == "Not" else result.astype(data.dtype),)


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _erf(x: Array) -> Array:
    return np.asarray(np.vectorize(erf, otypes=[np.float64])(x))


def _softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(0, x))


def _gelu(node: Node, x: Array) -> Array:
    if node.text("approximate", "none") == "tanh":
        return np.asarray(x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))
    return np.asarray(x / 2 * (1 + _erf(x / np.sqrt(2))))


def _exponential(node: Node, x: Array, alpha: float, gamma: float = 1.0) -> Array:
    alpha, gamma = node.number("alpha", alpha), node.number("gamma", gamma)
    return np.asarray(gamma * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))))


def _celu(node: Node, x: Array) -> Array:
    alpha = node.number("alpha", 1.0)
    return np.asarray(np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha)))


_FUNCTIONS: dict[str, Callable[[Node, Array], Array]] = {
    "Abs": lambda node, x: np.abs(x),
    "Ceil": lambda node, x: np.ceil(x),
    "Celu": _celu,
    "Elu": lambda node, x: _exponential(node, x, 1.0),
    "Erf": lambda node, x: _erf(x),
    "Exp": lambda node, x: np.exp(x),
    "Floor": lambda node, x: np.floor(x),
    "Gelu": _gelu,
    "HardSigmoid": lambda node, x: np.clip(node.number("alpha", 0.2) * x + node.number("beta", 0.5), 0, 1),
    "HardSwish": lambda node, x: x * np.clip(x / 6 + 0.5, 0, 1),
    "LeakyRelu": lambda node, x: np.where(x < 0, node.number("alpha", 0.01) * x, x),
    "Log": lambda node, x: np.log(x),
    "Mish": lambda node, x: x * np.tanh(_softplus(x)),
    "Neg": lambda node, x: -x,
    "Not": lambda node, x: np.logical_not(x),
    "Reciprocal": lambda node, x: 1 / x,
    "Relu": lambda node, x: np.maximum(x, 0),
    "Round": lambda node, x: np.round(x),
    "Selu": lambda node, x: _exponential(node, x, 1.67326319217681884765625, 1.05070102214813232421875),
    "Sigmoid": lambda node, x: _sigmoid(x),
    "Sign": lambda node, x: np.sign(x),
    "Softplus": lambda node, x: _softplus(x),
    "Softsign": lambda node, x: x / (1 + np.abs(x)),
    "Sqrt": lambda node, x: np.sqrt(x),
    "Swish": lambda node, x: x * _sigmoid(node.number("alpha", 1.0) * x),
    "Tanh": lambda node, x: np.tanh(x),
}

FAMILY = Family(tuple(_STEPS), shapes, reference, lower, order="same", activates=True, epilogue=epilogue)
