"""Methods of design search on functions whose fronts are known: what they ask for, what they learn, when they end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import prod

import pytest

from archsim.base.errors import ConfigError
from archsim.lab.explore import catalogue
from archsim.lab.explore.learner import Learner
from archsim.lab.explore.problem import Choices, DesignProblem, PointOutcome

METHODS = ("grid", "nsga2", "qmc", "random", "tpe")
LEARNING = ("nsga2", "tpe")
SMALL = DesignProblem((4, 3, 5), (True, False, True), 2, 20, 1)
LARGE = DesignProblem((24, 6, 4, 5), (True, True, False, True), 2, 250, 1)


def convex(choices: Choices) -> PointOutcome:
    """The first axis trades one cost for the other; the further the others are from their best value, the worse are
    both: the front is 24 of 2880 points."""
    first, *others = choices
    off = 0.3 * sum(abs(choice - best) for choice, best in zip(others, (4, 1, 2), strict=True))
    share = first / 23
    return PointOutcome((share**2 + off, (1 - share) ** 2 + off))


def told_by(cost: Callable[[Choices], PointOutcome], name: str, problem: DesignProblem) -> list[list[Choices]]:
    """The batches that a method asks for."""
    method, found = catalogue.make(name, problem), []
    while batch := method.ask():
        method.tell([cost(choices) for choices in batch])
        found.append(batch)
    return found


def asked(cost: Callable[[Choices], PointOutcome], name: str, problem: DesignProblem) -> list[Choices]:
    return [choices for batch in told_by(cost, name, problem) for choices in batch]


def same(choices: Choices) -> PointOutcome:
    return PointOutcome((float(sum(choices)), -float(choices[0])))


def test_methods_are_found_by_name() -> None:
    assert catalogue.names() == METHODS
    with pytest.raises(ConfigError, match="no 'nsga' among explore; it has: grid, nsga2.*did you mean 'nsga2'"):
        catalogue.make("nsga", SMALL)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("trials", [1, 7, 59, 60, 500])
def test_every_point_is_asked_for_once_until_trials_or_grid_are_spent(name: str, trials: int) -> None:
    found = asked(same, name, replace(SMALL, trials=trials))
    assert len(found) == len(set(found)) == (60 if name == "grid" else min(trials, 60))
    assert set(found) <= set(product(*map(range, SMALL.shape)))


@pytest.mark.parametrize("name", METHODS)
def test_the_seed_says_all(name: str) -> None:
    """Equal seeds ask for equal batches; others, the grid aside, for others."""
    first = told_by(same, name, SMALL)
    assert told_by(same, name, SMALL) == first
    others = [told_by(same, name, replace(SMALL, seed=seed)) for seed in range(2, 6)]
    assert (first in others) == (name == "grid")


@pytest.mark.parametrize("name", ["grid", "qmc", "random"])
def test_what_learns_nothing_asks_once_in_the_order_of_the_grid(name: str) -> None:
    (batch,) = told_by(same, name, SMALL)
    assert batch == sorted(batch)


@pytest.mark.parametrize("name", LEARNING)
def test_batches_have_one_size_and_follow_from_what_was_told(name: str) -> None:
    batches = told_by(same, name, replace(LARGE, trials=100))
    assert len({len(batch) for batch in batches[:-1]}) == 1 and len(batches) > 5
    other = told_by(convex, name, replace(LARGE, trials=100))
    assert other[0] == batches[0] and other != batches


def found_of_front(name: str, seed: int) -> float:
    """Share of the front of ``convex`` among the points asked for, a tenth of all."""
    found = asked(convex, name, replace(LARGE, seed=seed))
    return len({choices for choices in found if choices[1:] == (4, 1, 2)}) / LARGE.shape[0]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("nsga2", 0.7), ("tpe", 0.5)])
def test_what_learns_finds_the_front_where_chance_finds_a_tenth(name: str, least: float) -> None:
    chance = [found_of_front("random", seed) for seed in range(1, 11)]
    assert 0.05 < sum(chance) / len(chance) < 0.15
    assert min(found_of_front(name, seed) for seed in (1, 2)) > least


def late(name: str, cost: Callable[[Choices], PointOutcome]) -> list[Choices]:
    """The second half of what is asked for."""
    found = asked(cost, name, LARGE)
    return found[len(found) // 2 :]


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNING)
def test_constraints_and_impossible_points_keep_a_search_away(name: str) -> None:
    """Two thirds of the points are better and forbidden: where nothing says so the search goes there, else it asks for
    fewer of them than of others, though the best that is left lies beside them."""
    bad = [choices[0] < 16 for choices in late(name, lambda choices: PointOutcome((float(choices[0]), 0.0)))]
    assert sum(bad) > 0.8 * len(bad)

    def forbidden(choices: Choices) -> PointOutcome:
        return PointOutcome((float(choices[0]), 0.0), ((16 - choices[0]) / 16 if choices[0] < 16 else 0.0,))

    def impossible(choices: Choices) -> PointOutcome:
        return (
            PointOutcome(None, (float("inf"),)) if choices[0] < 16 else PointOutcome((float(choices[0]), 0.0), (0.0,))
        )

    for cost in (forbidden, impossible):
        found = late(name, cost)
        assert sum(choices[0] < 16 for choices in found) < len(found) / 2, cost.__name__


@pytest.mark.parametrize("name", LEARNING)
def test_nothing_possible_is_no_fault(name: str) -> None:
    found = asked(lambda _: PointOutcome(None), name, SMALL)
    assert len(set(found)) == SMALL.trials


@pytest.mark.parametrize("name", LEARNING)
def test_one_goal_and_axes_of_one_value(name: str) -> None:
    problem = DesignProblem((6, 1, 7), (True, True, False), 1, 20, 3)
    found = asked(lambda choices: PointOutcome((float(choices[0] + choices[2]),)), name, problem)
    assert len(set(found)) == 20 and (0, 0, 0) in found


def test_a_point_asked_for_again_gives_way_to_the_nearest_other() -> None:
    """One step along an ordered axis is as near as any other value of one that is not."""
    from optuna.samplers import RandomSampler

    learner = Learner(SMALL, RandomSampler(seed=1), 10)
    grid = set(product(*map(range, SMALL.shape)))
    free = {(3, 0, 0), (3, 2, 4), (2, 1, 3)}
    learner._asked = grid - free
    assert learner._nearest((3, 1, 4)) == (3, 2, 4)
    assert learner._nearest((2, 0, 0)) == (3, 0, 0)
    learner._asked = grid - {(0, 0, 0)}
    assert learner._nearest((3, 2, 4)) == (0, 0, 0) and prod(SMALL.shape) == 60


@pytest.mark.parametrize("name", LEARNING)
def test_without_optuna_the_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=rf"search.method: {name} needs Optuna: pip install 'archsim\[search\]'"):
        catalogue.make(name, SMALL)
    assert asked(same, "qmc", SMALL)


@pytest.mark.parametrize("name", LEARNING)
def test_the_user_s_own_optuna_stays_as_it_was(name: str, recwarn: pytest.WarningsRecorder) -> None:
    import optuna

    said = optuna.logging.get_verbosity()
    asked(same, name, SMALL)
    assert optuna.logging.get_verbosity() == said and not recwarn.list
