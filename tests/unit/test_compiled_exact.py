"""Exact numbers of compiled code against rational ones, and positions on clocks."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.jit import entry, njit
from archsim.ir.columns import ProgramColumns
from archsim.sim.clock import ClockDomain
from archsim.sim.compiled import clocks, exact
from archsim.sim.compiled import layout as k
from archsim.sim.compiled.exact import PRIME, UNSURE
from archsim.sim.program_tables import ProgramTables
from tests.laws.builders import program

EXACT = settings(max_examples=200, deadline=None, derandomize=True)
_P: Any = np.uint64


@entry
@njit
def sums(x: Any, y: Any) -> Any:
    """x + y, x - y, x y and x / y."""
    high, low = exact.ratio(x, y)
    return exact.plus(x, y), exact.minus(x, y), exact.times(x, y), (high, low, exact.inverse_mod(y[2]))


@entry
@njit
def sign_of_difference(x: Any, y: Any) -> int:
    """How x compares with y."""
    return exact.sign(exact.minus(x, y), x[0])


@entry
@njit
def whole(value: int) -> Any:
    """A whole number."""
    return exact.whole(value)


@entry
@njit
def place(m: Any, r: Any, time_ps: int) -> Any:
    """Position on the first clock, edge before or at it, and when that is."""
    cycle = clocks.cycle_at(m, 0, time_ps)
    return clocks.position(m, r, 0, time_ps), cycle, clocks.edge(m, 0, cycle)


def given_as(value: Fraction | int) -> Any:
    """As compiled code takes it."""
    high, low, residue = exact.exact(value)
    return high, low, _P(residue)


def assert_is(found: Any, value: Fraction, scale: Fraction) -> None:
    """Value to 100 bits of ``scale``, and residue."""
    high, low, residue = found
    assert abs(Fraction(high) + Fraction(low) - value) <= scale / 2**100
    assert int(residue) == value.numerator * pow(value.denominator, -1, PRIME) % PRIME


rationals = st.fractions(Fraction(1, 10**9), 10**9, max_denominator=10**12)


@EXACT
@given(rationals, rationals)
def test_sums_products_and_ratios(a: Fraction, b: Fraction) -> None:
    """Of two rational numbers, with their residues."""
    plus, minus, times, quotient = sums(given_as(a), given_as(b))
    assert_is(plus, a + b, a + b)
    assert_is(minus, a - b, a + b)
    assert_is(times, a * b, a * b)
    assert abs(Fraction(quotient[0]) + Fraction(quotient[1]) - a / b) <= a / b / 2**98
    assert int(quotient[2]) * b.numerator % PRIME == b.denominator % PRIME


@EXACT
@given(rationals, st.integers(0, 2))
def test_nearly_equal_numbers_are_never_called_equal(a: Fraction, more: int) -> None:
    """What differs by less than a floating-point number tells is told apart, or the answer is that it cannot be."""
    other = a + a * Fraction(more, 10**18)
    assert sign_of_difference(given_as(other), given_as(a)) == (1 if more else 0)
    nearer = a + a * Fraction(more, 10**30)
    assert sign_of_difference(given_as(nearer), given_as(a)) == (UNSURE if more else 0)


@EXACT
@given(st.integers(0, 2**62 - 1))
def test_whole_numbers(value: int) -> None:
    """Of any size that a time may have."""
    assert_is(whole(value), Fraction(value), Fraction(value or 1))


@EXACT
@given(
    st.sampled_from((10**9, 1_350_000_000, 700_000_000, 940_000_000, 10**12, 3 * 10**12, 123_400_000)),
    st.integers(0, 10**14),
)
def test_edges_and_positions(hz: int, time_ps: int) -> None:
    """A time on an edge is a whole cycle, another one a rational number of cycles to the last bit."""
    clock, tables = ClockDomain(hz), ProgramTables(ProgramColumns(program()), {}, lambda _: ())
    ps, edges, _ = tables.rows["CLOCKS"][tables.clock(clock)]
    m, r = np.zeros(k.HEADER + 8, np.int64), np.array([edges * pow(ps, -1, PRIME) % PRIME], np.uint64)
    m[k.CLOCKS_AT] = k.HEADER
    m[k.HEADER : k.HEADER + 2] = ps, edges
    for at_ps in (time_ps, clock.at_or_after(time_ps)):
        position, cycle, edge_ps = place(m, r, at_ps)
        assert (cycle, edge_ps) == (clock.cycle(at_ps), clock.at_or_after(at_ps))
        value = Fraction(*clock.position(at_ps))
        assert_is(position, value, value or Fraction(1))
