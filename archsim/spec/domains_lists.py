"""What lists in a file may be: texts, parts, subsets of names, sequences of numbers, places, rows of a table."""

from __future__ import annotations

from archsim.base import units
from archsim.base.errors import ConfigError
from archsim.spec import json_forms as j
from archsim.spec.domain import Domain, hint, is_whole, not_one_of


def texts() -> Domain:
    """A list of texts."""

    def convert(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            raise ConfigError(f"found {units.shown(value)}; allowed a list of texts")
        return tuple(item.strip() for item in value)

    return Domain("a list of texts", convert, j.listed(j.text()))


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
    return Domain(allowed, convert, j.any_of(some, j.words([everything])) if everything else some)


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

    return Domain(allowed, convert, j.listed(j.whole(low, high), least, most))


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

    return Domain(allowed, convert, j.listed(j.listed({"type": "integer"}, 1), 1))


def _first(items: list[object]) -> str:
    return f"[{', '.join(str(item)[:40] for item in items[:8])}]"
