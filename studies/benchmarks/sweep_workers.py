"""Points a minute of a sweep by 1, 2 and 4 workers, and what keeps them from four times as many.

python studies/benchmarks/sweep_workers.py [dask]      processes as of -j, or workers of a local cluster

Every point of sram_vs_bandwidth.yaml with a clock of its own, so that each searches its mappings as a new chip does;
no cache is read or written. ``idle``: share of its time, from its first task to the last of all, in which a worker
has none. ``CPU``: user seconds a row, which grow when workers get into each other's way. ``efficiency``: points a minute
beside as many times those of one worker; processes are started before.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from archsim.lab.sweep import dask_crew, worker
from archsim.lab.sweep.crew import Crew
from archsim.lab.sweep.judge import Judged, judge
from archsim.lab.sweep.points import Grid
from archsim.lab.sweep.processes import Processes
from archsim.lab.sweep.worker import Row, Task

SPEC = Path(__file__).resolve().parents[1] / "sweeps" / "sram_vs_bandwidth.yaml"
WORKERS = (1, 2, 4)
ROWS = 16  # for each worker: 20 s and more


@dataclass(frozen=True)
class Spent:
    """A row's process and when it was worked on, by the machine's clock."""

    process: int
    began_s: float
    ended_s: float
    cpu_s: float


def timed(task: Task) -> Row:
    """The row of a task; its numbers are a ``Spent``."""
    began = time.monotonic()
    row = worker.work(task)
    spent = {"process": float(os.getpid()), "began_s": began, "ended_s": time.monotonic(), "cpu_s": row.seconds}
    return replace(row, numbers=spent)


def tasks(judged: Judged, count: int) -> Iterator[Task]:
    """The first ``count`` tasks, spread over the grid."""
    sweep = judged.sweep
    grid = list(Grid(sweep))
    for number in range(count):
        point = grid[number * 89 % len(grid)]  # 89 has no factor of the size of the grid
        yield Task(f"{number}", number, sweep.models[0], sweep.chip, point.values, sweep.fidelity)


def crew_of(workers: int, dask: bool) -> Crew:
    """Processes, or workers of a local cluster."""
    if not dask:
        return Processes(workers, timed)
    import distributed

    cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
    return dask_crew.DaskCrew(distributed.Client(cluster), cluster.close, work=timed)


def measured(judged: Judged, workers: int, dask: bool) -> list[Spent]:
    """What the rows took, without those that start the processes."""
    with crew_of(workers, dask) as crew:
        for _ in crew.rows(tasks(judged, 2 * workers)):
            pass
        rows = list(crew.rows(tasks(judged, ROWS * workers)))
    assert all(row.status == worker.OK for row in rows), {row.reason for row in rows}
    return [Spent(**{key: number for key, number in row.numbers.items() if number is not None}) for row in rows]


def main() -> None:
    """Print the table."""
    os.environ["ARCHSIM_NO_CACHE"] = "1"
    judged, alone = judge(SPEC), 0.0
    print("| workers | points a minute | efficiency | CPU s a row | idle |")
    print("|---:|---:|---:|---:|---:|")
    for workers in WORKERS:
        spent = measured(judged, workers, "dask" in sys.argv[1:])
        begin, end = min(row.began_s for row in spent), max(row.ended_s for row in spent)
        rate = 60 * len(spent) / (end - begin)
        alone = alone or rate
        cpu = sum(row.cpu_s for row in spent) / len(spent)
        idle = 1 - sum(row.ended_s - row.began_s for row in spent) / (workers * (end - begin))
        print(f"| {workers} | {rate:.0f} | {100 * rate / alone / workers:.0f} % | {cpu:.2f} | {100 * idle:.1f} % |")


if __name__ == "__main__":
    main()
