"""The study of silicon runs from its first cell to its last, and its tables are those of the suite."""

from __future__ import annotations

import pytest

from archsim.lab.validate.silicon import suite
from archsim.lab.validate.suite import default_reference
from tests.tools.commands import ROOT
from tests.tools.studies import Tables, plots, stored

NOTEBOOK = ROOT / "studies" / "silicon.ipynb"
MOST_BYTES = 250_000
FIGURES = 2

pytestmark = pytest.mark.slow


def test_the_stored_notebook_is_small_and_ran_without_errors() -> None:
    assert plots(stored(NOTEBOOK, MOST_BYTES)) == FIGURES


def test_figures_are_those_of_the_suite(tables: Tables) -> None:
    sets = suite.stored(default_reference("silicon")).to_json()["sets"]
    assert isinstance(sets, dict)
    assert set(tables["sets"]) == {name for name, one in sets.items() if one["rows"]}
    for name, row in tables["sets"].items():
        assert row["archsim"] == pytest.approx(sets[name]["mape_pct"])
        assert row["fitted roofline"] == pytest.approx(sets[name]["fitted_roofline_pct"])
    lacking = sum(row["rows"] for row in tables["lacking"].values())
    (near,) = tables["near"].values()
    assert near["rows"] + lacking == sum(one["rows_of_set"] for one in sets.values())
    assert 0 < near["near"] <= near["rows"]
    (trust,) = tables["trust"].values()
    assert trust["sure"] + trust["unsure"] == len(tables["sets"])


def test_rows_that_are_run_again_give_the_stored_number(tables: Tables) -> None:
    assert len(tables["again"]) == 2
    for row in tables["again"].values():
        assert row["again_us"] == pytest.approx(row["predicted_us"], rel=1e-12)


def test_the_worst_rows_have_a_cause_and_calibration_is_worth_something(tables: Tables) -> None:
    errors = [abs(row["error_pct"]) for row in tables["worst"].values()]
    assert errors == sorted(errors, reverse=True) and len(errors) == 2
    assert all(row["bound by"] for row in tables["worst"].values())
    assert all(row["calibrated"] < row["without"] for row in tables["worth"].values())
