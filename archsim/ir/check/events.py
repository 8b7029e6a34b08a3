"""Taking and giving of tokens, command by command, in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.unrolled import Text, Unrolled
from archsim.ir.program import Token

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Events:
    """What commands take, or give: ``n`` tokens by command ``at`` of a queue. ``key`` counts queue and token in one.

    Rows are sorted by queue and token, then as the Program has them; ``rank``: of the token in its command. Of one
    token each, ``each_key`` and ``each_at``: rows are there n times. ``tokens``: how many there are.
    """

    tokens: int
    key: IntArray
    at: IntArray
    n: NDArray[np.signedinteger[Any]]
    rank: NDArray[np.signedinteger[Any]]
    each_key: IntArray
    each_at: IntArray

    @property
    def queue(self) -> IntArray:
        """Queue number of each row."""
        return self.key // self.tokens

    @property
    def token(self) -> IntArray:
        """Token number of each row."""
        return self.key % self.tokens

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


def taken_and_given(queues: Sequence[Unrolled], numbers: Mapping[str, int]) -> tuple[Events, Events]:
    """Events of all waits and of all signals; ``numbers``: of tokens by name."""
    counts = np.array([len(queue) for queue in queues], dtype=np.int64)
    waits, signals = _Found(numbers), _Found(numbers)
    for number, queue in enumerate(queues):
        for text in queue.texts:
            if text.command.waits:
                waits.add(number, text, text.command.waits)
            if text.command.signals:
                signals.add(number, text, text.command.signals)
    return waits.events(counts), signals.events(counts)


class _Found:
    """Columns with a row for each token of each command text; ``places`` of its runs in their nest, ``text``: queue and
    begin of the nest there."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self.numbers = numbers
        self.places: list[IntArray] = []
        self.text: list[tuple[int, int]] = []
        self.token: list[int] = []
        self.n: list[int] = []
        self.rank: list[int] = []

    def add(self, queue: int, text: Text, tokens: Sequence[Token]) -> None:
        """Append what a command text of ``queue`` takes, or gives."""
        runs, places = text.nest.runs[text.number].at, text.nest.places
        self.places += [places(text.number, token.when) if token.when else runs for token in tokens]
        self.token += [self.numbers[token.name] for token in tokens]
        self.n += [token.n for token in tokens]
        self.rank += range(len(tokens))
        self.text += [(queue, text.begin)] * len(tokens)

    def events(self, counts: IntArray) -> Events:
        """``counts``: commands of each queue."""
        sizes = np.fromiter(map(len, self.places), dtype=np.int64, count=len(self.places))
        at = np.concatenate(self.places) if self.places else np.empty(0, dtype=np.int64)
        queue, begin = np.fromiter(chain.from_iterable(self.text), dtype=np.int64).reshape(-1, 2).T
        at += np.repeat(begin, sizes)
        key = np.repeat(queue * len(self.numbers) + np.array(self.token, dtype=np.int64), sizes)
        order = np.argsort(key * (int(counts.max(initial=0)) + 1) + at, kind="stable")
        key, at = key[order], at[order]
        n, rank = (np.repeat(_small(column), sizes)[order] for column in (self.n, self.rank))
        each = (key, at) if (n == 1).all() else (np.repeat(key, n), np.repeat(at, n))
        return Events(len(self.numbers), key, at, n, rank, *each)


def _small(column: Sequence[int]) -> NDArray[np.signedinteger[Any]]:
    """Counts in the smallest signed integers that hold them."""
    found: NDArray[np.signedinteger[Any]] = np.array(column, dtype=np.min_scalar_type(-max(column, default=0) - 1))
    return found
