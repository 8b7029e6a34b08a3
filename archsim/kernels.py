"""Compiled kernels: one ``njit`` for all, whose cache is keyed by the text of every kernel in the tree."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import platformdirs

_Function = TypeVar("_Function", bound=Callable[..., Any])
_CACHED = os.environ.get("ARCHSIM_NO_CACHE", "") != "1"


def _sources_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        text = path.read_bytes()
        if b"archsim.kernels" in text:
            digest.update(text)
    return digest.hexdigest()


def _cache_directory() -> Path:
    root = os.environ.get("ARCHSIM_CACHE") or platformdirs.user_cache_dir("archsim")
    return Path(root) / "numba" / _sources_digest()


if _CACHED:
    numba.config.CACHE_DIR = str(_cache_directory())  # type: ignore[attr-defined]


def njit(function: _Function) -> _Function:
    """Compile ``function`` on first call, without Python objects; cached on disk unless ARCHSIM_NO_CACHE=1."""
    compiled: _Function = numba.njit(cache=_CACHED, nogil=True)(function)
    return compiled
