"""Where configuration files are: extra directories, the installed package, the checkout, in this order."""

from __future__ import annotations

import os
from pathlib import Path

from archsim.base.errors import ConfigError

CONFIGS_VARIABLE = "ARCHSIM_CONFIGS"
_PACKAGE = Path(__file__).resolve().parents[1]


def config_dir(kind: str) -> list[Path]:
    """Directories with configuration files of ``kind`` (``accelerators``, ``technology``, ``dram``, ...).

    In order: each directory of the environment variable ``ARCHSIM_CONFIGS`` (separated by ``os.pathsep``,
    each with one subfolder per kind), the data inside the installed package, the checkout's ``configs``.
    Only directories that exist are returned. Raises ConfigError when a directory of the variable does not.
    """
    candidates = [extra / kind for extra in _extra_directories()]
    candidates += [_PACKAGE / "_configs" / kind, _PACKAGE.parent / "configs" / kind]
    return [directory for directory in candidates if directory.is_dir()]


def config_files(kind: str) -> dict[str, Path]:
    """Every ``NAME.yaml`` of ``kind`` by name, sorted; of two with one name the first directory's wins."""
    found: dict[str, Path] = {}
    for directory in config_dir(kind):
        for path in sorted(directory.glob("*.yaml")):
            found.setdefault(path.stem, path)
    return dict(sorted(found.items()))


def is_file(path: Path) -> bool:
    """Whether there is such a file; a name that no file can have (too long, with NUL) is of none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _extra_directories() -> list[Path]:
    directories = [Path(text) for text in os.environ.get(CONFIGS_VARIABLE, "").split(os.pathsep) if text]
    for directory in directories:
        if not directory.is_dir():
            raise ConfigError(f"{CONFIGS_VARIABLE}: found '{directory}'; allowed directories that exist")
    return directories
