"""Words of the text forms: names, numbers, quoting, and how affine expressions are written."""

from __future__ import annotations

import json
import math
import re

from archsim.ir.functions import Function, Functions, Parameter
from archsim.ir.indices import Indices
from archsim.ir.program import Affine

NAME = re.compile(r"[A-Za-z_/](?:[A-Za-z0-9_./@>]|\[\d+\])*")


def quote(name: str) -> str:
    """``name`` as it stands in a text: plain where it reads as one word, else in double quotes (JSON escapes)."""
    return name if NAME.fullmatch(name) else json.dumps(name)


def affine_text(affine: Affine) -> str:
    """``8*p-1`` or ``58-8*p``: terms in their order, a positive constant ahead of a negative term; '0' for zero."""
    text = "".join(_term(coefficient, var) for var, coefficient in affine.terms)
    if affine.const > 0 and text.startswith("-"):
        return f"{affine.const}{text}"
    if affine.const or not text:
        text += f"{affine.const:+d}"
    return text.removeprefix("+")


def _term(coefficient: int, var: str) -> str:
    sign = "-" if coefficient < 0 else "+"
    factor = "" if abs(coefficient) == 1 else f"{abs(coefficient)}*"
    return f"{sign}{factor}{quote(var)}"


def number_text(value: float) -> str:
    """``3``, ``0.25``, ``2^-7`` (powers of two below 1/8 or above 2^10), ``1e-05``: reads back to the same number.

    Infinity is ``1e999``, a number beyond the largest.
    """
    if math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    if value == int(value) and abs(value) <= 2**10:
        return str(int(value))
    mantissa, exponent = math.frexp(value)
    if mantissa == 0.5 and not -3 <= exponent - 1 <= 10:
        return f"2^{exponent - 1}"
    return repr(float(value))


def functions_text(functions: Functions) -> str:
    """``multiply(in0, in1)+clip(low=0, high=6)``."""
    return "+".join(map(_function_text, functions))


def _function_text(function: Function) -> str:
    items = [quote(item) if isinstance(item, str) else number_text(item) for item in function.operands]
    items += [f"{quote(key)}={_parameter_text(value)}" for key, value in function.parameters]
    return quote(function.name) + (f"({', '.join(items)})" if items else "")


def _parameter_text(value: Parameter) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(quote, value))}]"
    return quote(value) if isinstance(value, str) else number_text(value)


def indices_text(indices: Indices) -> str:
    """``uniform(seed=3)``, ``zipf(exponent=1.2, seed=3)`` or ``trace(5, 0, 5)``."""
    if indices.kind == "trace":
        return f"trace({', '.join(map(str, indices.trace))})"
    exponent = f"exponent={number_text(indices.exponent)}, " if indices.kind == "zipf" else ""
    return f"{indices.kind}({exponent}seed={indices.seed})"
