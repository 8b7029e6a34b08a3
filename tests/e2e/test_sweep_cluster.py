"""`archsim sweep --cluster` from a user's seat: the same table as on one machine, whoever dies; scripts; refusals."""

from __future__ import annotations

import logging
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from archsim.lab.sweep.store import FILE
from tests.tools.commands import COMMAND, Archsim, environment
from tests.tools.processes import of_session

pytestmark = pytest.mark.slow  # a process for each command

SPEC = """
name: small
chip: {chip}
models: [tiny.csv]
axes:
  l1.size: [4 KiB, 8 KiB, 16 KiB, 32 B]
  dram.bandwidth: [4 GB/s, 8 GB/s, 16 GB/s]
  clock: {{range: [0.5 GHz, 1 GHz], steps: 11}}
constraints: ["latency_s <= 1"]
objectives: [latency_s, energy_j]
limits: {{time: 1 min, memory: 8 GiB}}
"""
SLURM = """
schema: archsim.cluster/1
kind: slurm
jobs: 2
cores: 2
memory: 4 GiB
walltime: 90 min
queue: batch
account: project7
directives: ["--exclusive"]
environment: ["export ARCHSIM_TRIED=1"]
"""
SUBMIT = """#!/bin/bash
cp "$1" {folder}/job.$$.sh
setsid bash {folder}/job.$$.sh > {folder}/job.$$.log 2>&1 < /dev/null &
echo "Submitted batch job $!"
"""
CANCEL = '#!/bin/bash\necho "$1" >> {folder}/cancelled\nkill -- "-$1"\n'


@pytest.fixture
def spec(tmp_path: Path, chip: str, model: str) -> Path:
    """132 points beside a model named by a relative path."""
    assert Path(model) == tmp_path / "tiny.csv"
    path = tmp_path / "small.yaml"
    path.write_text(SPEC.format(chip=chip))
    return path


@pytest.fixture
def slurm(tmp_path: Path) -> Path:
    """A cluster file."""
    path = tmp_path / "slurm.yaml"
    path.write_text(SLURM)
    return path


@pytest.fixture
def workers() -> Iterator[Any]:
    """A scheduler with two workers."""
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as found:
        yield found


def results(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "results.parquet")


def begun(spec: Path, cluster: str, out: Path, cache: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, "sweep", str(spec), "--cluster", cluster, "--out", str(out), "--resume"], env=environment(cache),
        cwd=spec.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def known(out: Path) -> int:
    """Rows that are on disk."""
    try:
        with closing(sqlite3.connect(f"{(out / FILE).as_uri()}?mode=ro", uri=True)) as base:
            return int(base.execute("select count(*) from rows").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet
        return 0


def test_a_killed_worker_changes_nothing_and_a_dry_run_says_what_is_known(
    archsim: Archsim, workers: Any, spec: Path, cache: Path, tmp_path: Path
) -> None:
    assert archsim("sweep", str(spec), "-j", "2", "--out", str(tmp_path / "calm")).returncode == 0
    out = tmp_path / "out"
    process = begun(spec, workers.scheduler_address, out, cache)
    while known(out) < 20:
        assert process.poll() is None
        time.sleep(0.02)
    victim = random.Random(7).choice(list(workers.workers.values()))
    os.kill(victim.process.pid, signal.SIGKILL)
    _, said = process.communicate(timeout=120)
    assert (process.returncode, said) == (0, b"")
    found = results(out)
    assert len(found) >= 132 and not (found["status"] == "failed").any()
    pd.testing.assert_frame_equal(found, results(tmp_path / "calm"))
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    spec.write_text(spec.read_text().replace("16 KiB, 32 B", "16 KiB, 32 KiB, 32 B"))
    done = archsim("sweep", str(spec), "-j", "3", "--dry-run", "--out", str(out))
    assert done.returncode == 0 and done.stdout.splitlines() == [
        "small: 165 points, 1 model, 165 rows, fast",
        f"{out}: 132 rows are there, 33 to be simulated, then those of the front in more detail",
        "on 3 processes",
    ]
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_jobs_of_slurm_are_submitted_and_cancelled(archsim: Archsim, spec: Path, slurm: Path, tmp_path: Path) -> None:
    """With commands that begin jobs on this machine."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in (("sbatch", SUBMIT), ("scancel", CANCEL)):
        (commands / name).write_text(text.format(folder=tmp_path))
        (commands / name).chmod(stat.S_IRWXU)
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    done = archsim("sweep", str(spec), "--cluster", str(slurm), "--out", str(tmp_path / "out"), PATH=path)
    assert (done.returncode, done.stderr) == (0, "") and "99 ok, 33 impossible" in done.stdout
    assert len((tmp_path / "cancelled").read_text().split()) == 2
    (commands / "sbatch").write_text("#!/bin/bash\necho 'sbatch: error: invalid account' >&2\nexit 1\n")
    done = archsim("sweep", str(spec), "--cluster", str(slurm), "--out", str(tmp_path / "other"), PATH=path)
    assert done.returncode == 2 and "a job was not taken: sbatch: error: invalid account" in done.stderr


def test_a_dry_run_shows_the_script_and_writes_nothing(
    archsim: Archsim, spec: Path, slurm: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = archsim("sweep", str(spec), "--cluster", str(slurm), "--dry-run", "--out", str(out))
    assert (done.returncode, done.stderr) == (0, "") and not out.exists()
    assert "132 points, 1 model, 132 rows, fast" in done.stdout and "0 rows are there, 132 to" in done.stdout
    assert "on 2 jobs of 2 cores; the script of each:\n#!/usr/bin/env bash" in done.stdout
    for line in ("-p batch", "-A project7", "--cpus-per-task=2", "--mem=4G", "-t 01:30:00", "--exclusive"):
        assert f"#SBATCH {line}\n" in done.stdout
    script = done.stdout.splitlines()
    assert script[-2] == "export ARCHSIM_TRIED=1"
    assert f"{sys.executable} -m distributed.cli.dask_worker tcp://SCHEDULER" in script[-1]
    assert "--nworkers 2 " in script[-1] and "--lifetime 5340s" in script[-1]


def test_ctrl_c_leaves_nothing_behind(spec: Path, cache: Path, tmp_path: Path) -> None:
    cluster, out = tmp_path / "two.yaml", tmp_path / "out"
    cluster.write_text("kind: local\nworkers: 2\n")
    spec.write_text(spec.read_text().replace("steps: 11", "steps: 501"))  # far from done when the signal comes
    process = begun(spec, str(cluster), out, cache)
    while known(out) < 20:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130 and said.decode() == f"stopped; {out} keeps what was done: go on with --resume\n"
    began = time.monotonic()
    while of_session(process.pid):
        assert time.monotonic() - began < 10
        time.sleep(0.1)
