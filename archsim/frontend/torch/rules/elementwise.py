"""Functions of elements: arithmetic, comparisons, activations, casts."""

from __future__ import annotations

from math import inf

from archsim.frontend.torch.bound import BoundCall

_UNARY = {
    "abs": "Abs",
    "bitwise_not": "Not",
    "ceil": "Ceil",
    "cos": "Cos",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "hardswish": "HardSwish",
    "isinf": "IsInf",
    "isnan": "IsNaN",
    "log": "Log",
    "logical_not": "Not",
    "mish": "Mish",
    "neg": "Neg",
    "reciprocal": "Reciprocal",
    "relu": "Relu",
    "round": "Round",
    "selu": "Selu",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "softplus": "Softplus",
    "sqrt": "Sqrt",
    "tanh": "Tanh",
}
_BINARY = {
    "__and__": "And",
    "__or__": "Or",
    "bitwise_and": "And",
    "bitwise_or": "Or",
    "bitwise_xor": "Xor",
    "eq": "Equal",
    "ge": "GreaterOrEqual",
    "gt": "Greater",
    "le": "LessOrEqual",
    "logical_and": "And",
    "logical_or": "Or",
    "logical_xor": "Xor",
    "lt": "Less",
    "max": "Max",
    "maximum": "Max",
    "min": "Min",
    "minimum": "Min",
    "mul": "Mul",
    "multiply": "Mul",
}
_LOGIC = ("And", "Or", "Xor")
_PLAIN = {"softplus": {"beta": 1.0, "threshold": 20.0}, "round": {"decimals": 0.0}}  # arguments that have to be these


def unary(call: BoundCall) -> str:
    """A function of one operand."""
    for key, wanted in _PLAIN.get(call.name.rstrip("_"), {}).items():
        if call.number(key, wanted) != wanted:
            call.refuse(f"{key} {call.number(key)}; allowed {wanted}")
    op = _UNARY[call.name.rstrip("_")]
    if call.name.startswith("bitwise") and call.dtype != "bool":
        call.refuse("turns bits of whole numbers")
    return call.add(op, call.tensor("self" if call.call.arguments.get("self") is not None else "input"))


def binary(call: BoundCall) -> str:
    """A function of two operands, either of which may be a number."""
    op = _BINARY[call.name if call.name.startswith("__") else call.name.rstrip("_")]
    first = call.tensor("self")
    second = call.operand("other", call.value(first).dtype)
    if op in _LOGIC and call.value(first).dtype != "bool" and "bitwise" in call.name:
        call.refuse("combines bits of whole numbers")
    return call.add(op, first, second)


def unequal(call: BoundCall) -> str:
    """Not equal."""
    first = call.tensor("self")
    same = call.add("Equal", first, call.operand("other", call.value(first).dtype), part="equal", dtype="bool")
    return call.add("Not", same)


def total(call: BoundCall) -> str:
    """self + alpha * other, or the difference; reversed for rsub."""
    op = "Add" if call.name.startswith("add") else "Sub"
    first = call.tensor("self")
    second = call.operand("other", call.dtype)
    alpha = call.number("alpha", 1.0)
    if alpha != 1:
        second = call.add("Mul", second, call.scalar_value("alpha", alpha, call.dtype), part="alpha", dtype=call.dtype)
    return call.add(op, second, first) if call.name == "rsub" else call.add(op, first, second)


def quotient(call: BoundCall) -> str:
    """self / other, rounded down or towards zero where that is asked."""
    first = call.tensor("self")
    second = call.operand("other", call.value(first).dtype if "int" in call.dtype else call.dtype)
    mode = "floor" if call.name == "floor_divide" else call.plain("rounding_mode")
    if mode is None:
        return call.add("Div", call.cast(first, call.dtype, "float"), call.cast(second, call.dtype, "divisor"))
    if "int" in call.dtype:
        return call.add("Div", first, second)
    return (
        call.add("Floor", call.add("Div", first, second, part="div", dtype=call.dtype))
        if mode == "floor"
        else (call.refuse(f"rounding_mode '{mode}' of real numbers"))
    )


def remainder(call: BoundCall) -> str:
    """What a division leaves, with the sign of the divisor; of fmod with that of the dividend."""
    first = call.operand("self", call.dtype)
    return call.add("Mod", first, call.operand("other", call.dtype), fmod=int(call.name.startswith("fmod")))


def power(call: BoundCall) -> str:
    """A power; either may be a number."""
    return call.add("Pow", call.operand("self", call.dtype), call.operand("exponent", call.dtype))


def inverse_root(call: BoundCall) -> str:
    """1 / sqrt(x)."""
    return call.add("Reciprocal", call.add("Sqrt", call.tensor("self"), part="sqrt", dtype=call.dtype))


def silu(call: BoundCall) -> str:
    """x * sigmoid(x)."""
    return call.add("Swish", call.tensor("self"), alpha=1.0)


def gelu(call: BoundCall) -> str:
    """By the error function, or with tanh."""
    form = call.plain("approximate") or "none"
    if form not in ("none", "tanh"):
        call.refuse(f"approximate '{form}'; allowed none, tanh")
    return call.add("Gelu", call.tensor("self"), approximate=str(form))


def hard_sigmoid(call: BoundCall) -> str:
    """clip(x / 6 + 1 / 2, 0, 1)."""
    return call.add("HardSigmoid", call.tensor("self"), alpha=1 / 6, beta=0.5)


def leaky_relu(call: BoundCall) -> str:
    """x, or a share of it below zero."""
    return call.add("LeakyRelu", call.tensor("self"), alpha=call.number("negative_slope", 0.01))


def elu(call: BoundCall) -> str:
    """x, or alpha * (exp(x) - 1) below zero."""
    if call.number("scale", 1.0) != 1 or call.number("input_scale", 1.0) != 1:
        call.refuse("scales its input or result")
    return call.add("Elu", call.tensor("self"), alpha=call.number("alpha", 1.0))


def prelu(call: BoundCall) -> str:
    """x, or a learned share of it below zero, one a channel."""
    source, slope = call.tensor("self"), call.tensor("weight")
    shape = (-1, *[1] * max(0, len(call.size(source)) - 2))
    return call.add("PRelu", source, call.reshaped(slope, (call.value(slope).elements, *shape[1:]), "slope"))


def clip(call: BoundCall) -> str:
    """Kept between limits; relu6 and hardtanh have theirs by default."""
    low, high = _LIMITS.get(call.name.rstrip("_"), (-inf, inf))
    if call.is_tensor("min") or call.is_tensor("max"):
        return _between(call)
    low = call.number("min", call.number("min_val", low))
    high = call.number("max", call.number("max_val", high))
    limits = [
        call.scalar_value(key, limit, call.dtype) if limit not in (-inf, inf) else ""
        for key, limit in (("low", low), ("high", high))
    ]
    source = call.cast(call.tensor("self"), call.dtype, "float")
    return call.add("Clip", source, *limits) if any(limits) else source


def _between(call: BoundCall) -> str:
    """The same, where a limit is a tensor."""
    found = call.cast(call.tensor("self"), call.dtype, "float")
    last = "max" if call.plain("max") is not None else "min"
    for key, op in (("min", "Max"), ("max", "Min")):
        if call.plain(key) is not None:
            found = call.add(op, found, call.operand(key, call.dtype), part="" if key == last else key)
    return found


_LIMITS = {"relu6": (0.0, 6.0), "hardtanh": (-1.0, 1.0)}


def where(call: BoundCall) -> str:
    """One of two by a test; either may be a number."""
    return call.add(
        "Where", call.tensor("condition"), call.operand("self", call.dtype), call.operand("other", call.dtype)
    )


def masked_fill(call: BoundCall) -> str:
    """A number where a mask holds."""
    return call.add("Where", call.tensor("mask"), call.operand("value", call.dtype), call.tensor("self"))


def cast(call: BoundCall) -> str:
    """Elements of the type that the program states of the result."""
    source = call.tensor("self" if call.call.arguments.get("self") is not None else "input")
    return call.cast(source, call.dtype)


def identity(call: BoundCall) -> str:
    """The operand itself: copies, memory formats, dropout when the model is evaluated."""
    if call.flag("train") or call.flag("training"):
        call.refuse("drops elements at random; call eval() on the module before it is exported")
    key = "self" if call.call.arguments.get("self") is not None else "input"
    return call.tensor(key)


RULES = {
    **dict.fromkeys(_UNARY, unary),
    **dict.fromkeys(_BINARY, binary),
    "ne": unequal,
    "add": total,
    "sub": total,
    "rsub": total,
    "div": quotient,
    "floor_divide": quotient,
    "true_divide": quotient,
    "pow": power,
    "remainder": remainder,
    "fmod": remainder,
    "rsqrt": inverse_root,
    "silu": silu,
    "gelu": gelu,
    "hardsigmoid": hard_sigmoid,
    "leaky_relu": leaky_relu,
    "elu": elu,
    "prelu": prelu,
    "clamp": clip,
    "clamp_min": clip,
    "clamp_max": clip,
    "relu6": clip,
    "hardtanh": clip,
    "where": where,
    "masked_fill": masked_fill,
    "_to_copy": cast,
    "to": cast,
    "type_as": cast,
    "float": cast,
    "half": cast,
    "alias": identity,
    "clone": identity,
    "contiguous": identity,
    "detach": identity,
    "dropout": identity,
    "feature_dropout": identity,
    "lift_fresh_copy": identity,
    "native_dropout": identity,
}
