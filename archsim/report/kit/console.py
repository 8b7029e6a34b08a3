"""The terminal that everything is printed on: text is data, never markup, and nothing hidden reaches it."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from archsim.base.plain import visible

WIDTH = 100


class PlainConsole(Console):
    """A console that styles what this program styles, and shows all text as it stands.

    Texts are laid out as they will be shown; what reaches the terminal by another way is made visible last.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        """On stdout, or on stderr."""
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """A text, with what is hidden in it visible and nothing in it meaning anything."""
        return super().render_str(visible(text, keep="\n"), **{**options, "markup": False, "emoji": False})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of anything, with their text visible; control segments are this program's own."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(visible(segment.text, keep="\n"), segment.style)


def console(width: int | None = None) -> Console:
    """A console on stdout, WIDTH columns wide or ``width``, on a terminal no wider than it; colour only there."""
    made = PlainConsole()
    made.width = min(width or WIDTH, made.width) if made.is_terminal else width or WIDTH
    return made


def columns() -> int | None:
    """How wide the terminal on stdout is; None in a pipe, whose lines are not broken."""
    made = PlainConsole()
    return made.width if made.is_terminal else None


def folded(text: str, width: int | None) -> str:
    """Lines that are longer than ``width`` broken at blanks; what goes on stands two columns further in."""
    return "\n".join(part for line in text.split("\n") for part in _folded(line, width or len(line)))


def _folded(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    further = " " * (len(line) - len(line.lstrip(" ")) + 2)
    return wrap(
        line, width, subsequent_indent=further, replace_whitespace=False, break_long_words=False, break_on_hyphens=False
    )
