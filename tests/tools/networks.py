"""Random networks as ONNX files, each with one of ``FEATURES`` or more: verification must not refuse or doubt them.

Images (n, c, h, w) and sequences (n, s, d) of small odd sizes; a network that begins with a look-up is a sequence until
it is turned into an image of one axis.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from archsim.graph.numeric.constants import Constants
from archsim.ir.graph import Array
from tests.tools.graphs import Writer, activation, conv, elementwise, pool, residual

OPSET = 22
MOST_EXTRA = 3  # layers beside the one that a network is made for
BEGINS = "gather by reshaped ids"  # is where a network begins
FAR = (0.0, 0.0, 3.0, 50.0, 1000.0)  # offsets before a mean is removed: from none to much larger than what is left


@dataclass(frozen=True)
class Network:
    """A network: the feature that it is made for, all that it has, and its file's content."""

    case: int
    features: tuple[str, ...]
    proto: onnx.ModelProto

    def save(self, folder: Path) -> Path:
        """Write it; returns the path."""
        path = folder / f"network{self.case}.onnx"
        path.write_bytes(self.proto.SerializeToString())
        return path


def network(case: int) -> Network:
    """Network number ``case``, the same in every run; every feature has its turn."""
    pick = random.Random(f"network {case}")
    to = Writer(pick)
    names = list(FEATURES)
    first = names[case % len(names)]
    _begin(to, first)
    features: list[str] = []
    others = [name for name in names if name != BEGINS]
    for name in [first, *(pick.choice(others) for _ in range(pick.randint(0, MOST_EXTRA)))]:
        features.append(name)
        FEATURES[name](to)
        if pick.random() < 0.4:
            _plain(to)
    return Network(case, tuple(dict.fromkeys(features)), to_onnx(to, case))


def to_onnx(to: Writer, seed: int) -> onnx.ModelProto:
    """The file of a graph under construction; constants without contents are drawn as verification draws them."""
    graph = to.graph()
    drawn = Constants(graph, {}, seed, {})
    stored: dict[str, Array] = {}
    for name, value in to.values.items():
        if value.kind == "constant":
            stored[name] = value.data if value.data is not None else drawn[name]
    kinds = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "int32": TensorProto.INT32}
    inputs = [
        helper.make_tensor_value_info(name, kinds[to.values[name].dtype], to.values[name].shape)
        for name in graph.inputs
    ]
    nodes = [
        helper.make_node(node.op, node.inputs, node.outputs, node.name, **_attributes(node.op, dict(node.attributes)))
        for node in to.nodes
    ]
    made = helper.make_graph(
        nodes,
        graph.name,
        inputs,
        [helper.make_tensor_value_info(to.last, TensorProto.FLOAT, to.shape)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in stored.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def _attributes(op: str, given: dict[str, object]) -> dict[str, object]:
    """As the file has them: a cast's type by its number."""
    if op == "Cast":
        return {"to": {"float32": 1, "int32": 6, "int64": 7}[str(given["to"])]}
    return given


def _begin(to: Writer, first: str) -> None:
    pick = to.pick
    if first == BEGINS:
        return
    if first in SEQUENCES and pick.random() < 0.5:
        to.source("x", (pick.choice([1, 1, 2]), pick.choice([3, 7, 16, 33]), pick.choice([4, 10, 24, 64])))
    else:
        to.source("x", (pick.choice([1, 1, 2]), pick.choice([2, 3, 8, 16]), pick.randint(6, 19), pick.randint(5, 17)))


def _as_image(to: Writer) -> None:
    """A sequence turned into an image: channels first."""
    if len(to.shape) == 2:
        to.add("Reshape", to.last, to.ints(to.shape[0], 1, -1))
    if len(to.shape) == 3:
        to.add("Transpose", to.last, perm=(0, 2, 1))


def _plain(to: Writer) -> None:
    """Something ordinary in between."""
    makers: list[Callable[[Writer], None]] = [activation, elementwise, activation]
    if len(to.shape) == 4:
        makers += [conv, pool]
    to.pick.choice(makers)(to)


# features ----------------------------------------------------------------------------------------------------------


def mean_then_pool(to: Writer) -> None:
    """The mean is removed and what is left is averaged again: every true result is about zero."""
    pick = to.pick
    far = pick.choice(FAR)
    if far:
        to.add("Add", to.last, to.number(far))
    axes = tuple(range(2, len(to.shape))) if len(to.shape) == 4 else (1,)
    before = to.last
    mean = to.add("ReduceMean", before, to.ints(*axes), keepdims=1)
    to.add("Sub", before, mean)
    if pick.random() < 0.5 and len(to.shape) == 4:
        to.add("GlobalAveragePool", to.last)
    else:
        to.add("ReduceMean", to.last, to.ints(*axes), keepdims=1)
    if pick.random() < 0.75:
        to.add("Add", to.last, before)  # what follows has something to work on


def joined(to: Writer) -> None:
    """Branches side by side, some of them as they came."""
    pick, before, branches = to.pick, to.last, []
    for _ in range(pick.randint(2, 3)):
        to.last = before
        if pick.random() < 0.3:
            branches.append(before)
            continue
        if len(to.shape) == 4:
            depth = pick.randint(1, 9)
            to.add("Conv", before, to.weight((depth, to.shape[1], 3, 3)), to.weight((depth,)), pads=(1, 1, 1, 1))
        else:
            to.add("MatMul", before, to.weight((to.shape[-1], pick.randint(1, 17))))
        if pick.random() < 0.5:
            activation(to)
        branches.append(to.last)
    to.add("Concat", *branches, axis=1 if len(to.shape) == 4 else -1)
    if len(to.shape) == 4:
        depth = pick.randint(2, 12)
        to.add("Conv", to.last, to.weight((depth, to.shape[1], 1, 1)), to.weight((depth,)))


def added(to: Writer) -> None:
    """What came in is added to what was made of it."""
    if len(to.shape) == 4:
        residual(to)
        return
    before, width = to.last, to.shape[-1]
    hidden = to.pick.choice([3, width, 2 * width])
    to.add("MatMul", before, to.weight((width, hidden)))
    activation(to)
    to.add("MatMul", to.last, to.weight((hidden, width)))
    to.add("Add", to.last, before)


def depthwise(to: Writer) -> None:
    """One filter, or two, for each channel."""
    pick = to.pick
    _as_image(to)
    depth, axes = to.shape[1], len(to.shape) - 2
    kernel = tuple(min(pick.choice([2, 3, 5]), size) for size in to.shape[2:])
    out = depth * pick.choice([1, 1, 2])
    pads = tuple(pick.randint(0, k // 2) for k in (*kernel, *kernel))
    strides = tuple(pick.choice([1, 1, 2]) for _ in range(axes))
    bias = (to.weight((out,)),) if pick.random() < 0.7 else ()
    to.add("Conv", to.last, to.weight((out, 1, *kernel)), *bias, group=depth, strides=strides, pads=pads)
    if pick.random() < 0.6:
        parameters = [to.weight((out,)) for _ in range(4)]
        to.add("BatchNormalization", to.last, *parameters, epsilon=1e-3)
    if pick.random() < 0.5:
        activation(to)


def strided(to: Writer) -> None:
    """Stride 2, and pads that differ from side to side."""
    pick = to.pick
    _as_image(to)
    axes, depth = len(to.shape) - 2, pick.choice([1, 5, 8, 24])
    kernel = tuple(min(pick.choice([3, 3, 5, 7]), size) for size in to.shape[2:])
    pads = [pick.randint(0, max(1, k // 2)) for k in (*kernel, *kernel)]
    pads[0] = pads[axes] + 1 if pads[0] == pads[axes] else pads[0]
    inputs = (to.last, to.weight((depth, to.shape[1], *kernel)), to.weight((depth,)))
    to.add("Conv", *inputs, strides=(2,) * axes, pads=tuple(pads))
    if pick.random() < 0.6:
        to.add("Relu", to.last)


def softmax(to: Writer) -> None:
    """Along a row, or as attention scores between two products."""
    pick = to.pick
    if len(to.shape) == 4 or pick.random() < 0.4:
        to.add("Softmax", to.last, axis=pick.choice([1, len(to.shape) - 1]))
        return
    source, width, head = to.last, to.shape[-1], pick.choice([4, 8, 12])
    parts = [to.add("MatMul", source, to.weight((width, head))) for _ in range(3)]
    turned = to.add("Transpose", parts[1], perm=(0, 2, 1))
    to.add("MatMul", parts[0], turned)
    to.add("Mul", to.last, to.number(head**-0.5))
    if pick.random() < 0.5:
        length = to.shape[-1]
        mask = np.triu(np.full((length, length), -1e9, np.float32), 1)
        to.add("Add", to.last, to.given(mask))
    to.add("Softmax", to.last, axis=-1)
    to.add("MatMul", to.last, parts[2])


def layer_norm(to: Writer) -> None:
    """One node, or the nodes that older files spell it with."""
    pick, width, before = to.pick, to.shape[-1], to.last
    if pick.random() < 0.5:
        to.add("LayerNormalization", before, to.weight((width,)), to.weight((width,)), axis=-1, epsilon=1e-5)
        return
    last = to.ints(len(to.shape) - 1)
    centred = to.add("Sub", before, to.add("ReduceMean", before, last, keepdims=1))
    to.add("Pow", centred, to.number(2.0))
    to.add("ReduceMean", to.last, last, keepdims=1)
    to.add("Sqrt", to.add("Add", to.last, to.number(1e-5)))
    to.add("Div", centred, to.last)
    to.add("Mul", to.last, to.weight((width,)))
    to.add("Add", to.last, to.weight((width,)))


def looked_up(to: Writer) -> None:
    """Rows by ids that arrive in another shape, as a part of an input, or cast."""
    pick = to.pick
    batch, length = pick.choice([1, 1, 2]), pick.choice([4, 9, 16])
    table = to.weight((pick.choice([11, 60, 300]), pick.choice([6, 16, 40])))
    kind = pick.choice(["reshape", "slice", "squeeze", "cast", "pick", "unsqueeze and transpose"])
    if kind == "reshape":
        to.last = to.source("ids", (batch * length,), "int64")
        to.add("Reshape", to.last, to.ints(batch, length))
    elif kind == "slice":
        to.last = to.source("ids", (batch, length + 3), pick.choice(["int64", "int32"]))
        to.add("Slice", to.last, to.ints(2), to.ints(2 + length), to.ints(1), to.ints(1))
    elif kind == "squeeze":
        to.last = to.source("ids", (batch, 1, length), "int64")
        to.add("Squeeze", to.last, to.ints(1))
    elif kind == "cast":
        to.last = to.source("ids", (batch, length), pick.choice(["float32", "int32"]))
        to.add("Cast", to.last, to="int64")
    elif kind == "pick":
        to.last = to.source("ids", (batch, 3, length), "int64")
        to.add("Gather", to.last, to.number(pick.randrange(3), kind=np.int64), axis=1)
    else:
        to.last = to.source("ids", (length, batch), "int32")
        to.add("Transpose", to.last, perm=(1, 0))
        to.add("Cast", to.last, to="int64")
    to.add("Gather", table, to.last, axis=0)


FEATURES: dict[str, Callable[[Writer], None]] = {
    "mean removed then pooled": mean_then_pool,
    "residual": added,
    "concat": joined,
    "depthwise": depthwise,
    "stride 2 with odd pads": strided,
    "softmax": softmax,
    "layer norm": layer_norm,
    BEGINS: looked_up,
}
SEQUENCES = ("mean removed then pooled", "residual", "concat", "softmax", "layer norm")
