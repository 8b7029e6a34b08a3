"""What the predictions that are furthest off are bound by: the largest cause on the critical path of their runs."""

from __future__ import annotations

from dataclasses import replace

from archsim.base.errors import ArchsimError
from archsim.base.progress import each
from archsim.ir.unroll import count_commands
from archsim.lab.run.job import build
from archsim.lab.run.simulation import simulated
from archsim.lab.validate.silicon.measured_chip import SetOnChip, on_chip
from archsim.lab.validate.silicon.predict import SiliconPrediction, job_of
from archsim.lab.validate.silicon.suite import CALIBRATE, SetScore, SiliconResult

WORST = 10  # rows that are told apart
MOST_COMMANDS = 1 << 19  # of a row whose critical path is looked for; one of so many takes some minutes


def explained(result: SiliconResult, most: int = WORST) -> SiliconResult:
    """The result with what its worst rows are bound by, of a first run of each; rows of very many commands, and those
    that fail, stay without."""
    worst = sorted(
        ((score, row) for score in result.sets for row in score.scored),
        key=lambda each_row: (-abs(each_row[1].error), each_row[0].measured.name, each_row[1].row.case),
    )[:most]
    found: dict[tuple[str, str], str] = {}
    chips: dict[str, SetOnChip] = {}
    for score, row in each(worst, "causes", "rows"):
        name = score.measured.name
        if name not in chips:
            chips[name] = on_chip(score.measured, calibrated=result.calibrate == CALIBRATE[0])
        found[name, row.row.place] = bound_by(chips[name], row)
    return replace(result, sets=tuple(_with(score, found) for score in result.sets))


def bound_by(on: SetOnChip, row: SiliconPrediction) -> str:
    """The largest cause on the critical path of a first run of a row, of the layer that has most of it; '' where it was
    not looked for."""
    try:
        job = replace(job_of(on, row.row), warm=None)
        built = build(job)
        if sum(map(count_commands, built.program.queues)) > MOST_COMMANDS:
            return ""
        return max(simulated(job, built).layers, key=lambda layer: layer.cycles_critical).bound_by
    except ArchsimError:
        return ""


def _with(score: SetScore, found: dict[tuple[str, str], str]) -> SetScore:
    name = score.measured.name
    rows = tuple(replace(row, bound_by=found.get((name, row.row.place), "")) for row in score.rows)
    return replace(score, rows=rows)
