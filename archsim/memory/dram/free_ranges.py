"""Stretches of one growing array that are taken and given back, first fit."""

from __future__ import annotations

from bisect import insort


class FreeEntries:
    """Which of ``size`` entries are free."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._free = [(0, size)]  # (first, end), ascending, never adjacent

    def take(self, count: int) -> int | None:
        """The first of ``count`` entries in a row, or None where the pool has to grow before."""
        for number, (first, end) in enumerate(self._free):
            if end - first >= count:
                self._free[number : number + 1] = [(first + count, end)] if end - first > count else []
                return first
        return None

    def give(self, first: int, count: int) -> None:
        """Give entries back, or add new ones at the end."""
        self.size = max(self.size, first + count)
        insort(self._free, (first, first + count))
        joined: list[tuple[int, int]] = []
        for low, high in self._free:
            if joined and joined[-1][1] == low:
                joined[-1] = (joined[-1][0], high)
            else:
                joined.append((low, high))
        self._free = joined
