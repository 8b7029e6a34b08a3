"""The line on a terminal that says how far a command has come: what of how much, and about how long it still takes.

It appears on stderr where a command has taken ``AFTER_S``, is written anew every ``EVERY_S`` at most, and is gone at
the end; stdout, files and results know nothing of it; where stderr is no terminal there is none. What is done is looked
up from a thread of its own, so that the work itself counts little or nothing.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, RLock, Thread

from archsim.base.plain import visible
from archsim.base.progress import COMPILING, WorkStretch

AFTER_S = 2.0  # until then nothing is shown, nor is time left foretold
EVERY_S = 0.2  # between two lines at least
LOOKS_S = 0.25  # between two looks of the thread
CLEAR = "\r\x1b[K"
_FEW_S, _SHORT_S, _LONG_S = 10, 90, 5400
_WIDTH = 80  # where the terminal does not tell


@dataclass
class _Begun:
    stretch: WorkStretch
    begun_s: float
    step: str = ""


class ProgressMeter:
    """What is under way, as one line of text; ``write`` puts it on the terminal, ``clock`` gives seconds."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock = write, clock
        self._begun_s, self._looked_s = clock(), -math.inf
        self._step, self._shown = "", ""
        self._compiling, self._compiles_s = 0, 0.0
        self._under_way: list[_Begun] = []
        self._lock = RLock()

    def say(self, step: str) -> None:
        """The step that work is at, where that is no stretch."""
        with self._lock:
            if self._under_way:
                self._under_way[-1].step = step
            else:
                self._step = step
        self.look()

    def begin(self, stretch: WorkStretch) -> None:
        """See ``progress.Watcher``."""
        with self._lock:
            self._under_way.append(_Begun(stretch, self._clock()))
        self.look()

    def end(self, stretch: WorkStretch) -> None:
        """See ``progress.Watcher``."""
        with self._lock:
            self._under_way = [begun for begun in self._under_way if begun.stretch is not stretch]

    def compiling(self, functions: int) -> None:
        """See ``progress.Watcher``. The time that this takes is none of the work's."""
        with self._lock:
            if not self._compiling:
                self._compiles_s = self._clock()
            self._compiling += functions
            if not self._compiling:
                took_s = self._clock() - self._compiles_s
                for begun in self._under_way:
                    begun.begun_s += took_s
        self.look()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """The line makes way for something else that is printed."""
        with self._lock:
            self.clear()
            yield

    def look(self) -> None:
        """Write the line anew, where it is time for that."""
        with self._lock:
            now_s = self._clock()
            if now_s - self._begun_s >= AFTER_S and now_s - self._looked_s >= EVERY_S:
                self._looked_s = now_s
                text = self.text(now_s)
                if text != self._shown:
                    self._write(CLEAR + text)
                self._shown = text

    def clear(self) -> None:
        """Take the line away."""
        with self._lock:
            if self._shown:
                self._write(CLEAR)
            self._shown = ""

    def text(self, now_s: float) -> str:
        """The line: the outermost stretch with the time that it still takes, then those within it that take long."""
        if self._compiling:
            return COMPILING
        under_way = self._under_way
        if not under_way:
            return self._step
        said = [_counted(under_way[0].stretch, self._left(now_s))]
        said += [_counted(begun.stretch) for begun in under_way[1:] if now_s - begun.begun_s >= AFTER_S]
        return "; ".join(filter(None, (*said, under_way[-1].step)))

    def _left(self, now_s: float) -> str:
        """What is left of the outermost stretch, judged by what has been done of it so far; '' while that is little."""
        outer, took_s = self._under_way[0].stretch, now_s - self._under_way[0].begun_s
        done = _done([begun.stretch for begun in self._under_way])
        worked = done - outer.known
        if took_s < AFTER_S or worked <= 0:
            return ""
        said = in_words(took_s * (outer.total - done) / worked)
        return f", {'at most ' if outer.at_most else ''}{said} left"


def _counted(stretch: WorkStretch, left: str = "") -> str:
    """``mapping: 12 of 73 layers, about 40 s left (n24)``: what is counted is what that time is of."""
    at = f" ({stretch.at})" if stretch.at else ""
    most = "at most " if stretch.at_most else ""
    return f"{stretch.what}: {stretch.done:,} of {most}{stretch.total:,} {stretch.unit}{left}{at}"


def _done(stretches: list[WorkStretch]) -> float:
    """Pieces of the first that are done, with the part of the one under way that those within it have done."""
    part = 0.0
    for stretch in reversed(stretches):
        whole = stretch.done
        part = (whole + part) / stretch.total if stretch.total and whole < stretch.total else 1.0
    return part * stretches[0].total


def in_words(seconds: float) -> str:
    """A time as far as one can know it: ``a few seconds``, ``about 40 s``, ``about 3 min``, ``about 2 h``."""
    if seconds < _FEW_S:
        return "a few seconds"
    if seconds < _SHORT_S:
        return f"about {10 * math.ceil(seconds / 10)} s"
    return f"about {math.ceil(seconds / 60)} min" if seconds < _LONG_S else f"about {math.ceil(seconds / 3600)} h"


@contextmanager
def on_terminal() -> Iterator[ProgressMeter]:
    """A meter on stderr, which is a terminal, that looks for itself; the line is gone at the end."""
    stream, ended = sys.stderr, Event()

    def write(text: str) -> None:
        start, line = (CLEAR, text[len(CLEAR) :]) if text.startswith(CLEAR) else ("", text)
        with suppress(OSError, ValueError):  # the terminal is gone, the work is not
            stream.write(start + visible(line)[: _width(stream.fileno()) - 1])
            stream.flush()

    meter = ProgressMeter(write)

    def watch() -> None:
        while not ended.wait(LOOKS_S):
            meter.look()

    thread = Thread(target=watch, name="progress", daemon=True)
    thread.start()
    try:
        yield meter
    finally:
        ended.set()
        thread.join()
        meter.clear()


def _width(number: int) -> int:
    try:
        return os.get_terminal_size(number).columns or _WIDTH
    except OSError:
        return _WIDTH
