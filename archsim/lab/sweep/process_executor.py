"""A crew of processes on this machine: one that dies, hangs or runs out of memory loses its task alone."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait
from contextlib import contextmanager
from multiprocessing import get_context
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

from archsim.base import units
from archsim.lab.sweep.executor import ATTEMPTS
from archsim.lab.sweep.worker import FAILED, SweepRow, SweepTask, prepare, work

AHEAD = 2  # tasks handed out for each process, so that none waits
STOPPED_S = 0.5  # between two looks at whether somebody has stopped the processes
T = TypeVar("T")


class ProcessExecutor:
    """A ``Crew`` of so many processes that ``work``, in ``folder`` and with environment ``variables`` (the parent's
    if absent). They start with the first task and stay until the context is left.
    """

    def __init__(
        self,
        workers: int,
        work: Callable[[SweepTask], SweepRow] = work,
        folder: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._workers, self._work = workers, work
        self._start = folder, dict(variables or {})
        self._pool: Any = None
        self.stopped = False

    def __enter__(self) -> ProcessExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(at_once=kind is not None)

    def rows(self, tasks: Iterable[SweepTask], seconds: float | None = None) -> Iterator[SweepRow]:
        """See ``Crew.rows``."""
        todo = iter(tasks)
        under_way: dict[Future[SweepRow], tuple[SweepTask, int]] = {}
        finished = False
        try:
            while True:
                while len(under_way) < AHEAD * self._workers and (task := next(todo, None)) is not None:
                    under_way[self._schedule(task, seconds)] = task, 1
                if not under_way:
                    break
                for future in sorted(self._done(under_way), key=lambda each: under_way[each][0].point):
                    task, attempt = under_way.pop(future)
                    row = _row(future, task, seconds)
                    if row.status == FAILED and attempt < ATTEMPTS:
                        under_way[self._schedule(task, seconds)] = task, attempt + 1
                    else:
                        yield row
            finished = True
        finally:
            if not finished:
                self.close(at_once=True)

    def call(self, function: Callable[[], T]) -> T:
        """What a function returns in one of the processes; raises what it raises."""
        with _held():
            future: Future[T] = self._running().schedule(function)
        self._done([future])
        return future.result()

    def close(self, *, at_once: bool = False) -> None:
        """End the processes; ``at_once``: whatever they are doing, and no other ones start."""
        pool, self._pool = self._pool, None
        self.stopped |= at_once
        if pool is not None:
            (pool.stop if at_once else pool.close)()
            pool.join()

    def _done(self, futures: Iterable[Future[T]]) -> set[Future[T]]:
        """One or more that are done. Raises RuntimeError when the processes were stopped: then none ever is."""
        waiting = list(futures)
        while not (done := wait(waiting, STOPPED_S, FIRST_COMPLETED).done):
            if self.stopped:
                raise RuntimeError("these processes were stopped")
        return done

    def _schedule(self, task: SweepTask, seconds: float | None) -> Future[SweepRow]:
        with _held():
            future: Future[SweepRow] = self._running().schedule(self._work, args=[task], timeout=seconds)
        return future

    def _running(self) -> Any:
        if self.stopped:
            raise RuntimeError("these processes were stopped")
        if self._pool is None:
            self._pool = ProcessPool(
                max_workers=self._workers, initializer=prepare, initargs=self._start, context=get_context("spawn")
            )
        return self._pool


@contextmanager
def _held() -> Iterator[None]:
    """SIGINT and SIGTERM that come meanwhile act at the end: a process whose start is cut off complains of its half.

    Handlers wait, and not a mask, which processes would inherit.
    """
    if current_thread() is not main_thread():  # where no signal acts
        yield
        return
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
    for each in came:
        signal.raise_signal(each)


def _row(future: Future[SweepRow], task: SweepTask, seconds: float | None) -> SweepRow:
    try:
        return future.result()
    except TimeoutError:
        return SweepRow(task, FAILED, f"took longer than {seconds:g} s (limits.time)")
    except MemoryError:
        return SweepRow(
            task, FAILED, f"needed more than {units.binary(task.memory_bytes or 0)} of memory (limits.memory)"
        )
    except ProcessExpired as error:
        return SweepRow(task, FAILED, f"its process died ({_ending(error.exitcode)})")
    except Exception as error:
        return SweepRow(task, FAILED, f"fault of archsim: {type(error).__name__}: {error}")


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"
