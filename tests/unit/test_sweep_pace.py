"""Points a minute, counted by a clock that is told."""

from __future__ import annotations

from collections.abc import Iterator

from archsim.lab.sweep.form import SweepModel
from archsim.lab.sweep.progress import SweepPace
from archsim.lab.sweep.run import SilentWatch
from archsim.lab.sweep.worker import OK, SweepRow, SweepTask


def clock(times: Iterator[float]) -> float:
    return next(times)


def test_rows_and_points_a_minute() -> None:
    times = iter([100.0, 130.0])
    pace = SweepPace(SilentWatch(), lambda: clock(times))
    pace.begin("fast", 40)
    pace.known(10)
    for point in range(30):
        pace.row(SweepRow(SweepTask("k", point, SweepModel("m"), "c", {}, None), OK))
    assert str(pace) == "30 rows in 30 s: 60 points a minute"


def test_nothing_to_do_has_no_rate() -> None:
    times = iter([5.0, 5.0])
    assert str(SweepPace(SilentWatch(), lambda: clock(times))) == "0 rows in 0 s"
