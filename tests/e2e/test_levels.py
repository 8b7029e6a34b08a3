"""A chip with two on-chip memories from a user's seat: runs, mappings in files, what is refused, what is computed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tools.commands import GOLDEN, Archsim

pytestmark = pytest.mark.slow  # a process for each command

L1 = "  - sram: {name: l1, size: 8 KiB, banks: 4, word: 8 B, keeps: [inputs, weights, outputs], slots: 2}\n"
STAGES = {
    "both": "[inputs, weights, outputs]",
    "weights": "[weights]",
}


@pytest.fixture(params=sorted(STAGES))
def levels(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The golden chip with a small l1 behind an l2."""
    l2 = L1.replace("l1", "l2").replace("[inputs, weights, outputs]", STAGES[request.param])
    text = (GOLDEN / "chip.yaml").read_text()
    assert L1 in text
    path = tmp_path / "levels.yaml"
    path.write_text(text.replace(L1, l2 + L1.replace("8 KiB", "2 KiB")))
    return str(path)


def test_it_runs_and_every_memory_is_told(archsim: Archsim, model: str, levels: str) -> None:
    done = archsim("run", model, "--on", levels, "--format", "json")
    assert done.returncode == 0 and done.stderr == ""
    summary = json.loads(done.stdout)
    assert {"core[0].load1", "core[0].store1"} <= set(summary["time_breakdown"])
    assert summary["energy_breakdown_j"]["l2"] > 0
    assert sum(layer["cycles_critical"] for layer in summary["layers"]) == summary["cycles_total"]


def test_it_computes_the_model(archsim: Archsim, model: str, levels: str) -> None:
    done = archsim("verify", model, "--on", levels, "--interleavings", "3")
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "verified"


@pytest.mark.parametrize("suffix", ["yaml", "txt"])
def test_exported_mappings_give_the_same_run(
    archsim: Archsim, model: str, levels: str, tmp_path: Path, suffix: str
) -> None:
    path = str(tmp_path / f"mapping.{suffix}")
    assert archsim("map", model, "--on", levels, "--export", path).returncode == 0
    plain, stated = (
        json.loads(archsim("run", model, "--on", levels, "--format", "json", *more).stdout)
        for more in ((), ("--mapping", path))
    )
    assert stated["cycles_total"] == plain["cycles_total"]
    assert stated["energy_j"] == plain["energy_j"]


def test_a_stage_below_what_it_fills_is_refused(archsim: Archsim, model: str, levels: str, tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    assert archsim("map", model, "--on", levels, "--export", str(path)).returncode == 0
    text = path.read_text()
    start = text.index("layer: conv2")
    head, tail = text[:start], text[start:]
    keep = next(line for line in tail.splitlines() if "keep: b, in: l2" in line)
    tail = tail.replace(f"{keep}\n", "", 1)
    path.write_text(head + tail)
    done = archsim("run", model, "--on", levels, "--mapping", str(path))
    assert done.returncode == 2
    assert "operand 'b' is not kept in 'l2'; it needs a Keep in 'l2'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_explain_names_the_memories(archsim: Archsim, model: str, levels: str) -> None:
    done = archsim("map", model, "--on", levels, "--explain", "conv2")
    assert done.returncode == 0
    assert "l2 [" in done.stdout and "l2 size x2" in done.stdout
