"""Running the command line as users do: in a process of its own, in a directory of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"

Archsim = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def chip() -> str:
    """A small chip whose memories are of constant rate, so that nothing is compiled."""
    return str(GOLDEN / "chip.yaml")


@pytest.fixture
def model(tmp_path: Path) -> str:
    """Two small convolutions as a SCALE-Sim topology."""
    path = tmp_path / "tiny.csv"
    path.write_text(
        "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
        "conv1, 10, 10, 3, 3, 4, 8, 1,\n"
        "conv2, 8, 8, 3, 3, 8, 8, 1,\n"
    )
    return str(path)


@pytest.fixture
def archsim(tmp_path: Path) -> Archsim:
    """Call ``archsim ARGUMENTS...``; keyword arguments are environment variables. Fails on a traceback."""
    work = tmp_path / "work"
    work.mkdir()

    def call(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "ARCHSIM_CACHE": str(tmp_path / "cache"), "COLUMNS": "100", **variables}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
        command = [sys.executable, "-c", "from archsim.cli import main; main()", *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=work, timeout=300, check=False
        )
        assert "Traceback" not in done.stderr
        return done

    return call
