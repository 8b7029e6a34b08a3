"""Where caches are, and which code made what they hold. They hold mappings, compiled code and measured rates of DRAM
parts, never results of runs.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from functools import cache
from pathlib import Path

FOLDER_VARIABLE = "ARCHSIM_CACHE"
OFF_VARIABLE = "ARCHSIM_NO_CACHE"


def folder() -> Path | None:
    """The cache directory: ARCHSIM_CACHE, else the user's; None when ARCHSIM_NO_CACHE is 1."""
    if os.environ.get(OFF_VARIABLE) == "1":
        return None
    chosen = os.environ.get(FOLDER_VARIABLE)
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("archsim")


def switch_off() -> None:
    """Neither read nor write caches in this process; to be called before functions are loaded."""
    os.environ[OFF_VARIABLE] = "1"


@cache
def code_sha256(packages: tuple[str, ...]) -> str:
    """Hash of every source file of some packages and modules."""
    found = hashlib.sha256()
    for path in (path for package in packages for path in _sources(package)):
        found.update(path.name.encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def _sources(package: str) -> list[Path]:
    """The source files of a package, or of a module."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        return []
    if spec.submodule_search_locations is None:
        return [Path(str(spec.origin))]
    return [path for place in sorted(spec.submodule_search_locations) for path in sorted(Path(place).rglob("*.py"))]
