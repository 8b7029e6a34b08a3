"""Compiled code on disk: files that are sealed, in a folder where nobody else can write.

Who can change such a file runs code as whoever loads it. So the folder is one that nobody else can write to
(``archsim.base.trust``), else a private one. Every file carries a checksum over its name and content; one that is
damaged is not opened, and its function is compiled again. Folders are named by the functions' package and a hash of the
sources, not by where these lie, so that a second clone finds what the first has compiled.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from archsim.base import caches, entries, trust

MAGIC = b"archsim compiled 1\n"
AGAIN = "compiled again"
_SEAL_BYTES = 32


def place(name: str) -> Path | None:
    """The folder of this user's compiled code ``name``, made if need be; None where there is to be or can be none."""
    root = caches.folder()
    if root is None:
        return None
    reason = ""
    for candidate in chain((root,), _private(root)):
        folder = Path(os.path.realpath(candidate / "numba" / name))
        found = _unfit(folder)
        if not found:
            if reason:
                entries.warn(root / "numba", f"cache {root}: {reason}; compiled code is kept in {folder} instead")
            return folder
        reason = reason or found
    entries.warn(root / "numba", f"cache {root}: {reason}; functions are compiled anew in every process")
    return None


def _private(root: Path) -> Iterator[Path]:
    """Where compiled code goes that cannot lie in ``root``: the user's own cache, else a folder of the user's for
    temporary files."""
    from platformdirs import user_cache_path

    name = f"archsim-{os.geteuid()}" if hasattr(os, "geteuid") else "archsim"
    for folder in (user_cache_path("archsim"), Path(tempfile.gettempdir()) / name):
        if folder != root:
            yield folder


def _unfit(folder: Path) -> str:
    """Why compiled code cannot lie in a folder, which is made if it can; '' if it can."""
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists())
        if there != folder:
            found = trust.distrust(there, sticky=True)
            if found:
                return found
            make(folder)
        return trust.distrust(folder)
    except OSError as error:
        return f"{folder} cannot be made ({error.strerror})"


def make(folder: Path) -> None:
    """Make a folder and those above that are missing, writable for nobody else whatever the user masks."""
    for path in reversed([folder, *folder.parents]):
        if not path.exists():
            path.mkdir(mode=0o755, exist_ok=True)


class DamagedError(Exception):
    """A file is not what was written under its name."""


def sealed(name: str, data: bytes) -> bytes:
    """What a file of this name holds."""
    return MAGIC + hashlib.sha256(name.encode() + b"\n" + data).digest() + data


def unsealed(path: Path) -> bytes:
    """The content of a sealed file; raises DamagedError, and OSError where it cannot be read."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        reason = trust.distrust_file(path, os.fstat(file.fileno()))
        if reason:
            raise DamagedError(reason)
        text = file.read()
    data = text[len(MAGIC) + _SEAL_BYTES :]
    if text != sealed(path.name, data):
        raise DamagedError("not what was written there")
    return data


def opened(path: Path, root: Path) -> bytes | None:
    """What a sealed file holds, None where there is none; one that is damaged is told, once for all below ``root``."""
    try:
        return unsealed(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        entries.warn(root, f"cache {path}: cannot be read ({error.strerror}); {AGAIN}")
    except DamagedError as error:
        entries.warn(root, f"cache {path}: compiled code dropped ({error}); {AGAIN}")
    return None


def kept(path: Path, data: bytes) -> None:
    """Write a sealed file; raises OSError."""
    entries.replace(path, sealed(path.name, data), mode=0o644)


def place_of(function: Callable[..., object], folder: Path) -> Path:
    """Where a function's files lie: by its package, whatever folder that is installed in."""
    return folder / function.__module__.rpartition(".")[0]


@cache
def source_sha256(path: str) -> str:
    """Hash of a source file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
