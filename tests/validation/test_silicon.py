"""``validate silicon``: rows of chips that exist, with thresholds; the whole is ``archsim validate silicon``."""

from __future__ import annotations

from statistics import fmean, median

import pytest

from archsim.lab.validate.silicon import predict, sets
from archsim.lab.validate.suite import default_reference

STEP = 9  # of the rows in their order by time: all sizes are met


def test_products_and_a_convolution_of_tpu_v3() -> None:
    """With no key calibrated but the time between programs; PyTorchSim states 11.5 %."""
    (measured,) = sets.read(default_reference("silicon"), ("tpu_v3",))
    on = predict.on_chip(measured)
    found = [predict.predicted(on, row) for row in measured.rows if row.op in ("gemm", "conv")]
    assert len(found) == 5 and not [row.reason for row in found if row.reason]
    errors = [100 * abs(row.error) for row in found]
    assert max(errors) <= 11.5
    assert fmean(errors) <= 6.0


@pytest.mark.parametrize(("name", "most_us", "mean_pct", "median_pct"), [("tpu_v6e_gemm", 400, 6.0, 5.0)])
def test_a_sample_of_a_set(name: str, most_us: int, mean_pct: float, median_pct: float) -> None:
    """The mean and the median error of every ninth row that took less than so many microseconds."""
    (measured,) = sets.read(default_reference("silicon"), (name,))
    on = predict.on_chip(measured)
    rows = sorted((row for row in measured.rows if row.time_us < most_us), key=lambda row: (row.time_us, row.case))
    found = [predict.predicted(on, row) for row in rows[::STEP]]
    assert not [row.reason for row in found if row.reason]
    errors = [100 * abs(row.error) for row in found]
    assert fmean(errors) <= mean_pct
    assert median(errors) <= median_pct
