"""One row of a sweep, worked out in a process of its own: a model on a design at a fidelity."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from multiprocessing import parent_process
from threading import Thread
from typing import TYPE_CHECKING, Any

from archsim.base.errors import ArchsimError, ProgramError, SimulationError
from archsim.ir.workload import Workload
from archsim.lab.kit import gc_pause
from archsim.lab.kit.options import scalars
from archsim.lab.scenario.find import LoadedScenario, is_scenario, load
from archsim.lab.sweep.form import SweepModel

if TYPE_CHECKING:
    from archsim.lab.run.job import Job

COST = "cost"  # the fidelity at which nothing is simulated
OK, IMPOSSIBLE, FAILED = "ok", "impossible", "failed"
LEFT_OUT = ("time_breakdown",)  # of the numbers of a result: hundreds of columns for each core


@dataclass(frozen=True)
class SweepTask:
    """``key``: of all that the row depends on; ``point``, ``model``: its place in the table; ``values``: of the chip;
    ``fidelity``: None on a chip that has but one.
    """

    key: str
    point: int
    model: SweepModel
    chip: str
    values: Mapping[str, object]
    fidelity: str | None
    objective: str = "latency"
    dtype: str | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class SweepRow:
    """What came of a task: numbers of the result by dotted key; or why there are none."""

    task: SweepTask
    status: str
    reason: str = ""
    numbers: Mapping[str, float | None] = field(default_factory=dict)
    seconds: float = 0.0


def work(task: SweepTask) -> SweepRow:
    """The row of a task. What the chip, the model or the mapping cannot be is its reason; what is a fault of our own is
    a failure; anything else is raised. Where memory is short, what earlier points left for later ones goes, and the
    point begins again.
    """
    from mapper.analytic import shared_counts
    from mapper.search import table_cache

    began = _cpu_s()
    table_cache.keep(table_cache.MANY_POINTS)
    if task.memory_bytes is not None:
        limit_memory(task.memory_bytes)
    row = None
    try:
        row = _row(task)
    except MemoryError:
        table_cache.forget()
        shared_counts.forget()
    return replace(row or _row(task), seconds=_cpu_s() - began)


def _row(task: SweepTask) -> SweepRow:
    from archsim.lab.run.job import Job

    try:
        job = Job(
            task.model.model, task.chip, values=task.values, objective=task.objective, dtype=task.dtype,
            fidelity=task.fidelity if task.fidelity != COST else None,
        )  # fmt: skip
        summary = _summary(job, task)
    except (ProgramError, SimulationError) as error:
        return SweepRow(task, FAILED, f"fault of archsim: {error}")
    except ArchsimError as error:
        return SweepRow(task, IMPOSSIBLE, " ".join(str(error).split()))
    numbers = {key: number for key, number in scalars(summary).items() if key.partition(".")[0] not in LEFT_OUT}
    return SweepRow(task, OK, "", numbers)


def _summary(job: Job, task: SweepTask) -> Mapping[str, Any]:
    from archsim.lab.run.estimate import estimated
    from archsim.lab.run.run import execute
    from archsim.lab.scenario.run import serve

    if is_scenario(task.model.model):
        return serve(_scenario(task.model.model), job).summary
    job = replace(job, model=model(task.model))
    return estimated(job) if task.fidelity == COST else execute(job).summary


@lru_cache(maxsize=8)
def _scenario(name: str) -> LoadedScenario:
    return load(name)


@lru_cache(maxsize=8)
def _loaded(model: str, batch: int | None, parameters: tuple[tuple[str, int | float | str], ...]) -> Workload:
    from archsim.frontend.load import load_model

    return load_model(model, batch=batch, parameters=dict(parameters) or None)


def model(asked: SweepModel) -> Workload:
    """The model, read once by each process."""
    return _loaded(asked.model, asked.batch, tuple(asked.parameters.items()))


def limit_memory(size_bytes: int) -> None:
    """From now on this process may hold no more data than that; beyond it is a MemoryError."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size_bytes, hard))


def prepare(folder: str | None = None, variables: Mapping[str, str] | None = None) -> None:
    """Before a process's first task: what all tasks import; interrupts are the parent's to see, and it ends with it.

    ``folder``: to work in; ``variables``: of the environment.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    os.environ.update(variables or {})
    if folder is not None:
        os.chdir(folder)
    import archsim.lab.run.run  # noqa: F401

    gc_pause.seldom()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _cpu_s() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime
