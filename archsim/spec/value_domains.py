"""Domains: what a value of a file may be, as one object that checks, converts, and says what is allowed.

A ``Domain`` stands in the annotation of a schema field. Validation, error messages, the documentation page and the
JSON Schemas for editors all come from it.

There are domains of single values (quantities, numbers, words, flags, texts, names) and of lists (texts, parts, subsets
of names, sequences of numbers, places, rows of a table).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from archsim.base import units
from archsim.base.errors import ConfigError, NotBuiltError, nearest
from archsim.spec import json_forms as j

if TYPE_CHECKING:  # the resolved classes, which no command can do without, state domains: the library comes later
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

JsonMapping = Mapping[str, Any]


def as_it_is(value: Any) -> Any:
    """The value itself: what is written as it was read."""
    return value


@dataclass(frozen=True)
class Domain:
    """``allowed``: the allowed values in words; ``convert`` raises ConfigError for everything else; ``json``: the same
    as a JSON Schema of the value as a file writes it, as far as JSON Schema can say it.

    ``written``: what canonical text states for a converted value; ``convert`` reads it back to an equal one.
    ``number``: whether values are numbers, of which each has a source; ``words`` that may stand in the place of one.
    ``endless``: the word for a value without a limit, which is None.
    """

    allowed: str
    convert: Callable[[object], object]
    json: JsonMapping = field(default_factory=dict, compare=False)
    written: Callable[[Any], object] = field(default=as_it_is, compare=False)
    number: bool = True
    words: tuple[str, ...] = ()
    endless: str = ""

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make pydantic call ``convert`` and nothing else for a field with this domain."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self._checked)

    def _checked(self, value: object) -> object:
        from pydantic_core import PydanticCustomError

        try:
            return self.convert(value)
        except NotBuiltError as error:
            raise PydanticCustomError("not_built", "{message}", {"message": str(error)}) from None
        except ConfigError as error:
            raise PydanticCustomError("domain", "{message}", {"message": str(error)}) from None


@dataclass(frozen=True)
class DomainWords:
    """In the annotation of a schema field that is no ``Domain``: what is allowed there, in words for messages."""

    allowed: str


def in_range(value: object, inside: bool, allowed: str) -> None:
    """Raise ConfigError with what was found and what is allowed, unless the value is inside."""
    if not inside:
        raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")


def not_one_of(value: object, names: Iterable[str]) -> str:
    """The message for a word that is none of ``names``."""
    known = tuple(names)
    return f"found {units.shown(value)}; allowed {', '.join(known)}{hint(value, known)}"


def hint(value: object, names: Iterable[str]) -> str:
    """A ' (did you mean X?)' for a text, '' for anything else."""
    return nearest(value, names) if isinstance(value, str) else ""


def is_whole(value: object) -> bool:
    """Whether a value is a whole number and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def texts(least: int = 0) -> Domain:
    """A list of ``least`` texts or more."""
    allowed = "a list of texts" if not least else f"a list of {least} text or more"

    def convert(value: object) -> tuple[str, ...]:
        items = value if isinstance(value, list) else [None]
        if len(items) < least or not all(isinstance(item, str) and item.strip() for item in items):
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        return tuple(str(item).strip() for item in items)

    return Domain(allowed, convert, j.listed(j.text()), written=list, number=False)


def parts() -> Domain:
    """The list of parts; what is in it is checked part by part."""
    allowed = "a list of parts, outermost first, such as '- sram: {name: l1, ...}'"

    def convert(value: object) -> list[object]:
        if not isinstance(value, list) or not value:
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        return value

    return Domain(allowed, convert, {"type": "array", "minItems": 1})


def subset(names: tuple[str, ...], everything: str = "") -> Domain:
    """A list of some of ``names``, returned in their order; the word ``everything`` stands for all."""
    word = f"{everything}, or " if everything else ""
    allowed = f"{word}a list of {', '.join(names)}"

    def convert(value: object) -> tuple[str, ...]:
        if everything and value == everything:
            return names
        if not isinstance(value, list):
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}{hint(value, (*names, everything))}")
        for item in value:
            if item not in names:
                raise ConfigError(not_one_of(item, names))
        return tuple(item for item in names if item in value)

    some = j.listed(j.words(names))

    def written(found: tuple[str, ...]) -> object:
        return everything if everything and found == names else list(found)

    form = j.any_of(some, j.words([everything])) if everything else some
    return Domain(allowed, convert, form, written, number=False)


def sequence(lengths: int | tuple[int, int], low: int, high: int) -> Domain:
    """A list of whole numbers between ``low`` and ``high``, as many as ``lengths`` or between them."""
    least, most = (lengths, lengths) if isinstance(lengths, int) else lengths
    many = f"{least}" if least == most else f"{least} to {most}"
    allowed = f"a list of {many} whole numbers {low} to {high}"

    def convert(value: object) -> tuple[int, ...]:
        items = value if isinstance(value, list) else []
        inside = all(is_whole(item) and low <= item <= high for item in items)
        if not least <= len(items) <= most or not inside:
            raise ConfigError(f"found {_first(items) if items else units.shown(value)}; allowed {allowed}")
        return tuple(items)

    return Domain(allowed, convert, j.listed(j.whole(low, high), least, most), written=list)


def row(columns: int, high: float) -> Domain:
    """A row of a table: as many numbers as it has columns, each above 0."""
    allowed = f"a list of {columns} numbers above 0, to {high:g}"

    def convert(value: object) -> tuple[float, ...]:
        items = value if isinstance(value, list) else []
        if len(items) != columns:
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        try:
            numbers = [units.number(item) for item in items]
        except ConfigError as error:
            raise ConfigError(f"{error}; allowed {allowed}") from None
        if not all(0 < number <= high for number in numbers):
            raise ConfigError(f"found {_first(items)}; allowed {allowed}")
        return tuple(float(number) for number in numbers)

    return Domain(allowed, convert, j.listed(j.exact(0, high), columns, columns))


def places() -> Domain:
    """A list of places, each a list of whole numbers: coordinates of routers."""
    allowed = "a list of coordinates such as [[0, 0], [0, 3]]"

    def convert(value: object) -> tuple[tuple[int, ...], ...]:
        found = value if isinstance(value, list) else []
        if not found or not all(isinstance(item, list) and item and all(map(is_whole, item)) for item in found):
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        return tuple(tuple(item) for item in found)

    return Domain(allowed, convert, j.listed(j.listed({"type": "integer"}, 1), 1), written=_lists)


def _lists(found: tuple[tuple[int, ...], ...]) -> list[list[int]]:
    return [list(place) for place in found]


def _first(items: list[object]) -> str:
    return f"[{', '.join(str(item)[:40] for item in items[:8])}]"


__all__ = [
    "Domain",
    "MeasuredQuantity",
    "amount",
    "choice",
    "count",
    "file_name",
    "flag",
    "measured",
    "name",
    "number",
    "pair",
    "parts",
    "places",
    "ratio",
    "real",
    "row",
    "sequence",
    "source",
    "subset",
    "text",
    "texts",
    "whole",
    "word_or_whole",
]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True)
class MeasuredQuantity:
    """A value whose unit decides its meaning: ``per`` is the base unit (B/s or B/cycle, ps or cycles)."""

    value: Fraction
    per: str


def whole(kind: units.QuantityKind, low: str, high: str) -> Domain:
    """An integer number of the base unit (bytes, hertz, picoseconds) between two quantities."""
    least, most = units.parse_whole(low, kind), units.parse_whole(high, kind)

    def convert(value: object) -> int:
        amount = units.parse_whole(value, kind)
        in_range(value, least <= amount <= most, f"{low} to {high}")
        return amount

    def written(amount: int) -> str:
        return units.exact(amount, kind)

    return Domain(f"{low} to {high}, in {kind.unit_list}", convert, j.quantity(kind), written)


def word_or_whole(words: tuple[str, ...], kind: units.QuantityKind, low: str, high: str) -> Domain:
    """One of ``words``, or an integer number of the base unit between two quantities."""
    size = whole(kind, low, high)
    allowed = f"{', '.join(words)}, or {size.allowed}"

    def convert(value: object) -> object:
        if value in words:
            return value
        try:
            return size.convert(value)
        except ConfigError as error:
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}{hint(value, words)}") from error

    def written(found: str | int) -> object:
        return found if isinstance(found, str) else size.written(found)

    return Domain(allowed, convert, j.any_of(j.words(words), j.quantity(kind)), written, words=words)


def real(kind: units.QuantityKind, low: str, high: str) -> Domain:
    """A float in the base unit (V, W, pJ, mm2) between two quantities."""
    least, most = units.parse(low, kind), units.parse(high, kind)

    def convert(value: object) -> float:
        amount = units.parse(value, kind)
        in_range(value, least <= amount <= most, f"{low} to {high}")
        return float(amount)

    def written(amount: float) -> str:
        return f"{shortest(amount)} {kind.base}"

    return Domain(f"{low} to {high}, in {kind.unit_list}", convert, j.quantity(kind), written)


def shortest(value: float) -> str:
    """A float exactly, as the shortest decimal that reads back to it."""
    return units.rational(Fraction(repr(value)))


def amount(kind: units.QuantityKind, low: str, high: str, *, positive: bool = False) -> Domain:
    """An exact amount in the base unit between two quantities; ``positive``: above ``low``."""
    least, most = units.parse(low, kind), units.parse(high, kind)
    allowed = f"{'above ' if positive else ''}{low} to {high}, in {kind.unit_list}"

    def convert(value: object) -> Fraction:
        found = units.parse(value, kind)
        in_range(value, least <= found <= most and (found > least or not positive), allowed)
        return found

    return Domain(allowed, convert, j.quantity(kind))


def number(low: str, high: str, unit: str = "", *, positive: bool = False) -> Domain:
    """A float between two numbers, in the unit that the key ends in; ``positive``: above ``low`` (0)."""
    least, most = Fraction(low), Fraction(high)
    allowed = f"a number {'above ' if positive else ''}{low} to {high}{', in ' if unit else ''}{unit}"

    def convert(value: object) -> float:
        try:
            amount = units.number(value)
        except ConfigError:
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}") from None
        in_range(value, least <= amount <= most and (amount > least or not positive), allowed)
        return float(amount)

    return Domain(allowed, convert, j.exact(float(least), float(most)))


def measured(allowed: str, *kinds: units.QuantityKind, positive: bool = False, endless: str = "") -> Domain:
    """A quantity of one of several kinds (``MeasuredQuantity``), or None for the word ``endless``."""
    word = f", or '{endless}'" if endless else ""
    described = f"{allowed}, in {', '.join(kind.unit_list for kind in kinds)}{word}"

    def convert(value: object) -> MeasuredQuantity | None:
        if endless and value == endless:
            return None
        amount, kind = units.parse_kind(value, *kinds)
        in_range(value, not positive or amount > 0, described)
        return MeasuredQuantity(amount, kind.base)

    def written(found: MeasuredQuantity | None) -> str:
        if found is None:
            return endless
        kind = next(kind for kind in kinds if kind.base == found.per)
        return f"{units.rational(found.value)} cycles" if kind is units.CYCLES else units.exact(found.value, kind)

    form = j.quantity(*kinds)
    form = j.any_of(form, j.words([endless])) if endless else form
    return Domain(described, convert, form, written, endless=endless)


def count(low: int, high: int) -> Domain:
    """A whole number between ``low`` and ``high``."""

    def convert(value: object) -> int:
        ok = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        in_range(value, ok, f"whole numbers {low} to {high}")
        return int(str(value))

    return Domain(f"whole numbers {low} to {high}", convert, j.whole(low, high))


def ratio(low: str, high: str) -> Domain:
    """An exact number such as 2, 0.5 or 1/2 between two numbers."""
    allowed = f"a number {low} to {high} such as 2, 0.5 or 1/2"

    def convert(value: object) -> Fraction:
        amount = units.number(value)
        in_range(value, Fraction(low) <= amount <= Fraction(high), allowed)
        return amount

    return Domain(allowed, convert, j.exact(float(Fraction(low)), float(Fraction(high))), _ratio)


def _ratio(value: Fraction) -> int | str:
    return value.numerator if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def choice(*names: str, later: tuple[str, ...] = ()) -> Domain:
    """One of ``names``; the words in ``later`` belong to the grammar but not to this version."""

    def convert(value: object) -> str:
        if value in later:
            raise NotBuiltError(f"'{value}' is not built yet; this version has: {', '.join(names)}")
        if value not in names:
            raise ConfigError(not_one_of(value, names))
        return str(value)

    words = " or ".join(names) if len(names) < 3 else "one of " + ", ".join(names)
    return Domain(words, convert, j.words(names), number=False)


def flag() -> Domain:
    """true or false."""

    def convert(value: object) -> bool:
        if not isinstance(value, bool):
            raise ConfigError(f"found {units.shown(value)}; allowed true or false")
        return value

    return Domain("true or false", convert, {"type": "boolean"}, number=False)


def text(allowed: str = "text") -> Domain:
    """Text that is not empty."""

    def convert(value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        return value.strip()

    return Domain(allowed, convert, j.text(), number=False)


def source() -> Domain:
    """Where numbers come from: a citation, or ``estimated: the reasoning``."""
    allowed = "a citation, or 'estimated: ' and the reasoning"

    def convert(value: object) -> str:
        words = str(value).strip() if isinstance(value, str) else ""
        bare = words.lower().startswith("estimated") and not re.match(r"estimated: *\S", words)
        if not words or bare:
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        return words

    return Domain(allowed, convert, j.text(), number=False)


def name(allowed: str = "a name of letters, digits and underscores that begins with a letter") -> Domain:
    """An identifier."""

    def convert(value: object) -> str:
        if not isinstance(value, str) or not _NAME.fullmatch(value):
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        return value

    return Domain(allowed, convert, j.text(_NAME.pattern), number=False)


def file_name() -> Domain:
    """A name that a folder may have: no path, nothing hidden, no control characters."""
    allowed = "a name of letters, digits and . _ - that begins with a letter, a digit or _, at most 100 characters"

    def convert(value: object) -> str:
        if not isinstance(value, str) or not _FILE_NAME.fullmatch(value):
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        return value

    return Domain(allowed, convert, j.text(_FILE_NAME.pattern), number=False)


def pair(names: tuple[str, ...]) -> Domain:
    """A dtype or a pair ``INPUTSxWEIGHTS``, returned as (inputs, weights)."""
    allowed = f"a dtype or INPUTSxWEIGHTS such as int8xint4, of {', '.join(names)}"

    def convert(value: object) -> tuple[str, str]:
        inputs, _, weights = str(value).partition("x")
        for dtype in (inputs, weights or inputs):
            if dtype not in names:
                raise ConfigError(f"found {units.shown(value)}; allowed {allowed}{hint(dtype, names)}")
        return inputs, weights or inputs

    spelled = "|".join(names)
    return Domain(allowed, convert, j.text(f"({spelled})(x({spelled}))?"), pair_name)


def pair_name(dtypes: tuple[str, str]) -> str:
    """How a file spells a pair of inputs and weights: ``int8`` or ``int8xint4``."""
    inputs, weights = dtypes
    return inputs if inputs == weights else f"{inputs}x{weights}"
