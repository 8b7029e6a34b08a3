"""Collects the graph that a workload file describes, with every shape known as soon as a node is added."""

from __future__ import annotations

from dataclasses import replace

from archsim.errors import ModelError, nearest
from archsim.frontend.workload_yaml.options import Options, Shape
from archsim.ops.graph.family import family
from archsim.ops.graph.nodes import Attribute, Node, Value

ACTIVATIONS: dict[str, tuple[str, dict[str, Attribute]]] = {
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


class Writer:
    """Nodes and values so far. ``last`` is the result of the latest layer: the default input of the next."""

    def __init__(self) -> None:
        """Start empty."""
        self.nodes: list[Node] = []
        self.values: dict[str, Value] = {}
        self.inputs: list[str] = []
        self.last = ""

    def add_input(self, name: str, shape: Shape) -> str:
        """A graph input."""
        self.values[name] = Value(name, shape, "input")
        self.inputs.append(name)
        self.last = name
        return name

    def weight(self, name: str, shape: Shape) -> str:
        """A constant of the model."""
        self.values[name] = Value(name, shape, "constant", sources=(name,))
        return name

    def shape(self, name: str) -> Shape:
        """Logical shape of a value."""
        return self.values[name].shape

    def source(self, options: Options) -> str:
        """The ``input`` of a layer: a value of the file, the latest result when not given."""
        name = options.text("input", self.last)
        if not name:
            options.fail("has no input; allowed 'input: NAME', or an entry under 'inputs'")
        return self.known(options, name, "input")

    def known(self, options: Options, name: str, key: str) -> str:
        """``name`` if a value of the file has it."""
        if name not in self.values:
            results = [known for known, value in self.values.items() if not value.constant]
            options.fail(f"nothing is called '{name}'; known: {', '.join(results)}{nearest(name, results)}", key)
        return name

    def add(
        self,
        options: Options,
        name: str,
        op: str,
        inputs: tuple[str, ...],
        attributes: dict[str, Attribute] | None = None,
        outputs: tuple[str, ...] = (),
    ) -> None:
        """One node; its activation (``act``), if any, becomes the node after it.

        ConfigError at the entry if shapes clash.
        """
        act = options.text("act", "none", ("none", *ACTIVATIONS))
        inner = name if act == "none" else f"{name}.sum"
        self._append(options, Node(name, op, inputs, outputs or (inner,), attributes or {}))
        if act != "none":
            self._activate(options, name, inner, act)
        self.last = outputs[-1] if outputs else name

    def _activate(self, options: Options, name: str, inner: str, act: str) -> None:
        op, attributes = ACTIVATIONS[act]
        inputs = (inner, f"{name}.low", f"{name}.high") if act == "relu6" else (inner,)
        for limit in inputs[1:]:
            self.weight(limit, ())
        self._append(options, Node(f"{name}.{act}", op, inputs, (name,), attributes))

    def _append(self, options: Options, node: Node) -> None:
        for output in node.outputs:
            if output in self.values:
                options.fail(f"the name '{output}' is used before; allowed names that occur once", "name")
        try:
            shapes = family(node).shapes(node, tuple(self.values[name] for name in node.inputs))
        except ModelError as error:
            options.fail(str(error))
        for output, shape in zip(node.outputs, shapes, strict=False):
            if min(shape, default=1) < 1:
                options.fail(f"its result has the shape {list(shape)}; allowed sizes from 1")
            self.values[output] = Value(output, shape, "activation")
        self.nodes.append(node)

    def graph_values(self) -> dict[str, Value]:
        """Inputs and constants, as inference wants them."""
        return {name: replace(value) for name, value in self.values.items() if value.kind != "activation"}
