"""The lines of a cache and what rows of a table mean to them: which lines, which bytes and words of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from archsim.base.arrays import BoolArray, IntArray

MEMORY_BYTES = 1 << 50  # between the first bytes of two DRAM parts, as a cache numbers lines


class RowBytes(Protocol):
    """Which bytes a row of a table has: ``run_bytes`` at a time, in loops of (extent, stride) from the outermost in."""

    @property
    def outer(self) -> Sequence[tuple[int, int]]:
        """Loops over the runs, outermost first."""

    @property
    def run_bytes(self) -> int:
        """Contiguous bytes of a run."""


@dataclass(frozen=True, slots=True)
class LineTouches:
    """Line accesses in order: the row (its place in the command), the line, the bytes and the words asked of it."""

    row: IntArray
    line: IntArray
    size_bytes: IntArray
    words: IntArray


class LruLines:
    """The lines that a cache holds, empty at first.

    ``look_up``: of reads, a line that is missing comes in; ``update``: of writes, a line that is missing stays out.
    """

    def __init__(self, sets: int, ways: int) -> None:
        """``sets`` of ``ways`` lines."""
        from archsim.facts.lru import compiled  # the compiler is slow to import: only now

        self._compiled = compiled
        self._tags = np.full((sets, ways), compiled.EMPTY, dtype=np.int64)

    def look_up(self, lines: IntArray) -> BoolArray:
        """Read lines in order; which of them were there."""
        return self._access(lines, True)

    def update(self, lines: IntArray) -> BoolArray:
        """Write lines in order; which of them were there."""
        return self._access(lines, False)

    def drop(self, first: int, end: int) -> None:
        """Forget the lines [first, end)."""
        self._tags[(self._tags >= first) & (self._tags < end)] = self._compiled.EMPTY

    @property
    def state(self) -> bytes:
        """What the cache holds: what it answers next depends on this alone."""
        return self._tags.tobytes()

    def _access(self, lines: IntArray, allocate: bool) -> BoolArray:
        hits = np.zeros(lines.size, dtype=np.bool_)
        self._compiled.look_up(self._tags, np.ascontiguousarray(lines), allocate, hits)
        return hits


def first_line(memory: int, line_bytes: int) -> int:
    """Number of the first line of DRAM part number ``memory``: one cache may serve several."""
    return memory * (MEMORY_BYTES // line_bytes)


def touches(addresses: IntArray, row: RowBytes, line_bytes: int, word_bytes: int) -> LineTouches:
    """What rows at byte ``addresses``, each touching ``row`` from there on, ask of lines, run by run in order."""
    offsets = np.zeros(1, dtype=np.int64)
    for extent, stride in row.outer:
        offsets = (offsets[:, None] + stride * np.arange(extent, dtype=np.int64)).ravel()
    start = (addresses[:, None] + offsets).ravel()
    end = start + row.run_bytes
    first = start // line_bytes
    counts = (end - 1) // line_bytes - first + 1
    run = np.repeat(np.arange(len(start), dtype=np.int64), counts)
    line = first[run] + np.arange(len(run), dtype=np.int64) - (np.cumsum(counts) - counts)[run]
    low = np.maximum(start[run], line * line_bytes)
    high = np.minimum(end[run], (line + 1) * line_bytes)
    words = (high - 1) // word_bytes - low // word_bytes + 1
    return LineTouches(run // len(offsets), line, high - low, words)
