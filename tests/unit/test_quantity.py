"""Units of numbers, from their keys."""

from __future__ import annotations

import pytest
from fixtures_result import make_result

from archsim.lab.kit.options import scalars
from archsim.report.kit.number_format import NONE
from archsim.report.kit.quantity import bare, quantity, unit_of
from archsim.report.run.summary import summarise


def test_every_number_of_a_result_has_a_unit() -> None:
    keys = [*scalars(summarise(make_result(3)))]
    assert len(keys) > 60
    assert [key for key in keys if unit_of(key) is None] == []


@pytest.mark.parametrize(
    ("key", "unit"),
    [
        ("latency_s", "s"),
        ("throughput_per_s", "1/s"),
        ("architecture.peak_macs_per_s", "MAC/s"),
        ("dram.peak_bytes_per_s", "B/s"),
        ("dram.read_bytes", "B"),
        ("energy_breakdown_j.l1", "J"),
        ("energy_breakdown_j.core_w", "J"),
        ("edp_js", "J s"),
        ("mac_breakdown.stall_dram", "MAC slots"),
        ("time_breakdown.core[0].array.busy", "cycles"),
        ("utilization", "share"),
        ("workload.layers", "1"),
        ("l1.size", None),
        ("requests_per_s", None),
    ],
)
def test_units_follow_the_tables_then_the_ending(key: str, unit: str | None) -> None:
    assert unit_of(key) == unit


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.5e-3, "s", "2.5 ms"),
        (0.5, "share", "50.0 %"),
        (1234567, "cycles", "1,234,567"),
        (0.25, "cycles", "0.25"),
        (9.5, "mm2", "9.5 mm\N{SUPERSCRIPT TWO}"),
        (12.5, "1/s", "12.5 /s"),
        (None, "J", NONE),
        (float("nan"), "J", NONE),
        (12, None, "12"),
    ],
)
def test_quantities_as_people_read_them(value: float | None, unit: str | None, text: str) -> None:
    assert quantity(value, unit) == text


def test_figures_have_their_label_and_other_names_lose_their_unit() -> None:
    assert [bare(key) for key in ("power_avg_w", "throughput_per_s", "power_idle_w", "cells_per_s")] == [
        *("power, average", "throughput", "power idle", "cells"),
    ]
