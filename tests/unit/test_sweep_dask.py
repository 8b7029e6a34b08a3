"""Workers of a Dask scheduler: faults of one task are its own, workers may die, strangers are refused."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from test_sweep_crew import ended, fragile, task

from archsim.base.errors import ConfigError, SimulationError
from archsim.lab.sweep import dask_executor, remote_worker, row_keys
from archsim.lab.sweep.dask_executor import DaskExecutor
from archsim.lab.sweep.worker import FAILED, OK, SweepRow, SweepTask

pytestmark = pytest.mark.slow  # processes of their own


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as found:
        yield found


def crew(cluster: Any, work: Any) -> DaskExecutor:
    import distributed

    return DaskExecutor(distributed.Client(cluster, set_as_default=False), work=work)


def deadly(asked: SweepTask) -> SweepRow:
    """As ``fragile``; ``kill`` and ``kill once``: the worker dies."""
    what, mark = asked.values.get("what"), Path(str(asked.values.get("mark", "")))
    if what == "kill" or (what == "kill once" and not mark.exists()):
        if what == "kill once":
            mark.write_text("was here")
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
    time.sleep(0.02)
    return fragile(asked)


def test_each_fault_is_its_own(cluster: Any, tmp_path: Path) -> None:
    faults = ["raise", "die", "hang", "eat", "kill"]
    tasks = [task(n, what=faults[n // 3]) if n % 3 == 1 and n // 3 < 5 else task(n) for n in range(40)]
    tasks.append(task(40, what="once", mark=str(tmp_path / "mark")))
    tasks.append(task(41, what="kill once", mark=str(tmp_path / "kill")))
    with crew(cluster, deadly) as workers:
        found = {row.task.point: row for row in workers.rows(tasks, seconds=2)}
    assert sorted(found) == list(range(42))
    reasons = {row.task.values["what"]: row.reason for row in found.values() if row.status == FAILED}
    assert reasons.pop("kill").startswith("its worker died (tcp://127.0.0.1:")
    assert reasons == {
        "raise": "fault of archsim: ZeroDivisionError: of nothing",
        "die": "its process died (signal SIGKILL)",
        "hang": "took longer than 2 s (limits.time)",
        "eat": "needed more than 1 GiB of memory (limits.memory)",
    }
    assert all(row.numbers == {"n": float(point)} for point, row in found.items() if row.status == OK)


def marked(asked: SweepTask) -> SweepRow:
    """Write down the process and wait."""
    Path(f"{asked.values['mark']}{asked.point}").write_text(str(os.getpid()))
    time.sleep(600 * asked.point)
    return SweepRow(asked, OK)


def test_who_stops_in_the_middle_stops_the_processes(cluster: Any, tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    with pytest.raises(KeyboardInterrupt), crew(cluster, marked) as workers:
        for _ in workers.rows([task(n, mark=mark) for n in range(6)]):
            while not Path(f"{mark}1").exists():
                time.sleep(0.1)
            raise KeyboardInterrupt
    began = time.monotonic()
    while not all(ended(int(path.read_text())) for path in tmp_path.iterdir()):
        assert time.monotonic() - began < 20
        time.sleep(0.1)
    with crew(cluster, whose) as workers:  # both workers are free for others
        assert len({row.numbers["process"] for row in workers.rows([task(0), task(1)])}) == 2


def test_a_chunk_that_comes_after_the_stop_begins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = remote_worker.WorkerOrders("a sweep", os.getcwd(), {}, row_keys.version(), fragile)
    monkeypatch.setattr(remote_worker, "_stopped", set())
    remote_worker.stop("another sweep")
    assert [row.status for row in remote_worker.run(orders, [task(0)], None)] == [OK]
    (kept,) = [process for process in remote_worker._idle if process.sweep == "a sweep"]
    assert kept.end is not None and kept.end.daemon  # a worker that is told to end does not wait for it
    remote_worker.stop("a sweep")
    with pytest.raises(RuntimeError, match="this sweep was stopped"):
        remote_worker.run(orders, [task(0)], None)
    assert not [process for process in (*remote_worker._idle, *remote_worker._busy) if process.sweep == "a sweep"]


def test_another_archsim_is_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_keys, "version", lambda: "0123456789abcdef")
    with pytest.raises(ConfigError) as caught, crew(cluster, fragile) as workers:
        list(workers.rows([task(0)]))
    assert str(caught.value).startswith("worker tcp://127.0.0.1:")
    assert "another archsim here" in str(caught.value) and "those of the sweep 0123456789ab" in str(caught.value)


def test_workers_without_the_file_system_are_refused(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    workers = crew(cluster, fragile)
    gone.rmdir()
    with pytest.raises(ConfigError, match=f"no folder {gone} here"), workers:
        list(workers.rows([task(0)]))


def where(asked: SweepTask) -> SweepRow:
    """The folder and the environment of the process."""
    return SweepRow(asked, OK, f"{os.getcwd()} {os.environ.get('ARCHSIM_CACHE')} {os.environ.get('ARCHSIM_PLUGINS')}")


def test_folder_and_environment_are_the_parents(cluster: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARCHSIM_CACHE", "/somewhere")
    monkeypatch.setenv("ARCHSIM_PLUGINS", "plugins")
    with crew(cluster, where) as workers:
        (row,) = workers.rows([task(0)])
    assert row.reason == f"{tmp_path} /somewhere plugins"


def test_a_worker_that_leaves_is_not_blamed(cluster: Any, tmp_path: Path) -> None:
    """Twice the worker of a task leaves, and the task is done by the next one."""
    import distributed

    def leave() -> None:
        for number in range(2):
            while len(list(tmp_path.iterdir())) <= number:
                time.sleep(0.05)
            client.retire_workers(workers=list(client.processing())[:1])

    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as leaving:
        client = distributed.Client(leaving, set_as_default=False)
        with ThreadPoolExecutor() as pool, DaskExecutor(client, work=slow) as workers:
            pool.submit(leave)
            (row,) = workers.rows([task(0, mark=str(tmp_path / "mark"))])
    assert row.status == OK and len(list(tmp_path.iterdir())) == 3


def slow(asked: SweepTask) -> SweepRow:
    """Write down the process; the first two are slow."""
    mark = Path(f"{asked.values['mark']}{os.getpid()}")
    mark.write_text("")
    time.sleep(600 if len(list(mark.parent.iterdir())) < 3 else 0)
    return SweepRow(asked, OK)


def test_without_workers_it_ends_unless_some_are_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    monkeypatch.setattr(dask_executor, "ALONE_S", 0.5)
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=logging.CRITICAL) as nobody:
        with pytest.raises(SimulationError, match="no workers since"), crew(nobody, fragile) as workers:
            list(workers.rows([task(0)]))
        with crew(nobody, fragile) as workers:
            assert list(workers.rows([])) == []
        client = distributed.Client(nobody, set_as_default=False)
        with ThreadPoolExecutor() as pool, DaskExecutor(client, coming=1, work=fragile) as workers:
            pool.submit(lambda: (time.sleep(1.5), nobody.scale(1)))
            assert [row.status for row in workers.rows([task(0)])] == [OK]
            nobody.scale(0)
            with pytest.raises(SimulationError, match="no workers since"):
                list(workers.rows([task(1)]))


def whose(asked: SweepTask) -> SweepRow:
    """The process that works on it, for a second."""
    time.sleep(1.0)
    return SweepRow(asked, OK, numbers={"process": float(os.getpid())})


def test_few_tasks_are_spread(cluster: Any) -> None:
    with crew(cluster, whose) as workers:
        assert len({row.numbers["process"] for row in workers.rows([task(0), task(1)])}) == 2
