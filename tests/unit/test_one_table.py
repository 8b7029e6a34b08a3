"""A figure and a cause are each written once: one row of a table, seen in every place that shows results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.ir.causes import CAUSES, CauseTable
from archsim.ir.figure_table import FIGURES, FigureTable
from archsim.ir.result import public_keys
from archsim.lab.what_if.variants import UNTRIED
from archsim.report.run.headline import _REMARKS
from tests.tools.one_table import BYTES_PER_MAC, THERMAL, added, check_cause, check_figure


def test_a_figure_is_one_row(tmp_path: Path) -> None:
    check_figure(tmp_path)


def test_a_cause_is_one_row(tmp_path: Path) -> None:
    check_cause(tmp_path)


def test_a_new_row_stands_with_its_kind_and_is_gone_again() -> None:
    before = CAUSES.time, CAUSES.slots, CAUSES.bounds, public_keys()
    with added(THERMAL), added(BYTES_PER_MAC):
        for keys in (CAUSES.time, CAUSES.slots, CAUSES.of_arrays):
            assert keys[keys.index("stall_dependency") + 1] == THERMAL.key
        assert CAUSES.bounds[CAUSES.bounds.index("dependency") + 1] == THERMAL.bound
        assert public_keys()[public_keys().index("die_cost_usd") + 1] == BYTES_PER_MAC.key
    assert (CAUSES.time, CAUSES.slots, CAUSES.bounds, public_keys()) == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"key": "stall_dram"}, "two rows have the key stall_dram"),
        ({"engine": "dram"}, "two rows have the phase dram"),
        ({"bound": ""}, "stall_thermal wait and bound no layer"),
        ({"label": ""}, "stall_thermal lack words or a colour"),
        ({"colour": "red"}, "stall_thermal lack words or a colour"),
    ],
)
def test_a_cause_that_lacks_something_is_refused(changes: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        CauseTable((*CAUSES.rows, replace(THERMAL, **changes)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"key": "energy_j"}, "two rows have the key energy_j"),
        ({"label": ""}, "bytes_per_mac lack words"),
        ({"says": "no sentence"}, "bytes_per_mac lack words"),
        ({"key": "nowhere.bytes"}, "nowhere.bytes stand in no section of a result; allowed per_sample, dram"),
    ],
)
def test_a_figure_that_lacks_something_is_refused(changes: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        FigureTable((*FIGURES.rows, replace(BYTES_PER_MAC, **changes)))


def test_what_can_mend_a_cause_is_a_kind_of_part_whose_keys_the_chip_file_has() -> None:
    kinds = {key.partition(".")[0] for key in UNTRIED}
    assert {kind for row in CAUSES.rows for kind in row.mended_by} <= kinds
    assert not [row.key for row in CAUSES.rows if row.key.startswith("stall_") and not row.mended_by]


def test_remarks_that_pages_work_out_are_of_figures_of_the_headline() -> None:
    assert set(_REMARKS) <= {row.key for row in FIGURES.shown}
