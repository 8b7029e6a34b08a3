"""Names of other tools as names of archsim: letters, digits and underscores, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LONGEST = 60
RESERVED = ("schema", "name", "description", "extends", "technology", "clock", "dtypes", "hierarchy", "not_modelled")


def plain_name(text: str, default: str) -> str:
    """The nearest name that archsim allows."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:_LONGEST]
    return name if re.match(r"[A-Za-z]", name) else f"{default}_{name}".strip("_")[:_LONGEST]


def unique(name: str, taken: Iterable[str]) -> str:
    """``name``, numbered where it is taken."""
    known = {*taken, *RESERVED, "source", "sources"}
    found, number = name, 2
    while found in known:
        found, number = f"{name}_{number}", number + 1
    return found
