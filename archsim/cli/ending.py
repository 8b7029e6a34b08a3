"""How the command line ends when something outside ends it: signals, a full disk, a closed pipe, no memory left."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EPIPE
from threading import current_thread, main_thread
from types import FrameType

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM
UNWRITTEN = 2  # the exit code of what cannot be written, as of --out


class CommandEnding:
    """``terminated``: SIGTERM has come, and the command is being ended as by Ctrl-C."""

    def __init__(self) -> None:
        self.terminated = False

    def code(self, code: str | int | None) -> str | int | None:
        """The exit code: 143 in place of 130 where SIGTERM was the cause."""
        return TERMINATED if self.terminated and code in (INTERRUPTED, None, 0) else code


@contextmanager
def ending() -> Iterator[CommandEnding]:
    """While a command runs SIGTERM is an interrupt, once: contexts close, processes end, files are whole."""
    found = CommandEnding()

    def stop(number: int, frame: FrameType | None) -> None:
        found.terminated = True
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    if current_thread() is not main_thread():
        yield found
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield found
    finally:
        signal.signal(signal.SIGTERM, before)


def flush() -> str:
    """Write out what was printed; '' or why standard output does not take it. Then nothing more goes there."""
    try:
        sys.stdout.flush()
    except OSError as error:
        said = unwritten(error)
        return "" if error.errno == EPIPE else said
    return ""


def unwritten(error: OSError) -> str:
    """What is said, once, of standard output that cannot be written."""
    _close()
    return f"error: standard output: cannot be written ({error.strerror})"


def _close() -> None:
    """Standard output leads nowhere from now on, so that the interpreter's own last flush cannot fail."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
