"""Rows of bars in the room that a drawing has: names left of the bars and notes right of them, or both above."""

from __future__ import annotations

from dataclasses import dataclass

from archsim.report.kit import svg
from archsim.report.kit.number_format import shorten
from archsim.report.kit.svg import DrawingFrame

LETTER = 7.2  # user units, of a letter of 13
ABOVE, BETWEEN = 17.0, 9.0  # narrow: what a row's words take, and what parts it from the next


@dataclass(frozen=True, slots=True)
class BarLanes:
    """Bars from ``left`` to ``right``, in user units, ``bar`` high, a row each ``pitch``; words stand above the bars
    where ``frame`` is narrow."""

    frame: DrawingFrame
    left: float
    right: float
    pitch: float
    bar: float

    @classmethod
    def of(cls, frame: DrawingFrame, left: float, right: float, row: float, bar: float) -> BarLanes:
        """Those of the wide drawing, or all of the width of a narrow one."""
        if frame.is_narrow:
            return cls(frame, 0.0, frame.width, ABOVE + bar + BETWEEN, bar)
        return cls(frame, left, right, row, bar)

    def top(self, index: int) -> float:
        """Of the bar of a row."""
        return index * self.pitch + (ABOVE if self.frame.is_narrow else 0.0)

    def height(self, count: int) -> float:
        """Of so many rows."""
        return count * self.pitch + 4

    def name(self, index: int, words: str, letters: int, note: str = "", css: str = "t") -> str:
        """Of a row, in ``letters``, or narrow in what ``note`` leaves of the line."""
        if self.frame.is_narrow:
            room = max(8, int(self.right / LETTER) - len(note) - 2)
            return svg.text(0, self.top(index) - 5, shorten(words, room), css)
        return svg.text(self.left - 12, self._base(index), shorten(words, letters), css, "end")

    def note(self, index: int, words: str, x: float, anchor: str = "start", css: str = "t num") -> str:
        """At ``x``, or narrow at the right end of the line above the bar."""
        if self.frame.is_narrow:
            return svg.text(self.right, self.top(index) - 5, words, css, "end")
        return svg.text(x, self._base(index), words, css, anchor)

    def picture(self, count: int, description: str, parts: list[str], below: float = 0.0) -> str:
        """The drawing of so many rows."""
        return svg.picture(self.height(count) + below, description, parts, self.frame)

    def _base(self, index: int) -> float:
        return self.top(index) + self.bar / 2 + 4.5
