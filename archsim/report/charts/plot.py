"""The box of a plot with two axes: where it lies in its frame, and the words along its axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from archsim.report.kit import svg
from archsim.report.kit.svg import DrawingFrame

NARROW_LEFT, NARROW_RIGHT, NARROW_HEAD = 60.0, 12.0, 24.0
LETTERS = 8  # of a label below the axis


class PlotBox(NamedTuple):
    """User units from the left and from above."""

    frame: DrawingFrame
    left: float
    right: float
    top: float
    bottom: float

    def fitted(self) -> PlotBox:
        """Of a narrow frame: over all of its width, lower by the line that names the upright axis, less high."""
        if not self.frame.is_narrow:
            return self
        bottom = self.top + NARROW_HEAD + 0.75 * (self.bottom - self.top)
        return PlotBox(self.frame, NARROW_LEFT, self.frame.width - NARROW_RIGHT, self.top + NARROW_HEAD, bottom)

    @property
    def height(self) -> float:
        """Of the drawing, with the labels and the name of the axis below."""
        return self.bottom + 44

    def names(self, across: str, up: str) -> str:
        """Of both axes: the upright one's beside it, or above it where the frame is narrow."""
        below = svg.text((self.left + self.right) / 2, self.height - 6, across, "t dim", "middle")
        if self.frame.is_narrow:
            return below + svg.text(0, 13, up, "t dim")
        turned = f"translate(14 {(self.top + self.bottom) / 2:.0f}) rotate(-90)"
        return below + svg.text(0, 0, up, "t dim", "middle", transform=turned)

    def across(self, values: Sequence[float], place: Callable[[float], float], words: Callable[[float], str]) -> str:
        """Lines upwards at ``values``, with as many labels below as there is room for."""
        drawn = []
        for value in svg.thinned(values, self.right - self.left, max(map(len, map(words, values)), default=LETTERS)):
            x = place(value)
            told = words(value)
            middle = self.frame.middle(x, told, 7.2)
            drawn += [
                svg.line(x, self.top, x, self.bottom),
                svg.text(middle, self.bottom + 16, told, "t num dim", "middle"),
            ]
        return "".join(drawn)

    def up(self, values: Sequence[float], place: Callable[[float], float], words: Callable[[float], str]) -> str:
        """Lines across at ``values`` with their labels."""
        drawn = []
        for value in values:
            y = place(value)
            drawn += [svg.line(self.left, y, self.right, y)]
            drawn += [svg.text(self.left - 8, y + 4, words(value), "t num dim", "end")]
        return "".join(drawn)
