"""Published operating points against the power table."""

from __future__ import annotations

import pytest

from archsim.energy.states import load_states
from archsim.lab.validate.factor import FactorScore
from archsim.lab.validate.power import model, suite
from archsim.lab.validate.power.suite import PowerResult
from archsim.lab.validate.suite import WORTH, default_reference

LIMITS = {("leave_one_out", "idle"): (1.3, 1.75), ("leave_one_out", "busy"): (1.3, 1.7)}  # mean factor, worst
LIMITS |= {("shipped", state): (1.35, 1.8) for state in ("idle", "busy")}


@pytest.fixture(scope="module")
def found() -> PowerResult:
    """The suite on the points of the package."""
    return suite.run(default_reference(WORTH))


@pytest.mark.parametrize(("name", "state"), LIMITS)
def test_points(found: PowerResult, name: str, state: str) -> None:
    score, (mean, worst) = found.scores(state)[name], LIMITS[name, state]
    assert score.cases == {"idle": 6, "busy": 13}[state]
    assert score.gm is not None and score.gm <= mean
    assert score.worst is not None and score.worst <= worst


def test_states_are_better_than_the_formulas_before(found: PowerResult) -> None:
    for state, factor in (("idle", 20), ("busy", 2)):
        scores = found.scores(state)
        assert (scores["today"].gm or 0) > factor * (scores["leave_one_out"].gm or 9)


def test_the_numbers_of_the_package_are_the_fit_to_all_points(found: PowerResult) -> None:
    made = model.of({row.point.die: row.die for row in found.rows})
    shipped = made.shipped()
    fitted = made.fit([row.point for row in found.rows], shipped)
    assert shipped.idle == pytest.approx(fitted.idle, rel=0.01)
    assert (shipped.waiting, shipped.delivery) == (fitted.waiting, pytest.approx(fitted.delivery))


def test_the_band_is_the_mean_error_of_points_whose_die_was_left_out(found: PowerResult) -> None:
    states = load_states()
    for name, factor in states.band.items():
        rows = [row for row in found.rows if row.point.idle_class == name]
        score = FactorScore.of((row.point.watts, row.unseen) for row in rows)
        assert states.cases[name] == score.cases
        assert factor.value == pytest.approx(score.gm, abs=0.01), name
