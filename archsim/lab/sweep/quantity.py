"""Quantities of the files of a sweep: durations up to hours, sizes."""

from __future__ import annotations

from fractions import Fraction

from archsim import units
from archsim.errors import ConfigError
from archsim.ir.forms.fields import Fields, fail

DURATION = units.Kind(
    "time", "ps", {**units.TIME.units, "min": 60 * units.TIME.units["s"], "h": 3600 * units.TIME.units["s"]}
)
PS_PER_S = 10**12


def quantity(fields: Fields, key: str, kind: units.Kind) -> Fraction:
    """The quantity of a key that must be there, more than nothing, in the base unit of ``kind``. Raises ConfigError."""
    node, at = fields.child(key), fields.at(key)
    try:
        found = units.parse(node.plain(), kind)
    except ConfigError as error:
        raise ConfigError(f"{node.mark}: {at}: {error}") from None
    if not found:
        fail(node, at, node.plain(), "more than nothing")
    return found
