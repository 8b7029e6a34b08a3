"""Whether results can be written where they are wanted: asked before the work, not after it."""

from __future__ import annotations

import os
from errno import EACCES, EISDIR, ENOENT, ENOTDIR
from pathlib import Path

from archsim.errors import ConfigError


def check_directory(path: Path) -> None:
    """Raises ConfigError when no files can be written into ``path``, which need not be there yet."""
    try:
        reason = _closed(next(each for each in (path, *path.absolute().parents) if each.exists()))
    except OSError as error:  # a name too long, a parent that may not be searched
        raise unwritable(path, error.errno) from error
    _refuse(path, reason)


def check_file(path: Path) -> None:
    """Raises ConfigError when ``path``, which may be there, cannot be written."""
    try:
        reason = _sealed(path)
    except OSError as error:
        raise unwritable(path, error.errno) from error
    _refuse(path, reason)


def unwritable(path: Path, number: int | None) -> ConfigError:
    """What is said of an output, with the reason of an error of the system."""
    return ConfigError(f"{path}: cannot be written ({os.strerror(number or 0)})")


def _refuse(path: Path, number: int) -> None:
    if number:
        raise unwritable(path, number)


def _sealed(path: Path) -> int:
    """Why a file cannot be written, 0 if it can."""
    parent = path.absolute().parent
    if path.is_dir():
        return EISDIR
    if not parent.exists():
        return ENOENT
    return _closed(parent) or (EACCES if path.exists() and not os.access(path, os.W_OK) else 0)


def _closed(path: Path) -> int:
    """Why nothing can be written into what is there, 0 if it can."""
    if not path.is_dir():
        return ENOTDIR
    return 0 if os.access(path, os.W_OK | os.X_OK) else EACCES
