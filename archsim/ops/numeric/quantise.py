"""Number formats for a quantised model: a symmetric scale, a power of two, for each tensor.

A tensor's scale is the smallest power of two with which its largest magnitude still fits its elements; for activations
the largest magnitude is what a calibration run in real numbers saw. Tensors that share storage or are copies of each
other share one scale, since views and moves change no element. Accumulators have the product of their factors' scales,
and biases are stored so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from archsim.errors import ConfigError, ModelError
from archsim.ops.graph.family import family
from archsim.ops.graph.folding import Chain
from archsim.ops.graph.nodes import Array, Node
from archsim.ops.lowering.lower import Lowered
from archsim.ops.numeric.constants import Constants
from archsim.ops.numeric.contents import contents

LIMITS = {"int8": (-128, 127), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1)}


class Quantised:
    """The formats of a lowered model.

    ``values``: what calibration saw, by value; ``dtypes``: of the roles inputs, weights and accumulate; ``given``:
    scales that are fixed beforehand. Attributes: ``scales`` by tensor that has storage of its own; ``contents``: real
    numbers of constants by tensor.
    """

    def __init__(
        self,
        lowered: Lowered,
        constants: Constants,
        values: Mapping[str, Array],
        dtypes: Mapping[str, str],
        given: Mapping[str, float],
    ) -> None:
        """Choose every scale; raises ConfigError for dtypes that are not signed integers."""
        for role in ("inputs", "weights", "accumulate"):
            if dtypes[role] not in LIMITS:
                allowed = ", ".join(LIMITS)
                raise ConfigError(f"dtype {dtypes[role]} of {role} is not computed exactly; allowed {allowed}")
        assert lowered.graph is not None
        self._lowered, self._graph, self._constants, self._dtypes = lowered, lowered.graph, constants, dtypes
        self.contents = {name: contents(held, self._graph, constants) for name, held in lowered.contents.items()}
        self._of_value = {value: tensor for tensor, value in reversed(list(lowered.values.items()))}
        self._tensor_of = {
            (held.value, held.part, held.node): name for name, held in reversed(list(lowered.contents.items()))
        }
        self.scales = self._activations(values) | self._weights() | dict(given)
        self.scales |= self._biases() | dict(given)

    def rounded(self, value: str, array: Array) -> Array:
        """The numbers that the elements of a value's tensor come to stand for; unchanged where it has no tensor."""
        tensor = self._of_value.get(value)
        return array if tensor is None else self._round(array, self.scales[self._root(tensor)], "inputs")

    def is_product(self, node: Node) -> bool:
        """Whether the node is a sum of products, with accumulators."""
        return node.name in self._products

    def bias(self, node: Node, rank: int) -> Array:
        """What the accumulators of a product start from, for results of ``rank`` axes."""
        layer = self._products[node.name]
        bias = next((operand.tensor for operand in layer.inputs if operand.name == "bias"), None)
        if bias is None:
            return np.zeros([1] * rank)
        accumulator = math.prod(self._scale(operand.tensor) for operand in layer.inputs if operand.name in ("a", "b"))
        stored = self._round(self.contents[bias], self._scale(bias), "accumulate")
        started = self._round(stored, accumulator, "accumulate")
        held = self._lowered.contents[bias]
        channel = self._channel(node)
        if started.ndim == 1 and channel is not None and (held.channel is not None or started.size > 1):
            shape = [1] * rank
            shape[channel] = -1
            return started.reshape(shape)
        return started

    def operand(self, node: Node, name: str) -> Array:
        """A constant that a node reads: quantised where it is stored as an operand, exact where it steers the node."""
        for key in ((name, "weights", node.name), (name, "", "")):
            tensor = self._tensor_of.get(key)
            if tensor is not None:
                return self._round(self.contents[tensor], self._scale(tensor), "weights")
        return self.exact(name)

    def exact(self, name: str) -> Array:
        """A constant as the model has it."""
        return np.asarray(self._constants[name], np.float64) if name else np.zeros(0)

    def affine(self, node: Node, chain: Chain) -> tuple[Array, Array]:
        """Scale and shift of a chain: quantised where they are operands, exact where they are numbers."""
        found = []
        values = chain.values(lambda name: self._constants[name])
        for part, kind, value in zip(("scale", "shift"), (chain.scale, chain.shift), values, strict=True):
            tensor = self._tensor_of.get(("", part, node.name))
            stored = kind == "channel" and tensor is not None
            found.append(self._round(value, self._scale(tensor or ""), "weights") if stored else value)
        return found[0], found[1]

    # choosing scales

    def _activations(self, values: Mapping[str, Array]) -> dict[str, float]:
        groups = _Groups()
        largest: dict[str, float] = {}
        for tensor, value in self._lowered.values.items():
            groups.join(self._root(tensor), self._root(self._of_value[value]))
        for layer in self._lowered.workload.layers:
            if layer.kind == "copy":
                groups.join(self._root(layer.inputs[0].tensor), self._root(layer.output.tensor))
        for tensor, value in self._lowered.values.items():
            group = groups.find(self._root(tensor))
            largest[group] = max(largest.get(group, 0.0), _largest(values[value], value))
        roots = sorted({self._root(tensor) for tensor in self._lowered.values})
        return {root: _power_of_two(largest[groups.find(root)], self._dtypes["inputs"]) for root in roots}

    def _weights(self) -> dict[str, float]:
        return {
            name: _power_of_two(_largest(array, name), self._dtypes["weights"]) for name, array in self.contents.items()
        }

    def _biases(self) -> dict[str, float]:
        """The product of the factors' scales; the smallest of them where several layers share a bias."""
        self._products = {}
        found: dict[str, float] = {}
        for layer in self._lowered.workload.layers:
            if layer.kind != "matmul":
                continue
            self._products[layer.name] = layer
            named = {operand.name: operand.tensor for operand in layer.inputs}
            if "bias" in named:
                product = self._scale(named["a"]) * self._scale(named["b"])
                found[named["bias"]] = min(found.get(named["bias"], product), product)
        return found

    def _scale(self, tensor: str) -> float:
        return self.scales[self._root(tensor)]

    def _root(self, tensor: str) -> str:
        view = self._lowered.workload.tensors[tensor].view
        return tensor if view is None else view.base

    def _channel(self, node: Node) -> int | None:
        channel = family(node).channel
        return channel(node, self._graph) if channel is not None else None

    def _round(self, array: Array, scale: float, role: str) -> Array:
        low, high = LIMITS[self._dtypes[role]]
        return np.asarray(np.clip(np.rint(np.asarray(array, np.float64) / scale), low, high) * scale)


class _Groups:
    """Names joined into groups; each group goes by one of its names."""

    def __init__(self) -> None:
        self._leader: dict[str, str] = {}

    def find(self, name: str) -> str:
        while self._leader.get(name, name) != name:
            name = self._leader[name]
        return name

    def join(self, first: str, second: str) -> None:
        self._leader[self.find(first)] = self.find(second)


def _largest(array: Array, name: str) -> float:
    found = float(np.max(np.abs(array), initial=0.0))
    if not math.isfinite(found):
        raise ModelError(f"'{name}' is not finite: its values overflow or are undefined for these inputs")
    return found


def _power_of_two(largest: float, dtype: str) -> float:
    """The smallest power of two s with largest <= s * (greatest element)."""
    greatest = LIMITS[dtype][1]
    if largest == 0:
        return 1.0 / (greatest + 1)
    mantissa, exponent = math.frexp(largest / greatest)
    return float(math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent))
