"""Numbers as people read them: thousands separators, SI prefixes, percentages. Missing values are a dash."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from archsim.base import units
from archsim.base.plain import visible

NONE = "\N{EN DASH}"


def count(value: int | None) -> str:
    """``1234567`` as ``1,234,567``."""
    return NONE if value is None else f"{value:,}"


def counted(value: int | None, noun: str) -> str:
    """``1 layer``, ``1,234 layers``."""
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"


def si(value: float | None, unit: str, digits: int = 4) -> str:
    """``0.00292, 's'`` as ``2.92 ms``; the micro sign instead of the ASCII u."""
    if value is None:
        return NONE
    rounded = Fraction(f"{value:.{digits - 1}e}")  # first, so that 0.9999 us is 1 us and not 1000 ns
    text = units.si(rounded, unit, digits)
    return text.replace(" u", " \N{MICRO SIGN}", 1) if f" u{unit}" in text else text


def percent(part: float | None, whole: float = 1.0, digits: int = 1) -> str:
    """``part`` of ``whole`` as ``12.3 %``; a share above nothing never prints as plain zero."""
    if part is None or not whole:
        return NONE
    share = 100 * part / whole
    floor = 10.0**-digits / 2
    return f"< {10.0**-digits:.{digits}f} %" if 0 < share < floor else f"{share:.{digits}f} %"


def share_of(whole: float) -> Callable[[float | None], str]:
    """How an amount is shown as a share of ``whole``."""
    return lambda part: percent(part, whole)


def number(value: float | None, digits: int = 4) -> str:
    """A plain figure with ``digits`` significant digits and thousands separators."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:,.{digits}g}"


def at_word(text: str, length: int) -> str:
    """``text``, made visible, in at most ``length`` characters: whole, or its first words and an ellipsis, ``''`` where
    not even one of them fits. Words end at blanks and at ``_ - . /``."""
    text = visible(text)
    if len(text) <= length:
        return text
    ends = [match.start() for match in re.finditer(r"[\s_./-]", text) if 0 < match.start() < length]
    return f"{text[: ends[-1]]}\N{HORIZONTAL ELLIPSIS}" if ends else ""


def shorten(text: str, length: int) -> str:
    """``text``, made visible, cut in the middle to at most ``length`` characters."""
    text = visible(text)
    if len(text) <= length:
        return text
    head = (length - 1) * 2 // 3
    return f"{text[:head]}\N{HORIZONTAL ELLIPSIS}{text[len(text) - (length - 1 - head) :]}"
