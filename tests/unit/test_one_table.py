"""A figure and a cause are each written once: one row of a table, seen in every place that shows results."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.ir.causes import CAUSES, CauseTable
from archsim.ir.figure_table import FIGURES, FigureTable
from archsim.ir.result import LayerResult, public_keys
from archsim.lab.what_if.variants import UNTRIED
from archsim.report.run.headline import _REMARKS
from tests.tools.commands import ROOT
from tests.tools.one_table import BYTES_PER_MAC, THERMAL, added, check_cause, check_figure

MANY = 3  # names of figures or causes in one literal, from which on it is a list of them
NO_LISTS = {  # literals that name so many and are something else
    "archsim/lab/generation/result.py": "the result of a generation: sums over its steps, some under the same words",
    "archsim/report/generation/words.py": "the keys of a generation's result",
    "archsim/lab/scenario/result.py": "the result of a scenario: other numbers, some under the same words",
    "archsim/lab/scenario/run.py": "the numbers of a scenario's operating point that cannot serve",
    "archsim/lab/scenario/words.py": "the keys of a scenario's result",
    "archsim/pe/array.py": "the phases of a tile, in the order in which the array goes through them",
    "archsim/sim/compiled/layout.py": "the phases of all engines, by the numbers that compiled code knows them by",
    "archsim/report/run/summary.py": "how a result of the first schema is read",
}


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


def literals(path: Path) -> Iterator[set[str]]:
    """The words of each tuple, list, set and mapping that a file spells out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
        yield {item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)}


def test_nobody_lists_figures_or_causes_by_hand() -> None:
    """Columns of layers are keys of a layer's row, some of which are called as figures of the run are."""
    figures = {row.key for rows in FIGURES.stored.values() for row in rows} - {key.name for key in fields(LayerResult)}
    causes = {*CAUSES.time, *CAUSES.slots, *CAUSES.bounds}
    found = {
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "archsim").rglob("*.py"))
        for words in literals(path)
        if len(words & figures) >= MANY or len(words & causes) >= MANY
    }
    assert sorted(found - set(NO_LISTS)) == []
    assert sorted(set(NO_LISTS) - found) == []
