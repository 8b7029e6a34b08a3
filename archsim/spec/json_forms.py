"""Forms of values as JSON Schemas: what a file writes, before units are read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from archsim.base import units

_NUMBER = r"[0-9]+(_[0-9]+)*(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?|\.[0-9]+|[0-9]+/[0-9]+"
Json = dict[str, Any]


def quantity(*kinds: units.QuantityKind) -> Json:
    """Text of a number and a unit of one of the kinds."""
    names = dict.fromkeys(name for kind in kinds for name in kind.units)
    spelled = "|".join(re.escape(name) for name in names)
    return {"type": "string", "pattern": rf"^\s*({_NUMBER})\s*({spelled})\s*$"}


def exact(low: float, high: float) -> Json:
    """A number in a range, or a fraction as text."""
    return any_of({"type": "number", "minimum": low, "maximum": high}, {"type": "string", "pattern": f"^({_NUMBER})$"})


def whole(low: int, high: int) -> Json:
    """A whole number in a range."""
    return {"type": "integer", "minimum": low, "maximum": high}


def words(names: Iterable[str]) -> Json:
    """One of some words."""
    return {"enum": [*names]}


def text(pattern: str = "") -> Json:
    """Text, as a whole like ``pattern``."""
    return {"type": "string", **({"pattern": f"^({pattern})$"} if pattern else {"minLength": 1})}


def listed(items: Json, least: int = 0, most: int | None = None) -> Json:
    """A list of equal forms."""
    bounds: Json = ({"minItems": least} if least else {}) | ({"maxItems": most} if most is not None else {})
    return {"type": "array", "items": items, **bounds}


def table(values: Json) -> Json:
    """A mapping of words to equal forms."""
    return {"type": "object", "additionalProperties": values}


def any_of(*forms: Json) -> Json:
    """One of several forms."""
    return {"anyOf": [*forms]}
