"""Collects the graph that a workload file describes, with every shape known as soon as a node is added."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from archsim.base.errors import ModelError, nearest
from archsim.frontend.workload_yaml.options import EntryOptions, Shape
from archsim.ir.graph import GraphNode, GraphState, GraphValue, OperatorAttribute
from archsim.ops.kit.catalogue import family
from archsim.ops.kit.lookups import ROWS

MAX_NODES = 100_000  # after repetition
ACTIVATIONS: dict[str, tuple[str, dict[str, OperatorAttribute]]] = {
    "relu": ("Relu", {}),
    "relu6": ("Clip", {}),
    "leaky_relu": ("LeakyRelu", {}),
    "gelu": ("Gelu", {}),
    "gelu_tanh": ("Gelu", {"approximate": "tanh"}),
    "sigmoid": ("Sigmoid", {}),
    "tanh": ("Tanh", {}),
    "swish": ("Swish", {}),
    "hard_swish": ("HardSwish", {}),
    "hard_sigmoid": ("HardSigmoid", {}),
    "mish": ("Mish", {}),
    "elu": ("Elu", {}),
    "softplus": ("Softplus", {}),
}


@dataclass(frozen=True, slots=True)
class EntryScope:
    """Entries of which every name begins with ``prefix``; ``names``: words that stand for a value there."""

    prefix: str = ""
    names: dict[str, str] = field(default_factory=dict)


class GraphWriter:
    """Nodes and values so far. ``last`` is the result of the latest layer: the default input of the next."""

    def __init__(self) -> None:
        """Start empty."""
        self._scopes = [EntryScope()]
        self.nodes: list[GraphNode] = []
        self.values: dict[str, GraphValue] = {}
        self.inputs: list[str] = []
        self.states: dict[str, GraphState] = {}
        self.places: dict[str, str] = {}  # node -> the entry that it comes from
        self.last = ""

    def add_input(self, name: str, shape: Shape, dtype: str = "float32") -> str:
        """A graph input."""
        self.values[name] = GraphValue(name, shape, "input", dtype)
        self.inputs.append(name)
        self.last = name
        return name

    def add_state(self, options: EntryOptions, name: str, shape: Shape, state: GraphState) -> None:
        """A state of the graph, which no entry reads unless it says so."""
        self._refuse_twice(options, name)
        self.values[name] = GraphValue(name, shape, "state")
        self.states[name] = state

    def weight(self, name: str, shape: Shape) -> str:
        """A constant of the model."""
        self.values[name] = GraphValue(name, shape, "constant", sources=(name,))
        return name

    def numbers(self, name: str, numbers: Shape) -> str:
        """Constant whole numbers that an operator wants as an input."""
        data = np.asarray(numbers, np.int64)
        self.values[name] = GraphValue(name, data.shape, "constant", "int64", data)
        return name

    def named(self, name: str) -> str:
        """The whole name of what an entry calls ``name``."""
        return self._scopes[-1].prefix + name

    @contextmanager
    def inside(self, prefix: str, **names: str) -> Iterator[None]:
        """Entries whose names begin with ``prefix``; ``names`` stand for values there."""
        self._scopes.append(EntryScope(self.named(prefix), names))
        yield
        self._scopes.pop()

    def call(self, options: EntryOptions, name: str, value: str) -> None:
        """Let ``name`` stand for a value from here on; ConfigError where it is used before."""
        self._refuse_twice(options, self.named(name))
        self._scopes[-1].names[name] = value

    def shape(self, name: str) -> Shape:
        """Logical shape of a value."""
        return self.values[name].shape

    def source(self, options: EntryOptions) -> str:
        """The ``input`` of a layer: a value of the file, the latest result when not given."""
        if options.has("input"):
            return self.known(options, options.text("input"), "input")
        return self.last or options.fail("has no input; allowed 'input: NAME', or an entry under 'inputs'")

    def known(self, options: EntryOptions, name: str, key: str) -> str:
        """The value that is called ``name``: in the innermost scope that has one."""
        for scope in reversed(self._scopes):
            found = scope.names.get(name, scope.prefix + name)
            if found in self.values:
                return found
        results = [known for known, value in self.values.items() if not value.constant]
        results += [word for scope in self._scopes for word in scope.names]
        return options.fail(f"nothing is called '{name}'; known: {', '.join(results)}{nearest(name, results)}", key)

    def add(
        self,
        options: EntryOptions,
        name: str,
        op: str,
        inputs: tuple[str, ...],
        attributes: dict[str, OperatorAttribute] | None = None,
        outputs: tuple[str, ...] = (),
        bias: str = "",
    ) -> None:
        """One node, then the addition of ``bias`` (a constant) and the activation ``act`` where given.

        The last of them bears the name of the layer's result. ConfigError at the entry where shapes clash.
        """
        act = options.text("act", "none", ("none", *ACTIVATIONS))
        following: list[tuple[str, tuple[str, ...], dict[str, OperatorAttribute]]] = []
        if bias:
            following.append(("Add", (bias,), {}))
        if act != "none":
            following.append((ACTIVATIONS[act][0], self._limits(name, act), ACTIVATIONS[act][1]))
        result = name if not following else f"{name}.product"
        self._append(options, GraphNode(name, op, inputs, outputs or (result,), attributes or {}))
        for number, (kind, others, given) in enumerate(following, start=1):
            source, result = result, name if number == len(following) else f"{name}.biased"
            self._append(options, GraphNode(f"{name}.{kind}", kind, (source, *others), (result,), given))
        self.last = outputs[-1] if outputs else name

    def rows(
        self, options: EntryOptions, name: str, inputs: tuple[str, ...], attributes: dict[str, OperatorAttribute]
    ) -> None:
        """Rows looked up on the way to the layer's result."""
        self._append(options, GraphNode(name, ROWS, inputs, (name,), attributes))

    def _limits(self, name: str, act: str) -> tuple[str, ...]:
        """The constant limits of a clipped activation."""
        if act != "relu6":
            return ()
        limits = {f"{name}.low": 0.0, f"{name}.high": 6.0}
        for limit, number in limits.items():
            self.values[limit] = GraphValue(
                limit, (), "constant", data=np.asarray(number, np.float32), sources=(limit,)
            )
        return tuple(limits)

    def _append(self, options: EntryOptions, node: GraphNode) -> None:
        if len(self.nodes) >= MAX_NODES:
            options.fail(f"makes more than {MAX_NODES:,} operators; allowed fewer repetitions")
        for output in node.outputs:
            self._refuse_twice(options, output)
        try:
            shapes = family(node).shapes(node, tuple(self.values[name] for name in node.inputs))
        except ModelError as error:
            options.fail(str(error))
        for output, shape in zip(node.outputs, shapes, strict=False):
            if min(shape, default=1) < 1:
                options.fail(f"its result has the shape {list(shape)}; allowed sizes from 1")
            self.values[output] = GraphValue(output, shape, "activation")
        self.nodes.append(node)
        self.places[node.name] = options.place

    def _refuse_twice(self, options: EntryOptions, name: str) -> None:
        words = [scope.prefix + word for scope in self._scopes for word in scope.names]
        if name in self.values or name in words:
            options.fail(f"the name '{name}' is used before; allowed names that occur once", "name")

    def graph_values(self) -> dict[str, GraphValue]:
        """Inputs, states and constants, as inference wants them."""
        return {name: replace(value) for name, value in self.values.items() if value.kind != "activation"}
