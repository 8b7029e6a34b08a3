"""What the vector unit does to take one number format to another: operands of a product, its sums and its results.

An operand in a format that the array has no rate for is made of one that it has (``problem.operands``); results in such
a format take one more pass on their way out.
"""

from __future__ import annotations

from dataclasses import replace

from archsim.ir.functions import Function
from archsim.ir.workload import Layer, VectorStep
from archsim.spec.architecture import Array

CONVERT = "convert"  # the function that makes an element of one format of one in another
DRAIN = Function("requantise")  # of a plain drain, which takes sums to the format of the results
_AS_DRAINED = VectorStep((DRAIN,), 1)
_CONVERTED = VectorStep((Function(CONVERT),), 1)


def with_conversion(layer: Layer, made: str, array: Array) -> Layer:
    """The layer with one more pass over each of its results, where ``made``, their format, is in no pair of formats
    that the array has a rate for."""
    if any(made in pair for pair in array.rates):
        return layer
    return replace(layer, steps=(*(layer.steps or (_AS_DRAINED,)), _CONVERTED))
