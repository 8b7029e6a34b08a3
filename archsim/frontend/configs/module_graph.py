"""Collects the graph of a model that is written as modules: nodes and weights are called by module paths.

Operators are those that the passes of the graph make of exported models, so that both end in the same layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from archsim.base.errors import ModelError
from archsim.frontend.configs.quantisation import KEY, WeightFormats
from archsim.ir.asm.words import indices_text
from archsim.ir.composites import Composite, CompositeKind
from archsim.ir.graph import Graph, GraphNode, GraphState, GraphValue, Inputs, OperatorAttribute, Shape
from archsim.ir.indices import Indices
from archsim.ops.kit.catalogue import family
from archsim.ops.kit.lookups import ROWS, default_seed

ACTIVATIONS: dict[str, tuple[str, dict[str, OperatorAttribute]]] = {
    "gelu": ("Gelu", {}),
    "gelu_new": ("Gelu", {"approximate": "tanh"}),
    "gelu_fast": ("Gelu", {"approximate": "tanh"}),
    "gelu_pytorch_tanh": ("Gelu", {"approximate": "tanh"}),
    "quick_gelu": ("Swish", {"alpha": 1.702}),
    "silu": ("Swish", {}),
    "swish": ("Swish", {}),
    "relu": ("Relu", {}),
    "tanh": ("Tanh", {}),
    "sigmoid": ("Sigmoid", {}),
    "relu6": ("Clip", {}),
}  # transformers.activations, by the names that ``hidden_act`` has there
LIMITS = {"relu6": (0.0, 6.0)}  # of those that cut off
MOST_NODES = 400_000
ShapeRule = Callable[[GraphNode, Inputs], tuple[Shape, ...]]


class ModuleGraph:
    """Nodes and values so far, each with its shape. Names given to methods are relative to the module that is open."""

    def __init__(self, formats: WeightFormats | None = None) -> None:
        """Start empty. ``formats``: of weights of products, where the file states some."""
        self._formats = formats
        self._within = ""  # what names begin with
        self._nodes: list[GraphNode] = []
        self._values: dict[str, GraphValue] = {}
        self._inputs: list[str] = []
        self._states: dict[str, GraphState] = {}
        self._outputs: list[str] = []
        self._warnings = [formats.warning] if formats is not None and formats.warning else []
        self._composites: list[Composite] = []
        self._rules: dict[str, ShapeRule] = {}  # of operators, looked up once

    @contextmanager
    def module(self, name: str) -> Iterator[None]:
        """Open a module: names inside begin with its path."""
        before = self._within
        self._within = f"{before}{name}."
        yield
        self._within = before

    @contextmanager
    def top(self) -> Iterator[None]:
        """Leave all modules: names inside are whole ones."""
        before, self._within = self._within, ""
        yield
        self._within = before

    @contextmanager
    def composite(self, kind: CompositeKind) -> Iterator[None]:
        """Nodes entered inside are one thing together, called by the path of the module that is open."""
        before = len(self._nodes)
        yield
        members = tuple(node.name for node in self._nodes[before:])
        self._composites.append(Composite(self._within.removesuffix("."), kind, members))

    def made(self, value: str) -> bool:
        """Whether there is a value of a whole name."""
        return value in self._values

    def named(self, name: str) -> str:
        """The whole path of ``name``."""
        return self._within + name

    def shape(self, value: str) -> Shape:
        """Logical shape of a value."""
        return self._values[value].shape

    def input(self, name: str, shape: Shape, dtype: str = "float32") -> str:
        """An input of the graph."""
        self._inputs.append(name)
        return self._enter(GraphValue(name, shape, "input", dtype))

    def state(self, name: str, shape: Shape, axis: int, past: int) -> str:
        """A state of the graph: rows [0, past) along ``axis`` are there."""
        path = self.named(name)
        self._states[path] = GraphState(axis, past)
        return self._enter(GraphValue(path, shape, "state"))

    def output(self, value: str) -> None:
        """Make a value an output of the graph."""
        self._outputs.append(value)

    def warn(self, message: str) -> None:
        """Say something that every result of the model says."""
        self._warnings.append(message)

    def weight(self, name: str, *shape: int) -> str:
        """A constant that the model's checkpoint holds; asked for again, the same one."""
        path = self.named(name)
        if path in self._values:
            return path
        return self._enter(GraphValue(path, shape, "constant", sources=(path,)))

    def numbers(self, name: str, data: Any, dtype: str = "int64") -> str:
        """A small constant that is no weight."""
        array = np.asarray(data, dtype)
        return self._enter(GraphValue(self.named(name), array.shape, "constant", dtype, array))

    def add(self, op: str, name: str, *inputs: str, **attributes: OperatorAttribute) -> str:
        """A node of one result, which is called like it; returns that."""
        return self.split(op, name, (name,), *inputs, **attributes)[0]

    def split(
        self, op: str, name: str, results: tuple[str, ...], *inputs: str, **attributes: OperatorAttribute
    ) -> tuple[str, ...]:
        """A node with one or more ``results``; returns their paths."""
        if len(self._nodes) >= MOST_NODES:
            raise ModelError(f"module '{self.named(name)}': the model has more than {MOST_NODES:,} operators")
        within = self._within
        node = GraphNode(within + name, op, inputs, tuple([within + result for result in results]), attributes)
        if op not in self._rules:
            self._rules[op] = family(node).shapes
        read = tuple([self._values[each] if each else None for each in inputs])
        for result, shape in zip(node.outputs, self._rules[op](node, read), strict=False):
            self._enter(GraphValue(result, shape, "activation"))
        self._nodes.append(node)
        return node.outputs

    # modules that every family has

    def linear(self, name: str, source: str, out: int, bias: bool = False) -> str:
        """A product with weights along the last axis, and a bias: as Gemm where rows are a matrix that has one, else as
        MatMul and Add, as ONNX has them."""
        weights = self.weight(f"{name}.weight", self.shape(source)[-1], out)
        if self._formats is not None:
            stated = self._formats.of(self.named(name))
            self._values[weights] = replace(self._values[weights], format=stated)
        if bias and len(self.shape(source)) == 2:
            return self.add("Gemm", name, source, weights, self.weight(f"{name}.bias", out))
        product = self.add("MatMul", name, source, weights)
        return self.add("Add", f"{name}.add", product, self.weight(f"{name}.bias", out)) if bias else product

    def layer_norm(self, name: str, source: str, epsilon: float) -> str:
        """Normalisation of the last axis, with scale and bias."""
        row = self.shape(source)[-1]
        both = self.weight(f"{name}.weight", row), self.weight(f"{name}.bias", row)
        return self.add("LayerNormalization", name, source, *both, axis=-1, epsilon=epsilon)

    def rms_norm(self, name: str, source: str, epsilon: float) -> str:
        """Normalisation of the last axis by the root of its mean square, with a scale."""
        scale = self.weight(f"{name}.weight", self.shape(source)[-1])
        return self.add("RMSNormalization", name, source, scale, axis=-1, epsilon=epsilon)

    def activation(self, name: str, source: str, function: str) -> str:
        """One of ``ACTIVATIONS``."""
        op, attributes = ACTIVATIONS[function]
        limits = (self.numbers(f"{name}.limit_{at}", end, "float32") for at, end in enumerate(LIMITS.get(function, ())))
        return self.add(op, name, source, *limits, **attributes)

    def embedding(self, name: str, indices: str, rows: int, width: int) -> str:
        """Rows of a table by indices that are an input: taken as uniform over the table, unless the user says else."""
        return self.rows(name, self.weight(f"{name}.weight", rows, width), indices)

    def rows(self, name: str, table: str, indices: str, chosen: Indices | None = None) -> str:
        """Rows of a table that others use too; ``chosen``: which, None for uniform ones."""
        chosen = chosen or Indices("uniform", default_seed(indices))
        pattern = chosen.trace if chosen.kind == "trace" else indices_text(chosen)
        return self.add(ROWS, name, table, indices, indices=pattern)

    def bag(self, name: str, indices: str, table: tuple[int, int], reduction: str, chosen: Indices) -> str:
        """(bags, elements): of each bag of ``indices`` (bags, rows of a bag) the sum or mean (``reduction``, an
        operator) of the rows of a ``table`` (rows, elements) that are ``chosen``."""
        found = self.rows(f"{name}.rows", self.weight(f"{name}.weight", *table), indices, chosen)
        bags, size = self.shape(indices)
        if size == 1:
            return self.reshape(name, found, bags, table[1])
        return self.add(reduction, name, found, self.numbers(f"{name}.axes", (1,)), keepdims=0)

    def positions(self, name: str, rows: int, width: int, first: int, count: int) -> str:
        """``count`` rows of a table of positions, from ``first`` on."""
        table = self.weight(f"{name}.weight", rows, width)
        return self.cut(name, table, 0, first, first + count)

    def cut(self, name: str, source: str, axis: int, start: int, stop: int) -> str:
        """The indices from ``start`` to before ``stop`` of one axis."""
        bounds = {"starts": start, "ends": stop, "axes": axis}
        given = (self.numbers(f"{name}.{key}", (value,)) for key, value in bounds.items())
        return self.add("Slice", name, source, *given)

    def every_other(self, name: str, source: str, axes: tuple[int, ...], first: tuple[int, ...], step: int) -> str:
        """Of each of ``axes`` the indices from ``first`` on in steps of ``step``."""
        ends = tuple(self.shape(source)[axis] for axis in axes)
        bounds = {"starts": first, "ends": ends, "axes": axes, "steps": (step,) * len(axes)}
        given = (self.numbers(f"{name}.{key}", values) for key, values in bounds.items())
        return self.add("Slice", name, source, *given)

    def reshape(self, name: str, source: str, *sizes: int) -> str:
        """The same elements in another shape."""
        return self.add("Reshape", name, source, self.numbers(f"{name}.shape", sizes))

    def heads(self, name: str, source: str, count: int) -> str:
        """(batch, rows, heads * elements) as (batch, heads, rows, elements)."""
        batch, rows, width = self.shape(source)
        parted = self.reshape(f"{name}.view", source, batch, rows, count, width // count)
        return self.add("Transpose", f"{name}.transpose", parted, perm=(0, 2, 1, 3))

    def joined_heads(self, name: str, source: str) -> str:
        """(batch, heads, rows, elements) as (batch, rows, heads * elements)."""
        batch, heads, rows, width = self.shape(source)
        turned = self.add("Transpose", f"{name}.transpose", source, perm=(0, 2, 1, 3))
        return self.reshape(f"{name}.view", turned, batch, rows, heads * width)

    def done(self, name: str) -> Graph:
        """The graph: of the values, those that a front end states."""
        stated = {key: value for key, value in self._values.items() if value.kind != "activation"}
        if self._formats is not None and not any(value.format for value in stated.values()):
            self.warn(
                f"{KEY}: no product of the model has weights in its format, {self._formats.text}; all are in the "
                "chip's format of weights, or in that of --dtype"
            )
        return Graph(
            name,
            tuple(self._nodes),
            stated,
            (*self._inputs, *self._states),
            tuple(self._outputs),
            warnings=tuple(self._warnings),
            states=dict(self._states),
            composites=tuple(self._composites),
        )

    def _enter(self, value: GraphValue) -> str:
        if value.name in self._values:
            raise ModelError(f"module '{value.name}' is there twice")
        self._values[value.name] = value
        return value.name
