"""Which of many steps are run, and what is said of the others."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archsim.lab.generation.sampled_steps import TOLERANCE, SampledSteps, sampled


def _one(of: Callable[[int], int]) -> Callable[[int], list[Fraction]]:
    return lambda step: [Fraction(of(step)), Fraction(1)]


def _of(found: SampledSteps, step: int) -> list[Fraction]:
    """A step's figures: those that were run, or on the line between its neighbours that were."""
    first = max(known for known in found.found if known <= step)
    last = min(known for known in found.found if known >= step)
    share = Fraction(step - first, max(1, last - first))
    return [a + (b - a) * share for a, b in zip(found.found[first], found.found[last], strict=True)]


@given(st.integers(1, 300), st.integers(0, 1000), st.integers(1, 10**6))
def test_steps_on_a_line_take_three_runs_and_are_exact(count: int, slope: int, start: int) -> None:
    found = sampled(count, _one(lambda step: start + slope * step))
    assert len(found.found) <= 3 and found.worst == 0
    assert found.total() == [sum(start + slope * step for step in range(count)), count]
    assert all(_of(found, step) == [start + slope * step, 1] for step in range(count))


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=60))
def test_the_total_is_that_of_the_lines_and_what_was_run_is_as_it_was(costs: list[int]) -> None:
    asked: list[int] = []

    def figures(step: int) -> list[Fraction]:
        asked.append(step)
        return [Fraction(costs[step])]

    found = sampled(len(costs), figures)
    assert sorted(asked) == sorted(found.found) and {0, len(costs) - 1} <= set(asked)
    assert found.total() == [sum((_of(found, step)[0] for step in range(len(costs))), Fraction(0))]
    assert all(_of(found, step) == [costs[step]] for step in asked)
    assert found.worst <= TOLERANCE


def test_a_jump_is_found_where_halves_meet_it() -> None:
    found = sampled(64, _one(lambda step: 1000 if step < 40 else 2000))
    truth = 40 * 1000 + 24 * 2000
    assert len(found.found) < 20
    assert float(found.total()[0]) == pytest.approx(truth, rel=0.01)


def test_steps_that_cost_nothing_at_first_are_no_division_by_nothing() -> None:
    found = sampled(9, _one(lambda step: max(0, step - 4)))
    assert found.total()[0] == 1 + 2 + 3 + 4
