"""A quantised model: what its tensors' elements are, and what its constants hold in them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from archsim.graph.lowering.lower import LoweredModel
from archsim.graph.numeric.constants import Constants
from archsim.graph.numeric.contents import contents
from archsim.graph.numeric.formats import LIMITS, Elements, choose
from archsim.ir.graph import Array, GraphNode, ValueFormat
from archsim.ops.kit.catalogue import family
from archsim.ops.kit.folding import ScaleShiftChain


class Quantised:
    """A lowered model in elements. ``elements``: of tensors with storage of their own; ``contents``: of constants."""

    def __init__(
        self,
        lowered: LoweredModel,
        constants: Constants,
        values: Mapping[str, Array],
        dtypes: Mapping[str, str],
        given: Mapping[str, ValueFormat],
    ) -> None:
        """``values``, ``dtypes`` and ``given`` as ``formats.choose`` takes them."""
        assert lowered.graph is not None
        self._lowered, self._graph, self._constants = lowered, lowered.graph, constants
        self.contents = {name: contents(held, self._graph, constants) for name, held in lowered.contents.items()}
        self.elements = choose(lowered, self.contents, values, dtypes, given)
        self._of_value: dict[str, str] = {}
        for tensor, value in lowered.values.items():
            self._of_value.setdefault(value, tensor)
        self._of_content: dict[tuple[str, str, str], str] = {}
        for name, held in lowered.contents.items():
            self._of_content.setdefault((held.value, held.part, held.node), name)
        self._products = {layer.name: layer for layer in lowered.workload.layers if layer.kind == "matmul"}
        self._accumulate = dtypes["accumulate"]

    def of_value(self, value: str) -> Elements | None:
        """The elements of an input or result; None where it has no tensor (a view on the way)."""
        tensor = self._of_value.get(value)
        return None if tensor is None else self._at(tensor)

    def rounded(self, value: str, array: Array) -> Array:
        """The numbers that the elements of a value's tensor come to stand for; unchanged where it has no tensor."""
        elements = self.of_value(value)
        return array if elements is None else elements.rounded(array)

    def as_stored(self, tensor: str, numbers: Array) -> Array:
        """The numbers that a tensor's elements come to stand for."""
        return self._at(tensor).rounded(numbers)

    def is_product(self, node: GraphNode) -> bool:
        """Whether the node is a sum of products, with accumulators."""
        return node.name in self._products

    def factors(self, node: GraphNode) -> tuple[Elements, Elements]:
        """The elements of a product's two factors, as the node reads them."""
        tensors = {operand.name: operand.tensor for operand in self._products[node.name].inputs}
        first, second = self._at(tensors["a"]), self._at(tensors["b"])
        return (second, first) if self._graph.values[node.inputs[0]].constant else (first, second)

    def sums(self, total: Array) -> Array:
        """Whole numbers as accumulators hold them, in two's complement."""
        low, high = LIMITS[self._accumulate]
        return np.asarray((total - low) % (high - low + 1) + low)

    def bias(self, node: GraphNode, rank: int, known: Mapping[str, Array]) -> Array:
        """What the accumulators of a product start from, for results of ``rank`` axes, in multiples of their scale.

        ``known``: values computed so far, for a bias that is one of them.
        """
        layer = self._products[node.name]
        bias = next((operand.tensor for operand in layer.inputs if operand.name == "bias"), None)
        if bias is None:
            return np.zeros([1] * rank)
        first, second = self.factors(node)
        sums = Elements(first.scale * second.scale, 0, self._accumulate)
        held = self.contents[bias] if bias in self.contents else known[self._lowered.values[bias]]
        started = sums.units(sums.rounded(self._at(bias).rounded(held)))
        channel = family(node).channel
        axis = channel(node, self._graph) if channel is not None else None
        if started.ndim == 1 and started.size > 1 and axis is not None:
            return started.reshape([-1 if other == axis else 1 for other in range(rank)])
        return started

    def operand(self, node: GraphNode, name: str) -> Array:
        """A constant that a node reads: quantised where it is stored as an operand, exact where it steers the node."""
        for key in ((name, "weights", node.name), (name, "", "")):
            tensor = self._of_content.get(key)
            if tensor is not None:
                return self._at(tensor).rounded(self.contents[tensor])
        return self.exact(name)

    def is_stated(self, node: GraphNode, name: str) -> bool:
        """Whether an input is no constant stored in elements that the file leaves open."""
        if name in self._graph.formats or (name in node.inputs[2:] and self.is_product(node)):
            return True
        return self._constant(node, name) is None

    def exact(self, name: str) -> Array:
        """A constant as the model has it."""
        return np.asarray(self._constants[name], np.float64)

    def affine(self, node: GraphNode, chain: ScaleShiftChain) -> tuple[Array, Array]:
        """Scale and shift of a chain: quantised where they are operands, exact where they are numbers."""
        found = []
        values = chain.values(lambda name: self._constants[name])
        for part, kind, value in zip(("scale", "shift"), (chain.scale, chain.shift), values, strict=True):
            tensor = self._of_content.get(("", part, node.name))
            found.append(self._at(tensor).rounded(value) if kind == "channel" and tensor is not None else value)
        return found[0], found[1]

    def _constant(self, node: GraphNode, name: str) -> Elements | None:
        for key in ((name, "weights", node.name), (name, "", "")):
            if key in self._of_content:
                return self._at(self._of_content[key])
        return None

    def _at(self, tensor: str) -> Elements:
        view = self._lowered.workload.tensors[tensor].view
        return self.elements[tensor if view is None else view.base]
