"""What commands say: the step they are at, errors, requirements that are missed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from archsim.plain import visible

if TYPE_CHECKING:
    from archsim.lab.options import Requirement


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A spinner with the current step on a terminal; silence in a pipe."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.text import Text

    from archsim.report.console import PlainConsole

    with PlainConsole(stderr=True).status("starting") as status:
        yield lambda step: status.update(Text(visible(step)))


def put(text: str, end: str = "\n") -> None:
    """Print a result on stdout; what is hidden in it is visible. JSON and Programs stay what they are."""
    sys.stdout.write(visible(text, keep="\n") + end)


def say_error(message: str) -> None:
    """Print a message for people, on stderr."""
    print(visible(message, keep="\n"), file=sys.stderr)


def say_missed(missed: Sequence[Requirement], summary: Mapping[str, Any]) -> None:
    """Print each requirement that a result misses; raises typer.Exit with code 1 when there is one."""
    import typer

    for item in missed:
        say_error(f"requirement missed: {item}; found {item.value(summary):.6g}")
    if missed:
        raise typer.Exit(1)
