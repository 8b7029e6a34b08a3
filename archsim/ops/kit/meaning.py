"""What vector functions mean in numbers: one NumPy rule for each name that an operator's steps may use.

Values are arrays of real numbers with one axis per extent of the command, 1 long where an operand does not move. With
one value, add, multiply, max, min and average reduce it along the extents that the result lacks; with several they work
element by element. Families add the functions of their own (``Family.functions``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from archsim.base.errors import ModelError
from archsim.ir.functions import Function, Parameter
from archsim.ir.graph import Array


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """One application. ``values``: the result so far and the operands; ``dims``: the extent of each axis.

    ``reduced``: axes that the result lacks; ``inside``: which points take part (None: all); ``parameters`` by name.
    """

    values: tuple[Array, ...]
    dims: tuple[str, ...]
    reduced: tuple[int, ...]
    inside: Array | None
    parameters: Mapping[str, Parameter]

    def number(self, key: str, default: float) -> float:
        """A real parameter or its default."""
        return float(str(self.parameters.get(key, default)))

    def axes(self, key: str) -> tuple[int, ...]:
        """Axes of the extents that a parameter names."""
        named = self.parameters.get(key, ())
        return tuple(self.dims.index(dim) for dim in named) if isinstance(named, tuple) else ()

    def inside_or(self, value: float) -> Array:
        """The first value at points that take part, ``value`` at others."""
        return self.values[0] if self.inside is None else np.where(self.inside, self.values[0], value)

    def along(self, key: str, function: Callable[[Array], Array]) -> Array:
        """``function`` of the first value with the extents that ``key`` names joined into one last axis."""
        axes = self.axes(key)
        ends = tuple(range(-len(axes), 0))
        moved = np.moveaxis(self.values[0], axes, ends)
        flat = function(moved.reshape(*moved.shape[: moved.ndim - len(axes)], -1))
        return np.asarray(np.moveaxis(flat.reshape(moved.shape), ends, axes))


Meaning = Callable[[FunctionCall], Array]


def reducing(ufunc: Any, identity: float) -> Meaning:
    """Of one value the reduction over the points inside, of several values the function of them."""

    def apply(call: FunctionCall) -> Array:
        if len(call.values) > 1:
            return np.asarray(reduce(ufunc, call.values))
        value = call.inside_or(identity)
        return np.asarray(ufunc.reduce(value, axis=call.reduced, keepdims=True)) if call.reduced else value

    return apply


def elementwise(ufunc: Callable[..., Array]) -> Meaning:
    """A NumPy function of the values in order."""
    return lambda call: np.asarray(ufunc(*call.values), np.float64)


def _average(call: FunctionCall) -> Array:
    total = COMMON["add"](call)
    if len(call.values) > 1:
        return np.asarray(total / len(call.values))
    shape = tuple(call.values[0].shape)
    inside = np.ones(shape) if call.inside is None else np.broadcast_to(call.inside, shape)
    return np.asarray(total / np.sum(inside, axis=call.reduced, keepdims=True))


def _requantise(call: FunctionCall) -> Array:
    """The destination rounds; a second value scales."""
    return call.values[0] * call.values[1] if len(call.values) > 1 else call.values[0]


COMMON: dict[str, Meaning] = {
    "convert": lambda call: call.values[0],
    "fill": lambda call: call.values[0],
    "requantise": _requantise,
    "add": reducing(np.add, 0.0),
    "multiply": reducing(np.multiply, 1.0),
    "max": reducing(np.maximum, -np.inf),
    "min": reducing(np.minimum, np.inf),
    "average": _average,
    "square_add": lambda call: COMMON["add"](
        FunctionCall((call.values[0] ** 2,), call.dims, call.reduced, call.inside, {})
    ),
    "subtract": elementwise(np.subtract),
    "divide": elementwise(np.divide),
}


def apply(function: Function, table: Mapping[str, Meaning], call: FunctionCall) -> Array:
    """The function's result; raises ModelError for a name without a meaning."""
    found = table.get(function.name)
    if found is None:
        raise ModelError(
            f"vector function '{function.name}' has no meaning in numbers; known: {', '.join(sorted(table))}"
        )
    with np.errstate(all="ignore"):
        return found(call)
