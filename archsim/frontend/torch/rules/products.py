"""Products of matrices, convolutions and attention."""

from __future__ import annotations

import numpy as np

from archsim.frontend.torch.bound import BoundCall
from archsim.ir.graph import GraphValue, OperatorAttribute, Shape


def linear(call: BoundCall) -> str:
    """Rows times transposed weights: as Gemm where rows are a matrix, else as MatMul and Add, as ONNX has them."""
    source, weight, bias = call.tensor("input"), call.tensor("weight"), call.optional("bias")
    if len(call.size(weight)) != 2:
        call.refuse(f"weights of shape {list(call.size(weight))}; allowed 2 axes")
    if len(call.size(source)) == 2:
        return call.add("Gemm", source, weight, *([bias] if bias else []), transB=1)
    turned = turned_weight(call, weight)
    if not bias:
        return call.add("MatMul", source, turned)
    product = call.add("MatMul", source, turned)
    return call.add("Add", product, bias, part="bias", dtype=call.dtype)


def turned_weight(call: BoundCall, weight: str) -> str:
    """A matrix with its axes swapped; of a constant a constant."""
    return call.add("Transpose", weight, part="weight", perm=(1, 0))


def addmm(call: BoundCall) -> str:
    """beta * self + alpha * mat1 @ mat2."""
    factors = {key: call.number(key, 1.0) for key in ("alpha", "beta")}
    given = {key: factor for key, factor in factors.items() if factor != 1}
    return call.add("Gemm", call.tensor("mat1"), call.tensor("mat2"), call.tensor("self"), attributes=given)


def matmul(call: BoundCall) -> str:
    """Matrix product over the last two axes."""
    second = next((key for key in ("mat2", "other", "vec", "tensor") if call.is_tensor(key)), "other")
    return call.add("MatMul", call.tensor("self"), call.tensor(second))


def baddbmm(call: BoundCall) -> str:
    """beta * self + alpha * batch1 @ batch2."""
    product = call.add("MatMul", call.tensor("batch1"), call.tensor("batch2"), dtype=call.dtype)
    alpha = call.number("alpha", 1.0)
    if alpha != 1:
        product = call.add("Mul", product, call.scalar_value("alpha", alpha, call.dtype), part="by_alpha")
    other, beta = call.tensor("self"), call.number("beta", 1.0)
    if beta == 0:
        return product
    if beta != 1:
        other = call.add("Mul", other, call.scalar_value("beta", beta, call.dtype), part="by_beta")
    return call.add("Add", product, other, part="sum", dtype=call.dtype)


def einsum(call: BoundCall) -> str:
    """A product by its letters."""
    equation = call.plain("equation")
    if not isinstance(equation, str):
        call.fail("'equation' is not text")
    return call.add("Einsum", *call.tensors("tensors"), equation=equation.replace(" ", ""))


def convolution(call: BoundCall) -> str:
    """Of one to three spatial axes."""
    source, weight, bias = call.tensor("input"), call.tensor("weight"), call.optional("bias")
    kernel = call.size(weight)[2:]
    spatial = len(kernel)
    if not 1 <= spatial <= 3 or len(call.size(source)) not in (spatial + 1, spatial + 2):
        call.refuse(f"input {list(call.size(source))} and weights {list(call.size(weight))}; allowed 1 to 3 axes")
    strides, dilations = call.spread("stride", spatial, 1), call.spread("dilation", spatial, 1)
    inputs = [_batched(call, source, spatial + 2), weight, *([bias] if bias else [])]
    pads = _pads(call, kernel, strides, dilations)
    attributes: dict[str, OperatorAttribute] = {
        "kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads,
        "group": call.integer("groups", 1),
    }  # fmt: skip
    if call.flag("transposed") or "transpose" in call.name:
        attributes["output_padding"] = call.spread("output_padding", spatial, 0)
        return call.fitted(call.add("ConvTranspose", *inputs, attributes=attributes), "unbatched")
    return call.fitted(call.add("Conv", *inputs, attributes=attributes), "unbatched")


def _batched(call: BoundCall, source: str, rank: int) -> str:
    shape = call.size(source)
    return source if len(shape) == rank else call.reshaped(source, (1, *shape), "batched")


def _pads(call: BoundCall, kernel: Shape, strides: Shape, dilations: Shape) -> Shape:
    """Before and after; 'same' keeps the size, the odd one goes behind."""
    stated = call.plain("padding")
    if not isinstance(stated, str):
        pads = call.spread("padding", len(kernel), 0)
        return pads + pads
    if stated == "valid":
        return (0,) * (2 * len(kernel))
    if stated != "same" or any(stride != 1 for stride in strides):
        call.fail(f"padding '{stated}' with strides {list(strides)}")
    every = [dilation * (size - 1) for size, dilation in zip(kernel, dilations, strict=True)]
    return (*(size // 2 for size in every), *(size - size // 2 for size in every))


def attention(call: BoundCall) -> str:
    """softmax(Q K^T * scale + mask) V as one operator."""
    if call.number("dropout_p", 0.0):
        call.refuse("drops elements at random; call eval() on the module before it is exported")
    operands = [call.tensor(key) for key in ("query", "key", "value")]
    mask = _mask(call)
    attributes: dict[str, OperatorAttribute] = {"is_causal": 1} if call.flag("is_causal") else {}
    if call.plain("scale") is not None:
        attributes["scale"] = call.number("scale")
    ranks = {len(call.size(name)) for name in (*operands, *([mask] if mask else []))}
    if max(ranks) > 4 or len(call.shape) < 3:
        call.refuse("queries, keys and values of 3 or 4 axes are allowed")
    parts = ("queries", "keys", "values")
    operands = [_four(call, name, part) for name, part in zip(operands, parts, strict=True)]
    result = call.add("Attention", *operands, *([_added(call, mask)] if mask else []), attributes=attributes)
    return call.fitted(result, "heads")


def _mask(call: BoundCall) -> str:
    """The mask, '' for one that is known to leave all in."""
    mask = call.optional("attn_mask")
    data = call.value(mask).data if mask else None
    return "" if data is not None and data.dtype == bool and data.all() else mask


def _added(call: BoundCall, mask: str) -> str:
    """A constant mask of truth values as what is added to scores: 0 or minus infinity."""
    value = call.value(mask)
    if value.dtype != "bool" or not value.constant:
        return mask
    data = None if value.data is None else np.where(value.data, 0.0, -np.inf)
    if data is not None:
        return call.maker.constant(f"{call.label}.mask", data, call.dtype, keep=True)
    return call.maker.enter(GraphValue(f"{call.label}.mask", value.shape, "constant", call.dtype, None, value.sources))


def _four(call: BoundCall, name: str, part: str) -> str:
    """(batch, heads, rows, elements)."""
    shape = call.size(name)
    return call.reshaped(name, (*shape[:-2], 1, *shape[-2:]), part) if len(shape) == 3 else name


RULES = {
    "linear": linear,
    "addmm": addmm,
    "matmul": matmul,
    "mm": matmul,
    "bmm": matmul,
    "mv": matmul,
    "dot": matmul,
    "baddbmm": baddbmm,
    "einsum": einsum,
    "convolution": convolution,
    "conv1d": convolution,
    "conv2d": convolution,
    "conv3d": convolution,
    "conv_transpose1d": convolution,
    "conv_transpose2d": convolution,
    "conv_transpose3d": convolution,
    "scaled_dot_product_attention": attention,
}
