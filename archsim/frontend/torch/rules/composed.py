"""Functions that ONNX has no operator for: each as the few operators that its exporter writes."""

from __future__ import annotations

from math import inf, log

import numpy as np

from archsim.frontend.torch.bound import BoundCall


def _with(call: BoundCall, op: str, source: str, number: float, part: str = "") -> str:
    """A value combined with a number."""
    kind = call.dtype if "bool" not in call.dtype else call.value(source).dtype
    name = part or op.lower()
    return call.add(op, source, call.scalar_value(f"{name}.by", number, kind), part=part, dtype=kind)


def square(call: BoundCall) -> str:
    """x * x."""
    source = call.tensor("self")
    return call.add("Mul", source, source)


def exponent(call: BoundCall) -> str:
    """exp(x) - 1, or 2 to the power of x."""
    source = call.tensor("self")
    if call.name.startswith("exp2"):
        return call.add("Exp", _with(call, "Mul", source, log(2), "scaled"))
    return _with(call, "Sub", call.add("Exp", source, part="exp", dtype=call.dtype), 1.0)


def logarithm(call: BoundCall) -> str:
    """log(1 + x), or by another base."""
    source = call.tensor("self")
    if call.name.startswith("log1p"):
        return call.add("Log", _with(call, "Add", source, 1.0, "plus_one"))
    base = {"log2": 2.0, "log10": 10.0}[call.name.rstrip("_")]
    return _with(call, "Div", call.add("Log", source, part="log", dtype=call.dtype), log(base))


def log_sigmoid(call: BoundCall) -> str:
    """-softplus(-x)."""
    return call.add("Neg", call.add("Softplus", call.add("Neg", call.tensor("self"), part="turned"), part="softplus"))


def gated(call: BoundCall) -> str:
    """One half of an axis times the sigmoid of the other."""
    source = call.tensor("self")
    axis = call.axis("dim", len(call.size(source)), -1)
    half = call.size(source)[axis] // 2
    sizes = call.integers_value("sizes", (half, half))
    first, second = call.add_kinds("Split", [call.dtype] * 2, source, sizes, axis=axis)
    return call.add("Mul", first, call.add("Sigmoid", second, part="sigmoid"), part="product")


def threshold(call: BoundCall) -> str:
    """x where it is above a limit, else a number."""
    source = call.tensor("self")
    limit, other = call.number("threshold"), call.number("value")
    above = call.add("Greater", source, call.scalar_value("limit", limit, call.dtype), part="above", dtype="bool")
    return call.add("Where", above, source, call.scalar_value("other", other, call.dtype))


def shrunk(call: BoundCall) -> str:
    """0 near 0; farther out x, or what lies beyond the limit (soft)."""
    source, limit = call.tensor("self"), call.number("lambd", 0.5)
    inside = call.add("Clip", source, *(call.scalar_value(key, number, call.dtype) for key, number in
                                        (("low", -limit), ("high", limit))), part="inside")  # fmt: skip
    if call.name.startswith("soft"):
        return call.add("Sub", source, inside)
    same = call.add("Equal", source, inside, part="is_inside", dtype="bool")
    return call.add("Where", same, call.scalar_value("zero", 0.0, call.dtype), source)


def fused_product(call: BoundCall) -> str:
    """self + value * tensor1 * tensor2, or divided by it."""
    op = "Mul" if call.name.startswith("addcmul") else "Div"
    product = call.add(op, call.tensor("tensor1"), call.tensor("tensor2"), part="product", dtype=call.dtype)
    value = call.number("value", 1.0)
    product = product if value == 1 else _with(call, "Mul", product, value, "scaled")
    return call.add("Add", call.tensor("self"), product)


def between(call: BoundCall) -> str:
    """self + weight * (end - self)."""
    first = call.tensor("self")
    way = call.add("Sub", call.tensor("end"), first, part="way")
    part = call.add("Mul", way, call.operand("weight", call.dtype), part="part")
    return call.add("Add", first, part)


def finite(call: BoundCall) -> str:
    """Neither infinite nor no number: x - x is 0 there, and no number elsewhere."""
    source = call.tensor("self")
    rest = call.add("Sub", source, source, part="rest", dtype=call.value(source).dtype)
    return call.add("Not", call.add("IsNaN", rest, part="is_nan", dtype="bool"))


def to_numbers(call: BoundCall) -> str:
    """Numbers in the place of what is none, and limits in that of infinities."""
    source = call.tensor("self")
    if "int" in call.dtype or call.dtype == "bool":
        return source
    largest = float(np.finfo(call.dtype).max) if call.dtype in ("float16", "float32", "float64") else 3.3895e38
    limits = [call.number(key, number) for key, number in (("neginf", -largest), ("posinf", largest))]
    test = call.add("IsNaN", source, part="is_nan", dtype="bool")
    filled = call.add(
        "Where", test, call.scalar_value("nan", call.number("nan", 0.0), call.dtype), source, part="filled"
    )
    kinds = [call.scalar_value(key, number, call.dtype) for key, number in zip(("low", "high"), limits, strict=True)]
    return call.add("Clip", filled, *kinds)


def truncated(call: BoundCall) -> str:
    """Towards zero; of frac what that leaves."""
    source = call.tensor("self")
    size = call.add("Floor", call.add("Abs", source, part="abs"), part="floor")
    whole = call.add("Mul", call.add("Sign", source, part="sign"), size, part="whole")
    return call.add("Sub", source, whole) if call.name.startswith("frac") else whole


def spread_of(call: BoundCall) -> tuple[str, ...]:
    """Variance or its root along axes, and the mean where that is asked too. ``correction``: what is taken off the
    number of elements that the sum of squares is divided by."""
    source = call.cast(call.tensor("self"), call.dtype, "float")
    shape = call.size(source)
    axes = call.axes("dim", len(shape)) or tuple(range(len(shape)))
    count = int(np.prod([shape[axis] for axis in axes]))
    less = call.number("correction", float(call.flag("unbiased", True)))
    given = call.integers_value("axes", axes)
    mean = call.add("ReduceMean", source, given, part="mean", keepdims=1)
    rest = call.add("Sub", source, mean, part="rest")
    squares = call.add("Mul", rest, rest, part="squares")
    keep = int(call.flag("keepdim"))
    found = call.add("ReduceMean", squares, given, part="mean_square", keepdims=keep)
    if less:
        share = count / (count - less) if count > less else inf
        found = _with(call, "Mul", found, share, "corrected")
    if call.name.startswith("std"):
        found = call.add("Sqrt", found)
    if not call.name.endswith("_mean"):
        return (found,)
    kept = call.reshaped(mean, call.shapes[1], "mean.kept") if len(call.shapes) > 1 else mean
    return (found, kept)


def log_of_sum(call: BoundCall) -> str:
    """log(sum of exponents), in the stable form."""
    source = call.cast(call.tensor("self"), call.dtype, "float")
    axes = call.integers_value("axes", call.axes("dim", len(call.size(source))))
    top = call.add("ReduceMax", source, axes, part="top", keepdims=1)
    shares = call.add("Exp", call.add("Sub", source, top, part="shifted"), part="exp")
    total = call.add("Log", call.add("ReduceSum", shares, axes, part="total", keepdims=1), part="log")
    return call.reshaped(call.add("Add", total, top, part="sum"), call.shape)


def tested(call: BoundCall) -> str:
    """Whether any element along axes is true, or all are."""
    source = call.tensor("self")
    rank = len(call.size(source))
    if not rank:
        return call.cast(source, "bool")
    axes = call.integers_value("axes", call.axes("dim", rank) or tuple(range(rank)))
    op = "ReduceMax" if call.name == "any" else "ReduceMin"
    keep = int(call.flag("keepdim"))
    return call.add(op, call.cast(source, "bool", "truth"), axes, part="", dtype="bool", keepdims=keep)


def triangle(call: BoundCall) -> str:
    """Elements on one side of a diagonal, 0 elsewhere."""
    source = call.tensor("self")
    rows, columns = call.size(source)[-2:]
    away = np.subtract.outer(np.arange(rows), np.arange(columns)) + call.integer("diagonal", 0)
    keep = away >= 0 if call.name == "tril" else away <= 0
    data = call.value(source).data
    if data is not None:
        return call.maker.constant(call.label, np.where(keep, data, 0), call.dtype)
    mask = call.maker.constant(f"{call.label}.kept", keep, "bool")
    zero = call.scalar_value("zero", 0.0, call.dtype)
    return call.add("Where", mask, source, zero)


def differences(call: BoundCall) -> str:
    """Of neighbours along an axis, what is put before and behind counted in."""
    source, count = call.tensor("self"), call.integer("n", 1)
    axis = call.axis("dim", len(call.size(source)), -1)
    parts = [call.optional("prepend"), source, call.optional("append")]
    parts = [call.cast(name, call.dtype, "same") for name in parts if name]
    found = call.add("Concat", *parts, part="joined", axis=axis) if len(parts) > 1 else source
    for at in range(count):
        size = call.size(found)[axis]
        later, earlier = (
            call.cut(found, axis, (start, start + size - 1, 1), f"{key}{at}.")
            for key, start in (("later", 1), ("earlier", 0))
        )
        found = call.add("Sub", later, earlier, part="" if at == count - 1 else f"step{at}")
    return found


RULES = {
    "square": square,
    "exp2": exponent,
    "expm1": exponent,
    "log1p": logarithm,
    "log2": logarithm,
    "log10": logarithm,
    "log_sigmoid": log_sigmoid,
    "log_sigmoid_forward": log_sigmoid,
    "glu": gated,
    "threshold": threshold,
    "softshrink": shrunk,
    "hardshrink": shrunk,
    "addcmul": fused_product,
    "addcdiv": fused_product,
    "lerp": between,
    "isfinite": finite,
    "nan_to_num": to_numbers,
    "trunc": truncated,
    "fix": truncated,
    "frac": truncated,
    "std": spread_of,
    "var": spread_of,
    "std_mean": spread_of,
    "var_mean": spread_of,
    "logsumexp": log_of_sum,
    "any": tested,
    "all": tested,
    "tril": triangle,
    "triu": triangle,
    "diff": differences,
}
