"""What a vector command computes: functions applied one after the other, with their operands and parameters.

``multiply(in0, in1)+add(in2)+clip(low=0, high=6)``: the first function takes the operands that it names, or all of the
command's when it names none; each later one takes the result so far, then the operands it names. Numbers are real:
``scale`` and ``zero`` of a store turn its integers into them and back, rounding half to even.
"""

from __future__ import annotations

from dataclasses import dataclass

Parameter = int | float | str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """One function. ``operands``: names of the command's operands, or numbers (immediates); ``parameters`` by name.

    A parameter that is a tuple names extents of the command (``softmax(over=[c])``).
    """

    name: str
    operands: tuple[str | float, ...] = ()
    parameters: tuple[tuple[str, Parameter], ...] = ()


Functions = tuple[Function, ...]


def names(functions: Functions) -> str:
    """``add+relu``: the functions by name, for people."""
    return "+".join(function.name for function in functions)
