"""What a worker of a cluster does: the tasks of a chunk, one after another, in a process that stays for the next chunk.

The process is a crew of one (``processes``), so limits of time and memory, deaths and second attempts are those of a
sweep on one machine, and the worker itself never runs what could kill it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import current_process
from pathlib import Path
from threading import Lock, Timer

from archsim.base.errors import ConfigError
from archsim.lab.sweep import row_keys
from archsim.lab.sweep.process_executor import ProcessExecutor
from archsim.lab.sweep.worker import SweepRow, SweepTask

IDLE_S = 300.0  # after which the process of a sweep that gives nothing more to do ends


@dataclass(frozen=True)
class WorkerOrders:
    """What a sweep's parent asks of workers. ``folder``: its own, to which paths are relative; ``variables``: of the
    environment; ``version``: of its code and tables.
    """

    sweep: str
    folder: str
    variables: Mapping[str, str]
    version: str
    work: Callable[[SweepTask], SweepRow]


class _Process:
    """A crew of one with the time after which it is no longer kept."""

    def __init__(self, orders: WorkerOrders) -> None:
        self.sweep = orders.sweep
        self.crew = ProcessExecutor(1, orders.work, orders.folder, orders.variables)
        self.end: Timer | None = None


_lock = Lock()
_idle: list[_Process] = []
_busy: list[_Process] = []
_stopped: set[str] = set()  # sweeps of which a chunk may still come, as stopping may overtake its being taken back


def run(orders: WorkerOrders, tasks: Sequence[SweepTask], seconds: float | None) -> list[SweepRow]:
    """The rows of a chunk. Raises ConfigError when this worker cannot do what the parent could."""
    process = _taken(orders)
    try:
        return list(process.crew.rows(tasks, seconds))
    finally:
        with _lock:
            _busy.remove(process)
            if not process.crew.stopped:
                _keep(process)


def stop(sweep: str) -> None:
    """End the processes of a sweep, whatever they are doing; no more are begun."""
    with _lock:
        _stopped.add(sweep)
        ending = [process for process in (*_idle, *_busy) if process.sweep == sweep]
        _idle[:] = [process for process in _idle if process.sweep != sweep]
    for process in ending:
        process.crew.close(at_once=True)


def _taken(orders: WorkerOrders) -> _Process:
    """A process of the sweep: one that has nothing to do, or a new one."""
    with _lock:
        _check(orders)
        found = next((process for process in _idle if process.sweep == orders.sweep), None)
        if found is not None:
            _idle.remove(found)
            _busy.append(found)
            if found.end is not None:
                found.end.cancel()
            return found
    made = _begun(orders)
    try:
        with _lock:
            _check(orders)
            _busy.append(made)
    except RuntimeError:
        made.crew.close(at_once=True)
        raise
    return made


def _check(orders: WorkerOrders) -> None:
    if orders.sweep in _stopped:
        raise RuntimeError("this sweep was stopped")


def _begun(orders: WorkerOrders) -> _Process:
    if not Path(orders.folder).is_dir():
        raise ConfigError(f"no folder {orders.folder} here; workers need the file system of the sweep's machine")
    current_process().daemon = False  # a daemon, as workers under a nanny are, may have no processes of its own
    made = _Process(orders)
    found = made.crew.call(row_keys.version)
    if found != orders.version:
        made.crew.close(at_once=True)
        raise ConfigError(
            f"another archsim here: its code and tables are {found[:12]}, those of the sweep {orders.version[:12]}"
        )
    return made


def _keep(process: _Process) -> None:
    _idle.append(process)
    process.end = Timer(IDLE_S, _retire, [process])
    process.end.daemon = True
    process.end.start()


def _retire(process: _Process) -> None:
    with _lock:
        if process not in _idle:
            return
        _idle.remove(process)
    process.crew.close()
