"""Points a minute of a sweep by 1, 2 and 4 workers, and what keeps them from four times as many.

python studies/benchmarks/sweep_workers.py [dask]      processes as of -j, or workers of a local cluster

The first points of sram_vs_bandwidth.yaml, the same for each; mappings are searched, kernels compiled and processes
started before. ``efficiency``: points a minute beside as many times those of one worker. ``user s a row`` grows when
workers get into each other's way. ``idle``: share of its time in which a worker has no task; ``end``: of that what is
behind its last one. ``waits``: share of a task's time in which it has no CPU, since other programs have it; ``own
CPUs``: the efficiency without that.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from archsim.base import caches
from archsim.lab.sweep import dask_executor, worker
from archsim.lab.sweep.executor import SweepExecutor
from archsim.lab.sweep.points import SweepGrid
from archsim.lab.sweep.process_executor import ProcessExecutor
from archsim.lab.sweep.resolve import ResolvedSweep, resolve
from archsim.lab.sweep.worker import SweepRow, SweepTask

SPEC = Path(__file__).resolve().parents[1] / "sweeps" / "sram_vs_bandwidth.yaml"
WORKERS = (1, 2, 4)
ROWS, FIRST = 64, 16  # measured; behind those that start the processes


@dataclass(frozen=True)
class Spent:
    """A row's process, when it was worked on by the machine's clock, and CPU seconds: of the user, of all."""

    process: float
    began_s: float
    ended_s: float
    user_s: float
    cpu_s: float


def timed(task: SweepTask) -> SweepRow:
    """The row of a task; its numbers are a ``Spent``."""
    began, cpu = time.monotonic(), time.process_time()
    row = worker.work(task)
    ended, cpu = time.monotonic(), time.process_time() - cpu
    spent = {"process": os.getpid(), "began_s": began, "ended_s": ended, "user_s": row.seconds, "cpu_s": cpu}
    return replace(row, numbers=spent)


def tasks(resolved: ResolvedSweep, count: int) -> Iterator[SweepTask]:
    """The first ``count`` tasks."""
    sweep = resolved.sweep
    for point in islice(SweepGrid(sweep), count):
        yield SweepTask(f"{point.number}", point.number, sweep.models[0], sweep.chip, point.values, sweep.fidelity)


def crew_of(workers: int, dask: bool) -> SweepExecutor:
    """Processes, or workers of a local cluster."""
    if not dask:
        return ProcessExecutor(workers, timed)
    import distributed
    import sweep_workers  # by name: a function of the script that runs would be sent as its code

    cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
    return dask_executor.DaskExecutor(distributed.Client(cluster), cluster.close, work=sweep_workers.timed)


def measured(resolved: ResolvedSweep, workers: int, dask: bool) -> list[Spent]:
    """What the rows took on a cache of mappings that is empty, behind those that start the processes."""
    kernels = caches.folder()
    assert kernels is not None
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "numba").symlink_to(kernels / "numba")
        os.environ[caches.FOLDER_VARIABLE] = folder
        try:
            with crew_of(workers, dask) as crew:
                both = list(tasks(resolved, FIRST + ROWS))
                for _ in crew.rows(both[:FIRST]):
                    pass
                rows = list(crew.rows(both[FIRST:]))
        finally:
            os.environ[caches.FOLDER_VARIABLE] = str(kernels)
    assert all(row.status == worker.OK for row in rows), {row.reason for row in rows}
    return [Spent(**{key: float(number or 0) for key, number in row.numbers.items()}) for row in rows]


def idle(spent: Sequence[Spent], workers: int) -> tuple[float, float]:
    """Shares of the workers' time without a task: in all, and behind the last task of each."""
    begin, end = min(row.began_s for row in spent), max(row.ended_s for row in spent)
    last = {row.process: row.ended_s for row in sorted(spent, key=lambda each: each.ended_s)}
    whole = workers * (end - begin)
    return 1 - sum(row.ended_s - row.began_s for row in spent) / whole, sum(end - one for one in last.values()) / whole


def main() -> None:
    """Print the table."""
    resolved, alone, quickest = resolve(SPEC), 0.0, 0.0
    print("| workers | points a minute | efficiency | user s a row | idle | end | waits | own CPUs |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for workers in WORKERS:
        spent = measured(resolved, workers, "dask" in sys.argv[1:])
        rate = 60 * len(spent) / (max(row.ended_s for row in spent) - min(row.began_s for row in spent))
        user = sum(row.user_s for row in spent) / len(spent)
        free, end = idle(spent, workers)
        waits = 1 - sum(row.cpu_s for row in spent) / sum(row.ended_s - row.began_s for row in spent)
        own = (1 - free) * len(spent) / sum(row.cpu_s for row in spent)
        alone, quickest = alone or rate, quickest or own
        shares = " | ".join(f"{100 * share:.1f} %" for share in (free, end, waits, own / quickest))
        print(f"| {workers} | {rate:.0f} | {100 * rate / alone / workers:.0f} % | {user:.2f} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
