"""What commands say: the step they are at, errors, requirements that are missed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from archsim.base.plain import visible
from archsim.base.progress import aside, watched

if TYPE_CHECKING:
    from archsim.lab.kit.options import Requirement


@contextmanager
def work(limit_memory: str | None, processes: int = 1) -> Iterator[Callable[[str], None]]:
    """``progress`` within a limit of memory, which ``processes`` share."""
    from archsim.lab.kit.memory_limit import limited

    with progress() as say, limited(limit_memory, processes):
        yield say


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """The current step; an interrupt is said with what was under way, and goes on."""
    try:
        with shown() as say:
            yield say
    except KeyboardInterrupt as error:
        say_error(" ".join(["stopped", *getattr(error, "__notes__", ())]))
        raise


@contextmanager
def shown() -> Iterator[Callable[[str], None]]:
    """How far work has come, on a terminal, and the step that it is told; silence in a pipe."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from archsim.cli.meter import on_terminal

    with on_terminal() as meter, watched(meter):
        yield meter.say


def put(text: str, end: str = "\n") -> None:
    """Print a result on stdout; what is hidden in it is visible. JSON and Programs stay what they are."""
    with aside():
        sys.stdout.write(visible(text, keep="\n") + end)


def say_error(message: str) -> None:
    """Print a message for people, on stderr."""
    with aside():
        print(visible(message, keep="\n"), file=sys.stderr)


def say_missed(missed: Sequence[Requirement], summary: Mapping[str, Any]) -> None:
    """Print each requirement that a result misses; raises typer.Exit with code 1 when there is one."""
    import typer

    for item in missed:
        say_error(f"requirement missed: {item}; found {item.value(summary):.6g}")
    if missed:
        raise typer.Exit(1)
