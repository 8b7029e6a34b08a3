"""The command line as a user calls it: in a process of its own, in a directory of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from archsim.base import caches

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
COMMAND = (sys.executable, "-c", "from archsim.cli.app import main; main()")

Archsim = Callable[..., subprocess.CompletedProcess[str]]


def cache_of_its_own(place: Path) -> Path:
    """A cache folder without mappings or measured rates that shares the compiled code of all tests.

    What a test finds in a cache must be what it put there itself, but compiling takes a minute and gives the
    same machine code every time.
    """
    place.mkdir(parents=True, exist_ok=True)
    shared = caches.folder()
    if shared is not None:
        kernels = (shared / "numba").absolute()
        kernels.mkdir(parents=True, exist_ok=True)
        (place / "numba").symlink_to(kernels, target_is_directory=True)
    return place


def environment(cache: Path) -> dict[str, str]:
    """Variables of a process that finds this checkout first and keeps what it caches in ``cache``."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return {**os.environ, "ARCHSIM_CACHE": str(cache), "PYTHONPATH": path}
