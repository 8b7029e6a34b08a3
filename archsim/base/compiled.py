"""Compiled code on disk, in place of Numba's cache: its pickles lie in sealed files (``archsim.base.sealed``)."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]

from archsim.base import entries, sealed, sources


class _Locator(_CacheLocator):
    """Where a function's files lie: by its package, whatever folder that is installed in."""

    def __init__(self, function: Any, folder: Path) -> None:
        self._py_file = function.__code__.co_filename  # named in numba's messages
        self._line = function.__code__.co_firstlineno
        self._folder = sealed.place_of(function, folder)

    def ensure_cache_path(self) -> None:
        sealed.make(self._folder)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return sealed.source_sha256(self._py_file)

    def get_disambiguator(self) -> str:
        return str(self._line)


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
        found = sealed.opened(Path(path), self._root)
        return pickle.loads(found) if found is not None else None

    def _write(self, path: str, data: bytes) -> None:
        sealed.kept(Path(path), data)


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
        """Keep compiled code unless sources have changed; a folder that cannot be written costs the cache."""
        if not sources.are_as_read():
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            entries.unkept(Path(self._cache_path).parent, error)
            self.disable()
