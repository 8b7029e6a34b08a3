"""Results of a product in a format that the array does not read: the vector unit makes it, as it converts operands."""

from __future__ import annotations

from dataclasses import replace

from archsim.ir.functions import Function
from archsim.ir.workload import Layer, VectorStep
from archsim.spec.architecture import Array

CONVERT = "convert"  # the function of commands that make one format of another
DRAIN = Function("requantise")  # of a plain drain, which takes sums to the format of the results
_AS_DRAINED = VectorStep((DRAIN,), 1)
_CONVERTED = VectorStep((Function(CONVERT),), 1)


def finished(layer: Layer, made: str, array: Array) -> Layer:
    """The layer with one more pass over each of its results, where none of the array's rates is for ``made``."""
    if any(made in pair for pair in array.rates):
        return layer
    return replace(layer, steps=(*(layer.steps or (_AS_DRAINED,)), _CONVERTED))
