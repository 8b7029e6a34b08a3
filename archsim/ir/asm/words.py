"""Words of the text forms: names, numbers, quoting, and how affine expressions are written."""

from __future__ import annotations

import json
import re

from archsim.ir.program import Affine

NAME = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_.]|\[\d+\])*")


def quote(name: str) -> str:
    """``name`` as it stands in a text: plain where it reads as one word, else in double quotes (JSON escapes)."""
    return name if NAME.fullmatch(name) else json.dumps(name)


def affine_text(affine: Affine) -> str:
    """``8*p - 1`` as ``8*p-1``; '0' for the constant zero."""
    text = ""
    for var, coefficient in affine.terms:
        factor = "" if abs(coefficient) == 1 else f"{abs(coefficient)}*"
        text += ("-" if coefficient < 0 else "+") + factor + quote(var)
    if affine.const or not text:
        text += f"{affine.const:+d}"
    return text.removeprefix("+")
