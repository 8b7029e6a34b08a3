"""A model that makes tokens, on a chip: the prompt is run, then as many of the steps as it takes to know them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archsim.base.errors import ConfigError
from archsim.frontend.decode_steps import DecodeSteps
from archsim.lab.generation.result import OF_ROWS, figures_of, summary
from archsim.lab.generation.sampled_steps import Figures, sampled
from archsim.lab.run.job import FLAGS, Job, Progress, quiet
from archsim.lab.run.run import RunResult
from archsim.lab.run.run import execute as run_one

if TYPE_CHECKING:
    from pandas import DataFrame

_ONE_RUN = ("mapping", "warm", "numbers")  # of a job, which several runs cannot share


@dataclass(frozen=True)
class GenerationRun:
    """What came of it: ``summary`` (``archsim.generation_result/1``) as plain JSON types, and the runs that were
    simulated: of the prompt (None without prefill), and of steps by their numbers."""

    summary: dict[str, Any]
    prefill: RunResult | None = field(repr=False)
    steps: Mapping[int, RunResult] = field(repr=False)

    @property
    def table(self) -> DataFrame:
        """A row for each step that was run."""
        from pandas import DataFrame

        return DataFrame(self.summary["steps"]).set_index("step")

    def save(self, directory: str | Path) -> list[Path]:
        """Write generation.json, steps.csv, report.html and report.md, and what each run of the prompt, the first and
        the last step leaves in a directory of its own; returns the paths. Raises ConfigError when that cannot be
        written."""
        from archsim.report.generation.page import KIND
        from archsim.report.kit import part_page

        folder = Path(directory)
        paths = part_page.save(folder, self.summary, KIND)
        known = sorted(self.steps)
        runs = {"prefill": self.prefill, "first_step": self.steps[known[0]], "last_step": self.steps[known[-1]]}
        return paths + [path for name, run in runs.items() if run is not None for path in run.save(folder / name)]

    def _repr_html_(self) -> str:
        from archsim.report.generation.page import card

        return card(self.summary)


def asked_steps(job: Job) -> DecodeSteps | None:
    """The runs that a job's model is asked for, where they are several; raises ConfigError and ModelError."""
    from archsim.frontend.load import decode_steps

    if not isinstance(job.model, str | Path) or ":" not in str(job.model):  # without a phase it is one run
        return None
    return decode_steps(job.model, batch=job.batch, parameters=job.parameters)


def execute(job: Job, say: Progress = quiet) -> GenerationRun:
    """Run ``job``, whose model is ``NAME:generate``, or ``NAME:decode`` with several tokens, a path as well.

    Raises ConfigError where it asks for one run, or has options that several runs cannot share; ArchsimError's children
    as a run does.
    """
    asked = asked_steps(job)
    if asked is None:
        raise ConfigError(f"{job.model}: is one run; allowed NAME:generate, or NAME:decode with tokens above 1")
    from archsim.frontend.load import find_model

    _check(job)
    assert isinstance(job.model, str | Path)
    base, named = str(job.model).rpartition(":")[0], find_model(job.model)
    prefill = None
    if asked.with_prefill:
        say(f"prefill of {asked.prompt} rows")
        prefill = run_one(_of(job, f"{base}:prefill", asked.of_prefill()), say)
    runs: dict[int, RunResult] = {}

    def figures(step: int) -> Figures:
        say(f"run {len(runs) + 1} of steps: the one behind {asked.past(step)} rows")
        runs[step] = run_one(_of(job, f"{base}:decode", asked.of_step(step)), say)
        return figures_of(runs[step])

    steps = sampled(asked.tokens, figures)
    return GenerationRun(summary(job, named.name or named.file.stem, asked, prefill, runs, steps), prefill, runs)


def _of(job: Job, model: str, shape: Mapping[str, int | float | str]) -> Job:
    """One of the runs; parameters that have nothing to do with its rows stay."""
    kept = {key: value for key, value in job.parameters.items() if key not in OF_ROWS}
    return replace(job, model=model, batch=None, parameters={**kept, **shape})


def _check(job: Job) -> None:
    plain = Job(job.model, job.chip)
    for name in _ONE_RUN:
        if getattr(job, name) != getattr(plain, name):
            flag = "--" + FLAGS.get(name, name).replace("_", "-")
            raise ConfigError(f"{flag}: {job.model} is several runs; allowed for one")
