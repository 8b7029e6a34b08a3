"""Compiled code: parts and the entries that Python calls, kept under the text of all that is compiled."""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event

from archsim.base import compiled, entries, linking, progress

OURS = ("jit.py", "linking.py", "compiled.py", "addressed.py")  # beside this file
_CONSTANTS = re.compile(
    rb"^from ((?:archsim|mapper)[.\w]*) import (?:\([^)]*?|[^(\n]*?)\b[A-Z][A-Z_0-9]+\b", re.MULTILINE
)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _sources_digest() -> str:
    """Of every file in a folder with compiled functions and of those that such a file has constants from, which are
    compiled into them as layouts are, of this file and the one that keeps them, and of what compiles them; alike in
    every clone.
    """
    here = Path(__file__).resolve()
    root = here.parents[2]
    files = {path: path.read_bytes() for name in ("archsim", "mapper") for path in sorted((root / name).rglob("*.py"))}
    made_here = f"from {__name__} import".encode()
    folders = {path.parent for path, text in files.items() if made_here in text}
    compiled_in = {path for path in files if path.parent in folders}
    named = {name.decode() for path in compiled_in for name in _CONSTANTS.findall(files[path])}
    compiled_in |= {root / f"{name.replace('.', '/')}.py" for name in named} | {here.with_name(name) for name in OURS}
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__} {sys.version_info[:2]}".encode())
    for path, text in files.items():
        if path in compiled_in:
            digest.update(text)
    return digest.hexdigest()


def _load_without_blas() -> None:
    """Load numba's array functions without SciPy: they look in it for BLAS, and its import takes longer than a run.

    No compiled function here multiplies matrices. Functions of others still find BLAS: numba asks again at each
    product.
    """
    blas = "scipy.linalg.cython_blas"
    if blas in sys.modules:
        return
    sys.modules[blas] = None  # type: ignore[assignment]
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules[blas]


class CompileAnnouncer(event.Listener):
    """Says that a function is being compiled, once it is certain: it is in no cache, and somebody waits for it.

    Who shows progress is told; where there is nobody it is said on stderr, once a process.
    """

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled."""
        self._tell(event, 1)

    def on_end(self, event: Any) -> None:
        """A function has been compiled."""
        self._tell(event, -1)

    def _tell(self, event: Any, functions: int) -> None:
        if not event.data["dispatcher"].py_func.__module__.startswith(("archsim.", "mapper.")):
            return
        told = progress.watcher()
        if told is not None:
            told.compiling(functions)
        elif functions > 0:
            entries.note(progress.COMPILING)


event.register("numba:compile", CompileAnnouncer())  # type: ignore[no-untyped-call]
_load_without_blas()
PLACE = compiled.place(_sources_digest())  # where compiled code lie, None where they are not kept


# ``_nrt``: without reference counts, which cost an atomic operation at every array that is passed on. A compiled
# function therefore allocates nothing.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}


def _made(kind: type[linking.Part], function: _Function, **options: Any) -> _Function:
    """A part of compiled code, unless nothing is compiled (NUMBA_DISABLE_JIT)."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    return cast(_Function, kind(function, {**_OPTIONS, **options}))


def njit(function: _Function) -> _Function:
    """A function that compiled code calls, without Python objects; it allocates nothing."""
    return _made(linking.Part, function)


def allocating(function: _Function) -> _Function:
    """A function that compiled code calls, without Python objects; it may make arrays."""
    return _made(linking.Part, function, _nrt=True)


def inlined(function: _Function) -> _Function:
    """As njit, put in the place of each call; worth it where calls are the cost."""
    return _made(linking.Part, function, forceinline=True)


def entry(part: _Function) -> _Function:
    """A compiled function that Python calls too: compiled with its parts on first call, and kept on disk unless
    ARCHSIM_NO_CACHE=1. What is called from within others alone is no entry: each costs its whole text.
    """
    return _kept(linking.EntryPoint, part)


def addressed(part: _Function) -> _Function:
    """As entry, of a function that is called by its address (``archsim.base.addressed``)."""
    return _kept(linking.AddressedEntry, part)


def _kept(kind: Callable[[linking.Part], linking.EntryPoint], part: _Function) -> _Function:
    if not isinstance(part, linking.Part):
        return part
    made = kind(part)
    if PLACE is not None:
        made._cache = compiled.CompiledCache(made.py_func, PLACE)
    return cast(_Function, made)
