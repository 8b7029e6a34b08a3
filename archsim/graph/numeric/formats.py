"""Number formats for a quantised model: what an element of each tensor stands for, (q - zero) * scale.

Where the file states scales (QuantizeLinear, DequantizeLinear) those hold. Else a tensor's scale is the smallest power
of two with which its largest magnitude still fits its elements, and its zero is 0; for activations the largest
magnitude is what a calibration run in real numbers saw. Tensors that share storage or are copies of each other share
one format, since views and moves change no element; where the file gives them several, the coarsest. Accumulators have
the product of their factors' scales, and biases are stored so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from archsim.base.errors import ConfigError, ModelError
from archsim.graph.lowering.lower import LoweredModel
from archsim.ir.graph import Array, ValueFormat

LIMITS = {"int8": (-128, 127), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1)}
QUOTIENT_BITS = 40  # a quotient is rounded to so many fractional bits first, so that no noise of sums decides a tie


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of a tensor: ``dtype``, and what they stand for."""

    scale: float
    zero: int
    dtype: str

    def rounded(self, values: Array) -> Array:
        """The nearest numbers that elements stand for: rounded half to even, clamped; 0 for what is undefined."""
        low, high = LIMITS[self.dtype]
        found = np.asarray(np.divide(values, self.scale, dtype=np.float64))
        found *= 2.0**QUOTIENT_BITS
        np.rint(found, out=found)
        found /= 2.0**QUOTIENT_BITS
        np.rint(found, out=found)
        found[np.isnan(found)] = 0.0
        np.clip(found, low - self.zero, high - self.zero, out=found)
        found += 0.0  # elements have no negative zero
        found *= self.scale
        return found

    def units(self, numbers: Array) -> Array:
        """Numbers that elements stand for, in whole multiples of the scale."""
        found = np.asarray(np.divide(numbers, self.scale))
        np.rint(found, out=found)
        return found


def choose(
    lowered: LoweredModel,
    contents: Mapping[str, Array],
    values: Mapping[str, Array],
    dtypes: Mapping[str, str],
    given: Mapping[str, ValueFormat],
) -> dict[str, Elements]:
    """The elements of every tensor with storage of its own.

    ``contents``: of constants by tensor; ``values``: what calibration saw, by value; ``dtypes``: of the roles inputs,
    weights and accumulate; ``given``: fixed beforehand, by tensor. Raises ConfigError for other than signed integers.
    """
    for role in ("inputs", "weights", "accumulate"):
        if dtypes[role] not in LIMITS:
            raise ConfigError(f"dtype {dtypes[role]} of {role} is not computed exactly; allowed {', '.join(LIMITS)}")
    chooser = _Chooser(lowered, contents, values, dtypes, given)
    found = chooser.weights() | chooser.activations()
    return found | chooser.biases(found)


class _Chooser:
    """What the choice of every tensor's elements needs."""

    def __init__(
        self,
        lowered: LoweredModel,
        contents: Mapping[str, Array],
        values: Mapping[str, Array],
        dtypes: Mapping[str, str],
        given: Mapping[str, ValueFormat],
    ) -> None:
        assert lowered.graph is not None
        self._lowered, self._graph, self._contents = lowered, lowered.graph, contents
        self._values, self._dtypes, self._given = values, dtypes, given

    def activations(self) -> dict[str, Elements]:
        groups = self._groups()
        largest: dict[str, float] = {}
        stated: dict[str, list[ValueFormat]] = {}
        for tensor, value in self._lowered.values.items():
            group, root = groups.find(self._root(tensor)), self._root(tensor)
            largest[group] = max(largest.get(group, 0.0), _largest(self._values[value], value))
            found = self._given.get(root) or self._graph.formats.get(self._lowered.values[root])
            found = found or self._graph.formats.get(value)
            stated.setdefault(group, []).extend([found] if found is not None else [])
        elements: dict[str, Elements] = {}
        for group, formats in stated.items():
            dtype = self._dtype_of(group)
            elements[group] = (
                self._stated(max(formats, key=lambda item: item.scale), dtype)
                if formats
                else Elements(power_of_two(largest[group], dtype), 0, dtype)
            )
        roots = sorted({self._root(tensor) for tensor in (*self._lowered.values, *self._contents)})
        return {root: elements[groups.find(root)] for root in roots if groups.find(root) in elements}

    def _dtype_of(self, tensor: str) -> str:
        """That of a state, or of activations."""
        inputs, tensors = self._dtypes["inputs"], self._lowered.workload.tensors
        return self._dtypes.get("kv", inputs) if tensor in tensors and tensors[tensor].kind == "state" else inputs

    def weights(self) -> dict[str, Elements]:
        dtype = self._dtypes["weights"]
        found = {}
        for name, array in self._contents.items():
            held = self._lowered.contents[name]
            stated = self._given.get(name) or (self._graph.formats.get(held.value) if not held.part else None)
            found[name] = (
                self._stated(stated, dtype)
                if stated is not None
                else Elements(power_of_two(_largest(array, name), dtype), 0, dtype)
            )
        return found

    def biases(self, known: Mapping[str, Elements]) -> dict[str, Elements]:
        """Of stored ones the product of the factors' scales; the smallest of them where several layers share one."""
        found: dict[str, float] = {}
        for layer in self._lowered.workload.layers:
            named = {operand.name: self._root(operand.tensor) for operand in layer.inputs}
            if any(operand.name == "bias" and operand.role == "weights" for operand in layer.inputs):
                product = known[named["a"]].scale * known[named["b"]].scale
                found[named["bias"]] = min(found.get(named["bias"], product), product)
        dtype = self._dtypes["accumulate"]
        fixed = {name: self._given[name].scale for name in found if name in self._given}
        return {name: Elements(scale, 0, dtype) for name, scale in (found | fixed).items()}

    def _groups(self) -> _Groups:
        groups = _Groups()
        for layer in self._lowered.workload.layers:
            if layer.kind == "copy":
                groups.join(self._root(layer.inputs[0].tensor), self._root(layer.output.tensor))
        return groups

    def _root(self, tensor: str) -> str:
        view = self._lowered.workload.tensors[tensor].view
        return tensor if view is None else view.base

    def _stated(self, stated: ValueFormat, dtype: str) -> Elements:
        """A stated format in signed elements: unsigned ones are the same with everything less by half the range."""
        low, high = LIMITS[dtype]
        zero = stated.zero + low if stated.dtype.startswith("uint") else stated.zero
        if not low <= zero <= high:
            raise ModelError(f"zero point {stated.zero} of {stated.dtype} does not fit elements of dtype {dtype}")
        return Elements(stated.scale, zero, dtype)


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
    """The largest finite magnitude: infinite ones (a mask's) become the last element. Raises ModelError for NaN."""
    if np.isnan(array).any():
        raise ModelError(f"'{name}' is undefined (NaN) for these inputs; calibrate with others (--inputs, --seed)")
    return float(np.max(np.abs(array), initial=0.0, where=np.isfinite(array)))


def power_of_two(largest: float, dtype: str) -> float:
    """The smallest power of two s with largest <= s * (greatest element)."""
    greatest = LIMITS[dtype][1]
    if largest == 0:
        return 1.0 / (greatest + 1)
    mantissa, exponent = math.frexp(largest / greatest)
    return float(math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent))
