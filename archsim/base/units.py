"""Quantities with units, exact: text such as ``256 KiB`` or ``6400 MT/s`` to Fractions and integers.

A bare number where a unit is due is an error, and so are negative, infinite and undefined numbers.
GiB (2**30 bytes) and GB (10**9), B (byte) and b (bit), MT/s (transfers) and MHz (clock edges) are different
things: no unit stands for another kind of quantity. Unit names are those of the SI brochure (9th edition) and
of IEC 80000-13 for the binary prefixes; ``KB`` is taken as ``kB`` (1000 bytes).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from archsim.base.errors import ConfigError, nearest

PS_PER_S = 10**12
_NUMBER = re.compile(r"[0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?|\.[0-9]+|[0-9]+/[0-9]+")
_QUANTITY = re.compile(rf"\s*(?P<number>{_NUMBER.pattern})\s*(?P<unit>(?:[A-Za-z][A-Za-z/0-9]*)?)\s*")
_LONGEST = 40  # characters of a number: longer ones are mistakes or attacks, never chip parameters


@dataclass(frozen=True)
class QuantityKind:
    """A kind of quantity: its name, its base unit and every unit with its exact value in the base unit."""

    name: str
    base: str
    units: Mapping[str, Fraction]

    @property
    def unit_list(self) -> str:
        """The accepted units, in the order of the table, for messages and documentation."""
        return ", ".join(self.units)


def _table(**units: Fraction | int) -> dict[str, Fraction]:
    return {name.replace("_per_", "/"): Fraction(value) for name, value in units.items()}


_BIT = Fraction(1, 8)
_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_BYTES |= {"kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BITS = {"b": 1, "Kib": 2**10, "Mib": 2**20, "Gib": 2**30, "kb": 10**3, "Mb": 10**6, "Gb": 10**9}

SIZE = QuantityKind("size", "B", _table(**_BYTES, **{name: value * _BIT for name, value in _BITS.items()}))
WIDTH = QuantityKind("width", "b", _table(b=1, B=8))
FREQUENCY = QuantityKind("frequency", "Hz", _table(Hz=1, kHz=10**3, MHz=10**6, GHz=10**9))
TRANSFER_RATE = QuantityKind("transfer rate", "T/s", _table(MT_per_s=10**6, GT_per_s=10**9))
TIME = QuantityKind("time", "ps", _table(ps=1, ns=10**3, us=10**6, ms=10**9, s=10**12))
CYCLES = QuantityKind("number of cycles", "cycles", _table(cycles=1, cycle=1))
VOLTAGE = QuantityKind("voltage", "V", _table(V=1, mV=Fraction(1, 10**3)))
POWER = QuantityKind("power", "W", _table(W=1, mW=Fraction(1, 10**3), uW=Fraction(1, 10**6)))
ENERGY = QuantityKind("energy", "pJ", _table(fJ=Fraction(1, 10**3), pJ=1, nJ=10**3, uJ=10**6))
AREA = QuantityKind("area", "mm2", _table(um2=Fraction(1, 10**6), mm2=1))
LENGTH = QuantityKind("length", "mm", _table(um=Fraction(1, 10**3), mm=1, cm=10))
BANDWIDTH = QuantityKind("bandwidth", "B/s", _table(**{f"{n}_per_s": v for n, v in _BYTES.items()}))
BYTES_PER_CYCLE = QuantityKind("bandwidth", "B/cycle", _table(B_per_cycle=1))
COMPUTE_RATE = QuantityKind(
    "compute rate", "FLOP/s", _table(FLOP_per_s=1, MFLOP_per_s=10**6, GFLOP_per_s=10**9, TFLOP_per_s=10**12)
)


def number(value: object) -> Fraction:
    """An exact non-negative number from an int, Decimal, float or text such as ``4``, ``0.5`` or ``1/2``.

    Raises ConfigError for anything else: text, booleans, negative, infinite and undefined numbers.
    """
    if isinstance(value, Fraction):
        return _not_negative(value, value)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
        raise ConfigError(f"found {shown(value)}; allowed a number such as 4, 0.5 or 1/2")
    text = str(value).strip()
    if text.startswith("-"):
        raise ConfigError(f"found {shown(value)}; negative numbers have no meaning here")
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        raise ConfigError(f"found {shown(value)}; allowed a finite number such as 4, 0.5 or 1/2")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ConfigError(f"found {shown(value)}; a fraction with the denominator 0") from None


def parse(value: object, *kinds: QuantityKind) -> Fraction:
    """The exact value of ``value`` (text ``NUMBER UNIT``) in the base unit of the kind whose unit it has.

    ``kinds``: the kinds accepted here; units are looked up in that order. Raises ConfigError naming the
    accepted units for a bare number, an unknown unit, a unit of another kind, and for every bad number.
    """
    return parse_kind(value, *kinds)[0]


def parse_kind(value: object, *kinds: QuantityKind) -> tuple[Fraction, QuantityKind]:
    """As ``parse``, with the kind that the unit belongs to."""
    text = str(value).strip()
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
        raise ConfigError(f"found {shown(value)}; allowed {_expected(kinds)}")
    if text.startswith("-"):
        raise ConfigError(f"found {shown(value)}; a {kinds[0].name} cannot be negative; allowed {_expected(kinds)}")
    match = _QUANTITY.fullmatch(text)
    if match is None or len(match["number"]) > _LONGEST:
        raise ConfigError(f"found {shown(value)}; allowed {_expected(kinds)}")
    if not match["unit"]:
        raise ConfigError(f"found {shown(value)}, a bare number where a unit is due; allowed {_expected(kinds)}")
    for kind in kinds:
        if match["unit"] in kind.units:
            return number(match["number"]) * kind.units[match["unit"]], kind
    raise ConfigError(f"found {shown(value)}; allowed {_expected(kinds)}{_hint(match['unit'], kinds)}")


def parse_whole(value: object, kind: QuantityKind) -> int:
    """As ``parse`` where only whole multiples of the base unit have a meaning (bytes, hertz, picoseconds)."""
    exact = parse(value, kind)
    if exact.denominator != 1:
        raise ConfigError(f"found {shown(value)}, which is not a whole number of {kind.base}")
    return int(exact)


def shown(value: object) -> str:
    """``value`` as error messages print it: text in quotes, long text cut, containers by their type."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    cut = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    return repr(cut) if isinstance(value, str) else cut


def exact(value: Fraction | int, kind: QuantityKind) -> str:
    """Text that ``parse`` reads back to exactly ``value``, in the unit that makes it shortest.

    Bytes are never written in bits, nor widths in bytes; between units of equal length the larger one is taken.
    """
    amount = Fraction(value)
    if not amount:
        return f"0 {next(iter(kind.units))}"
    fitting = []
    for name, size in kind.units.items():
        if size <= amount and not _refused(kind, name):
            text = rational(amount / size)
            fitting.append((len(text), -size, f"{text} {name}"))
    if fitting:
        return min(fitting)[2]
    smallest = min(kind.units, key=lambda name: kind.units[name])
    return f"{rational(amount / kind.units[smallest])} {smallest}"


def _refused(kind: QuantityKind, name: str) -> bool:
    return (kind is SIZE and name.endswith("b")) or (kind is WIDTH and name == "B")


def rational(value: Fraction | int) -> str:
    """An exact number as the shortest of ``4``, ``0.5`` and ``1/3``."""
    amount = Fraction(value)
    if amount.denominator == 1:
        return str(amount.numerator)
    for digits in range(1, 13):
        if (amount * 10**digits).denominator == 1:
            return f"{Decimal(amount.numerator) / Decimal(amount.denominator):.{digits}f}"
    return f"{amount.numerator}/{amount.denominator}"


_SI = (
    (Fraction(10**12), "T"),
    (Fraction(10**9), "G"),
    (Fraction(10**6), "M"),
    (Fraction(10**3), "k"),
    (Fraction(1), ""),
    (Fraction(1, 10**3), "m"),
    (Fraction(1, 10**6), "u"),
    (Fraction(1, 10**9), "n"),
    (Fraction(1, 10**12), "p"),
)
_BINARY = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


def si(value: float | Fraction, unit: str, digits: int = 4) -> str:
    """``value`` for people with an SI prefix: ``si(5.12e10, 'B/s')`` is ``51.2 GB/s``."""
    amount = Fraction(value)
    for factor, prefix in _SI:
        if abs(amount) >= factor:
            return f"{float(amount / factor):.{digits}g} {prefix}{unit}"
    return f"{float(amount):.{digits}g} {unit}"


def binary(size_bytes: int, digits: int = 4) -> str:
    """A size for people with a binary prefix: ``binary(2097152)`` is ``2 MiB``."""
    for factor, unit in _BINARY:
        if size_bytes >= factor:
            return f"{size_bytes / factor:.{digits}g} {unit}"
    return f"{size_bytes} B"


def double_data_rate(clock_hz: int) -> int:
    """Transfers per second of a double data rate bus: two per clock (1 MHz of clock = 2 MT/s)."""
    return 2 * clock_hz


def operations_per_s(macs_per_s: Fraction | int) -> Fraction:
    """Operations per second of a MAC rate: a MAC is a multiplication and an addition (TOPS = 2 x MAC/s)."""
    return 2 * Fraction(macs_per_s)


def _not_negative(amount: Fraction, value: object) -> Fraction:
    if amount < 0:
        raise ConfigError(f"found {shown(value)}; negative numbers have no meaning here")
    return amount


def _expected(kinds: tuple[QuantityKind, ...]) -> str:
    units = ", ".join(kind.unit_list for kind in kinds)
    return f"a {kinds[0].name} with one of the units {units}"


def _hint(unit: str, kinds: tuple[QuantityKind, ...]) -> str:
    known = [name for kind in kinds for name in kind.units]
    same = [name for name in known if name.lower() == unit.lower()]
    return f" (did you mean '{same[0]}'?)" if same else nearest(unit, known)
