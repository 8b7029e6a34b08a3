"""The terminal that everything is printed on: text is data, never markup, and nothing hidden reaches it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from archsim.plain import visible

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
    """A console on stdout: the terminal's width up to WIDTH, WIDTH in a pipe; colour only on a terminal."""
    made = PlainConsole()
    made.width = width or (min(made.width, WIDTH) if made.is_terminal else WIDTH)
    return made
