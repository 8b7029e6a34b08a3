"""The command ``run`` where MODEL makes tokens one after another: its prompt, and the steps behind it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from archsim.base.writable import check_directory
from archsim.cli import options as opt
from archsim.cli.printing import put, say_missed, work

if TYPE_CHECKING:
    from archsim.lab.run.job import Job


def run(
    job: Job, require: Sequence[str], out: Path | None, format_: opt.OutputFormat, limit_memory: str | None = None
) -> None:
    """Run the prompt and the steps that the job names, print what they take, write it, and hold it to what is
    required."""
    from archsim.lab.generation.run import execute
    from archsim.lab.kit.options import Requirement
    from archsim.report.generation import terminal
    from archsim.report.generation.page import KIND
    from archsim.report.generation.words import KEYS
    from archsim.report.kit.console import columns, folded
    from archsim.report.kit.part_page import check_free

    requirements = [Requirement.parse(text, KEYS) for text in require]
    if out is not None:
        check_directory(out)
        check_free(out, KIND)
    with work(limit_memory, job.workers) as say:
        done = execute(job, say)
    missed = [item for item in requirements if not item.met(done.summary)]
    paths = done.save(out) if out is not None else []
    if format_ is opt.OutputFormat.JSON:
        put(terminal.to_json(done.summary))
    else:
        width = columns()
        put("\n".join([folded(terminal.to_table(done.summary, width), width), *map(str, paths)]))
    say_missed(missed, done.summary)
