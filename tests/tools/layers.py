"""Random small networks as Workloads with their NumPy meaning, and small chips to map them on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from archsim.ir.functions import Function
from archsim.ir.workload import Axis, Layer, Operand, Tensor, VectorStep, View, Workload
from archsim.spec.architecture import Architecture, Array, Dma, Vector
from archsim.spec.memories import Memory

PART = {
    "clock_hz": 10**9,
    "sync_stages": 2,
    "energy_pj": {},
    "area_mm2": None,
    "leakage_w": None,
    "idle_w": None,
    "copies": 1,
    "scope": "chip",
}


def small_chip(
    l1_bytes: int = 1 << 16,
    acc_bytes: int = 1 << 14,
    rows: int = 4,
    cols: int = 4,
    dataflow: str = "weight_stationary",
    dram_rate: Fraction | None = Fraction(8),
    word: int = 4,
    banks: int = 64,
    slots: dict[str, int] | None = None,
    stages: Sequence[tuple[str, int, tuple[str, ...]]] = (),
    channels: int = 1,
) -> Architecture:
    """One core with constant-rate DRAM: l1 keeps inputs, weights, outputs; acc keeps partial sums. No host.

    ``stages``: (name, bytes, roles) of memories between DRAM and l1, outermost first.
    """
    sram = {
        "kind": "sram",
        "filled_by": "dma",
        "banks": banks,
        "word_bytes": word,
        "slots": slots or {},
        **PART,
    }
    memories = (
        Memory(
            name="dram",
            kind="dram",
            capacity_bytes=1 << 24,
            keeps=("inputs", "weights", "outputs"),
            slots={},
            filled_by="dma",
            standard="constant",
            bytes_per_cycle=dram_rate,
            **{**PART, "scope": "dram"},
        ),
        *(Memory(name=name, capacity_bytes=size, keeps=roles, **sram) for name, size, roles in stages),
        Memory(name="l1", capacity_bytes=l1_bytes, keeps=("inputs", "weights", "outputs"), **sram),
        Memory(name="acc", capacity_bytes=acc_bytes, keeps=("partials",), **sram),
    )
    array = Array(
        name="mxu",
        kind="array",
        rows=rows,
        cols=cols,
        dataflow=dataflow,
        fanouts=(),
        registers=(),
        rates={("int8", "int8"): Fraction(1)},
        **PART,
    )
    rates = dict.fromkeys(("exp", "divide", "sqrt"), Fraction(4))
    vector = Vector(name="vpu", kind="vector", lanes={"int8": 8}, function_cycles=rates, **PART)
    dma = Dma(name="dma", kind="dma", channels=channels, **PART)
    dtypes = {"inputs": "int8", "weights": "int8", "outputs": "int8", "accumulate": "int32"}
    return Architecture("small", 10**9, "45nm", 1.0, memories, (array,), (vector,), dma, None, dtypes, (), "test")


def axis(*terms: tuple[str, int] | str, offset: int = 0) -> Axis:
    """Axis from dims (coefficient 1) or (dim, coefficient) pairs."""
    return Axis(tuple((term, 1) if isinstance(term, str) else term for term in terms), offset)


@dataclass
class Net:
    """A network under construction: layers, tensors, and the reference value of every tensor."""

    rng: np.random.Generator
    layers: list[Layer] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    values: dict[str, np.ndarray] = field(default_factory=dict)

    def source(self, name: str, shape: tuple[int, ...], kind: str = "input") -> str:
        """A graph input or weight with small random integers."""
        self.tensors[name] = Tensor(name, shape, kind)  # type: ignore[arg-type]
        self.values[name] = self.rng.integers(-3, 4, shape).astype(float)
        return name

    def _output(self, name: str, value: np.ndarray, view: View | None) -> str:
        self.tensors[name] = Tensor(name, value.shape, "activation", view=view)
        self.values[name] = value
        return name

    def conv(
        self,
        x: str,
        out: str,
        channels: int,
        kernel: int,
        stride: int,
        pads: tuple[int, int, int, int],
        groups: int = 1,
        dilation: int = 1,
        view: View | None = None,
    ) -> str:
        """Convolution + bias + relu, NHWC; depthwise when groups == input channels."""
        _, height, width, depth = self.tensors[x].shape
        top, left, bottom, right = pads
        span = (kernel - 1) * dilation + 1
        p, q = (height + top + bottom - span) // stride + 1, (width + left + right - span) // stride + 1
        per, c = channels // groups, depth // groups
        name = f"conv_{out}"
        w = self.source(f"{out}.w", (groups, per, kernel, kernel, c), "weight")
        b = self.source(f"{out}.b", (groups, per), "weight")
        dims = {"n": 1, "p": p, "q": q, "g": groups, "k": per, "c": c, "r": kernel, "s": kernel}
        a = Operand(
            "a",
            x,
            "inputs",
            (
                axis("n"),
                axis(("p", stride), ("r", dilation), offset=-top),
                axis(("q", stride), ("s", dilation), offset=-left),
                axis(("g", c), "c"),
            ),
        )
        weights = Operand("b", w, "weights", tuple(axis(d) for d in ("g", "k", "r", "s", "c")))
        bias = Operand("bias", b, "weights", (axis("g"), axis("k")))
        target = Operand("out", out, "outputs", (axis("n"), axis("p"), axis("q"), axis(("g", per), "k")))
        step = (VectorStep((Function("requantise"), Function("relu")), 1),)
        self.layers.append(
            Layer(
                name,
                "Conv",
                "matmul",
                dims,
                (a, weights, bias),
                target,
                ("n", "p", "q"),
                ("k",),
                ("c", "r", "s"),
                ("g",),
                steps=step,
            )
        )
        return self._output(out, self._conv_value(x, w, b, stride, pads, dilation, (p, q)), view)

    def _conv_value(
        self,
        x: str,
        w: str,
        b: str,
        stride: int,
        pads: tuple[int, int, int, int],
        dilation: int,
        size: tuple[int, int],
    ) -> np.ndarray:
        top, left, bottom, right = pads
        data = np.pad(self.values[x], ((0, 0), (top, bottom), (left, right), (0, 0)))
        weight, (p, q) = self.values[w], size
        groups, per, kernel, _, c = weight.shape
        total = np.zeros((1, p, q, groups, per))
        for r in range(kernel):
            for s in range(kernel):
                y, z = r * dilation, s * dilation
                patch = data[:, y : y + (p - 1) * stride + 1 : stride, z : z + (q - 1) * stride + 1 : stride]
                total += np.einsum("npqgc,gkc->npqgk", patch.reshape(1, p, q, groups, c), weight[:, :, r, s])
        return np.maximum(total + self.values[b], 0).reshape(1, p, q, groups * per)

    def drained(self, out: str, other: str, function: str = "add") -> str:
        """The last layer, a convolution that makes ``out``, with ``other`` added to what it drains, or what it drains
        multiplied by it (``multiply``), and a relu."""
        layer = self.layers[-1]
        epilogue = replace(layer.output, name="epilogue", tensor=other, role="inputs")
        drained = VectorStep((Function("requantise", ("in0",)), Function("relu")), 1)
        steps = (drained, VectorStep((Function(function, ("in1",)), Function("relu")), 1))
        self.layers[-1] = replace(layer, inputs=(*layer.inputs, epilogue), steps=steps)
        both = np.add if function == "add" else np.multiply
        self.values[out] = np.maximum(both(self.values[out], self.values[other]), 0)
        return out

    def pool(self, x: str, out: str, kernel: int, stride: int, view: View | None = None) -> str:
        """Max pooling without padding."""
        _, height, width, depth = self.tensors[x].shape
        p, q = (height - kernel) // stride + 1, (width - kernel) // stride + 1
        dims = {"n": 1, "p": p, "q": q, "c": depth, "r": kernel, "s": kernel}
        a = Operand("in0", x, "inputs", (axis("n"), axis(("p", stride), "r"), axis(("q", stride), "s"), axis("c")))
        target = Operand("out", out, "outputs", tuple(axis(d) for d in ("n", "p", "q", "c")))
        self.layers.append(
            Layer(f"pool_{out}", "MaxPool", "vector", dims, (a,), target, steps=(VectorStep((Function("max"),), 1),))
        )
        data = self.values[x]
        windows = [
            data[:, r : r + (p - 1) * stride + 1 : stride, s : s + (q - 1) * stride + 1 : stride]
            for r in range(kernel)
            for s in range(kernel)
        ]
        return self._output(out, np.max(windows, axis=0), view)

    def add(self, x: str, y: str, out: str, view: View | None = None) -> str:
        """Elementwise sum + relu."""
        shape = self.tensors[x].shape
        names = ("n", "h", "w", "c")
        dims = dict(zip(names, shape, strict=True))
        axes = tuple(axis(d) for d in names)
        inputs = (Operand("in0", x, "inputs", axes), Operand("in1", y, "inputs", axes))
        step = (VectorStep((Function("add"), Function("relu")), 1),)
        self.layers.append(
            Layer(f"add_{out}", "Add", "vector", dims, inputs, Operand("out", out, "outputs", axes), steps=step)
        )
        return self._output(out, np.maximum(self.values[x] + self.values[y], 0), view)

    def transpose(self, x: str, out: str) -> str:
        """Swap height and width: a copy."""
        n, h, w, c = self.tensors[x].shape
        dims = {"n": n, "h": h, "w": w, "c": c}
        source = Operand("in0", x, "inputs", tuple(axis(d) for d in ("n", "h", "w", "c")))
        target = Operand("out", out, "outputs", tuple(axis(d) for d in ("n", "w", "h", "c")))
        self.layers.append(Layer(f"copy_{out}", "Transpose", "copy", dims, (source,), target))
        return self._output(out, self.values[x].transpose(0, 2, 1, 3), None)

    def concat(self, out: str, shape: tuple[int, ...]) -> None:
        """Declare the tensor into which views are placed along the channels."""
        self.tensors[out] = Tensor(out, shape, "activation")

    def gemm(self, out: str, m: int, n: int, k: int) -> str:
        """out[m, n] = a[m, k] b[n, k]."""
        a, b = self.source(f"{out}.a", (m, k)), self.source(f"{out}.w", (n, k), "weight")
        dims = {"m": m, "n": n, "k": k}
        inputs = (
            Operand("a", a, "inputs", (axis("m"), axis("k"))),
            Operand("b", b, "weights", (axis("n"), axis("k"))),
        )
        target = Operand("out", out, "outputs", (axis("m"), axis("n")))
        self.layers.append(Layer(f"gemm_{out}", "Gemm", "matmul", dims, inputs, target, ("m",), ("n",), ("k",)))
        return self._output(out, self.values[a] @ self.values[b].T, None)

    def done(self, *outputs: str) -> Workload:
        """The Workload; ``outputs`` are graph outputs."""
        for name in outputs:
            self.tensors[name] = replace(self.tensors[name], kind="output")
        parameters = sum(t.elements for t in self.tensors.values() if t.kind == "weight")
        return Workload("net", tuple(self.layers), dict(self.tensors), (), 1, parameters, "0" * 64)


def random_net(seed: int) -> tuple[Net, Workload]:
    """A chain of random layers: plain, residual, depthwise, grouped, dilated or transposed ones, and concats."""
    pick = random.Random(seed)
    net = Net(np.random.default_rng(seed))
    current = net.source("x", (1, pick.randint(4, 16), pick.randint(4, 16), pick.choice([1, 3, 4, 8, 12])))
    for index in range(pick.randint(1, 4)):
        current = _random_layer(net, pick, current, f"y{index}")
    if current == "x":
        current = net.conv("x", "only", 5, 1, 1, (0, 0, 0, 0))
    return net, net.done(current)


def _random_layer(net: Net, pick: random.Random, x: str, out: str) -> str:
    _, height, width, depth = net.tensors[x].shape
    kind = pick.choice(["conv", "conv", "conv", "depthwise", "grouped", "pool", "residual", "transpose", "concat"])
    kernel = pick.choice([k for k in (1, 2, 3, 5) if k <= min(height, width)])
    stride = pick.choice([1, 1, 2, 3])
    pads = tuple(pick.randint(0, kernel // 2) for _ in range(4))
    if kind == "depthwise":
        return net.conv(x, out, depth, kernel, stride, pads, groups=depth)  # type: ignore[arg-type]
    if kind == "grouped" and depth % 2 == 0:
        return net.conv(x, out, 2 * pick.randint(1, 6), kernel, stride, pads, groups=2)  # type: ignore[arg-type]
    if kind == "pool":
        return net.pool(x, out, kernel, stride)
    if kind == "residual":
        middle = net.conv(x, f"{out}m", depth, 1, 1, (0, 0, 0, 0))
        return net.add(x, middle, out)
    if kind == "transpose":
        return net.transpose(x, out)
    if kind == "concat":
        return _concat(net, pick, x, out)
    dilation = 2 if kernel == 2 and min(height, width) >= 3 else 1
    return net.conv(x, out, pick.randint(1, 20), kernel, stride, pads, dilation=dilation)  # type: ignore[arg-type]


def _concat(net: Net, pick: random.Random, x: str, out: str) -> str:
    _, height, width, _ = net.tensors[x].shape
    widths = [pick.randint(1, 6), pick.randint(1, 6)]
    total = sum(widths)
    net.concat(out, (1, height, width, total))
    strides = (height * width * total, width * total, total, 1)
    parts = []
    for index, channels in enumerate(widths):
        view = View(out, sum(widths[:index]), strides)
        parts.append(
            net.conv(
                x,
                f"{out}_{index}",
                channels,
                3 if index else 1,
                1,
                (1, 1, 1, 1) if index else (0, 0, 0, 0),
                view=view,
            )
        )
    net.values[out] = np.concatenate([net.values[part] for part in parts], axis=3)
    return out
