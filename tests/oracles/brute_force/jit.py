"""Compiled code of the brute force, kept on disk as the product keeps its own.

The product's folder is named by the sources of the product's compiled code, among which these files are not. So theirs
is named by the text of every file here, of those of the mapper's LoopTrees whose constants are compiled in, and by the
product's own folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.registry import CPUDispatcher

from archsim.base import compiled, jit, sealed
from mapper.looptree.search import objective

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _place() -> Path | None:
    if jit.PLACE is None:
        return None
    found = hashlib.sha256(jit.PLACE.name.encode())
    for path in [*sorted(Path(__file__).parent.glob("*.py")), Path(objective.__file__)]:
        found.update(path.read_bytes())
    return sealed.place(found.hexdigest())


PLACE = _place()


def allocating(function: _Function) -> _Function:
    """Compile ``function`` on first call; it may make arrays. Kept on disk unless ARCHSIM_NO_CACHE=1."""
    made = numba.njit(nogil=True, error_model="numpy")(function)
    if PLACE is not None and isinstance(made, CPUDispatcher):
        made._cache = compiled.CompiledCache(made.py_func, PLACE)
    return cast(_Function, made)
