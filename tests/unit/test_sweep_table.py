"""The table of a sweep: its columns, base units, the front, constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archsim.lab.sweep.form import read
from archsim.lab.sweep.table import plain, table, undominated

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
    assert found.attrs == {"units": {"l1.size": "B"}, "sweep": "t", "front": [0, 1]}


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
    assert np.isnan(found.loc[5, "latency_s"]) and found.loc[5, "reason"] == "does not fit"


@pytest.mark.parametrize(
    ("value", "number", "unit"),
    [
        ("2 MiB", 2**21, "B"),
        ("0.8 GHz", 800_000_000, "Hz"),
        ("64 B/cycle", 64, "B/cycle"),
        (4, 4, ""),
        ("os", "os", ""),
        (True, True, ""),
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
