"""Compiled code on disk, in place of Numba's cache: found by content, sealed, and never read where others can write.

Numba's cache files are pickles: who can change one runs code as whoever loads it. So the folder is one that nobody else
can write to (``archsim.base.trust``), else a private one. Every file carries a checksum over its name and content; one
that is damaged is not unpickled, and its function is compiled again. Folders are named by the functions' package and a
hash of the sources, not by where these lie, so that a second clone finds what the first has compiled.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]

from archsim.base import caches, entries, trust

MAGIC = b"archsim compiled 1\n"
_SEAL_BYTES = 32
_AGAIN = "compiled again"


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
            _make(folder)
        return trust.distrust(folder)
    except OSError as error:
        return f"{folder} cannot be made ({error.strerror})"


def _make(folder: Path) -> None:
    """Make a folder and those above that are missing, writable for nobody else whatever the user masks."""
    for path in reversed([folder, *folder.parents]):
        if not path.exists():
            path.mkdir(mode=0o755, exist_ok=True)


class DamagedError(Exception):
    """A file is not what was written under its name."""


def _sealed(name: str, data: bytes) -> bytes:
    return MAGIC + hashlib.sha256(name.encode() + b"\n" + data).digest() + data


def _unsealed(path: Path) -> bytes:
    """The content of a sealed file; raises DamagedError, and OSError where it cannot be read."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        reason = trust.distrust_file(path, os.fstat(file.fileno()))
        if reason:
            raise DamagedError(reason)
        text = file.read()
    data = text[len(MAGIC) + _SEAL_BYTES :]
    if text != _sealed(path.name, data):
        raise DamagedError("not what was written there")
    return data


class _Locator(_CacheLocator):
    """Where a function's files lie: by its package, whatever folder that is installed in."""

    def __init__(self, function: Any, folder: Path) -> None:
        self._py_file = function.__code__.co_filename  # named in numba's messages
        self._line = function.__code__.co_firstlineno
        self._folder = folder / function.__module__.rpartition(".")[0]

    def ensure_cache_path(self) -> None:
        _make(self._folder)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return _source_sha256(self._py_file)

    def get_disambiguator(self) -> str:
        return str(self._line)


@cache
def _source_sha256(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


class _Files(IndexDataCacheFile):
    """A function's index and its compiled forms, each a sealed file."""

    @property
    def _root(self) -> Path:
        """The folder of all functions, of which one warning tells."""
        return Path(self._cache_path).parent

    def load(self, key: object) -> Any:
        """The compiled form under ``key``, None where there is none that can be read."""
        name = self._load_index().get(key)
        found = self._unpickled(self._data_path(name)) if name is not None else None
        if found is None:
            return None
        stored, data = found
        if stored != key:
            return None  # a file that two processes took for two keys
        try:
            return pickle.loads(data)
        except ImportError:
            return None  # of a module that is no longer found by its name

    def save(self, key: object, data: Any) -> None:
        """Keep the compiled form under ``key``; raises OSError."""
        overloads = self._load_index()
        taken = set(overloads.values())
        free = (name for number in range(1, len(taken) + 2) if (name := self._data_name(number)) not in taken)
        name = overloads.setdefault(key, next(free))
        self._write(self._data_path(name), self._dump((key, self._dump(data))))
        self._save_index(overloads)

    def _load_index(self) -> dict[object, str]:
        found = self._unpickled(self._index_path)
        stamp, overloads = found if found is not None else (None, {})
        return dict(overloads) if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[object, str]) -> None:
        self._write(self._index_path, self._dump((self._source_stamp, overloads)))

    def _unpickled(self, path: str) -> Any:
        """What a file holds, None where there is none; one that is damaged is told and never unpickled."""
        try:
            return pickle.loads(_unsealed(Path(path)))
        except FileNotFoundError:
            return None
        except OSError as error:
            entries.warn(self._root, f"cache {path}: cannot be read ({error.strerror}); {_AGAIN}")
        except DamagedError as error:
            entries.warn(self._root, f"cache {path}: compiled code dropped ({error}); {_AGAIN}")
        return None

    def _write(self, path: str, data: bytes) -> None:
        entries.replace(Path(path), _sealed(Path(path).name, data), mode=0o644)


class _Results(CompileResultCacheImpl):
    """How compiled code are written and read: as Numba does it, in our place."""

    def __init__(self, function: Any, folder: Path) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function, folder)
        module = function.__module__.rpartition(".")[2]
        self._filename_base = self.get_filename_base(f"{module}.{function.__qualname__}", "")


class CompiledCache(FunctionCache):
    """The cache of one function in ``folder``; takes the place of Numba's."""

    def __init__(self, function: Any, folder: Path) -> None:
        self._name, self._py_func = repr(function), function
        self._impl = _Results(function, folder)
        self._cache_path = self._impl.locator.get_cache_path()
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamp)
        self.enable()

    @property
    def is_kept(self) -> bool:
        """Whether there is compiled code for any signature."""
        return bool(self._cache_file._load_index())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code for a signature, None where there is none. Numba's own tables of functions and types,
        which take longer to fill than all else here, are for compiling alone and stay as they are."""
        for name, address in _nrt_python.c_helpers.items():
            llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code; a folder that cannot be written costs the cache."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            entries.unkept(Path(self._cache_path).parent, error)
            self.disable()
