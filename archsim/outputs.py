"""Whether results can be written where they are wanted: asked before the work, not after it."""

from __future__ import annotations

import os
from errno import EACCES, EISDIR, ENOENT, ENOTDIR
from pathlib import Path

from archsim.errors import ConfigError


def check_directory(path: Path) -> None:
    """Raises ConfigError when no files can be written into ``path``, which need not be there yet."""
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not there.is_dir():
        raise unwritable(path, ENOTDIR)
    if not os.access(there, os.W_OK | os.X_OK):
        raise unwritable(path, EACCES)


def check_file(path: Path) -> None:
    """Raises ConfigError when ``path``, which may be there, cannot be written."""
    if path.is_dir():
        raise unwritable(path, EISDIR)
    if not path.absolute().parent.exists():
        raise unwritable(path, ENOENT)
    check_directory(path.absolute().parent)
    if path.exists() and not os.access(path, os.W_OK):
        raise unwritable(path, EACCES)


def unwritable(path: Path, number: int | None) -> ConfigError:
    """What is said of an output, with the reason of an error of the system."""
    return ConfigError(f"{path}: cannot be written ({os.strerror(number or 0)})")
