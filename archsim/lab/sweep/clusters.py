"""Crews by what ``-j`` and ``--cluster`` say: processes, the address of a scheduler, or a cluster file."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from archsim.base.errors import ConfigError
from archsim.lab.kit.text import read_text
from archsim.lab.sweep.cluster_form import Batch, Local, read
from archsim.lab.sweep.executor import SweepExecutor
from archsim.lab.sweep.process_executor import ProcessExecutor

ClusterPlace = int | str | Local | Batch  # processes here, the address of a scheduler, what a cluster file says
CONNECT_S = 5.0
LOOPBACK = "127.0.0.1"
QUIET = f"{LOOPBACK}:0"  # a dashboard that other machines do not see, on a port that is free
LEAVE_S = 60  # before the end of a job its workers leave, so that what they do is not lost with blame
SUBMITTED_S = 0.05  # between two looks at which jobs are
_JOB = {"slurm": "SLURM", "lsf": "LSF", "pbs": "PBS"}  # names in dask-jobqueue
_ACCOUNT = {"slurm": "account", "lsf": "project", "pbs": "account"}


def place(workers: int | None, cluster: str | None) -> ClusterPlace:
    """Where a sweep works: ``workers`` processes of this machine (None: one for each processor), or a ``cluster``: the
    address of a scheduler, else the name of a file.

    Raises ConfigError with file:line:column, and when both are stated.
    """
    if cluster is None:
        return workers or processors()
    if workers is not None:
        raise ConfigError("--cluster has workers of its own: no number of processes (-j) beside it")
    return cluster if "://" in cluster else read(read_text(Path(cluster)), cluster)


def crew(place: ClusterPlace) -> SweepExecutor:
    """Who works there; what is not an address is started.

    Raises ConfigError when Dask is missing, no scheduler answers or no jobs can be submitted.
    """
    if isinstance(place, int):
        return ProcessExecutor(place)
    if isinstance(place, str):
        return _connected(place)
    return _local(place) if isinstance(place, Local) else _batch(place)


def script(batch: Batch) -> str:
    """The text that is submitted for a job; where it says SCHEDULER stands an address when it is."""
    return str(_job(batch)("tcp://SCHEDULER", name="archsim", **_options(batch)).job_script())


def _connected(address: str) -> SweepExecutor:
    from archsim.lab.sweep.dask_executor import DaskExecutor

    client = _module("distributed").Client
    quiet = ExitStack()
    quiet.enter_context(_module("distributed.utils").silence_logging_cmgr(logging.CRITICAL))
    try:
        return DaskExecutor(client(address, timeout=CONNECT_S, set_as_default=False), quiet.close)
    except Exception as error:  # whatever comes from one that speaks something else
        quiet.close()
        raise ConfigError(f"--cluster {address}: no Dask scheduler answers ({error})") from error


def _local(local: Local) -> SweepExecutor:
    distributed = _module("distributed")
    cluster = distributed.LocalCluster(
        n_workers=local.workers, threads_per_worker=1, host=LOOPBACK, dashboard_address=local.dashboard or QUIET,
        silence_logs=logging.CRITICAL,
    )  # fmt: skip
    return _of(cluster)


def _batch(batch: Batch) -> SweepExecutor:
    job = _job(batch)
    if shutil.which(job.submit_command) is None:
        raise ConfigError(f"kind: {batch.kind}: this machine has no '{job.submit_command}' to submit jobs with")
    answers: list[str] = []
    cluster = getattr(_module("dask_jobqueue"), f"{_JOB[batch.kind]}Cluster")(
        job_cls=_telling(job, answers),
        silence_logs=logging.CRITICAL,
        scheduler_options={"dashboard_address": batch.dashboard or QUIET},
        **_options(batch),
    )
    try:
        cluster.scale(jobs=batch.jobs)
        while len(answers) < batch.jobs:
            time.sleep(SUBMITTED_S)
        refused = next(filter(None, answers), None)
        if refused is not None:
            raise ConfigError(f"kind: {batch.kind}: a job was not taken: {refused}")
    except BaseException:
        cluster.close()
        raise
    return _of(cluster, batch.jobs * batch.cores)


def _telling(job: Any, answers: list[str]) -> Any:
    """A kind of job whose submission is an answer: '' or why it was refused."""

    async def start(self: Any) -> None:
        try:
            await job.start(self)
            answers.append("")
        except Exception as error:  # nobody else looks at it
            await _module("distributed.deploy.spec").ProcessInterface.start(self)
            answers.append(" ".join(str(error).rpartition("stderr:")[2].split()) or type(error).__name__)

    return type(job.__name__, (job,), {"start": start})


def _of(cluster: Any, coming: int = 0) -> SweepExecutor:
    from archsim.lab.sweep.dask_executor import DaskExecutor

    try:
        return DaskExecutor(_module("distributed").Client(cluster, set_as_default=False), cluster.close, coming)
    except BaseException:
        cluster.close()
        raise


def _job(batch: Batch) -> Any:
    module = _module("dask_jobqueue").__name__
    return getattr(import_module(f"{module}.{batch.kind}"), f"{_JOB[batch.kind]}Job")


def _options(batch: Batch) -> Mapping[str, Any]:
    """Of a job of dask-jobqueue; what the file does not say is as Dask's own configuration says."""
    hours, minutes = divmod(batch.walltime_s // 60, 60)
    stated = {
        "queue": batch.queue,
        _ACCOUNT[batch.kind]: batch.account,
        "interface": batch.interface,
        "python": batch.python,
        "job_extra_directives": list(batch.directives),
        "job_script_prologue": list(batch.environment),
    }
    return {
        "job_name": "archsim",
        "cores": batch.cores,
        "processes": batch.cores,
        "memory": f"{batch.memory_bytes} B",
        "walltime": f"{hours:02}:{minutes:02}" if batch.kind == "lsf" else f"{hours:02}:{minutes:02}:00",
        "worker_extra_args": [
            "--no-dashboard",
            "--lifetime",
            f"{max(batch.walltime_s - LEAVE_S, batch.walltime_s // 2)}s",
        ],
        **{key: value for key, value in stated.items() if value},
    }


def _module(name: str) -> Any:
    """A module of Dask, which from now on logs warnings alone: what ends late would say so when all is done."""
    try:
        with _handler_of_interrupts_kept():
            found = import_module(name)
    except ImportError:
        raise ConfigError("a cluster needs Dask: pip install 'archsim[cluster]'") from None
    logging.getLogger("distributed").setLevel(logging.WARNING)
    return found


@contextmanager
def _handler_of_interrupts_kept() -> Iterator[None]:
    """Importing dask_jobqueue makes Ctrl-C end the whole process with exit code 0; here it stays an interrupt."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is not before:  # only the main thread may change it
            signal.signal(signal.SIGINT, before)


def processors() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
