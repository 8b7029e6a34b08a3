"""Values of an axis: listed, doubled from one end to the other, or in equal steps."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from archsim.base import units
from archsim.base.errors import ConfigError
from archsim.ir.forms.fields import MappingFields, fail
from archsim.spec.nodes import FileNode
from archsim.spec.problems import Problems

_QUANTITY = re.compile(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z][A-Za-z/0-9]*)?\s*")
_MOST = 10_000  # values of an axis
_NAMED = 6  # rounded steps
AxisNumbers = tuple[list[Fraction], str]  # steps and their unit


@dataclass(frozen=True, slots=True)
class SweepAxis:
    """``key``: path into the chip, as of ``--set``; ``values`` in their order, as it takes them; ``rounded``: steps
    that are no whole number of hertz, with what stands for them."""

    key: str
    values: tuple[object, ...]
    rounded: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def note(self) -> str:
        """What is said of steps that were rounded; '' where none was."""
        named = ", ".join(f"{stated} is {taken}" for stated, taken in self.rounded[:_NAMED])
        more = f" and {len(self.rounded) - _NAMED} more" if len(self.rounded) > _NAMED else ""
        return f"steps are rounded to whole hertz: {named}{more}" if self.rounded else ""


def axis(key: str, node: FileNode, path: str) -> SweepAxis:
    """The axis that a node states: a list of values, ``{log2: [low, high]}`` (doubled while not beyond ``high``) or
    ``{range: [low, high], steps: n}`` (both ends are values); the ends are numbers or quantities of one unit.

    Raises ConfigError with file:line:column.
    """
    if isinstance(node.value, list):
        return SweepAxis(key, _listed(node, path))
    numbers, unit = _generated(node, path)
    taken = [_whole(number, unit) for number in numbers]
    rounded = [(_shown(n, unit), _shown(t, unit)) for n, t in zip(numbers, taken, strict=True) if n != t]
    return SweepAxis(key, tuple([_value(number, unit) for number in taken]), tuple(rounded))


def _listed(node: FileNode, path: str) -> tuple[object, ...]:
    if not node.items:
        fail(node, path, node.plain(), "one value or more")
    return tuple(item.plain() for item in node.items)


def _generated(node: FileNode, path: str) -> AxisNumbers:
    if not isinstance(node.value, dict):
        fail(node, path, node.plain(), "a list of values, {log2: [low, high]} or {range: [low, high], steps: n}")
    fields, problems = MappingFields(node, path), Problems()
    found: list[Fraction] = []
    unit = ""
    with problems.caught(node.mark):
        found, unit = _doubled(fields) if fields.has("log2") else _stepped(fields)
    fields.ask("range", "steps") if "range" in fields.node.mapping else fields.ask("log2")
    with problems.caught(node.mark):
        fields.end()
    problems.raise_all()
    return found, unit


def _doubled(fields: MappingFields) -> AxisNumbers:
    low, high, unit = _ends(fields, "log2")
    if not 0 < low <= high:
        fail(fields.child("log2"), fields.at("log2"), fields.child("log2").plain(), "[low, high] with 0 < low <= high")
    found = [low]
    while 2 * found[-1] <= high and len(found) < _MOST:
        found.append(2 * found[-1])
    return found, unit


def _stepped(fields: MappingFields) -> AxisNumbers:
    problems = Problems()
    low, high, unit, steps = Fraction(0), Fraction(0), "", 2
    with problems.caught(fields.node.mark):
        low, high, unit = _ends(fields, "range")
    with problems.caught(fields.node.mark):
        steps = fields.integer("steps")
        if not 2 <= steps <= _MOST:
            fail(fields.child("steps"), fields.at("steps"), steps, f"2 to {_MOST}")
    problems.raise_all()
    return [low + (high - low) * step / (steps - 1) for step in range(steps)], unit


def _ends(fields: MappingFields, key: str) -> tuple[Fraction, Fraction, str]:
    node, at = fields.child(key), fields.at(key)
    if len(node.items) != 2:
        fail(node, at, node.plain(), "[low, high]")
    (low, first), (high, second) = (_number(item, at) for item in node.items)
    if first != second:
        fail(node, at, node.plain(), "two numbers, or two quantities of one unit")
    return low, high, first


def _number(node: FileNode, path: str) -> tuple[Fraction, str]:
    """Number and unit, '' for a bare number."""
    match = _QUANTITY.fullmatch(str(node.value)) if isinstance(node.value, int | str | Decimal) else None
    if match is None or isinstance(node.value, bool):
        fail(node, path, node.plain(), "a number or a quantity such as 1 MiB")
    try:
        return units.number(match[1]), match[2] or ""
    except ConfigError as error:
        raise ConfigError(f"{node.mark}: {path}: {error}") from None


def _whole(number: Fraction, unit: str) -> Fraction:
    """A step of a frequency as a whole number of hertz, which clocks are; the nearer one, of two the even one."""
    hertz = units.FREQUENCY.units.get(unit)
    return number if hertz is None else round(number * hertz) / Fraction(hertz)


def _shown(number: Fraction, unit: str) -> str:
    """For people: a decimal number as long as it needs to be, or with twelve digits and an ellipsis."""
    text = units.rational(number)
    return f"{text if '/' not in text else f'{float(number):.12g}...'} {unit}"


def _value(number: Fraction, unit: str) -> object:
    if unit:
        return f"{units.rational(number)} {unit}"
    return int(number) if number.denominator == 1 else units.rational(number)
