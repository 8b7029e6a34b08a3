"""Searches of sweeps: what a method is told, and that a search that stopped goes on as if it had not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pandas as pd
import pytest

from archsim.lab.explore.problem import PointOutcome
from archsim.lab.kit.options import Requirement
from archsim.lab.sweep.executor import SweepExecutor
from archsim.lab.sweep.form import SweepLimits, read
from archsim.lab.sweep.questions import SweepTable
from archsim.lab.sweep.resolve import ResolvedSweep, resolve
from archsim.lab.sweep.run import RunningSweep, SilentWatch
from archsim.lab.sweep.search import outcome, violation
from archsim.lab.sweep.table import plain
from archsim.lab.sweep.worker import FAILED, IMPOSSIBLE, OK, SweepRow, SweepTask
from tests.unit.fixtures_check import GOLDEN

SPEC = f"""
name: searched
chip: {GOLDEN}/chip.yaml
models: [tiny.csv, {{model: tiny.csv, batch: 2}}]
axes:
  l1.size: [4 KiB, 8 KiB, 16 KiB, 32 KiB, 64 KiB, 128 KiB]
  dram.bandwidth: {{log2: [1 GB/s, 16 GB/s]}}
  mxu.dataflow: [weight_stationary, input_stationary]
  clock: {{range: [0.2 GHz, 1.6 GHz], steps: 8}}
constraints: ["area_mm2 <= 64"]
objectives: [latency_s, max utilization]
"""
TOPOLOGY = (
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
    "conv1, 10, 10, 3, 3, 4, 8, 1,\n"
)
SEARCHES = ["{method: nsga2, trials: 60, seed: 5}", "{method: tpe, trials: 60, seed: 5}"]


class PowerCutError(Exception):
    """What stops a sweep in the middle."""


def row(task: SweepTask) -> SweepRow:
    """What comes of a point, by a formula: small memories are impossible, one clock fails."""
    values = {key: plain(value)[0] for key, value in task.values.items()}
    size, bandwidth, clock = (float(str(values[key])) for key in ("l1.size", "dram.bandwidth", "clock"))
    if size < 8192:
        return SweepRow(task, IMPOSSIBLE, "too small")
    if clock == 2e8:
        return SweepRow(task, FAILED, "its process died")
    latency = (task.model.batch or 1) * (1e12 / bandwidth + 4e12 / clock + 1e7 / size)
    numbers = {"latency_s": latency, "utilization": 1e12 / clock / latency, "area_mm2": size / 2048}
    return SweepRow(task, OK, "", numbers)


class Shuffled:
    """A crew whose rows come in some order, and which is cut off after so many."""

    def __init__(self, order: int, lasts: int = 10**6) -> None:
        self._order, self._left = order, lasts

    def __enter__(self) -> Shuffled:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def rows(self, tasks: Iterable[SweepTask], seconds: float | None = None) -> Iterator[SweepRow]:
        """See ``Crew.rows``."""
        asked = list(tasks)
        Random(self._order).shuffle(asked)
        for task in asked:
            if not self._left:
                raise PowerCutError
            self._left -= 1
            yield row(task)


@pytest.fixture(params=SEARCHES, ids=["nsga2", "tpe"])
def spec(tmp_path: Path, request: pytest.FixtureRequest) -> ResolvedSweep:
    (tmp_path / "tiny.csv").write_text(TOPOLOGY)
    (tmp_path / "sweep.yaml").write_text(SPEC + f"search: {request.param}\n")
    return resolve(tmp_path / "sweep.yaml")


def swept(resolved: ResolvedSweep, folder: str, crew: SweepExecutor) -> SweepTable:
    with RunningSweep(resolved, Path(resolved.file).parent / folder, resume=True) as sweeping:
        return sweeping.run(crew, SilentWatch())


@pytest.mark.slow
def test_a_search_depends_on_nothing_but_its_seed(spec: ResolvedSweep) -> None:
    """Whatever the order in which rows come back, and however often it is cut off and goes on."""
    calm = swept(spec, "calm", Shuffled(1))
    assert len(calm) == 120 and calm["point"].nunique() == 60
    assert {"ok", "impossible", "failed"} == set(calm["status"])
    assert calm.attrs["search"].endswith("seed 5: 60 of 480 points")
    pd.testing.assert_frame_equal(swept(spec, "other", Shuffled(2)), calm)
    for number in range(20):
        try:
            cut = swept(spec, "cut", Shuffled(number, lasts=11 + 7 * (number % 4)))
        except PowerCutError:
            continue
        break
    assert number > 3
    pd.testing.assert_frame_equal(cut, calm)
    search = replace(spec.sweep.search, seed=6)
    other = swept(replace(spec, sweep=replace(spec.sweep, search=search)), "other", Shuffled(1))
    assert other["point"].unique().tolist() != calm["point"].unique().tolist()


def test_known_rows_are_not_run_again(spec: ResolvedSweep) -> None:
    calm = swept(spec, "calm", Shuffled(1))
    pd.testing.assert_frame_equal(swept(spec, "calm", Shuffled(1, lasts=0)), calm)


def test_what_failed_is_run_again_under_other_limits(spec: ResolvedSweep) -> None:
    failed = int((swept(spec, "calm", Shuffled(1))["status"] == "failed").sum())
    longer = replace(spec, sweep=replace(spec.sweep, limits=SweepLimits(seconds=60.0)))
    folder = Path(spec.file).parent / "calm"
    with RunningSweep(longer, folder, resume=True) as sweeping:
        sweeping.run(Shuffled(1, lasts=failed), SilentWatch())
    assert failed
    swept(longer, "calm", Shuffled(1, lasts=0))
    with pytest.raises(PowerCutError):
        swept(spec, "calm", Shuffled(1, lasts=failed - 1))


def test_the_goals_of_all_models_are_told_and_what_they_miss() -> None:
    sweep = read(SPEC)
    good = {"latency_s": 2.0, "utilization": 0.5, "area_mm2": 32.0}
    large = {"latency_s": 1.0, "utilization": 0.75, "area_mm2": 128.0}
    assert outcome(sweep, [good, large]) == PointOutcome((2.0, -0.5, 1.0, -0.75), (0.0, 0.5))
    assert outcome(sweep, [good, None]) == PointOutcome(None, (0.0, float("inf")))
    assert outcome(sweep, [{**good, "utilization": None}]).costs is None


@pytest.mark.parametrize(
    ("constraint", "number", "share"),
    [
        ("area_mm2 <= 10", 10.0, 0.0),
        ("area_mm2 <= 10", 40.0, 0.75),
        ("utilization >= 0.5", 0.125, 0.75),
        ("utilization > 0.5", 0.5, 2.220446049250313e-16),
        ("cycles_total == 4", 8.0, 0.5),
        ("latency_s <= 0", 3.0, 1.0),
        ("area_mm2 <= 10", None, float("inf")),
    ],
)
def test_a_violation_is_a_share(constraint: str, number: float | None, share: float) -> None:
    asked = Requirement.parse(constraint)
    assert violation(asked, {asked.key: number}) == share
