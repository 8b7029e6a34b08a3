"""`archsim sweep` from a user's seat: results, mistakes, kills at any moment, going on."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from tests.tools.commands import COMMAND, Archsim, environment
from tests.tools.kills import campaign

pytestmark = pytest.mark.slow  # a process for each command

SPEC = """
name: small
chip: {chip}
models: [{model}]
axes:
  l1.size: [4 KiB, 8 KiB, 16 KiB, 32 B]
  dram.bandwidth: [4 GB/s, 8 GB/s, 16 GB/s]
  clock: [0.8 GHz, 1 GHz]
constraints: ["latency_s <= 1"]
objectives: [latency_s, energy_j]
limits: {{time: 1 min, memory: 8 GiB}}
"""
KILLS = 6


@pytest.fixture
def spec(tmp_path: Path, chip: str, model: str) -> Path:
    """24 points, of which 6 are of a memory that is too small."""
    path = tmp_path / "small.yaml"
    path.write_text(SPEC.format(chip=chip, model=model))
    return path


def results(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "results.parquet")


def test_the_front_climbs_from_cost_to_exact(archsim: Archsim, tmp_path: Path) -> None:
    """Rows of the analytic model; those of its front simulated fast, and those of that front exact."""
    spec = tmp_path / "ladder.yaml"
    axes = "{dram.channels: [1, 2, 4], l1.size: [512 KiB, 1 MiB]}"
    spec.write_text(
        f"name: ladder\nchip: edge_npu\nmodels: [squeezenet]\naxes: {axes}\n"
        "objectives: [latency_s, area_mm2]\nfidelity: cost\n"
    )
    done = archsim("sweep", str(spec), "-j", "1", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    found = results(tmp_path / "out")
    points = {rung: set(found.loc[found["fidelity"] == rung, "point"]) for rung in ("cost", "fast", "exact")}
    front = {rung: set(found.loc[(found["fidelity"] == rung) & found["front"], "point"]) for rung in points}
    assert points["cost"] == set(range(6)) and points["fast"] == front["cost"] and points["exact"] == front["fast"]
    assert "exact" in done.stdout and "cost differs from fast" in (tmp_path / "out" / "report.md").read_text()
    costs = found[found["fidelity"] == "cost"]
    assert costs["power_peak_w"].isna().all() and (costs["latency_s"] > 0).all() and (costs["energy_j"] > 0).all()


def test_every_point_is_a_row(archsim: Archsim, spec: Path, tmp_path: Path) -> None:
    done = archsim("sweep", str(spec), "-j", "2", "--out", str(tmp_path / "out"))
    assert done.returncode == 0 and done.stderr == ""
    assert "grid: 24 of 24 points; rows: 18 ok, 6 impossible" in done.stdout and "Front of " in done.stdout
    found = results(tmp_path / "out")
    assert len(found) == 24 and found["point"].tolist() == list(range(24))
    small = found[found["l1.size"] == 32]
    assert (small["status"] == "impossible").all() and small["reason"].str.contains("l1").all()
    best = found.loc[found["latency_s"].idxmin()]
    assert best["front"] and best["clock"] == 1e9 and best["dram.bandwidth"] == 16e9
    pages = {name: (tmp_path / "out" / name).read_bytes() for name in ("report.html", "report.md")}
    assert b"points meet all constraints" in pages["report.md"] and b"6 impossible" in pages["report.html"]
    for name in pages:
        (tmp_path / "out" / name).unlink()
    assert archsim("report", str(tmp_path / "out")).returncode == 0
    assert {name: (tmp_path / "out" / name).read_bytes() for name in pages} == pages
    again = archsim("sweep", str(spec), "--out", str(tmp_path / "out"))
    assert again.returncode == 2 and "go on with --resume" in again.stderr
    more = archsim("sweep", str(spec), "--out", str(tmp_path / "out"), "--resume", "-j", "1")
    assert more.returncode == 0
    pd.testing.assert_frame_equal(results(tmp_path / "out"), found)


def test_mistakes_are_said_before_the_first_point(archsim: Archsim, spec: Path, tmp_path: Path) -> None:
    spec.write_text(spec.read_text().replace("dram.bandwidth", "dram.bandwith"))
    done = archsim("sweep", str(spec), "--out", str(tmp_path / "out"))
    assert done.returncode == 2 and not (tmp_path / "out").exists()
    assert done.stderr.startswith("error: ") and "did you mean 'dram.bandwidth'" in done.stderr
    assert f"{spec}:7:3" in done.stderr


def begun(spec: Path, out: Path, cache: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, "sweep", str(spec), "--out", str(out), "--resume", "-j", "2"],
        env=environment(cache), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def test_killed_at_any_moment_it_goes_on(tmp_path: Path) -> None:
    """A sample of ``python -m tests.tools.kills``: a worker, the parent, SIGTERM; before, between and during rows. In
    the end every row is that of a sweep that nobody disturbed."""
    found = campaign(tmp_path, kills=KILLS, seed=7)
    assert found.faults == [] and sum(found.kills.values()) == KILLS and found.rows == 60


def test_a_search_that_was_killed_goes_on_as_if_it_had_not(
    archsim: Archsim, spec: Path, cache: Path, tmp_path: Path
) -> None:
    """On another number of processes, too."""
    spec.write_text(spec.read_text() + "search: {method: nsga2, trials: 14, seed: 3}\n")
    done = archsim("sweep", str(spec), "-j", "1", "--out", str(tmp_path / "calm"))
    assert done.returncode == 0 and done.stderr == ""
    assert "nsga2, seed 3: 14 of 24 points; rows: " in done.stdout
    assert "nsga2, seed 3: 14 of 24 points" in (tmp_path / "calm" / "report.md").read_text()
    process, out = begun(spec, tmp_path / "out", cache), tmp_path / "out"
    while process.poll() is None and kept(out) < 9:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert 9 <= kept(out) < 14
    assert archsim("sweep", str(spec), "-j", "2", "--out", str(out), "--resume").returncode == 0
    found = results(out)
    assert found["point"].nunique() == 14
    pd.testing.assert_frame_equal(found, results(tmp_path / "calm"))


def kept(folder: Path) -> int:
    """Rows that are committed."""
    if not (folder / "index.sqlite").is_file():
        return 0
    with closing(sqlite3.connect(folder / "index.sqlite", timeout=60)) as base:
        tables = base.execute("select count(*) from sqlite_master where name = 'rows'").fetchone()[0]
        return int(base.execute("select count(*) from rows").fetchone()[0]) if tables else 0
