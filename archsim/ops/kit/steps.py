"""Vector steps: what one lane pass is, and how an activation joins the pass before it.

One **lane pass** is one multiply-add, comparison or selection on each element, with the conversion and clamp of its
result. So a scale and shift is one pass, and so is a requantisation (scale, round half to even, clamp) with a
piecewise-linear activation. ``exp``, ``divide`` and ``sqrt`` are charged on top, at the rates the chip states.
"""

from __future__ import annotations

from archsim.ir.functions import Function, Parameter
from archsim.ir.workload import VectorStep

# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: t = 1/(1+p|x|) 1, polynomial of five terms 5,
# exp(-x*x) 1, product 1, sign 1; on top one exp and one division.
ERF_PASSES = 9
# estimated: exponent extraction and table-free polynomial of degree 5 in the mantissa: 1 + 1 + 5 + 1.
LOG_PASSES = 8
# estimated: nearest multiple of pi/2 1, what is left of it in two parts 2, polynomial of four terms in a square 1 + 4.
SINE_PASSES = 8


def step(
    name: str, passes: int, slow: tuple[str, ...] = (), operands: tuple[str | float, ...] = (), **parameters: Parameter
) -> VectorStep:
    """One function with its cost; ``operands`` and ``parameters`` as in ``archsim.ir.functions.Function``."""
    return VectorStep((Function(name, operands, tuple(parameters.items())),), passes, slow)


def requantise(scale: float = 1.0, *, beside: bool = False) -> VectorStep:
    """The pass that takes accumulators to the output's format, times ``scale``; ``beside``: its command has other
    operands too.
    """
    if scale != 1.0:
        return step("requantise", 1, operands=("in0", scale))
    return step("requantise", 1, operands=("in0",)) if beside else step("requantise", 1)


def join(first: VectorStep, following: tuple[VectorStep, ...]) -> tuple[VectorStep, ...]:
    """``first`` with the activation after it: in the same pass when it is one plain pass, else as its own steps."""
    if len(following) == 1 and following[0].passes == 1 and not following[0].slow:
        return (VectorStep((*first.functions, *following[0].functions), first.passes, first.slow),)
    return (first, *following)
