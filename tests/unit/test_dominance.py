"""Who beats whom with a band, and which of a front are simulated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archsim.lab.sweep import dominance
from archsim.lab.sweep.dominance import GoalFigures
from archsim.lab.sweep.table import undominated

VALUES = st.lists(st.tuples(*[st.sampled_from([1.0, 1.02, 1.05, 1.1, 1.3, 2.0])] * 3), min_size=1, max_size=25)
LARGEST = st.tuples(st.booleans(), st.booleans(), st.booleans())


def figures(
    values: list[tuple[float, ...]], band: tuple[float, ...], largest: tuple[bool, ...] | None = None
) -> GoalFigures:
    return GoalFigures(np.array(values), np.tile(band, (len(values), 1)), largest or (False,) * len(band))


def by_the_words(found: GoalFigures, row: int) -> bool:
    """Whether another is no worse in every goal and better beyond the band in one, or at all where there is none."""
    for other in range(len(found.values)):
        pairs = [
            (b, a) if big else (a, b)
            for a, b, big in zip(found.values[other], found.values[row], found.largest, strict=True)
        ]
        factors = np.maximum(found.factors[row], found.factors[other])
        if all(less <= more for less, more in pairs) and any(
            less * factor < more for (less, more), factor in zip(pairs, factors, strict=True)
        ):
            return True
    return False


@given(VALUES, LARGEST, st.lists(st.sampled_from([1.0, 1.03, 1.2]), min_size=25, max_size=25))
def test_the_front_is_what_the_words_say(
    values: list[tuple[float, ...]], largest: tuple[bool, ...], bands: list[float]
) -> None:
    """Bands that differ by row, as over chips of one core and of many; a goal without a band; either sense."""
    factors = np.column_stack([bands[: len(values)], np.ones(len(values)), bands[: len(values)]])
    found = GoalFigures(np.array(values), factors, largest)
    assert dominance.front(found).tolist() == [not by_the_words(found, row) for row in range(len(values))]


@given(VALUES, LARGEST)
def test_without_a_band_it_is_the_pareto_front(values: list[tuple[float, ...]], largest: tuple[bool, ...]) -> None:
    found = figures(values, (1.0, 1.0, 1.0), largest)
    assert dominance.front(found).tolist() == undominated(found.costs).tolist()


@given(VALUES, LARGEST, st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_wider_band_loses_no_point(
    values: list[tuple[float, ...]], largest: tuple[bool, ...], band: float, more: float
) -> None:
    fronts = [dominance.front(figures(values, (np.exp(width),) * 3, largest)) for width in (0.0, band, band + more)]
    assert (fronts[0] <= fronts[1]).all() and (fronts[1] <= fronts[2]).all()


@given(VALUES, st.sampled_from([1.0, 1.04, 1.2]))
def test_cutting_the_pairs_changes_nothing(values: list[tuple[float, ...]], band: float) -> None:
    found = figures(values, (band, 1.0, band))
    whole = [dominance.front(found), dominance.alike(found), dominance.excess(found)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dominance, "PAIRS", 7)
        for one, other in zip(
            whole, [dominance.front(found), dominance.alike(found), dominance.excess(found)], strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_within_the_band_is_judged_pair_by_pair() -> None:
    """A chain of steps of 4 % under a band of 5 %: neighbours are alike, the ends are not, and the last is beaten."""
    found = figures([(1.0,), (1.04,), (1.08,)], (1.05,))
    assert dominance.front(found).tolist() == [True, True, False]
    assert dominance.alike(found).tolist() == [1, 2, 1]
    assert dominance.within(found, 0, 0).tolist() == [True, True, False]


def test_a_figure_without_a_band_tells_points_apart_at_all() -> None:
    found = figures([(1.0, 10.0), (1.01, 10.1), (1.02, 9.0)], (1.05, 1.0))
    assert dominance.front(found).tolist() == [True, False, True]
    assert dominance.within(found, 0, 1).tolist() == [True, False, False]
    assert dominance.alike(figures([(1.0,), (1.0,)], (1.0,))).tolist() == [0, 0]


def test_no_worse_in_every_goal_is_judged_without_a_band() -> None:
    """1 % worse in one goal is enough not to beat, however much better in the other."""
    assert dominance.front(figures([(1.01, 1.0), (1.0, 9.0)], (1.05, 1.05))).all()


def test_figures_of_nought_and_none() -> None:
    found = figures([(0.0, 1.0), (0.0, 1.2), (0.1, 1.0)], (1.05, 1.1))
    assert dominance.front(found).tolist() == [True, False, False]
    assert dominance.excess(found)[0] == 1
    none = figures([(np.nan, 1.0), (1.0, 2.0)], (1.05, 1.1))
    assert dominance.beaters(none, np.arange(2)).tolist() == [-1, -1]


def test_ten_thousand_points_at_once() -> None:
    rng = np.random.default_rng(1)
    values = rng.uniform(1, 2, (10_000, 2))
    kept = dominance.front(GoalFigures(values, np.full_like(values, 1.01), (False, False)))
    assert kept[undominated(values)].all() and 0 < kept.sum() < 10_000


def test_chosen_are_the_best_in_each_goal_then_the_least_beaten() -> None:
    values = [
        (1.0, 2.0, 5.0),
        (1.02, 2.02, 5.0),
        (1.01, 2.01, 5.0),
        (1.5, 1.0, 5.0),
        (1.03, 2.0, 4.0),
        (1.04, 2.0, 4.0),
    ]
    found = figures(values, (1.1, 1.1, 1.0))
    assert dominance.chosen(found, 6) == [0, 1, 2, 3, 4, 5] and dominance.chosen(found, 5) == [0, 2, 3, 4, 5]
    assert dominance.chosen(found, 3) == [0, 3, 4]
    assert dominance.chosen(found, 4) == [0, 3, 4, 5]
    assert dominance.chosen(found, 2) == [0, 3]


def test_of_too_many_that_none_beats_evenly_spread_ones_are_chosen() -> None:
    values = [(1.0 + at / 100, 2.0 - at / 100) for at in range(101)]
    found = dominance.chosen(figures(values, (1.5, 1.5)), 5)
    assert found[0] == 0 and found[-1] == 100 and len(found) == 5
    assert all(10 < after - before < 50 for before, after in zip(found, found[1:], strict=False))
