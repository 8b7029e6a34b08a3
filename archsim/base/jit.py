"""Compiled code: parts and the entries that Python calls, kept under the text of all that is compiled."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from archsim.base import sealed, sources
from archsim.base.parts import CompiledEntry, Part

OURS = (  # beside this file
    *("jit.py", "parts.py", "linking.py", "compiled.py", "sealed.py", "native.py", "machine_code.py", "words.py"),
    *("addressed.py", "intrinsics.py", "passes.py", "lowering.py", "variables.py", "calling.py", "signatures.py"),
)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _sources_digest() -> str:
    """Of all that is compiled, of this file and those that keep and link it, and of what compiles it."""
    here = Path(__file__).resolve()
    found = sources.digest(here.parents[2], __name__, tuple(here.with_name(name) for name in OURS))
    with_compiler = f"{_numba_version()} {np.__version__} {sys.version_info[:2]} {found}"
    return hashlib.sha256(with_compiler.encode()).hexdigest()


def _numba_version() -> str:
    """The hash of what states it: Numba itself is imported only to compile."""
    spec = importlib.util.find_spec("numba")
    if spec is None or spec.origin is None:
        return ""
    return sealed.source_sha256(str(Path(spec.origin).with_name("_version.py")))


PLACE = sealed.place(_sources_digest())  # where compiled code lie, None where they are not kept


# ``_nrt``: without reference counts, which cost an atomic operation at every array that is passed on. A compiled
# function therefore allocates nothing.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}


def _made(function: _Function, **options: Any) -> _Function:
    """A part of compiled code, unless nothing is compiled (NUMBA_DISABLE_JIT)."""
    if int(os.environ.get("NUMBA_DISABLE_JIT") or 0):
        return function
    return cast(_Function, Part(function, {**_OPTIONS, **options}))


def njit(function: _Function) -> _Function:
    """A function that compiled code calls, without Python objects; it allocates nothing."""
    return _made(function)


def allocating(function: _Function) -> _Function:
    """A function that compiled code calls, without Python objects; it may make arrays."""
    return _made(function, _nrt=True)


def inlined(function: _Function) -> _Function:
    """As njit, put in the place of each call; worth it where calls are the cost."""
    return _made(function, forceinline=True)


def entry(part: _Function) -> _Function:
    """A compiled function that Python calls too: compiled with its parts on first call, and kept on disk unless
    ARCHSIM_NO_CACHE=1. What is called from within others alone is no entry: each costs its whole text.

    An ``addressed`` one is called by its address (``archsim.base.addressed``).
    """
    return cast(_Function, CompiledEntry(part, PLACE)) if isinstance(part, Part) else part


addressed = entry


def is_found(function: Any) -> bool:
    """Whether the machine code of an entry is there, for some arguments: in this process or on disk."""
    return isinstance(function, CompiledEntry) and function.is_there
