"""Forward error analysis of a graph, one result at a time: what a value is, and how far rounding may move it.

Each result is judged from the values around it that are known (inputs, constants, results of layers), so that nothing
adds up from layer to layer: what a known value is off by is computed with it, not bounded. Only nodes between known
values (folded scales, activations on the way out) pass bounds on: through a product as the same product of magnitudes,
through anything else by what it makes of the value moved to either end of its bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from archsim.graph.numeric.constants import Constants
from archsim.graph.numeric.reference import apart_of
from archsim.ir.graph import Array, Graph, GraphNode
from archsim.ops.kit.catalogue import family
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import Sums, moved, unknown

UNITS = {"float32": 2.0**-24, "float64": 2.0**-53}  # half the distance from 1 to the next number
LEAST = {"float32": 2.0**-126, "float64": 2.0**-1022}  # below it digits are lost, and some runtimes give 0


@dataclass(frozen=True, slots=True)
class Rough:
    """A value in double precision and, element by element, how far a computed one may be off."""

    value: Array
    error: Array

    @property
    def is_exact(self) -> bool:
        """Whether it is off by nothing."""
        return not np.any(self.error)


def rough(graph: Graph, constants: Constants, known: Mapping[str, Array], name: str, numbers: str) -> Rough:
    """The value ``name`` of an inferred, fused graph, computed in ``numbers`` (float32, float64).

    ``known``: values by name, taken as they are; ``name`` itself is computed, unless nothing computes it. Where a bound
    is not finite it is 0: such elements are infinite or undefined, and have to be equal.
    """
    found = _Walk(graph, constants, {key: value for key, value in known.items() if key != name}, numbers).of(name)
    error = np.broadcast_to(found.error, found.value.shape)
    finite = np.where(np.isfinite(error) & np.isfinite(found.value), error, 0.0)
    return Rough(found.value, finite + LEAST[numbers])


class _Walk:
    """From one result back to what is known."""

    def __init__(self, graph: Graph, constants: Constants, known: Mapping[str, Array], numbers: str) -> None:
        self._graph, self._constants, self._unit = graph, constants, UNITS[numbers]
        self._kind = np.dtype(numbers)
        self._found = {name: _exactly(array) for name, array in known.items()}
        self._producer = {name: node for node in (*graph.folded, *graph.nodes) for name in node.outputs if name}

    def of(self, name: str) -> Rough:
        if name not in self._found:
            if name not in self._graph.values or not self._graph.values[name].constant:
                self._make(self._producer[name])
            else:
                self._found[name] = self._constant(name)
        return self._found[name]

    def _make(self, node: GraphNode) -> None:
        for inner in apart_of(self._graph, node):
            arguments = tuple(self.of(name) if name else None for name in inner.inputs)
            for name, result in zip(inner.outputs, self._apply(inner, arguments), strict=False):
                self._found.setdefault(name, result)

    def _constant(self, name: str) -> Rough:
        """A stored constant in the memory's precision; one made of others with what was rounded on the way."""
        value = self._constants[name]
        producer = self._producer.get(name)
        if value.dtype.kind not in "f":
            return _exactly(value)
        if producer is not None and producer.inputs:
            arguments = tuple(self.of(other) if other else None for other in producer.inputs)
            made = self._apply(producer, arguments)[producer.outputs.index(name)]
            return Rough(value.astype(np.float64), made.error)
        with np.errstate(over="ignore"):
            stored = value.astype(self._kind).astype(np.float64)
        wide = value.astype(np.float64)
        with np.errstate(invalid="ignore"):
            return Rough(wide, np.where(np.isfinite(wide), np.abs(stored - wide), 0.0))

    def _apply(self, node: GraphNode, arguments: tuple[Rough | None, ...]) -> tuple[Rough, ...]:
        """What a node makes of its operands: its own roundings, the store's, and what it makes of their errors.

        What is only moved, chosen or compared is in the memory's precision already.
        """
        values = tuple(None if item is None else item.value for item in arguments)
        found = family(node)
        with np.errstate(all="ignore"):
            results = tuple(np.asarray(result) for result in found.reference(node, *values))
            sums = _sums(found, node, values, results)
            own = sums.magnitude * (sums.roundings * self._unit)
            store = self._unit if sums.roundings else 0.0
            passed = _passed(found, node, arguments, values, results, sums)
            return tuple(
                Rough(_wide(result), own + more + (np.abs(_wide(result)) * store if store else 0.0))
                for result, more in zip(results, passed, strict=True)
            )


def _sums(found: OperatorFamily, node: GraphNode, values: tuple[Array | None, ...], results: tuple[Array, ...]) -> Sums:
    if found.rounding is not None:
        return found.rounding(node, *values)
    if found.result != "layer" or found.slots is not None or found.known is not None:
        return moved(node)
    return unknown(results, values)


def _passed(
    found: OperatorFamily,
    node: GraphNode,
    arguments: tuple[Rough | None, ...],
    values: tuple[Array | None, ...],
    results: tuple[Array, ...],
    sums: Sums,
) -> list[Array]:
    """How far the results move when operands are off by their errors."""
    wrong = [at for at, item in enumerate(arguments) if item is not None and not item.is_exact]
    if not wrong:
        return [np.zeros(())] * len(results)
    if sums.is_linear and found.rounding is not None:
        sizes = tuple(None if item is None else np.abs(item.value) + item.error for item in arguments)
        return [np.maximum(found.rounding(node, *sizes).magnitude - sums.magnitude, 0.0)]
    total = [np.zeros(result.shape) for result in results]
    for at in wrong:
        item = arguments[at]
        assert item is not None
        furthest = [np.zeros(result.shape) for result in results]
        for sign in (-1, 1):
            moved_to = (*values[:at], item.value + sign * item.error, *values[at + 1 :])
            for index, result in enumerate(found.reference(node, *moved_to)):
                furthest[index] = np.fmax(furthest[index], np.abs(_wide(np.asarray(result)) - _wide(results[index])))
        total = [before + more for before, more in zip(total, furthest, strict=True)]
    return total


def _exactly(array: Array) -> Rough:
    """A value that is known; whole numbers stay whole, since they may steer a node."""
    return Rough(_wide(np.asarray(array)) if np.asarray(array).dtype.kind == "f" else np.asarray(array), np.zeros(()))


def _wide(array: Array) -> Array:
    return np.asarray(array, np.float64)
