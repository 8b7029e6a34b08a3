"""The neutral graph: nodes over named values with the *logical* shapes of the source model (images N, C, H, W).

Operators are named as in ONNX and speak the newest form of each operator (axes, pads and limits as inputs where ONNX
has them as inputs). Front ends write this form; nothing here knows a file format, and no weight is ever held:
a constant has a shape, and its data only when it is small enough to steer shapes (a Reshape target, an axis list).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from archsim.base.errors import ModelError
from archsim.ir.composites import Composite

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
OperatorAttribute = int | float | str | tuple[Any, ...] | Array

SMALL_ELEMENTS = 1024  # constants up to this many elements keep their data; larger ones are shapes only


class UnsupportedError(ModelError):
    """An operator, or a form of it, that has no rule here; ``on_unsupported='host'`` may still run it."""


@dataclass(frozen=True, slots=True)
class GraphValue:
    """A named tensor of the source model. ``shape`` is logical.

    A ``state`` lives in memory from one run to the next (keys and values of earlier tokens); its shape has all rows
    that there is room for, and ``Graph.states`` says how many are there.
    ``data``: the contents of a small constant. ``sources``: names of the model's own constants that a constant is made
    from (itself, for one stored in the file), from which parameters are counted. ``format``: of the elements of weights
    of products, as the checkpoint has them ('' where nothing is said).
    """

    name: str
    shape: Shape
    kind: Literal["input", "constant", "activation", "state"]
    dtype: str = "float32"
    data: Array | None = field(default=None, compare=False)
    sources: tuple[str, ...] = ()
    format: str = ""

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def constant(self) -> bool:
        """Whether the value is known before the model runs."""
        return self.kind == "constant"


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One operator call. ``inputs`` and ``outputs`` are value names, '' where an optional one is absent.

    ``fused``: the nodes merged into this one, in order (folded scales and shifts, a sum or product with another value,
    an activation on the way out), each of which reads what the one before makes as its first input that is no constant;
    then ``outputs`` are those of the last of them.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, OperatorAttribute] = field(default_factory=dict)
    fused: tuple[GraphNode, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of all that it reads, and that nodes fused into it read: also what these make for one another."""
        return tuple(name for node in (self, *self.fused) for name in node.inputs if name)

    def integer(self, key: str, default: int) -> int:
        """An integer attribute or its default."""
        value = self.attributes.get(key, default)
        return int(value) if isinstance(value, int | float) else self.fail(f"attribute '{key}' is not a number")

    def number(self, key: str, default: float) -> float:
        """A real attribute or its default."""
        value = self.attributes.get(key, default)
        return float(value) if isinstance(value, int | float) else self.fail(f"attribute '{key}' is not a number")

    def text(self, key: str, default: str) -> str:
        """A string attribute or its default."""
        value = self.attributes.get(key, default)
        return value if isinstance(value, str) else self.fail(f"attribute '{key}' is not a string")

    def integers(self, key: str, default: Shape) -> Shape:
        """A list-of-integers attribute or its default."""
        value = self.attributes.get(key, default)
        if not isinstance(value, tuple):
            self.fail(f"attribute '{key}' is not a list of integers")
        return tuple(int(item) for item in value)

    def fail(self, message: str) -> NoReturn:
        """Raise a ModelError that names this node and its operator."""
        raise ModelError(f"node '{self.name}' ({self.op}): {message}")

    def unsupported(self, message: str) -> NoReturn:
        """Raise an UnsupportedError that names this node, its operator and the way out."""
        raise UnsupportedError(f"node '{self.name}' ({self.op}): {message}, or pass --on-unsupported host")


Inputs = tuple[GraphValue | None, ...]


@dataclass(frozen=True, slots=True)
class ValueFormat:
    """What the file says of a value's elements: q stands for (q - ``zero``) * ``scale``; ``dtype`` as stored there.

    ``runtime_name``: the value of the file that holds those numbers.
    """

    scale: float
    zero: int
    dtype: str
    runtime_name: str = ""


@dataclass(frozen=True, slots=True)
class ValueAlias:
    """A removed node whose result is its input under another name (Identity, Dropout at inference)."""

    name: str
    op: str
    of: str


@dataclass(frozen=True, slots=True)
class GraphState:
    """Of a state, when the run begins: rows [0, ``past``) along the logical ``axis`` are there."""

    axis: int
    past: int


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes and values. Before inference ``values`` holds inputs and constants only; after it, every value.

    ``hints``: output shapes known to the front end, for operators without a rule here. ``folded``: nodes whose results
    are constants of the graph, in order: what makes them. ``formats``: of values, where the file states them.
    ``states``: of each value that is one; they stand in ``inputs`` behind the others. ``composites``: nodes that are
    one thing together, those of a front end before the passes have found more; some may be gone by then.
    """

    name: str
    nodes: tuple[GraphNode, ...]
    values: Mapping[str, GraphValue]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    hints: Mapping[str, Shape] = field(default_factory=dict)
    aliases: tuple[ValueAlias, ...] = ()
    warnings: tuple[str, ...] = ()
    folded: tuple[GraphNode, ...] = ()
    formats: Mapping[str, ValueFormat] = field(default_factory=dict)
    states: Mapping[str, GraphState] = field(default_factory=dict)
    composites: tuple[Composite, ...] = ()

    def shape(self, name: str) -> Shape:
        """Logical shape of a value."""
        return self.values[name].shape

    def carried(self, node: GraphNode) -> str:
        """Of a node that is fused into another: the result so far, the first of its inputs that is no constant."""
        return next(name for name in node.inputs if name and not self.values[name].constant)

    def beside(self, node: GraphNode) -> tuple[str, ...]:
        """Values computed elsewhere that the nodes fused into this one read beside the result so far."""
        read = [[name for name in other.inputs if name and not self.values[name].constant][1:] for other in node.fused]
        return tuple(name for names in read for name in names)

    def inputs_of(self, node: GraphNode) -> Inputs:
        """The values a node reads, None where an optional input is absent; raises ModelError for an unknown one."""
        return tuple(self._value(node, name) if name else None for name in node.inputs)

    def _value(self, node: GraphNode, name: str) -> GraphValue:
        found = self.values.get(name)
        if found is None:
            node.fail(f"reads '{name}', which nothing produces; the file is damaged or needs a newer exporter")
        return found


def known_data(value: GraphValue | None) -> Array | None:
    """The contents of a constant input, None when it is absent or not known."""
    return None if value is None else value.data


def scalar(node: GraphNode, value: GraphValue) -> float:
    """The one number that a constant of one element holds; raises UnsupportedError where it is not known."""
    if value.data is None or value.data.size != 1:
        node.unsupported(f"'{value.name}' is not one number known beforehand")
    return float(value.data.reshape(-1)[0])


def integers_of(node: GraphNode, value: GraphValue | None, what: str) -> Shape | None:
    """Contents of an integer-list input as a tuple; None when absent; ModelError when not known beforehand."""
    if value is None:
        return None
    if value.data is None:
        node.fail(f"{what} is computed at run time; export the model with fixed shapes")
    if value.data.dtype.kind not in "iu":
        node.fail(f"{what} has elements of type {value.data.dtype}; allowed integers")
    return tuple(int(item) for item in np.ravel(value.data))
