"""A case or more of every operator: its attributes as ONNX writes them, and its operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnx import TensorProto, helper

from archsim.ir.graph import GraphNode
from tests.unit.fixtures_onnx import random

Array = npt.NDArray[Any]
X = random(2, 4, 7, 6)
POSITIVE = np.abs(random(3, 5)) + np.float32(0.1)
FLAT = random(3, 5)

HALVES = np.asarray([[0, 1], [1, 1], [1, 1], [1, 0], [1, 0]], np.float32)  # weights of what lies outside are 0


def ints(*numbers: int) -> Array:
    return np.asarray(numbers, np.int64)


def ints32(*numbers: int) -> Array:
    return np.asarray(numbers, np.int32)


def nibbles(*shape: int) -> Array:
    """Bytes of all sorts of numbers."""
    return (np.arange(np.prod(shape), dtype=np.int64).reshape(shape) * 37 % 256).astype(np.uint8)


MS = "com.microsoft."
ROWS = random(2, 6, 8)
TABLES = [random(16, 4), random(16, 4, seed=1)]
OLDER = [random(2, 2, 3, 4), random(2, 2, 3, 4, seed=1)]
GROUPED = [random(2, 6, 64), random(2, 6, 32), random(2, 6, 32, seed=1)]
PAST = [random(2, 2, 3, 16), random(2, 2, 3, 16, seed=1)]
WIDE = [random(16, 8), random(16, 8, seed=1)]
_UNARY = (
    "Abs",
    "Ceil",
    "Cos",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSwish",
    "LeakyRelu",
    "Mish",
    "Neg",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Softplus",
    "Softsign",
    "Swish",
    "Tanh",
)

CASES: list[tuple[str, dict[str, Any], list[Array | None]]] = [
    ("Conv", {"strides": [2, 1], "pads": [1, 0, 2, 1], "dilations": [2, 1]}, [X, random(6, 4, 3, 2), random(6)]),
    ("Conv", {"group": 2, "auto_pad": "SAME_UPPER", "strides": [2, 2]}, [X, random(6, 2, 3, 3)]),
    ("Conv", {"group": 4, "auto_pad": "SAME_LOWER", "strides": [2, 2]}, [X, random(8, 1, 2, 2)]),
    ("Conv", {"pads": [1, 1]}, [random(2, 3, 9), random(4, 3, 3), random(4)]),
    ("Conv", {}, [random(1, 2, 4, 4, 4), random(3, 2, 2, 3, 2)]),
    ("ConvTranspose", {"strides": [2, 2]}, [X, random(4, 3, 2, 2), random(3)]),
    ("ConvTranspose", {"strides": [2, 3], "pads": [1, 0, 0, 1], "output_padding": [1, 0]}, [X, random(4, 3, 4, 3)]),
    ("ConvTranspose", {"strides": [2, 2], "auto_pad": "SAME_UPPER"}, [X, random(4, 3, 3, 3), random(3)]),
    ("Fold", {"kernel": [3, 2], "strides": [2, 3], "steps": [3, 4]}, [random(2, 3, 6, 8), random(3)]),
    ("Gemm", {"alpha": 0.5, "beta": 2.0, "transA": 1}, [random(4, 3), random(4, 5), random(5)]),
    ("Gemm", {"transB": 1}, [random(3, 4), random(5, 4)]),
    ("QuantizeLinear", {}, [X, np.float32(0.01), np.int8(3)]),
    ("QuantizeLinear", {"axis": 1}, [X, np.abs(random(4)) / 50, np.arange(4, dtype=np.uint8)]),
    ("DequantizeLinear", {}, [np.arange(-6, 6, dtype=np.int8).reshape(3, 4), np.float32(0.5), np.int8(-2)]),
    ("DequantizeLinear", {"axis": 0}, [np.arange(12, dtype=np.int8).reshape(3, 4), np.abs(random(3))]),
    ("MatMul", {}, [random(2, 1, 3, 4), random(5, 4, 6)]),
    ("MatMul", {}, [random(4), random(4, 6)]),
    ("MatMul", {}, [random(2, 3, 4), random(4)]),
    ("Einsum", {"equation": "bhsd,bhtd->bhst"}, [random(2, 3, 4, 5), random(2, 3, 6, 5)]),
    ("MaxPool", {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}, [X]),
    ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, [X]),
    ("MaxPool", {"kernel_shape": [2, 2], "dilations": [2, 2]}, [X]),
    ("AveragePool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}, [X]),
    ("AveragePool", {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "count_include_pad": 1}, [X]),
    ("GlobalAveragePool", {}, [X]),
    ("GlobalMaxPool", {}, [X]),
    ("BatchNormalization", {"epsilon": 1e-3}, [X, random(4), random(4, seed=1), random(4, seed=2), abs(random(4))]),
    ("LRN", {"size": 3, "alpha": 0.3, "beta": 0.75, "bias": 1.5}, [random(4, 4, 3, 3)]),
    ("LRN", {"size": 4, "alpha": 0.3, "beta": 0.6}, [random(5, 5, 2, 2)]),
    ("LayerNormalization", {"axis": -1}, [X, random(6), random(6, seed=3)]),
    ("LayerNormalization", {"axis": 2, "epsilon": 1e-2}, [X, random(7, 6)]),
    ("InstanceNormalization", {}, [X, random(4), random(4, seed=3)]),
    ("RMSNormalization", {"axis": -1}, [FLAT, random(5)]),
    ("Softmax", {"axis": 1}, [X]),
    ("LogSoftmax", {"axis": -1}, [X]),
    ("Mod", {}, [np.arange(-6, 9).reshape(3, 5), ints(4, 3, -2, 5, -7)]),
    ("Mod", {"fmod": 1}, [FLAT, POSITIVE]),
    ("Tile", {}, [random(2, 3, 1), ints(1, 2, 4)]),
    ("GroupNormalization", {"num_groups": 2, "epsilon": 1e-3}, [X, random(2), random(2, seed=3)]),
    ("Col2Im", {"strides": [2, 1], "pads": [1, 0, 0, 1]}, [random(2, 12, 15), ints(6, 5), ints(3, 2)]),
    ("ScatterND", {}, [X, np.asarray([[0, 1], [1, 3]], np.int64), random(2, 7, 6, seed=5)]),
    ("ScatterElements", {"axis": 1}, [FLAT, np.asarray([[4, 0], [1, 2], [3, 2]], np.int64), random(3, 2)]),
    ("CumSum", {}, [X, np.asarray(2, np.int64)]),
    ("CumSum", {"exclusive": 1, "reverse": 1}, [FLAT, np.asarray(-1, np.int64)]),
    ("Concat", {"axis": 1}, [X, random(2, 3, 7, 6), X]),
    ("Concat", {"axis": -1}, [FLAT, FLAT]),
    ("Append", {"axis": 2, "past": 3}, [X, random(2, 4, 2, 6)]),
    ("Append", {"axis": -2}, [random(1, 8, 4), random(1, 8, 4, seed=3)]),
    ("Split", {"axis": 1}, [X, ints(1, 3)]),
    ("Slice", {}, [X, ints(1, -4), ints(100, -1), ints(2, -1), ints(2, 1)]),
    ("Slice", {}, [X, ints(5), ints(-100), ints(2), ints(-2)]),
    ("Gather", {"axis": 1}, [X, np.asarray(2, np.int64)]),
    ("Gather", {"axis": 2}, [X, ints(0, 2, 4)]),
    ("GatherRows", {"axis": 1}, [X, np.asarray([[2, 0], [3, 2]], np.int64)]),
    ("EmbeddingBag", {"mode": "mean"}, [random(16, 4), np.asarray([[2, 0, 7], [3, 15, 3]], np.int64)]),
    ("EmbeddingBag", {"axis": 1, "mode": "max", "keepdims": 1}, [X, np.asarray([[2, 0], [3, 2]], np.int64)]),
    ("EmbeddingBag", {"bag": [0]}, [random(16, 4), np.asarray([[2, 0], [3, 15]], np.int64), random(2, 2, 1)]),
    ("Reshape", {}, [X, ints(0, -1, 3)]),
    ("Flatten", {"axis": 2}, [X]),
    ("Squeeze", {}, [random(1, 3, 1, 2), ints(0, -2)]),
    ("Unsqueeze", {}, [FLAT, ints(0, -1)]),
    ("Transpose", {"perm": [0, 2, 3, 1]}, [X]),
    ("Transpose", {}, [FLAT]),
    ("Expand", {}, [random(3, 1), ints(2, 1, 4)]),
    ("Pad", {"mode": "reflect"}, [X, ints(0, 1, 2, 0, 0, 0, 1, 3)]),
    ("Pad", {"mode": "edge"}, [X, ints(0, 1, 0, 0, 0, 0, 9, 3)]),
    ("Pad", {"mode": "constant"}, [X, ints(0, 1, 2, 0, 0, 0, 1, 3)]),
    ("Resize", {"mode": "nearest"}, [X, None, np.asarray([1, 1, 2, 3], np.float32)]),
    (
        "Resize",
        {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
        [X, None, None, ints(2, 4, 14, 18)],
    ),
    ("Resize", {"mode": "linear"}, [X, None, np.asarray([1, 1, 2, 3], np.float32)]),
    (
        "Resize",
        {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        [X, None, None, ints(2, 4, 10, 4)],
    ),
    ("Interpolate", {"axis": 2, "rows": [-1, 0, 2, 6, 6]}, [X, np.abs(random(5, 2)) * HALVES]),
    ("ReduceSum", {"keepdims": 0}, [X, ints(1, -1)]),
    ("ReduceMean", {"keepdims": 1}, [X, ints(2, 3)]),
    ("ReduceMax", {"keepdims": 0}, [X, ints(0)]),
    ("TopK", {"axis": -1}, [X, ints(2)]),
    ("ReduceMin", {}, [X]),
    ("ReduceProd", {}, [FLAT, ints(1)]),
    ("ReduceSumSquare", {}, [X, ints(1)]),
    ("ReduceL1", {"keepdims": 0}, [X, ints(1, 2)]),
    ("ReduceL2", {}, [X, ints(-1)]),
    ("ArgMax", {"axis": 1, "keepdims": 0}, [X]),
    ("ArgMin", {"axis": -1, "select_last_index": 1}, [np.round(X)]),
    ("TopK", {"axis": 2}, [X, ints(3)]),
    ("TopK", {"largest": 0}, [FLAT, ints(5)]),
    ("RotaryEmbedding", {}, [random(2, 3, 6, 8), random(2, 6, 4), random(2, 6, 4)]),
    ("RotaryEmbedding", {"interleaved": 1}, [random(2, 3, 6, 8), random(2, 6, 4), random(2, 6, 4)]),
    ("RotaryEmbedding", {}, [random(2, 3, 6, 8), *TABLES, np.arange(12).reshape(2, 6) + 3]),
    ("RotaryEmbedding", {"num_heads": 3}, [random(2, 6, 24), random(2, 6, 4), random(2, 6, 4)]),
    ("RotaryEmbedding", {"num_heads": 3, "interleaved": 1}, [random(2, 6, 24), random(2, 6, 4), random(2, 6, 4)]),
    ("Attention", {"is_causal": 1}, [random(1, 4, 3, 8), random(1, 2, 3, 8), random(1, 2, 3, 6)]),
    ("SimplifiedLayerNormalization", {"axis": -1, "epsilon": 1e-5}, [ROWS, random(8)]),
    (f"{MS}SkipLayerNormalization", {"epsilon": 1e-5}, [ROWS, 2 * ROWS + 1, random(8), random(8, seed=1)]),
    (f"{MS}SkipLayerNormalization", {}, [ROWS, ROWS + 1, random(8), random(8, seed=1), random(8, seed=2)]),
    (f"{MS}SkipSimplifiedLayerNormalization", {"epsilon": 1e-5}, [ROWS, ROWS + 1, random(8)]),
    (f"{MS}SkipSimplifiedLayerNormalization", {"epsilon": 1e-5}, [ROWS, ROWS + 1, random(8), random(8, seed=2)]),
    (f"{MS}BiasGelu", {}, [ROWS, random(8)]),
    (f"{MS}FastGelu", {}, [ROWS]),
    (f"{MS}FastGelu", {}, [ROWS, random(8)]),
    (f"{MS}QuickGelu", {"alpha": 1.702}, [ROWS]),
    (f"{MS}RotaryEmbedding", {}, [random(2, 3, 6, 8), ints(2), *TABLES]),
    (f"{MS}RotaryEmbedding", {"interleaved": 1}, [random(2, 6, 24), np.arange(12).reshape(2, 6), *TABLES]),
    (f"{MS}MultiHeadAttention", {"num_heads": 2}, [ROWS, ROWS + 1, ROWS - 1]),
    (
        f"{MS}MultiHeadAttention",
        {"num_heads": 2, "unidirectional": 1, "scale": 0.3},
        [ROWS, ROWS + 1, ROWS - 1, random(24)],
    ),
    (
        f"{MS}MultiHeadAttention",
        {"num_heads": 2},
        [ROWS, ROWS + 1, ROWS - 1, None, None, random(2, 2, 6, 9), *OLDER],
    ),
    (f"{MS}GroupQueryAttention", {"num_heads": 4, "kv_num_heads": 2}, [*GROUPED, None, None, ints32(5, 5), ints32(6)]),
    (
        f"{MS}GroupQueryAttention",
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "scale": 0.2},
        [*GROUPED, None, None, ints32(5, 5), ints32(6), *WIDE],
    ),
    (
        f"{MS}GroupQueryAttention",
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "rotary_interleaved": 1},
        [*(each[:, :1] for each in GROUPED), *PAST, ints32(3, 3), ints32(4), *WIDE],
    ),
    (
        f"{MS}GroupQueryAttention",
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1},
        [np.concatenate(GROUPED, axis=-1)[:, :1], None, None, *PAST, ints32(3, 3), ints32(4), *WIDE],
    ),
    (
        f"{MS}GroupQueryAttention",
        {"num_heads": 4, "kv_num_heads": 2},
        [np.concatenate(GROUPED, axis=-1), None, None, None, None, ints32(5, 5), ints32(6)],
    ),
    (
        f"{MS}MatMulNBits",
        {"K": 32, "N": 3, "bits": 4, "block_size": 16},
        [random(2, 3, 32), nibbles(3, 2, 8), random(6)],
    ),
    (
        f"{MS}MatMulNBits",
        {"K": 40, "N": 3, "bits": 4, "block_size": 16},
        [random(2, 3, 40), nibbles(3, 3, 8), random(9), nibbles(3, 2), None, random(3)],
    ),
    (
        f"{MS}MatMulNBits",
        {"K": 40, "N": 3, "bits": 8, "block_size": 32},
        [random(2, 3, 40), nibbles(3, 2, 32), random(3, 2), nibbles(6)],
    ),
    ("UnpackBits", {"bits": 4, "rows": 3, "count": 5}, [nibbles(3, 2, 4)]),
    ("UnpackBits", {"bits": 8, "rows": 2, "count": 3}, [nibbles(8)]),
    ("Identity", {}, [X]),
    ("Dropout", {}, [X]),
    ("ConstantOfShape", {"value": helper.make_tensor("v", TensorProto.FLOAT, [1], [2.5])}, [ints(2, 3)]),
    ("Shape", {"start": 1, "end": 3}, [X]),
    ("Size", {}, [X]),
    ("Range", {}, [np.asarray(2, np.int64), np.asarray(9, np.int64), np.asarray(3, np.int64)]),
    ("Where", {}, [FLAT > 0, FLAT, POSITIVE]),
    ("PRelu", {}, [X, random(4, 1, 1)]),
    ("Pow", {}, [POSITIVE, np.asarray(1.7, np.float32)]),
    ("Sum", {}, [FLAT, POSITIVE, FLAT]),
    ("Mean", {}, [FLAT, POSITIVE, FLAT]),
    ("Max", {}, [FLAT, POSITIVE, -FLAT]),
    ("Min", {}, [FLAT, POSITIVE]),
    ("Clip", {}, [FLAT, np.float32(-0.5), np.float32(0.4)]),
    ("Clip", {}, [FLAT, None, np.float32(0.4)]),
    ("Cast", {"to": TensorProto.INT32}, [FLAT * 5]),
    ("Not", {}, [FLAT > 0]),
    *[(op, {}, [np.asarray([1, np.nan, -np.inf, np.inf, 0], np.float32)]) for op in ("IsNaN", "IsInf")],
    ("GatherElements", {"axis": 1}, [FLAT, np.asarray([[4, 0], [-1, 2], [3, 3]], np.int64)]),
    ("GatherND", {}, [X, np.asarray([[0, 1], [1, 3]], np.int64)]),
    ("GatherND", {"batch_dims": 1}, [X, np.asarray([[[1, 6]], [[3, 0]]], np.int64)]),
    ("Div", {}, [ints(7, -7), ints(2, 2)]),
    ("Gelu", {"approximate": "tanh"}, [FLAT]),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}, [FLAT]),
    ("Elu", {"alpha": 0.7}, [FLAT]),
    ("Celu", {"alpha": 0.7}, [FLAT]),
    *[(op, {}, [FLAT, POSITIVE]) for op in ("Add", "Sub", "Mul", "Div")],
    *[(op, {}, [FLAT, POSITIVE * 0.5]) for op in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual")],
    *[(op, {}, [ints(1, 2, 3), ints(1, 0, 3)]) for op in ("Equal",)],
    *[(op, {}, [FLAT > 0, POSITIVE > 0.5]) for op in ("And", "Or", "Xor")],
    *[(op, {}, [POSITIVE]) for op in ("Log", "Sqrt", "Reciprocal")],
    *[(op, {}, [FLAT]) for op in _UNARY],
]


def interpolated(attributes: dict[str, Any], arrays: list[Array | None]) -> list[Array]:
    """Two neighbours of each position along the axis, times their weights."""
    data, weights = np.moveaxis(np.asarray(arrays[0]), attributes["axis"], 0), np.asarray(arrays[1])
    padded = np.concatenate([0 * data[:1], data, 0 * data[:1]])
    rows = [w[0] * padded[row + 1] + w[1] * padded[row + 2] for row, w in zip(attributes["rows"], weights, strict=True)]
    return [np.moveaxis(np.stack(rows), 0, attributes["axis"])]


def folded(attributes: dict[str, Any], arrays: list[Array | None]) -> list[Array]:
    """Windows side by side, each added where it belongs."""
    data, bias = np.asarray(arrays[0]), np.asarray(arrays[1])
    (high, wide), (down, right) = attributes["kernel"], attributes["strides"]
    steps = attributes["steps"]
    out = np.zeros((*data.shape[:2], steps[0] * down + high, steps[1] * right + wide), data.dtype)
    for row, column in np.ndindex(data.shape[2] // high, data.shape[3] // wide):
        window = data[:, :, row * high : row * high + high, column * wide : column * wide + wide]
        out[:, :, row * down : row * down + high, column * right : column * right + wide] += window
    return [out[:, :, : steps[0] * down, : steps[1] * right] + bias[:, None, None]]


def unpacked(attributes: dict[str, Any], arrays: list[Array | None]) -> list[Array]:
    """Number by number, out of one long number for each row."""
    bits, rows, count = (attributes[key] for key in ("bits", "rows", "count"))
    found = np.zeros((count, rows), np.int8)
    for row, held in enumerate(np.asarray(arrays[0]).reshape(rows, -1)):
        whole = int.from_bytes(held.tobytes(), "little")
        for place in range(count):
            found[place, row] = whole // 2 ** (bits * place) % 2**bits - 2 ** (bits - 1)
    return [found]


def pooled(attributes: dict[str, Any], arrays: list[Array | None]) -> list[Array]:
    """Of each bag the rows that its indices say, times their weights, one after the other."""
    table, indices = np.moveaxis(np.asarray(arrays[0]), attributes.get("axis", 0), 0), np.asarray(arrays[1])
    weights = np.ones(indices.shape) if arrays[2:] == [] else np.asarray(arrays[2])[..., 0]
    (bag,) = attributes.get("bag", [1])
    rows = [
        [w * table[row] for row, w in zip(*each, strict=True)]
        for each in zip(np.moveaxis(indices, bag, -1), np.moveaxis(weights, bag, -1), strict=True)
    ]
    function = {"sum": np.sum, "mean": np.mean, "max": np.max}[attributes.get("mode", "sum")]
    found = np.stack([function(np.stack(each), axis=0) for each in rows])
    if attributes.get("keepdims"):
        found = found[:, None]
    first = tuple(range(indices.ndim - 1 + attributes.get("keepdims", 0)))
    return [np.moveaxis(found, first, tuple(attributes.get("axis", 0) + at for at in first)).astype(np.float32)]


# Operators of this project alone, which no runtime has: their formulas, written out.
OWN: dict[str, Callable[[dict[str, Any], list[Array | None]], list[Array]]] = {
    "Interpolate": interpolated,
    "Fold": folded,
    "UnpackBits": unpacked,
    "EmbeddingBag": pooled,
}


def outputs_of(op: str) -> list[str]:
    """The outputs that a case has."""
    if op in (f"{MS}MultiHeadAttention", f"{MS}GroupQueryAttention"):
        return ["o0", "o1", "o2"]  # without the last two the runtime takes no older keys
    return ["o0", "o1"] if op in ("Split", "TopK") else ["o0"]


def in_runtime(
    op: str, attributes: dict[str, Any], arrays: list[Array | None], outputs: list[str], opset: int = 20
) -> list[Array]:
    """What ONNX Runtime makes of one operator, of its own domain too."""
    names = [f"i{at}" if array is not None else "" for at, array in enumerate(arrays)]
    fed = {name: np.asarray(array) for name, array in zip(names, arrays, strict=True) if name}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in fed.items()
    ]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs if name]
    domain = "com.microsoft" if op.startswith(MS) else ""
    node = helper.make_node(op.removeprefix(MS), names, outputs, domain=domain, **attributes)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph([node], "one", inputs, made), opset_imports=opsets, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [np.asarray(each) for each in session.run(None, fed)]


def neutral(op: str, attributes: dict[str, Any], arrays: list[Array | None], outputs: list[str]) -> GraphNode:
    """The node as the ONNX front end would write it."""
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in attributes.items()}
    if op == "Cast":
        plain["to"] = "int32"
    if op == "ConstantOfShape":
        plain = {"value": 2.5, "dtype": "float32"}
    names = tuple(f"i{i}" if array is not None else "" for i, array in enumerate(arrays))
    return GraphNode("n", op, names, tuple(outputs), plain)
