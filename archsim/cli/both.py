"""``run --schedule both``: what the schedule policy of the chip's platform leaves, beside the best schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from archsim.base.writable import check_directory
from archsim.cli import options as opt
from archsim.cli.printing import put, say_missed, work

if TYPE_CHECKING:
    from archsim.lab.run.job import Job

SCHEDULE = "both"
NAMES = ("platform", "best")


def run(job: Job, require: Sequence[str], out: Path | None, form: opt.OutputFormat, limit_memory: str | None) -> None:
    """Run both and print how they differ, the platform's as the base; requirements are of the best."""
    from archsim.lab.compare.runs import compare
    from archsim.lab.kit.options import Requirement, public_keys
    from archsim.lab.run.net import figures
    from archsim.lab.run.run import execute
    from archsim.report.compare import terminal as compare_table
    from archsim.report.run import terminal

    requirements = [Requirement.parse(text, public_keys()) for text in require]
    if out is not None:
        check_directory(out)
    with work(limit_memory, job.workers) as say:
        runs = [execute(replace(job, schedule=name, net=job.net and name == "best"), say) for name in NAMES]
        if figures(job.objective, runs[0].result) < figures(job.objective, runs[1].result):
            runs[1] = runs[0]  # without the net no search has simulated what the policy leaves
        platform, best = runs
        runs = [run.beside(best, platform) for run in runs]
        found = compare(runs, NAMES)
    paths = [path for name, done in zip(NAMES, runs, strict=True) for path in (done.save(out / name) if out else [])]
    paths += found.save(out) if out is not None else []
    missed = [item for item in requirements if not item.met(runs[1].summary)]
    if form is opt.OutputFormat.JSON:
        put(compare_table.to_json(found.told))
    else:
        compare_table.show(found.told, terminal.console(compare_table.width(found.told)))
        for path in paths:
            put(str(path))
    say_missed(missed, runs[1].summary)
