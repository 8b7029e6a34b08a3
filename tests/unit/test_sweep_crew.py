"""Processes of a sweep: faults, deaths, hangs and hunger of one task are its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.popen_spawn_posix import Popen
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Timer
from typing import cast

import pytest

from archsim.base.errors import ConfigError, SimulationError
from archsim.cli.ending import ending
from archsim.lab.sweep import worker
from archsim.lab.sweep.form import SweepModel
from archsim.lab.sweep.process_executor import AHEAD, ProcessExecutor
from archsim.lab.sweep.worker import COST, FAILED, OK, SweepRow, SweepTask, limit_memory, work
from mapper.search import table_cache
from tests.tools.processes import ended

pytestmark = pytest.mark.slow  # processes of their own
LIMIT = 1 << 30


def task(point: int, **values: object) -> SweepTask:
    return SweepTask(f"k{point}", point, SweepModel("m"), "c", values, "fast", memory_bytes=LIMIT)


def fragile(asked: SweepTask) -> SweepRow:
    """What ``values`` say: raise, die, hang, eat, or fail the first time only."""
    what, mark = asked.values.get("what"), Path(str(asked.values.get("mark", "")))
    if what == "raise":
        raise ZeroDivisionError("of nothing")
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "hang":
        time.sleep(600)
    if what == "eat":
        limit_memory(LIMIT)
        return SweepRow(asked, OK, str(len(bytearray(4 * LIMIT))))
    if what == "once" and not mark.exists():
        mark.write_text("was here")
        os._exit(3)
    return SweepRow(asked, OK, numbers={"n": float(asked.point)})


def test_each_fault_is_its_own(tmp_path: Path) -> None:
    faults = ["raise", "die", "hang", "eat"]
    tasks = [task(n, what=faults[n // 3]) if n % 3 == 1 and n // 3 < 4 else task(n) for n in range(14)]
    tasks.append(task(14, what="once", mark=str(tmp_path / "mark")))
    with ProcessExecutor(2, fragile) as crew:
        found = {row.task.point: row for row in crew.rows(tasks, seconds=4)}
    assert sorted(found) == list(range(15))
    reasons = {row.task.values["what"]: row.reason for row in found.values() if row.status == FAILED}
    assert reasons == {
        "raise": "fault of archsim: ZeroDivisionError: of nothing",
        "die": "its process died (signal SIGKILL)",
        "hang": "took longer than 4 s (limits.time)",
        "eat": "needed more than 1 GiB of memory (limits.memory)",
    }
    assert all(row.numbers == {"n": float(point)} for point, row in found.items() if row.status == OK)


def test_who_stops_in_the_middle_stops_the_processes() -> None:
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt), ProcessExecutor(2, fragile) as crew:
        for row in crew.rows([task(n, what="hang" if n else "") for n in range(6)]):
            assert row.task.point == 0
            raise KeyboardInterrupt
    assert time.monotonic() - begun < 60


def test_who_is_stopped_by_another_does_not_wait() -> None:
    """The processes of a worker of a cluster are stopped while a chunk waits for them."""
    crew = ProcessExecutor(1, fragile)
    timer = Timer(1.0, crew.close, kwargs={"at_once": True})
    timer.start()
    with pytest.raises(RuntimeError, match="these processes were stopped"):
        list(crew.rows([task(0, what="hang")]))
    timer.join()


def test_tasks_are_taken_as_they_are_needed() -> None:
    """Not all at once: there may be very many."""
    taken = []

    def tasks() -> Iterator[SweepTask]:
        for n in range(40):
            taken.append(n)
            yield task(n)

    with ProcessExecutor(2, fragile) as crew:
        rows = crew.rows(tasks())
        next(rows)
        assert len(taken) <= 2 * AHEAD + 2
        assert len(list(rows)) == 39


def whose(asked: SweepTask) -> SweepRow:
    """The process that works on it."""
    return SweepRow(asked, OK, numbers={"process": float(os.getpid())})


def test_processes_stay_until_the_context_is_left() -> None:
    with ProcessExecutor(1, whose) as crew:
        first, second = ([row.numbers["process"] for row in crew.rows([task(n)])] for n in range(2))
    assert first == second
    with pytest.raises(ProcessLookupError):
        os.kill(int(first[0] or 0), 0)


KILLED = """
import os, signal, sys
sys.path.insert(0, {folder!r})
from test_sweep_crew import ProcessExecutor, task, tells
if __name__ == "__main__":
    with ProcessExecutor(2, tells) as crew:
        for row in crew.rows([task(n, mark={mark!r}) for n in range(2)]):
            os.kill(os.getpid(), signal.SIGKILL)
"""


def tells(asked: SweepTask) -> SweepRow:
    """Write down the process; the second one goes on for long, the first one until the second has begun."""
    Path(f"{asked.values['mark']}{asked.point}").write_text(str(os.getpid()))
    last = Path(f"{asked.values['mark']}{1 if asked.point == 0 else 'never'}")
    while not last.exists():
        time.sleep(0.1)
    return SweepRow(asked, OK)


def test_processes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    mark, script = tmp_path / "mark", tmp_path / "script.py"
    script.write_text(KILLED.format(folder=str(Path(__file__).parent), mark=str(mark)))
    done = subprocess.run([sys.executable, str(script)], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    processes = [int((tmp_path / f"mark{n}").read_text()) for n in range(2)]
    began = time.monotonic()
    while not all(ended(process) for process in processes):
        assert time.monotonic() - began < 20
        time.sleep(0.1)


def test_tables_of_earlier_points_give_way_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    def needy(*_: object) -> dict[str, object]:
        if table_cache._shelf.tables:
            raise MemoryError
        return {}

    monkeypatch.setitem(table_cache._shelf.tables, "left", cast(table_cache.Tables, None))
    monkeypatch.setattr(worker, "_summary", needy)
    monkeypatch.setattr(worker, "scalars", lambda summary: summary)
    assert (
        work(SweepTask("k", 0, SweepModel("squeezenet"), "edge_npu", {}, COST)).status == OK
        and not table_cache._shelf.tables
    )


def test_a_fault_of_our_own_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadlock, or a Program of ours that breaks the rules, is no design that cannot be."""

    def raising(error: Exception) -> SweepRow:
        def summary(*_: object) -> object:
            raise error

        monkeypatch.setattr(worker, "_summary", summary)
        return work(SweepTask("k", 0, SweepModel("m"), "c", {}, "fast"))

    found = raising(SimulationError("all queues wait"))
    assert (found.status, found.reason) == ("failed", "fault of archsim: all queues wait")
    assert raising(ConfigError("too small")).status == "impossible"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_processes_have_started(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes between the birth of a process and what that reads; the start is whole before it acts."""
    launch, launched = Popen._launch, []

    def interrupted(self: Popen, process: BaseProcess) -> None:
        signal.raise_signal(number)
        launch(self, process)
        launched.append(self.pid)

    monkeypatch.setattr(Popen, "_launch", interrupted)
    of_tests = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with ending():  # as the command line does: SIGTERM is an interrupt
            before = signal.getsignal(number)
            with pytest.raises(KeyboardInterrupt), ProcessExecutor(2) as crew:
                crew.call(os.getpid)
            assert len(launched) == 2
            assert number == signal.SIGTERM or signal.getsignal(number) is before
    finally:
        signal.signal(signal.SIGINT, of_tests)
