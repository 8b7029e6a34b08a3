"""How far long work has come: stretches of work that say what of how much is done, to whoever shows it.

Work that may take seconds states a stretch where it is done. Without somebody who shows it that is all that happens;
with somebody, what is done is counted by the stretch itself or, where pieces are too small for that (commands, cycles,
requests), looked up by who shows it. Nothing that is computed depends on either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol, TypeVar

COMPILING = "compiling functions (kept in the cache for later runs)"
_Item = TypeVar("_Item")


class WorkStretch:
    """``total`` pieces of work, of which ``done`` are done and ``known`` were done before; ``at``: the one under way.

    ``what`` is done to which ``unit``, in words; ``at_most``: the total is an upper bound.
    """

    __slots__ = ("_ask", "_done", "at", "at_most", "known", "total", "unit", "what")

    def __init__(self, what: str, unit: str, total: int, *, at_most: bool, ask: Callable[[], int] | None) -> None:
        self.what, self.unit, self.total, self.at_most = what, unit, total, at_most
        self.at, self.known, self._done, self._ask = "", 0, 0, ask

    def add(self, pieces: int = 1) -> None:
        """So many pieces more are done."""
        self._done += pieces

    @property
    def done(self) -> int:
        """Pieces that are done, between 0 and all."""
        done = self._done if self._ask is None else self._ask()
        return max(0, min(done, self.total))


class Watcher(Protocol):
    """Who shows how far work has come."""

    def begin(self, stretch: WorkStretch) -> None:
        """A stretch begins, inside those that have begun."""

    def end(self, stretch: WorkStretch) -> None:
        """A stretch has ended, or was given up."""

    def compiling(self, functions: int) -> None:
        """So many functions more, or less, are being compiled."""

    def aside(self) -> AbstractContextManager[None]:
        """Something else is printed within this context."""


_watchers: list[Watcher] = []  # the last one is told


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Within this context ``watcher`` is told, and nobody else."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def watcher() -> Watcher | None:
    """Who is told, if anybody."""
    return _watchers[-1] if _watchers else None


@contextmanager
def stretch(
    what: str,
    unit: str,
    total: int | Callable[[], int],
    *,
    done: Callable[[], int] | None = None,
    at_most: bool = False,
) -> Iterator[WorkStretch]:
    """A stretch of work; see ``WorkStretch``. ``done``: how many pieces are done, looked up whenever it is shown, from
    another thread, so that it only reads; else the work counts them with ``add``. A ``total`` that is a function is
    worked out only where somebody shows it."""
    told = watcher()
    known = 0 if told is None and callable(total) else total() if callable(total) else total
    made = WorkStretch(what, unit, known, at_most=at_most, ask=done)
    if told is None:
        yield made
        return
    told.begin(made)
    try:
        yield made
    finally:
        told.end(made)


def each(items: Collection[_Item], what: str, unit: str, name: Callable[[_Item], str] | None = None) -> Iterator[_Item]:
    """The items one after the other, each a piece of a stretch that is done when the next is asked for."""
    with stretch(what, unit, len(items)) as made:
        for item in items:
            made.at = name(item) if name is not None else ""
            yield item
            made.add()


def aside() -> AbstractContextManager[None]:
    """The context in which something is printed on the terminal, so that what shows progress makes way."""
    told = watcher()
    return told.aside() if told is not None else nullcontext()
