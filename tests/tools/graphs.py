"""Random small operator graphs: one to three layers of every kind that the front ends know."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from archsim.graph.passes.infer import infer
from archsim.ir.graph import Graph, GraphNode, GraphValue, Shape
from archsim.ops.kit.catalogue import family


@dataclass
class Writer:
    """A graph under construction; ``last`` is the value that the next layer reads."""

    pick: random.Random
    nodes: list[GraphNode] = field(default_factory=list)
    values: dict[str, GraphValue] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    last: str = "x"

    def source(self, name: str, shape: Shape, dtype: str = "float32") -> str:
        self.values[name], self.shapes[name] = GraphValue(name, shape, "input", dtype), shape
        return name

    def weight(self, shape: Shape) -> str:
        name = f"w{len(self.values)}"
        self.values[name] = GraphValue(name, shape, "constant", sources=(name,))
        self.shapes[name] = shape
        return name

    def number(self, *numbers: float, kind: type = np.float32) -> str:
        name = f"k{len(self.values)}"
        data = np.asarray(numbers if len(numbers) > 1 else numbers[0], kind)
        self.values[name] = GraphValue(name, data.shape, "constant", str(data.dtype), data, (name,))
        self.shapes[name] = data.shape
        return name

    def ints(self, *numbers: int) -> str:
        return self.given(np.asarray(numbers, np.int64))

    def given(self, data: np.ndarray) -> str:
        """A constant of these contents."""
        name = f"k{len(self.values)}"
        self.values[name] = GraphValue(name, data.shape, "constant", "int64", data, (name,))
        self.shapes[name] = data.shape
        return name

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """One node; its result is the last value."""
        name = f"{op.lower()}{len(self.nodes)}"
        node = GraphNode(name, op, inputs, (f"{name}.y",), attributes)
        values = tuple(self.values.get(i) or GraphValue(i, self.shapes[i], "activation") if i else None for i in inputs)
        self.shapes[f"{name}.y"] = family(node).shapes(node, values)[0]
        self.nodes.append(node)
        self.last = f"{name}.y"
        return self.last

    @property
    def shape(self) -> Shape:
        return self.shapes[self.last]

    def graph(self) -> Graph:
        read = {name for node in self.nodes for name in node.inputs}
        inputs = tuple(name for name, value in self.values.items() if value.kind == "input" and name in read)
        values = {name: value for name, value in self.values.items() if value.kind != "input" or name in inputs}
        return infer(Graph("fuzz", tuple(self.nodes), values, inputs, (self.last,)))


def conv(to: Writer) -> None:
    """1 to 3 spatial axes, groups, odd strides and pads, dilation, bias, then scales, shifts and an activation."""
    pick, shape = to.pick, to.shape
    depth, axes = shape[1], len(shape) - 2
    groups = pick.choice([g for g in (1, 1, 2, 3, depth) if depth % g == 0])
    out = groups * pick.randint(1, 1 if groups == depth > 1 and pick.random() < 0.5 else 7)
    kernel = [pick.randint(1, min(4, size + 1)) for size in shape[2:]]
    dilations = [pick.choice([1, 1, 1, 2]) for _ in range(axes)]
    pads = [pick.randint(0, k) for k in kernel] + [pick.randint(0, k) for k in kernel]
    for axis, size in enumerate(shape[2:]):
        while (kernel[axis] - 1) * dilations[axis] + 1 > size + pads[axis] + pads[axes + axis]:
            kernel[axis] -= 1
    inputs = [to.last, to.weight((out, depth // groups, *kernel))]
    inputs += [to.weight((out,))] if pick.random() < 0.6 else []
    strides = tuple(pick.choice([1, 1, 2, 3]) for _ in range(axes))
    to.add("Conv", *inputs, group=groups, strides=strides, pads=tuple(pads), dilations=tuple(dilations))
    behind(to)


def behind(to: Writer) -> None:
    """What folds into or rides on the layer before."""
    pick = to.pick
    if pick.random() < 0.25 and len(to.shape) > 2:
        channels = (to.shape[1],)
        to.add("BatchNormalization", to.last, *(to.weight(channels) for _ in range(4)), epsilon=1e-3)
    if pick.random() < 0.2 and len(to.shape) > 2:
        shape = (to.shape[1], *[1] * (len(to.shape) - 2))
        to.add(pick.choice(["Mul", "Add"]), to.last, to.weight(shape))
    if pick.random() < 0.1:
        to.add(pick.choice(["Mul", "Div", "Add", "Sub"]), to.last, to.number(pick.choice([0.5, 2.0, -1.25])))
    if pick.random() < 0.5:
        activation(to)


def activation(to: Writer) -> None:
    op = to.pick.choice(
        ["Relu", "Relu", "Clip", "Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "Elu", "Gelu", "Softplus"]
    )
    if op == "Clip":
        to.add("Clip", to.last, to.number(-0.5), to.number(0.75))
    else:
        to.add(op, to.last, **({"alpha": 0.3} if op in ("LeakyRelu", "Elu") else {}))


def pool(to: Writer) -> None:
    pick, shape = to.pick, to.shape
    if pick.random() < 0.25:
        to.add(pick.choice(["GlobalAveragePool", "GlobalMaxPool"]), to.last)
        return
    kernel = [pick.randint(1, min(4, size)) for size in shape[2:]]
    pads = tuple([pick.randint(0, k - 1) for k in kernel] + [pick.randint(0, k - 1) for k in kernel])
    strides = tuple(pick.choice([1, 2, 3]) for _ in kernel)
    attributes: dict[str, Any] = {"kernel_shape": tuple(kernel), "pads": pads, "strides": strides}
    op = pick.choice(["MaxPool", "AveragePool"])
    attributes["ceil_mode"] = pick.choice([0, 0, 1])
    if op == "AveragePool":
        attributes["count_include_pad"] = pick.choice([0, 1])
    to.add(op, to.last, **attributes)


def gemm(to: Writer) -> None:
    pick = to.pick
    to.add("Flatten", to.last, axis=1)
    m, k = to.shape
    n = pick.randint(1, 20)
    inputs = [to.last]
    attributes: dict[str, Any] = {}
    if pick.random() < 0.5:
        attributes["transB"] = 1
        inputs.append(to.weight((n, k)))
    else:
        inputs.append(to.weight((k, n)))
    if pick.random() < 0.6:
        inputs.append(to.weight(pick.choice([(n,), (1, n), (m, n)])))
    if pick.random() < 0.4:
        attributes |= {"alpha": 0.5, "beta": 2.0}
    to.add("Gemm", *inputs, **attributes)
    if pick.random() < 0.4:
        activation(to)


def matmul(to: Writer) -> None:
    """Rows times weights, or two activations and a scalar (attention's scores)."""
    pick, shape = to.pick, to.shape
    if pick.random() < 0.5:
        to.add("MatMul", to.last, to.weight((shape[-1], pick.randint(1, 9))))
        if pick.random() < 0.5:
            to.add("Add", to.last, to.weight((to.shape[-1],)))
        return
    other = to.source(f"i{len(to.values)}", (*shape[:-2], shape[-1], pick.randint(1, 9)))
    to.add("MatMul", to.last, other)
    if pick.random() < 0.5:
        to.add("Div", to.last, to.number(2.828))


def einsum(to: Writer) -> None:
    shape = to.shape
    names = "abcdef"[: len(shape)]
    to.add(
        "Einsum",
        to.last,
        to.weight((to.pick.randint(1, 6), shape[-1])),
        equation=f"{names},z{names[-1]}->{names[:-1]}z",
    )


def elementwise(to: Writer) -> None:
    pick, shape = to.pick, to.shape
    kind = pick.randrange(6)
    if kind == 0:
        to.add(pick.choice(["Add", "Sub", "Mul", "Max", "Min"]), to.last, to.source(f"i{len(to.values)}", shape))
    elif kind == 1:
        wide = tuple(1 if pick.random() < 0.5 else size for size in shape)
        to.add(pick.choice(["Add", "Sub", "Mul"]), to.source(f"i{len(to.values)}", wide), to.last)
    elif kind == 2:
        op = pick.choice(["Sub", "Div", "Mul", "Add"])
        to.add(op, to.number(1.5), to.last) if op != "Div" else to.add(op, to.last, to.number(1.5))
    elif kind == 3:
        others = [to.source(f"i{len(to.values) + n}", shape) for n in range(2)]
        to.add(pick.choice(["Sum", "Mean", "Max"]), to.last, *others)
    elif kind == 4:
        to.add("Pow", to.last, to.number(pick.choice([2.0, 3.0])))
    else:
        to.add("PRelu", to.last, to.weight((shape[1], *[1] * (len(shape) - 2))))
    if pick.random() < 0.3:
        activation(to)


def rows(to: Writer) -> None:
    pick, shape = to.pick, to.shape
    axis = pick.randrange(len(shape))
    kind = pick.randrange(5)
    if kind == 0:
        to.add(pick.choice(["Softmax", "LogSoftmax"]), to.last, axis=axis)
    elif kind == 1:
        to.add("LRN", to.last, size=pick.choice([1, 2, 3, 5]), alpha=0.2, beta=pick.choice([0.75, 0.6]), bias=1.5)
    elif kind == 2:
        row = shape[axis:]
        to.add("LayerNormalization", to.last, to.weight(row), to.weight(row), axis=axis)
    elif kind == 3:
        op = pick.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare"])
        to.add(op, to.last, to.ints(axis), keepdims=1)
    else:
        to.add("InstanceNormalization", to.last, to.weight((shape[1],)), to.weight((shape[1],)))


def views(to: Writer) -> None:
    """Reshaping, cutting and joining."""
    pick, shape = to.pick, to.shape
    kind = pick.randrange(6)
    axis = pick.randrange(1, len(shape))
    if kind == 0:
        order = list(range(len(shape)))
        pick.shuffle(order)
        to.add("Transpose", to.last, perm=tuple(order))
    elif kind == 1:
        start = pick.randrange(shape[axis])
        to.add("Slice", to.last, to.ints(start), to.ints(shape[axis]), to.ints(axis), to.ints(pick.choice([1, 2])))
    elif kind == 2:
        before = to.last
        activation(to)
        to.add("Concat", to.last, before, axis=axis)
    elif kind == 3:
        pads = [pick.randint(0, 2) for _ in range(2 * len(shape))]
        to.add("Pad", to.last, to.ints(*pads))
    elif kind == 4:
        scales = [1.0] * len(shape)
        scales[axis] = 2.0
        to.add(
            "Resize",
            to.last,
            "",
            to.number(*scales),
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
    else:
        to.add("Reshape", to.last, to.ints(shape[0], -1, shape[-1]))


def residual(to: Writer) -> None:
    """A convolution that keeps the shape, and the sum with what it read; a padded reader of the sum may follow."""
    before, depth = to.last, to.shape[1]
    kernel = [3 if size > 2 else 1 for size in to.shape[2:]]
    pads = tuple(k // 2 for k in kernel) * 2
    to.add("Conv", to.last, to.weight((depth, depth, *kernel)), to.weight((depth,)), pads=pads)
    to.add("Add", to.last, before)
    if to.pick.random() < 0.5:
        to.add("Relu", to.last)


IMAGE: tuple[Callable[[Writer], None], ...] = (conv, conv, conv, conv, pool, pool, residual)
ANY: tuple[Callable[[Writer], None], ...] = (gemm, matmul, einsum, elementwise, elementwise, rows, views)


def random_graph(seed: int) -> Graph:
    """One to three layers on a small random input."""
    pick = random.Random(seed)
    to = Writer(pick)
    axes = pick.choice([1, 2, 2, 2, 2, 3])
    to.source(
        "x", (pick.choice([1, 1, 2]), pick.choice([1, 2, 3, 4, 6, 8]), *(pick.randint(2, 9) for _ in range(axes)))
    )
    for _ in range(pick.randint(1, 3)):
        image = len(to.shape) - 2 in (1, 2, 3)
        makers = (*IMAGE, *ANY) if image else ANY
        pick.choice(makers)(to)
    if all(family(node).result != "layer" for node in to.nodes):
        activation(to)
    return to.graph()
