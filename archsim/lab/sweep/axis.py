"""Values of an axis: listed, doubled from one end to the other, or in equal steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from archsim import units
from archsim.errors import ConfigError
from archsim.ir.forms.fields import Fields, fail
from archsim.spec.nodes import Node

_QUANTITY = re.compile(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z][A-Za-z/0-9]*)?\s*")
_MOST = 10_000  # values of an axis


@dataclass(frozen=True, slots=True)
class Axis:
    """``key``: path into the chip, as of ``--set``; ``values`` in their order, as it takes them."""

    key: str
    values: tuple[object, ...]


def axis(key: str, node: Node, path: str) -> Axis:
    """The axis that a node states: a list of values, ``{log2: [low, high]}`` (doubled while not beyond ``high``) or
    ``{range: [low, high], steps: n}`` (both ends are values); the ends are numbers or quantities of one unit.

    Raises ConfigError with file:line:column.
    """
    return Axis(key, _listed(node, path) if isinstance(node.value, list) else _generated(node, path))


def _listed(node: Node, path: str) -> tuple[object, ...]:
    if not node.items:
        fail(node, path, node.plain(), "one value or more")
    return tuple(item.plain() for item in node.items)


def _generated(node: Node, path: str) -> tuple[object, ...]:
    if not isinstance(node.value, dict):
        fail(node, path, node.plain(), "a list of values, {log2: [low, high]} or {range: [low, high], steps: n}")
    fields = Fields(node, path)
    found = _doubled(fields) if fields.has("log2") else _stepped(fields)
    fields.end()
    return found


def _doubled(fields: Fields) -> tuple[object, ...]:
    low, high, unit = _ends(fields, "log2")
    if not 0 < low <= high:
        fail(fields.child("log2"), fields.at("log2"), fields.child("log2").plain(), "[low, high] with 0 < low <= high")
    found = [low]
    while 2 * found[-1] <= high and len(found) < _MOST:
        found.append(2 * found[-1])
    return tuple([_value(number, unit) for number in found])


def _stepped(fields: Fields) -> tuple[object, ...]:
    low, high, unit = _ends(fields, "range")
    steps = fields.integer("steps")
    if not 2 <= steps <= _MOST:
        fail(fields.child("steps"), fields.at("steps"), steps, f"2 to {_MOST}")
    return tuple([_value(low + (high - low) * step / (steps - 1), unit) for step in range(steps)])


def _ends(fields: Fields, key: str) -> tuple[Fraction, Fraction, str]:
    node, at = fields.child(key), fields.at(key)
    if len(node.items) != 2:
        fail(node, at, node.plain(), "[low, high]")
    (low, first), (high, second) = (_number(item, at) for item in node.items)
    if first != second:
        fail(node, at, node.plain(), "two numbers, or two quantities of one unit")
    return low, high, first


def _number(node: Node, path: str) -> tuple[Fraction, str]:
    """Number and unit, '' for a bare number."""
    match = _QUANTITY.fullmatch(str(node.value)) if isinstance(node.value, int | str | Decimal) else None
    if match is None or isinstance(node.value, bool):
        fail(node, path, node.plain(), "a number or a quantity such as 1 MiB")
    try:
        return units.number(match[1]), match[2] or ""
    except ConfigError as error:
        raise ConfigError(f"{node.mark}: {path}: {error}") from None


def _value(number: Fraction, unit: str) -> object:
    if unit:
        return f"{units.rational(number)} {unit}"
    return int(number) if number.denominator == 1 else units.rational(number)
