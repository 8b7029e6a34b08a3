"""The box of a plot with two axes: where it lies in its frame, the words along its axes, and where values stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from archsim.report.kit import svg
from archsim.report.kit.svg import DrawingFrame

NARROW_LEFT, NARROW_RIGHT, NARROW_HEAD = 60.0, 12.0, 24.0
LETTERS = 8  # of a label below the axis
DECADE = 8.0  # ratio of the ends from which an axis is logarithmic


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


class PlotScale:
    """Values to places between two ends, with round ticks."""

    def __init__(self, values: Sequence[float], first: float, last: float, *, is_log: bool = False) -> None:
        """``is_log``: logarithmic however near the ends are."""
        low, high = min(values), max(values)
        self.is_log = is_log or (low > 0 and high / low >= DECADE)
        self._first, self._last = first, last
        if self.is_log:
            self._low, self._high = log10(low) - 0.05, log10(high) + 0.05
        else:
            margin = 0.06 * ((high - low) or abs(high) or 1.0)
            self._low, self._high = low - margin, high + margin

    def at(self, value: float) -> float:
        """Place of a value."""
        number = log10(value) if self.is_log else value
        return self._first + (self._last - self._first) * (number - self._low) / (self._high - self._low)

    def ticks(self) -> list[float]:
        """Round values between the ends."""
        if not self.is_log:
            return svg.ticks(self._high, low=self._low)
        powers = range(floor(self._low), ceil(self._high) + 1)
        found = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
        return [value for value in found if self._low <= log10(value) <= self._high]
