"""What is said of a key where it is defined: the unit and the meaning of its value, as ``Annotated[type, Key(...)]``.

The JSON Schema of results is made of these (``archsim.lab.run.result_schema``); there is no other list of keys.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST, SECOND = 1, 2  # the schemas of results
TEXT, TABLE, COUNT, RATIO = "text", "table", "1 (a number of things)", "1 (a ratio)"  # of values without a unit


@dataclass(frozen=True, slots=True)
class ResultKey:
    """``unit``: what a number is in (or TEXT, COUNT, RATIO, TABLE), ``says``: a sentence, ``since``: the first schema
    whose results have the key."""

    unit: str
    says: str
    since: int = FIRST


@dataclass(frozen=True, slots=True)
class ItemTypes:
    """Of a list of fixed length: the type of each of its items."""

    types: tuple[type, ...]
