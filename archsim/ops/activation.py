"""Functions of one element: activations, rounding, roots and exponentials.

Cost in lane passes (one multiply-add, comparison or selection with clamp) plus the slow functions of the chip:

- relu, leaky_relu, clip, abs, neg, hard_sigmoid, ...: 1 pass (piecewise linear: joins the requantise pass before it)
- sigmoid 1/(1+exp(-x)): 1 pass, exp, divide; tanh 1-2/(1+exp(2x)): 2 passes, exp, divide; swish x*sigmoid(x): 2,
exp, divide
- hard_swish x*clip(x/6+1/2): 2 passes; softsign x/(1+|x|): 1 pass, divide; elu, selu, celu: 2 passes, exp
- erf: 9 passes, exp, divide (``steps.ERF_PASSES``)
- gelu x/2*(1+erf(x/sqrt 2)): erf + 2; gelu with tanh: cubic argument 3 + tanh 2 + 2 = 7, exp, divide
- sin, cos: 8 passes (``steps.SINE_PASSES``)
- log: 8 passes (``steps.LOG_PASSES``); softplus log(1+exp x): 9, exp;
  mish x*(e*e+2e)/(e*e+2e+2) with e = exp x: 4, exp, divide

Behind a matmul or an elementwise layer an activation costs its steps there and no memory traffic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import erf

import numpy as np

from archsim.ir.functions import Function, Parameter
from archsim.ir.graph import Array, Graph, GraphNode, GraphValue, Inputs, Shape, scalar
from archsim.ir.workload import VectorStep
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.meaning import Meaning
from archsim.ops.kit.rounding import EPILOGUE, FUNCTION, Sums
from archsim.ops.kit.steps import ERF_PASSES, LOG_PASSES, SINE_PASSES, step

_STEPS = {
    "Abs": step("abs", 1),
    "Cast": step("cast", 1),
    "Ceil": step("ceil", 1),
    "Celu": step("celu", 2, ("exp",)),
    "Clip": step("clip", 1),
    "Cos": step("cos", SINE_PASSES),
    "Elu": step("elu", 2, ("exp",)),
    "Erf": step("erf", ERF_PASSES, ("exp", "divide")),
    "Exp": step("exp", 1, ("exp",)),
    "Floor": step("floor", 1),
    "Gelu": step("gelu", ERF_PASSES + 2, ("exp", "divide")),
    "HardSigmoid": step("hard_sigmoid", 1),
    "HardSwish": step("hard_swish", 2),
    "IsInf": step("is_inf", 1),
    "IsNaN": step("is_nan", 1),
    "LeakyRelu": step("leaky_relu", 1),
    "Log": step("log", LOG_PASSES),
    "Mish": step("mish", 4, ("exp", "divide")),
    "Neg": step("neg", 1),
    "Not": step("not", 1),
    "Reciprocal": step("reciprocal", 1, ("divide",)),
    "Relu": step("relu", 1),
    "Round": step("round", 1),
    "Selu": step("selu", 2, ("exp",)),
    "Sigmoid": step("sigmoid", 1, ("exp", "divide")),
    "Sign": step("sign", 1),
    "Sin": step("sin", SINE_PASSES),
    "Softplus": step("softplus", LOG_PASSES + 1, ("exp",)),
    "Softsign": step("softsign", 1, ("divide",)),
    "Sqrt": step("sqrt", 1, ("sqrt",)),
    "Swish": step("swish", 2, ("exp", "divide")),
    "Tanh": step("tanh", 2, ("exp", "divide")),
}
_GELU_TANH = step("gelu_tanh", 7, ("exp", "divide"))
_PARAMETERS = {  # attributes with the values that ONNX gives them when absent
    "Celu": {"alpha": 1.0},
    "Elu": {"alpha": 1.0},
    "HardSigmoid": {"alpha": 0.2, "beta": 0.5},
    "LeakyRelu": {"alpha": 0.01},
    "Selu": {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875},
    "Swish": {"alpha": 1.0},
}


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input."""
    if inputs[0] is None:
        node.fail("needs an input")
    if node.op == "IsInf" and not (node.integer("detect_negative", 1) and node.integer("detect_positive", 1)):
        node.unsupported("tells infinities of one sign alone")
    return (inputs[0].shape,)


def step_of(node: GraphNode, limits: Inputs = ()) -> VectorStep:
    """What the function costs per element, with its parameters. ``limits``: of Clip."""
    if node.op == "Gelu" and node.text("approximate", "none") == "tanh":
        return _GELU_TANH
    found = _STEPS[node.op]
    function = replace(found.functions[0], parameters=tuple(_parameters(node, limits).items()))
    return replace(found, functions=(function,))


def _parameters(node: GraphNode, limits: Inputs) -> dict[str, Parameter]:
    """Parameters of the function; raises UnsupportedError for limits that are not known."""
    if node.op == "Cast":
        return {"to": node.text("to", "float32")}
    found: dict[str, Parameter] = {key: node.number(key, value) for key, value in _PARAMETERS.get(node.op, {}).items()}
    for key, limit in zip(("low", "high"), limits, strict=False):
        if limit is not None:
            found[key] = scalar(node, limit)
    return found


def epilogue(node: GraphNode, graph: Graph) -> tuple[VectorStep, ...] | None:
    """The function on another node's result; None for limits that are not constants."""
    limits = graph.inputs_of(node)[1:]
    if any(value is not None and value.data is None for value in limits):
        return None
    return (step_of(node, limits),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer over the elements."""
    found = epilogue(node, build.graph)
    if found is None:
        node.unsupported("its limits are computed at run time")
    source, out = node.inputs[0], node.outputs[0]
    index = tuple(at(dim) for dim in build.dims(out))
    steps = build.steps(node, found[0])
    build.layer(
        node,
        "vector",
        build.extents(out),
        (LogicalAccess("in0", source, index),),
        LogicalAccess("out", out, index),
        steps=steps,
    )


def reference(node: GraphNode, data: Array, *limits: Array | None) -> tuple[Array, ...]:
    """The function by its definition."""
    if node.op == "Cast":
        with np.errstate(invalid="ignore"):  # infinities, of which no integer is any, in what nobody reads
            return (data.astype(node.text("to", "float32")),)
    values = tuple(None if limit is None else GraphValue("", limit.shape, "constant", data=limit) for limit in limits)
    with np.errstate(all="ignore"):
        result = _apply(step_of(node, values).functions[0], data)
    return (result if result.dtype == bool else result.astype(data.dtype),)


def rounding(node: GraphNode, data: Array, *limits: Array | None) -> Sums:
    """What the definition adds up: 1 and an exponential under a sigmoid, x and x * erf in a gelu, and so on."""
    summed = _SUMMED.get(node.op)
    if summed is None:
        return Sums(np.zeros(()), 0.0) if node.op in _EXACT else Sums(np.abs(reference(node, data)[0]), EPILOGUE)
    numbers = [abs(node.number(key, value)) for key, value in _PARAMETERS.get(node.op, {}).items()]
    return Sums(np.asarray(summed(np.abs(data), np.abs(reference(node, data)[0]), *numbers)), FUNCTION)


def _apply(function: Function, data: Array) -> Array:
    return np.asarray(_MEANINGS[function.name](data, **dict(function.parameters)))


def _call(name: str) -> Meaning:
    return lambda call: _apply(Function(name, (), tuple(call.parameters.items())), call.values[0])


def _cast(x: Array, to: str) -> Array:
    """Real numbers as the type holds them: whole towards zero, truth as 0 or 1, the nearest of a narrower float."""
    if to == "bool":
        return np.asarray(x != 0, np.float64)
    if to in _SIGNIFICANT_BITS:
        mantissa, exponent = np.frexp(x)
        bits = _SIGNIFICANT_BITS[to]
        return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits))
    return np.asarray(np.trunc(x) if "int" in to else x)


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _erf(x: Array) -> Array:
    return np.asarray(np.vectorize(erf, otypes=[np.float64])(x))


def _softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(0, x))


def _gelu_tanh(x: Array) -> Array:
    return np.asarray(x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


def _exponential(x: Array, alpha: float, gamma: float = 1.0) -> Array:
    return np.asarray(gamma * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))))


def _celu(x: Array, alpha: float) -> Array:
    return np.asarray(np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha)))


_SIGNIFICANT_BITS = {"float16": 11, "bfloat16": 8}
_MEANINGS: dict[str, Callable[..., Array]] = {
    "abs": np.abs,
    "cast": _cast,
    "ceil": np.ceil,
    "celu": _celu,
    "cos": np.cos,
    "clip": lambda x, low=None, high=None: np.clip(x, low, high) if low is not None or high is not None else x,
    "elu": _exponential,
    "erf": _erf,
    "exp": np.exp,
    "floor": np.floor,
    "gelu": lambda x: x / 2 * (1 + _erf(x / np.sqrt(2))),
    "gelu_tanh": _gelu_tanh,
    "hard_sigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "is_inf": np.isinf,
    "is_nan": np.isnan,
    "leaky_relu": lambda x, alpha: np.where(x < 0, alpha * x, x),
    "log": np.log,
    "mish": lambda x: x * np.tanh(_softplus(x)),
    "neg": np.negative,
    "not": np.logical_not,
    "reciprocal": lambda x: 1 / x,
    "relu": lambda x: np.maximum(x, 0),
    "round": np.round,
    "selu": _exponential,
    "sigmoid": _sigmoid,
    "sign": np.sign,
    "sin": np.sin,
    "softplus": _softplus,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "sqrt": np.sqrt,
    "swish": lambda x, alpha: x * _sigmoid(alpha * x),
    "tanh": np.tanh,
}

_EXACT = ("Abs", "Cast", "Ceil", "Clip", "Floor", "IsInf", "IsNaN", "Neg", "Not", "Relu", "Round", "Sign")
# Magnitude of what is added, from |x|, |y| and the parameters' magnitudes; the others are rounded by their result.
_SUMMED: dict[str, Callable[..., Array | float]] = {
    "Celu": lambda x, y, alpha: np.maximum(x, alpha),
    "Cos": lambda x, y: x + 1,
    "Elu": lambda x, y, alpha: np.maximum(x, alpha),
    "Erf": lambda x, y: np.ones(()),
    "Exp": lambda x, y: y * (1 + x),
    "Gelu": lambda x, y: x,
    "HardSigmoid": lambda x, y, alpha, beta: alpha * x + beta,
    "HardSwish": lambda x, y: x * (x / 6 + 0.5),
    "Log": lambda x, y: y + 1,
    "Mish": lambda x, y: x,
    "Selu": lambda x, y, alpha, gamma: gamma * np.maximum(x, alpha),
    "Sigmoid": lambda x, y: np.ones(()),
    "Sin": lambda x, y: x + 1,
    "Softplus": lambda x, y: y + 1,
    "Swish": lambda x, y, alpha: x,
    "Tanh": lambda x, y: np.ones(()),
}

FAMILY = OperatorFamily(
    tuple(_STEPS),
    shapes,
    reference,
    lower,
    order="same",
    activates=True,
    epilogue=epilogue,
    functions={name: _call(name) for name in _MEANINGS},
    rounding=rounding,
)
