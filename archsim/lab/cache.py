"""Where caches are. They hold mappings and compiled kernels only, never results."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "ARCHSIM_CACHE"
NO_CACHE_VARIABLE = "ARCHSIM_NO_CACHE"


def folder() -> Path | None:
    """The cache directory: ARCHSIM_CACHE, else the user's; None when ARCHSIM_NO_CACHE is 1."""
    if os.environ.get(NO_CACHE_VARIABLE) == "1":
        return None
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("archsim")


def switch_off() -> None:
    """Neither read nor write caches in this process; to be called before kernels are loaded."""
    os.environ[NO_CACHE_VARIABLE] = "1"


def kernels_compiled() -> bool:
    """Whether compiled kernels of this version are in the cache."""
    import numba

    import archsim.kernels  # noqa: F401  (sets where numba keeps them)

    place = str(getattr(numba.config, "CACHE_DIR", ""))
    return folder() is not None and any(Path(place).rglob("*.nbi"))
