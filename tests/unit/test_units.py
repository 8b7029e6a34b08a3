"""Quantities with units: exact values, distinct units, and messages that say what is allowed."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base import units
from archsim.base.errors import ConfigError

KINDS = [kind for kind in vars(units).values() if isinstance(kind, units.QuantityKind)]
EXACT = [
    ("1 GiB", units.SIZE, 2**30),
    ("1 GB", units.SIZE, 10**9),
    ("1 KiB", units.SIZE, 1024),
    ("1 kB", units.SIZE, 1000),
    ("1 KB", units.SIZE, 1000),
    ("16 b", units.SIZE, 2),
    ("1 Gib", units.SIZE, 2**27),
    ("0.5 MiB", units.SIZE, 2**19),
    ("1_024 B", units.SIZE, 1024),
    ("2e3 B", units.SIZE, 2000),
    ("16 b", units.WIDTH, 16),
    ("2 B", units.WIDTH, 16),
    ("1.4 GHz", units.FREQUENCY, 1_400_000_000),
    ("6400 MT/s", units.TRANSFER_RATE, 6_400_000_000),
    ("0.2 us", units.TIME, 200_000),
    ("3 cycles", units.CYCLES, 3),
    ("0.75 V", units.VOLTAGE, Fraction(3, 4)),
    ("10 mW", units.POWER, Fraction(1, 100)),
    ("0.3 pJ", units.ENERGY, Fraction(3, 10)),
    ("3.3 mm2", units.AREA, Fraction(33, 10)),
    ("25.6 GB/s", units.BANDWIDTH, 25_600_000_000),
    ("1 GiB/s", units.BANDWIDTH, 2**30),
    ("128/5 B/cycle", units.BYTES_PER_CYCLE, Fraction(128, 5)),
    ("50 GFLOP/s", units.COMPUTE_RATE, 50 * 10**9),
]


@pytest.mark.parametrize(("text", "kind", "value"), EXACT, ids=[f"{t} {k.name}" for t, k, _ in EXACT])
def test_exact_values(text: str, kind: units.QuantityKind, value: Fraction) -> None:
    assert units.parse(text, kind) == value
    assert units.parse(text.replace(" ", ""), kind) == value


def test_law_41_units() -> None:
    """Law 41: GiB, MT/s = 2 x MHz, TOPS = 2 x MAC/s, four x16 LPDDR5-6400 channels = 51.2 GB/s."""
    assert units.parse_whole("1 GiB", units.SIZE) == 2**30
    clock_hz = units.parse_whole("3200 MHz", units.FREQUENCY)
    assert units.double_data_rate(clock_hz) == units.parse_whole("6400 MT/s", units.TRANSFER_RATE)
    assert units.operations_per_s(5 * 10**11) == 10**12
    width = units.parse_whole("16 b", units.WIDTH)
    peak = Fraction(4 * width * units.parse_whole("6400 MT/s", units.TRANSFER_RATE), 8)
    assert units.si(peak, "B/s") == "51.2 GB/s"


BAD = [
    ("256", units.SIZE, "bare number where a unit is due"),
    (256, units.SIZE, "KiB, MiB, GiB"),
    ("256 kiB", units.SIZE, "did you mean 'KiB'"),
    ("1 ghz", units.FREQUENCY, "did you mean 'GHz'"),
    ("6400 MHz", units.TRANSFER_RATE, "MT/s"),
    ("6400 MT/s", units.FREQUENCY, "MHz"),
    ("-1 B", units.SIZE, "cannot be negative"),
    ("inf B", units.SIZE, "found 'inf B'"),
    (".inf", units.SIZE, "found '.inf'"),
    ("nan s", units.TIME, "found 'nan s'"),
    ("1/0 B", units.SIZE, "denominator 0"),
    ("1e999 B", units.SIZE, "found '1e999 B'"),
    ("9" * 60 + " B", units.SIZE, "allowed a size"),
    ("1,5 GHz", units.FREQUENCY, "found '1,5 GHz'"),
    ("GHz", units.FREQUENCY, "found 'GHz'"),
    ("", units.FREQUENCY, "found ''"),
    (True, units.FREQUENCY, "found true"),
    (None, units.FREQUENCY, "found nothing"),
    ([1], units.FREQUENCY, "found a list"),
]


@pytest.mark.parametrize(("value", "kind", "message"), BAD, ids=[repr(value)[:20] for value, _, _ in BAD])
def test_messages(value: object, kind: units.QuantityKind, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        units.parse(value, kind)
    assert message in str(error.value)


def test_whole_units_only() -> None:
    with pytest.raises(ConfigError, match="not a whole number of B"):
        units.parse_whole("0.3 B", units.SIZE)


@pytest.mark.parametrize(
    ("value", "number"), [(4, 4), ("1/2", Fraction(1, 2)), ("0.1", Fraction(1, 10)), (0.5, Fraction(1, 2))]
)
def test_plain_numbers(value: object, number: Fraction) -> None:
    assert units.number(value) == number


@pytest.mark.parametrize("value", ["-1", -1, "one", True, None, "1/0", float("inf"), float("nan"), Fraction(-1)])
def test_plain_numbers_refused(value: object) -> None:
    with pytest.raises(ConfigError):
        units.number(value)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.fractions(min_value=0, max_value=10**15, max_denominator=10**6), st.sampled_from(KINDS))
def test_exact_text_reads_back(value: Fraction, kind: units.QuantityKind) -> None:
    """What ``exact`` writes is read back to the very same number, in every kind of quantity."""
    assert units.parse(units.exact(value, kind), kind) == value


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (2**21, units.SIZE, "2 MiB"),
        (256 * 10**6, units.SIZE, "256 MB"),
        (1350 * 10**6, units.FREQUENCY, "1.35 GHz"),
        (15_750_000_000, units.BANDWIDTH, "15.75 GB/s"),
        (200_000, units.TIME, "200 ns"),
        (0, units.TIME, "0 ps"),
    ],
)
def test_exact_text_is_short(value: int, kind: units.QuantityKind, text: str) -> None:
    assert units.exact(value, kind) == text


def test_text_for_people() -> None:
    assert units.binary(2**21 + 2**20) == "3 MiB"
    assert units.binary(0) == "0 B"
    assert units.si(0, "W") == "0 W"
    assert units.si(0.0123, "W") == "12.3 mW"
    assert units.rational(Fraction(1, 3)) == "1/3"
    assert units.rational(Fraction(1, 4)) == "0.25"
