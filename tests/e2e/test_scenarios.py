"""`archsim run SCENARIO` from a user's seat: table, JSON, files, requirements, mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import archsim as ax
from tests.tools.commands import Archsim

pytestmark = pytest.mark.slow  # a process for each command

TEXT = """
schema: archsim.scenario/1
name: pair
description: a model at two rates
source: made up
streams:
  fast: {{model: {model}, rate: 20 kHz}}
  slow: {{model: {model}, rate: 5 kHz, deadline: 100 us}}
"""


@pytest.fixture
def scenario(tmp_path: Path, model: str) -> str:
    path = tmp_path / "pair.yaml"
    path.write_text(TEXT.format(model=model))
    return str(path)


def test_table_files_and_requirements(archsim: Archsim, scenario: str, chip: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    good = ["--require", "misses==0", "--require", "streams.slow.response_worst_s<=1e-4"]
    done = archsim("run", scenario, "--on", chip, *good, "--out", str(out))
    assert done.returncode == 0 and done.stderr == ""
    assert "pair on golden" in done.stdout and "average power" in done.stdout and "each begins cold" in done.stdout
    assert all(len(line) <= 100 for line in done.stdout.splitlines())
    names = ["report.html", "report.md", "streams.csv", "summary.json"]
    assert sorted(path.name for path in out.iterdir()) == names
    (out / "report.html").unlink()
    assert archsim("report", str(out)).returncode == 0 and (out / "report.html").is_file()
    missed = archsim("run", scenario, "--on", chip, "--require", "power_avg_w<=1e-9")
    assert missed.returncode == 1 and "requirement missed: power_avg_w <= 1e-09; found" in missed.stderr


def test_json_alone_on_stdout_whatever_the_hash_seed(archsim: Archsim, scenario: str, chip: str) -> None:
    first, second = (
        archsim("run", scenario, "--on", chip, "--format", "json", "--set", "l1.idle=1 uW", PYTHONHASHSEED=seed)
        for seed in ("1", "2")
    )
    assert first.stdout == second.stdout and first.stderr == ""
    found = json.loads(first.stdout)
    assert found["schema"] == "archsim.scenario_result/1" and found["idle_breakdown_w"]["l1"] == 1e-6
    assert found["provenance"]["options"]["set"] == {"l1.idle": "1 uW"}
    assert found["frames"] == 5 and found["hyperperiod_s"] == 2e-4


def test_what_is_there_and_what_a_file_says(archsim: Archsim, scenario: str) -> None:
    shown = archsim("show", "scenarios")
    assert shown.returncode == 0 and "ar_glasses  eye tracking at 60 Hz and hand tracking at 30 Hz" in shown.stdout
    assert "scenario 'pair', 2 streams" in archsim("check", scenario).stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--batch", "2"], "--batch: {0} is a scenario; its file states it for each stream"),
        (["--dtype", "int8"], "--dtype: {0} is a scenario; its file states it for each stream"),
        (["--warm", "2"], "--warm: {0} is a scenario; allowed for a model"),
        (["--why"], "a scenario has none"),
        (["--set", "clock=2 MHz"], "allowed at most 1: lower rates, a faster chip or smaller models"),
        (["--require", "mises==0"], "did you mean 'misses'?"),
        (["--set", "l1.idle=1"], "a bare number where a unit is due"),
    ],
)
def test_mistakes(archsim: Archsim, scenario: str, chip: str, options: list[str], message: str) -> None:
    done = archsim("run", scenario, "--on", chip, *options)
    assert done.returncode == 2 and done.stdout == ""
    assert message.format(scenario) in " ".join(done.stderr.replace("\N{BOX DRAWINGS LIGHT VERTICAL}", "").split())


def test_a_higher_clock_and_voltage_never_double_the_power_of_the_glasses() -> None:
    """Padded convolutions are ranked by whole bursts at every clock: at 400 MHz their channels were once cut to a few
    bytes, which took 2.25 times the power of 200 MHz. Frames that come as often take the square of the voltage more,
    what leaks in SRAM its cube, half of the rest the clock as well, and DRAM, whose voltage stays, no more at all."""
    points = ax.run_scenario("ar_glasses", on="ar_soc").points["power_avg_w"]
    assert points["slow"] < points["middle"] < 2 * points["slow"]
    assert points["middle"] < points["fast"] < 2 * points["middle"]
