"""Taking and giving of tokens, command by command, in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from archsim.ir.unroll import Resolved, Step

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Events:
    """What commands take, or give: ``n`` tokens of number ``token`` by command ``at`` of queue number ``queue``.

    Rows are sorted by queue and token, then as the Program has them. ``key`` counts both in one number. Of one token
    each, ``each_key`` and ``each_at``: rows are there n times. ``found``: place of each row in the Program.
    """

    tokens: int
    queue: IntArray
    token: IntArray
    at: IntArray
    n: IntArray
    found: IntArray
    key: IntArray
    each_key: IntArray
    each_at: IntArray

    def each(self, queue: IntArray, token: IntArray) -> tuple[IntArray, IntArray]:
        """Rows [begin, end) of ``each_at``: the tokens ``token`` that ``queue`` takes, or gives, one by one."""
        key = queue * self.tokens + token
        return np.searchsorted(self.each_key, key, side="left"), np.searchsorted(self.each_key, key, side="right")

    def queues(self) -> dict[int, list[int]]:
        """The queues that take, or give, each token."""
        found: dict[int, list[int]] = {}
        for key in np.unique(self.key).tolist():
            found.setdefault(key % self.tokens, []).append(key // self.tokens)
        return found

    def commands(self, queue: int, token: int) -> list[int]:
        """Command index at which ``queue`` takes, or gives, each ``token``."""
        begin, end = np.searchsorted(self.each_key, queue * self.tokens + np.arange(token, token + 2)).tolist()
        found: list[int] = self.each_at[begin:end].tolist()
        return found


def taken_and_given(steps: Sequence[Sequence[Step]], numbers: Mapping[str, int]) -> tuple[Events, Events]:
    """Events of all waits and of all signals; ``numbers``: of tokens by name."""
    counts = np.array([len(own) for own in steps], dtype=np.int64)
    waits = [step.waits for own in steps for step in own]
    signals = [step.signals for own in steps for step in own]
    return _events(numbers, counts, waits), _events(numbers, counts, signals)


def _events(numbers: Mapping[str, int], counts: IntArray, tokens: Sequence[Resolved]) -> Events:
    """``counts``: commands of each queue; ``tokens`` of each command, queue by queue."""
    sizes = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    first = np.cumsum(counts) - counts
    at = np.repeat(np.arange(len(tokens)) - np.repeat(first, counts), sizes)
    queue = np.repeat(np.repeat(np.arange(len(counts)), counts), sizes)
    flat = list(chain.from_iterable(tokens))
    token = np.array([numbers[name] for name, _ in flat], dtype=np.int64)
    n = np.array([count for _, count in flat], dtype=np.int64)
    key = queue * len(numbers) + token
    order = np.argsort(key, kind="stable")
    key, at, n = key[order], at[order], n[order]
    return Events(len(numbers), queue[order], token[order], at, n, order, key, np.repeat(key, n), np.repeat(at, n))
