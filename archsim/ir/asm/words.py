"""Words of the text forms: names, numbers, quoting, and how affine expressions are written."""

from __future__ import annotations

import json
import re

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
