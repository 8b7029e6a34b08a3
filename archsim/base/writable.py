"""Where results are written: whether they can be is asked before the work, and a file is whole or it is not there.

Every file that a user asked for is written by ``write`` or ``write_all``: beside its place, then renamed
(``archsim.base.whole_files``). So whatever ends the process, the disk's end included, leaves what was there before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from errno import EACCES, EISDIR, ENOENT, ENOTDIR
from pathlib import Path

from archsim.base.errors import ConfigError
from archsim.base.whole_files import put, replaced


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


def write(path: Path, content: str | bytes) -> Path:
    """Put ``content`` (text as UTF-8) at ``path``, all of it or nothing; returns ``path``.

    Raises ConfigError, the file as it was, when it cannot be written.
    """
    try:
        with _replaced([path]) as beside:
            put(beside[0], _bytes(content))
    except OSError as error:
        raise unwritable(path, error.errno) from error
    return path


def write_all(directory: Path, contents: Mapping[str, str | bytes]) -> list[Path]:
    """Put files by name into ``directory`` (made if missing), all of them or none; returns their paths.

    Raises ConfigError, the directory as it was, when they cannot be written.
    """
    paths = [directory / name for name in contents]
    try:
        with _made(directory), _replaced(paths) as beside:
            for path, content in zip(beside, contents.values(), strict=True):
                put(path, _bytes(content))
    except OSError as error:
        raise unwritable(directory, error.errno) from error
    return paths


@contextmanager
def _made(directory: Path) -> Iterator[None]:
    """The directory with its parents; those that were missing go again when what is written there fails."""
    missing = [each for each in (directory, *directory.absolute().parents) if not each.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for each in missing:
            with suppress(OSError):  # somebody else has put something there
                each.rmdir()
        raise


@contextmanager
def _replaced(paths: list[Path]) -> Iterator[list[Path]]:
    """Places beside ``paths``, or beside what links among them lead to, for files that may be written there."""
    targets = [path.resolve() if path.is_symlink() else path for path in paths]
    for target in targets:
        if target.exists() and _sealed(target):
            raise OSError(_sealed(target), "cannot be replaced")
    with replaced(targets) as beside:
        yield beside


def _bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8") if isinstance(content, str) else content


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
