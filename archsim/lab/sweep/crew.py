"""Processes that work on tasks: one that dies, hangs or runs out of memory loses its task alone, tried once more."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait
from multiprocessing import get_context
from typing import Any

from pebble import ProcessExpired, ProcessPool

from archsim import units
from archsim.lab.sweep.worker import FAILED, Row, Task, prepare, work

ATTEMPTS = 2
AHEAD = 2  # tasks handed out for each process, so that none waits


def rows(
    tasks: Iterable[Task], workers: int, seconds: float | None = None, work: Callable[[Task], Row] = work
) -> Iterator[Row]:
    """The row of each task as it is done, by ``workers`` processes that ``work``; ``seconds``: that a task may take.

    A task that fails twice is a row that says why. Whoever stops in the middle stops the processes.
    """
    todo = iter(tasks)
    under_way: dict[Future[Row], tuple[Task, int]] = {}
    pool: Any = ProcessPool(max_workers=workers, initializer=prepare, context=get_context("spawn"))
    finished = False
    try:
        while True:
            while len(under_way) < AHEAD * workers and (task := next(todo, None)) is not None:
                under_way[pool.schedule(work, args=[task], timeout=seconds)] = task, 1
            if not under_way:
                break
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda each: under_way[each][0].point):
                task, attempt = under_way.pop(future)
                row = _row(future, task, seconds)
                if row.status == FAILED and attempt < ATTEMPTS:
                    under_way[pool.schedule(work, args=[task], timeout=seconds)] = task, attempt + 1
                else:
                    yield row
        finished = True
    finally:
        if finished:
            pool.close()
        else:
            pool.stop()
        pool.join()


def _row(future: Future[Row], task: Task, seconds: float | None) -> Row:
    try:
        return future.result()
    except TimeoutError:
        return Row(task, FAILED, f"took longer than {seconds:g} s (limits.time)")
    except MemoryError:
        return Row(task, FAILED, f"needed more than {units.binary(task.memory_bytes or 0)} of memory (limits.memory)")
    except ProcessExpired as error:
        return Row(task, FAILED, f"its process died ({_ending(error.exitcode)})")
    except Exception as error:
        return Row(task, FAILED, f"fault of archsim: {type(error).__name__}: {error}")


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"
