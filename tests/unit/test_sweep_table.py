"""The table of a sweep: its columns, base units, the front, constraints."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archsim.base.errors import ConfigError
from archsim.lab.sweep.digest import digest
from archsim.lab.sweep.form import read
from archsim.lab.sweep.questions import RESULTS, SweepTable
from archsim.lab.sweep.table import plain, table, undominated
from archsim.report.sweep.page import html

SWEEP = read("""
name: t
chip: c
models: [a, b]
axes: {l1.size: [1 KiB, 2 KiB], dram.channels: [1, 2], array.dataflow: [os, ws]}
constraints: ["area_mm2 <= 10"]
objectives: [latency_s, max utilization]
""")


def row(point: int, latency: float, utilization: float, model: str = "a", **changes: Any) -> dict[str, Any]:
    values = {"l1.size": "2 KiB", "dram.channels": 2, "array.dataflow": "os"}
    numbers = {"latency_s": latency, "utilization": utilization, "area_mm2": changes.pop("area", 5.0)}
    place = {"point": point, "model": model, "fidelity": "fast", "values": values}
    return {**place, "status": "ok", "reason": "", "numbers": numbers, **changes}


def test_columns_and_units() -> None:
    found = table(SWEEP, [row(1, 2.0, 0.5), row(0, 1.0, 0.4)])
    assert list(found.columns) == [
        *("point", "model", "fidelity", "l1.size", "dram.channels", "array.dataflow"),
        *("latency_s", "utilization", "area_mm2", "meets", "front", "status", "reason"),
    ]
    assert found["point"].tolist() == [0, 1] and found["l1.size"].tolist() == [2048, 2048]
    assert found.attrs["units"] == {"l1.size": "B", "latency_s": "s", "utilization": "1", "area_mm2": "mm2"}
    assert found.attrs["front"] == [0, 1]
    assert found.attrs["objectives"] == ["min latency_s", "max utilization"]


def test_the_front_is_of_each_model_and_of_rows_that_meet_all() -> None:
    rows = [
        row(0, 1.0, 0.4),
        row(1, 2.0, 0.5),
        row(2, 2.0, 0.4),
        row(3, 0.5, 0.9, area=11.0),
        row(4, 9.0, 0.1, model="b"),
        row(5, 0.1, 0.9, status="impossible", reason="does not fit", numbers={}),
        row(6, 0.1, 0.9, area=None),
    ]
    found = table(SWEEP, rows).set_index("point")
    assert found.index[found["front"]].tolist() == [0, 1, 4]
    assert found.index[found["meets"]].tolist() == [0, 1, 2, 4]
    assert (
        found["latency_s"].isna().tolist() == [point == 5 for point in found.index]
        and found.loc[5, "reason"] == "does not fit"
    )


@pytest.mark.parametrize(
    ("value", "number", "unit"),
    [
        ("2 MiB", 2**21, "B"),
        ("0.8 GHz", 800_000_000, "Hz"),
        ("64 B/cycle", 64, "B/cycle"),
        (4, 4, ""),
        ("os", "os", ""),
        (True, True, ""),
        (Decimal("0.5"), 0.5, ""),
        ([16, 32], "16x32", ""),
    ],
)
def test_values_of_axes_are_numbers_where_they_can_be(value: object, number: object, unit: str) -> None:
    assert plain(value) == (number, unit)


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=40))
def test_undominated_rows_are_those_that_no_other_beats(costs: list[tuple[int, int, int]]) -> None:
    found = undominated(np.array(costs, dtype=float))
    for mine, kept in zip(costs, found.tolist(), strict=True):
        beaten = any(all(o <= m for o, m in zip(other, mine, strict=True)) and other != mine for other in costs)
        assert kept == (not beaten)


def answering(*rows: dict[str, Any]) -> SweepTable:
    return SweepTable.of(table(SWEEP, rows))


def at(point: int, size: str, channels: int, latency: float, **changes: Any) -> dict[str, Any]:
    values = {"l1.size": size, "dram.channels": channels, "array.dataflow": "os"}
    return row(point, latency, 0.5, **{"values": values, **changes})


def test_the_best_row_of_each_model_within_further_constraints() -> None:
    found = answering(row(0, 1.0, 0.4), row(1, 2.0, 0.5), row(2, 0.5, 0.6, area=11.0), row(3, 7.0, 0.1, model="b"))
    assert found.best()["point"].tolist() == [0, 3]
    assert found.best("max utilization")["point"].tolist() == [1, 3]
    assert found.best(constraints=["utilization >= 0.45"])["point"].tolist() == [1]
    with pytest.raises(ConfigError, match="no number 'latenc_s' in the table .did you mean 'latency_s'"):
        found.best("latenc_s")


def test_better_fidelities_count_where_they_are() -> None:
    exact = {**row(0, 3.0, 0.4), "fidelity": "exact"}
    found = answering(row(0, 1.0, 0.4), row(1, 2.0, 0.3), exact)
    assert found.best()["latency_s"].tolist() == [3.0]
    assert found.best(constraints=["utilization <= 0.35"])["latency_s"].tolist() == [2.0]
    assert found.pareto()[["point", "fidelity"]].to_numpy().tolist() == [[0, "exact"]]
    assert isinstance(found.pareto(), SweepTable) and found.pareto().attrs == found.attrs


def test_sensitivity_is_along_each_axis_from_the_best() -> None:
    rows = [
        *(at(0, "1 KiB", 1, 9.0), at(1, "1 KiB", 2, 3.0), at(2, "2 KiB", 1, 8.0), at(3, "2 KiB", 2, 2.0)),
        at(4, "2 KiB", 4, 0.1, status="failed", reason="died", numbers={}),
    ]
    found = answering(*rows).sensitivity()
    assert found["axis"].tolist() == ["dram.channels", "l1.size"]
    assert found["swing"].tolist() == [4.0, 1.5]
    assert found.loc[0, ["low", "high", "at_low", "at_high"]].tolist() == [2.0, 8.0, 2, 1]


def test_sensitivity_is_of_one_fidelity_around_a_row_that_meets_all() -> None:
    rows = [
        *(at(0, "1 KiB", 1, 9.0), at(1, "1 KiB", 2, 3.0), at(2, "2 KiB", 1, 8.0), at(3, "2 KiB", 2, 2.0, area=11.0)),
        {**at(1, "1 KiB", 2, 30.0), "fidelity": "exact"},
    ]
    found = answering(*rows).sensitivity().set_index("axis")
    assert found["swing"].to_dict() == {"dram.channels": 3.0, "l1.size": 1.5}
    assert found.loc["l1.size", ["low", "high"]].tolist() == [2.0, 3.0]


@pytest.mark.parametrize("status", ["impossible", "failed", "ok"])
def test_a_sweep_without_any_figure_of_its_objectives_has_no_front(status: str) -> None:
    """``latency_s`` None: a row that worked, of a result that has no such figure."""
    numbers = {"latency_s": None, "area_mm2": 5.0} if status == "ok" else {}
    found = answering(*(row(at, 0.0, 0.0, status=status, reason="why", numbers=numbers) for at in range(3)))
    assert not found["front"].any() and found["status"].tolist() == [status] * 3
    assert found[["latency_s", "utilization"]].isna().all(axis=None)
    assert found.pareto().empty and found.best().empty and found.sensitivity().empty
    assert found.binding()["point"].tolist() == [0, 1, 2]
    (said,) = digest(found)["models"]
    assert "No row has a figure of latency_s." in said["says"] and not said["front"]
    assert "No row has a figure" in html(digest(found))


def test_a_row_without_a_figure_of_an_objective_is_not_on_the_front() -> None:
    found = answering(row(0, 1.0, 0.4), row(1, 0.5, 0.4, numbers={"latency_s": 0.5, "area_mm2": 5.0}))
    assert found["front"].tolist() == [True, False]


def test_what_binds_each_row_that_lost() -> None:
    rows = [row(0, 1.0, 0.4), row(1, 2.0, 0.4), row(2, 0.5, 0.9, area=11.0)]
    rows.append(row(3, 0.1, 0.9, status="impossible", reason="does not fit", numbers={}))
    found = answering(*rows).binding().set_index("point")
    assert found.index.tolist() == [1, 2, 3]
    assert found.loc[1, ["violates", "beaten_by"]].tolist() == ["", 0]
    assert found.loc[2, ["violates", "beaten_by"]].tolist() == ["area_mm2 <= 10 (found 11)", -1]
    assert found.loc[3, "status"] == "impossible" and found.loc[3, "beaten_by"] == -1


def test_a_table_is_read_back_with_what_it_knows(tmp_path: Path) -> None:
    found = answering(row(0, 1.0, 0.4), row(1, 2.0, 0.5))
    found.to_parquet(tmp_path / RESULTS)
    again = SweepTable.load(tmp_path)
    assert again.attrs == found.attrs and again.best()["point"].tolist() == [0]
    with pytest.raises(ConfigError, match="cannot be read"):
        SweepTable.load(tmp_path / "none")
