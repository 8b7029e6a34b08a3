"""Compiled code: parts and the entries that Python calls, kept under the text of all that is compiled."""

from __future__ import annotations

import gc
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event

from archsim.base import compiled, entries, linking, progress, sources

_COMPILING = ("jit", "linking", "passes", "lowering", "calling", "signatures", "variables", "compiled", "addressed")
OURS = tuple(f"{name}.py" for name in _COMPILING)  # beside this file
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _sources_digest() -> str:
    """Of all that is compiled, of this file and those that keep and link it, and of what compiles it."""
    here = Path(__file__).resolve()
    found = sources.digest(here.parents[2], __name__, tuple(here.with_name(name) for name in OURS))
    with_compiler = f"{numba.__version__} {np.__version__} {sys.version_info[:2]} {found}"
    return hashlib.sha256(with_compiler.encode()).hexdigest()


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
        if not _is_ours(event):
            return
        told = progress.watcher()
        if told is not None:
            told.compiling(functions)
        elif functions > 0:
            entries.note(progress.COMPILING)


class CompileCollector(event.Listener):
    """Has Python collect what compiling leaves behind in circles, 100 MB and more: runs pause the collector."""

    def __init__(self) -> None:
        self.paused = False

    def on_start(self, event: Any) -> None:
        """What is made from now on is collected, and what there is not looked through."""
        if not _is_ours(event):
            return
        self.paused = not gc.isenabled()
        gc.freeze()
        gc.enable()

    def on_end(self, event: Any) -> None:
        """As it was before."""
        if not _is_ours(event):
            return
        gc.collect()
        gc.unfreeze()
        if self.paused:
            gc.disable()


def _is_ours(event: Any) -> bool:
    found: bool = event.data["dispatcher"].py_func.__module__.startswith(("archsim.", "mapper."))
    return found


event.register("numba:compile", CompileAnnouncer())  # type: ignore[no-untyped-call]
event.register("numba:compile", CompileCollector())  # type: ignore[no-untyped-call]
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
