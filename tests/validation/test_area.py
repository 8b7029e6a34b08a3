"""Published dies against the structures of the area table, and published floorplans against the shipped chips."""

from __future__ import annotations

import pytest

from archsim.energy.structures import load_structures
from archsim.lab.validate.area import inventory, suite
from archsim.lab.validate.area.suite import AreaResult, fit
from archsim.lab.validate.factor import FactorScore
from archsim.lab.validate.suite import WORTH, default_reference

LIMITS = {"without_fill": (1.6, 2.6), "leave_one_out": (1.25, 1.8), "shipped": (1.25, 1.8)}  # mean factor, worst
CHIP = 1.35  # published die of a shipped chip by that of its file
BLOCK, MOST = 1.35, 2.1
NEAR = 7  # of the 11 blocks


@pytest.fixture(scope="module")
def found() -> AreaResult:
    """The suite on the dies of the package."""
    return suite.run(default_reference(WORTH))


@pytest.mark.parametrize("name", LIMITS)
def test_dies(found: AreaResult, name: str) -> None:
    score = found.scores()[name]
    assert score.cases == 15
    assert score.gm is not None and score.worst is not None
    assert (score.gm, score.worst) <= LIMITS[name]
    assert score.worst <= LIMITS[name][1]


def test_structures_are_better_than_the_formulas_before(found: AreaResult) -> None:
    scores = found.scores()
    assert (scores["today"].gm or 0) > 2 * (scores["without_fill"].gm or 9)


@pytest.mark.parametrize("name", ["gpu", "datacenter"])
def test_the_fill_of_a_class_is_the_fit_to_its_dies(found: AreaResult, name: str) -> None:
    rows = [row.die for row in found.rows if row.die.scored and row.die.class_ == name]
    fitted = fit([(die.die_mm2, inventory.parts(die)) for die in rows], 1.0)
    assert load_structures().fill[name].value == pytest.approx(fitted, abs=0.01)


def test_the_band_is_the_mean_error_of_dies_left_out(found: AreaResult) -> None:
    structures = load_structures()
    for name, factor in structures.band.items():
        rows = [row for row in found.rows if row.die.scored and row.die.class_ == name]
        score = FactorScore.of((row.die.die_mm2, row.left_out) for row in rows)
        assert structures.dies[name] == score.cases
        assert factor.value == pytest.approx(score.gm, abs=0.01), name


def test_chips_are_as_large_as_their_dies(found: AreaResult) -> None:
    ratios = {row.chip: row.published / row.predicted for row in found.blocks if row.block == "die"}
    assert len(ratios) >= 6
    assert {chip: ratio for chip, ratio in ratios.items() if not 1 / CHIP <= ratio <= CHIP} == {}


def test_blocks_of_floorplans(found: AreaResult) -> None:
    ratios = [row.published / row.predicted for row in found.blocks if row.block != "die"]
    factors = [max(ratio, 1 / ratio) for ratio in ratios]
    assert len(factors) == 11
    assert sum(factor <= BLOCK for factor in factors) >= NEAR
    assert max(factors) <= MOST


def test_a_score_is_symmetric() -> None:
    assert FactorScore.of([(2, 1), (1, 2)]).to_json() == {
        "cases": 2, "factor_gm": pytest.approx(2), "factor_worst": pytest.approx(2),
    }  # fmt: skip
    assert FactorScore.of([]).gm is None
