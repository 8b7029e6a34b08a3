"""``validate silicon``: rows of chips that exist, with thresholds; the whole is ``archsim validate silicon``."""

from __future__ import annotations

import csv
from random import Random
from statistics import fmean, median

import pytest

from archsim.lab.validate.silicon import predict, sets
from archsim.lab.validate.silicon.measured_chip import on_chip
from archsim.lab.validate.suite import default_reference
from tests.tools.told import told_us

SAMPLES = [  # set, rows that took less than so many microseconds, one of so many in their order by time; most errors
    ("tpu_v6e_gemm", 400, 9, 6.0, 5.0),
    ("tpu_v4_gemm", 500, 12, 9.0, 7.5),
    ("a100_gemm", 100, 1, 8.0, 6.0),
    ("a100_gelu", 60, 1, 2.0, 1.5),
    ("a100_layernorm", 60, 2, 3.0, 2.0),
    ("a100_softmax", 40, 2, 12.0, 10.0),
    ("mi210_gemm", 200, 1, 8.0, 7.0),
    ("mi210_gelu", 30, 1, 2.0, 2.0),
    ("mi210_layernorm", 50, 1, 7.0, 3.0),
    ("mi210_softmax", 60, 1, 16.0, 8.0),
]


def test_products_and_a_convolution_of_tpu_v3() -> None:
    """With no key calibrated but the time between programs; PyTorchSim states 11.5 %."""
    (measured,) = sets.read(default_reference("silicon"), ("tpu_v3",))
    on = on_chip(measured)
    found = [predict.predicted(on, row) for row in measured.rows if row.op in ("gemm", "conv")]
    assert len(found) == 5 and not [row.reason for row in found if row.reason]
    errors = [100 * abs(row.error) for row in found]
    assert max(errors) <= 11.5
    assert fmean(errors) <= 6.0


@pytest.mark.parametrize(("name", "most_us", "step", "mean_pct", "median_pct"), SAMPLES)
def test_a_sample_of_a_set(name: str, most_us: int, step: int, mean_pct: float, median_pct: float) -> None:
    """The mean and the median error of quick rows of all sizes."""
    (measured,) = sets.read(default_reference("silicon"), (name,))
    on = on_chip(measured)
    rows = sorted((row for row in measured.rows if row.time_us < most_us), key=lambda row: (row.time_us, row.case))
    found = [predict.predicted(on, row) for row in rows[::step]]
    assert not [row.reason for row in found if row.reason]
    errors = [100 * abs(row.error) for row in found]
    assert fmean(errors) <= mean_pct
    assert median(errors) <= median_pct


def test_twenty_rows_are_what_their_commands_print(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the quick ones that are stored, from all sets: the suite, the file and ``archsim run`` have one number. The
    file is written again by ``archsim validate silicon --out`` when the simulator or a chip changes."""
    with (default_reference("silicon") / sets.PREDICTED).open(encoding="utf-8", newline="") as file:
        quick = [row for row in csv.DictReader(file) if row["predicted_us"] and float(row["predicted_us"]) < 60]
    drawn = Random(20).sample(quick, 20)
    assert len({row["set"] for row in drawn}) >= 3
    for row in drawn:
        assert float(row["predicted_us"]) == pytest.approx(told_us(row["command"], capsys), rel=1e-12), row["case"]
