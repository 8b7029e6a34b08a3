"""Runs without Python's search for cyclic garbage: a run keeps what it makes, so searching again and again is lost.

Only a machine that has stopped is garbage: ``collect_stopped`` finds those of earlier runs. The user's own state of the
collector is as before when a run has ended.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (200_000, 50, 100)  # a run keeps nearly all it makes: looking for garbage less often saves 8 % of it
ENOUGH = 1_000_000  # objects made since the last search: a tenth of a GiB or more


class _Made:
    """Objects that runs have made since the last search; ``depth`` of runs inside runs."""

    objects = 0
    depth = 0


def seldom() -> None:
    """Search seldom from now on, for a process that does nothing but runs."""
    gc.set_threshold(*SELDOM)


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the collector, unless the user has switched it off; runs inside runs may do so too."""
    if not _Made.depth and not gc.isenabled():
        yield
        return
    _Made.depth += 1
    gc.disable()
    try:
        yield
    finally:
        _Made.depth -= 1
        if not _Made.depth:
            _resume()


def collect_stopped() -> None:
    """Before a machine is built: give back those of earlier runs, where these have made enough."""
    if _Made.objects + (gc.get_count()[0] if _Made.depth else 0) > ENOUGH:
        gc.collect()
        _Made.objects = 0


def _resume() -> None:
    """Collect again, with all that there is as old: a search among the young does not look through it."""
    _Made.objects += gc.get_count()[0]
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
    gc.enable()
