"""What the predictions that are furthest off are bound by.

A prediction is the time from one run to the next, with what lies between kernels. Where that is more than the work of a
first run, the row is bound by its launch; else by the largest cause on the critical path of the layer that has most of
that path in a first run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from archsim.ir.unroll import count_commands
from archsim.lab.run.job import build
from archsim.lab.run.simulation import simulated
from archsim.lab.validate.silicon.measured_chip import SetOnChip, on_chip
from archsim.lab.validate.silicon.predict import US_PER_S, SiliconPrediction, in_processes, job_of
from archsim.lab.validate.silicon.suite import CALIBRATE, SetScore, SiliconResult
from archsim.report.checks.silicon import MOST_COMMANDS, WORST, furthest

LAUNCH = "launch"  # the cause


class AskedRow(NamedTuple):
    """A row of which it is asked what bounds it."""

    on: SetOnChip
    row: SiliconPrediction


def explained(result: SiliconResult, most: int = WORST, jobs: int = 1) -> SiliconResult:
    """The result with what its worst rows are bound by; ``jobs``: processes that run them. Rows of very many commands
    stay without."""
    scores = {score.measured.name: score for score in result.sets}
    places = [(row["set"], row["case"]) for row in furthest(result.to_store(), most)]
    chips = {name: on_chip(scores[name].measured, calibrated=result.calibrate == CALIBRATE[0]) for name, _ in places}
    asked = [
        AskedRow(chips[name], next(row for row in scores[name].scored if row.row.case == case)) for name, case in places
    ]
    causes = in_processes(bound_by, asked, jobs, "causes")
    found = dict(zip(places, causes, strict=True))
    return replace(result, sets=tuple(_with(score, found) for score in result.sets))


def bound_by(asked: AskedRow) -> str:
    """The cause that a row is bound by; '' where its run has too many commands to look for it."""
    job = replace(job_of(asked.on, asked.row.row), warm=None)
    built = build(job)
    if sum(map(count_commands, built.program.queues)) > MOST_COMMANDS:
        return ""
    first = simulated(job, built)
    if 2 * first.latency_s * US_PER_S < asked.row.time_us:
        return LAUNCH
    return max(first.layers, key=lambda layer: layer.cycles_critical).bound_by


def _with(score: SetScore, found: Mapping[tuple[str, str], str]) -> SetScore:
    name = score.measured.name
    rows = tuple(replace(row, bound_by=found.get((name, row.row.case), "")) for row in score.rows)
    return replace(score, rows=rows)
