"""Fixtures of tests that act as users do: a small chip, a small model, the command line, a study's notebook."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.tools.commands import COMMAND, GOLDEN, Archsim, cache_of_its_own, environment

if TYPE_CHECKING:
    from tests.tools.studies import Tables


@pytest.fixture
def chip() -> str:
    """A small chip whose memories are of constant rate, so that no DRAM controller is compiled."""
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
def cache(tmp_path: Path) -> Path:
    """A cache without mappings, whose kernels are those that all tests share."""
    return cache_of_its_own(tmp_path / "cache")


@pytest.fixture
def archsim(tmp_path: Path, cache: Path) -> Archsim:
    """Call ``archsim ARGUMENTS...``; keyword arguments are environment variables. Fails on a traceback."""
    work = tmp_path / "work"
    work.mkdir()

    def call(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        given = {**environment(cache), "COLUMNS": "100", **variables}
        done = subprocess.run(
            [*COMMAND, *arguments], capture_output=True, text=True, env=given, cwd=work, timeout=300, check=False
        )
        assert "Traceback" not in done.stderr
        return done

    return call


@pytest.fixture(scope="module")
def tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """What the ``NOTEBOOK`` of a test file leaves at its small size, run in an empty directory; ``SETTINGS`` of the
    file, if it has any, are further ones of the notebook."""
    from tests.tools.studies import small  # what runs notebooks takes long to load

    settings = getattr(request.module, "SETTINGS", {})
    return small(request.module.NOTEBOOK, tmp_path_factory.mktemp("study"), **settings)
