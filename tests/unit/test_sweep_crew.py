"""Processes of a sweep: faults, deaths, hangs and hunger of one task are its own."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from archsim.lab.sweep import crew
from archsim.lab.sweep.form import Asked
from archsim.lab.sweep.worker import FAILED, OK, Row, Task, limit_memory

pytestmark = pytest.mark.slow  # processes of their own
LIMIT = 1 << 30


def task(point: int, **values: object) -> Task:
    return Task(f"k{point}", point, Asked("m"), "c", values, "fast", memory_bytes=LIMIT)


def fragile(asked: Task) -> Row:
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
        return Row(asked, OK, str(len(bytearray(4 * LIMIT))))
    if what == "once" and not mark.exists():
        mark.write_text("was here")
        os._exit(3)
    return Row(asked, OK, numbers={"n": float(asked.point)})


def test_each_fault_is_its_own(tmp_path: Path) -> None:
    faults = ["raise", "die", "hang", "eat"]
    tasks = [task(n, what=faults[n // 3]) if n % 3 == 1 and n // 3 < 4 else task(n) for n in range(14)]
    tasks.append(task(14, what="once", mark=str(tmp_path / "mark")))
    found = {row.task.point: row for row in crew.rows(tasks, 2, seconds=4, work=fragile)}
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
    rows = crew.rows([task(n, what="hang" if n else "") for n in range(6)], 2, work=fragile)
    assert next(rows).task.point == 0
    rows.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize("work", [fragile])
def test_tasks_are_taken_as_they_are_needed(work: Callable[[Task], Row]) -> None:
    """Not all at once: there may be very many."""
    taken = []

    def tasks() -> object:
        for n in range(40):
            taken.append(n)
            yield task(n)

    rows = crew.rows(tasks(), 2, work=work)  # type: ignore[arg-type]
    next(rows)
    assert len(taken) <= 2 * crew.AHEAD + 2
    assert len(list(rows)) == 39
