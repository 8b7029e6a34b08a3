"""The command ``run`` where MODEL is a scenario: several models at their own rates on one chip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from archsim.base.errors import ConfigError
from archsim.base.writable import check_directory
from archsim.cli import options as opt
from archsim.cli.printing import put, say_missed, work

if TYPE_CHECKING:
    from archsim.lab.run.job import Job

_OF_STREAMS = ("batch", "dtype", "parameters")


def run(
    job: Job, require: Sequence[str], out: Path | None, format_: opt.OutputFormat, limit_memory: str | None = None
) -> None:
    """Run the scenario that the job names, print it, write it, and hold it to its requirements."""
    from archsim.lab.kit.options import Requirement
    from archsim.lab.scenario.run import execute
    from archsim.lab.scenario.words import KEYS

    if job.repeat == "auto":  # nobody asked for anything else
        job = replace(job, repeat="exact")
    _check(job)
    requirements = [Requirement.parse(text, KEYS) for text in require]
    if out is not None:
        check_directory(out)
    with work(limit_memory, job.workers) as say:
        done = execute(job, say)
    missed = [item for item in requirements if not item.met(done.summary)]
    paths = done.save(out) if out is not None else []
    if format_ is opt.OutputFormat.JSON:
        from archsim.report.run.summary import to_text

        put(to_text(done.summary), end="")
    else:
        from archsim.report.run.terminal import console
        from archsim.report.scenario import terminal

        terminal.show(done.summary, console())
        for path in paths:
            put(str(path))
    say_missed(missed, done.summary)


def _check(job: Job) -> None:
    """Refuse options that are a stream's to state, or that a scenario has no use for."""
    from archsim.lab.run.job import FLAGS, Job

    kept = ("model", "chip", "objective", "values", "seed", "on_unsupported", "fidelity", "workers")
    plain = replace(Job(job.model, job.chip), **{name: getattr(job, name) for name in kept})
    for name in Job.__dataclass_fields__:
        if getattr(job, name) != getattr(plain, name):
            flag = "--" + FLAGS.get(name, name).replace("_", "-")
            why = "its file states it for each stream" if name in _OF_STREAMS else "allowed for a model"
            raise ConfigError(f"{flag}: {job.model} is a scenario; {why}")
