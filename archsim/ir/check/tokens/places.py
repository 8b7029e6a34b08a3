"""Where queues take and give tokens: places of command texts in their nests, from which a token is found by its number.

A **side** is what one queue takes, or gives, of one token. It is a list of **parts**, one for each nest of the queue
that has some of it: the index of the nest's first command, and a **run**, the places there, ascending, one for each
token. Runs are kept once, since cores run the same nests: a Program that is unrolled into millions of commands has
sides as long as its text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from archsim.base.arrays import IntArray
from archsim.ir.check.tokens.compiled import SideColumns
from archsim.ir.check.tokens.unrolled import NestText, UnrolledNest, UnrolledQueue
from archsim.ir.program import Token, When


@dataclass(frozen=True, slots=True)
class TokenSides:
    """Sides in order of ``key``, which counts queue and token in one; ``tokens``: how many tokens there are.

    Side number s has the parts ``first[s]`` to ``first[s + 1]``, in order, and ``total[s]`` tokens. Part p lies in the
    nest whose first command is ``begin[p]``, has the run ``run[p]`` and comes after ``before[p]`` tokens of its side.
    Run r is ``places[start[r]:start[r + 1]]``.
    """

    tokens: int
    key: IntArray
    first: IntArray
    total: IntArray
    begin: IntArray
    run: IntArray
    before: IntArray
    places: IntArray
    start: IntArray

    @property
    def columns(self) -> SideColumns:
        """What compiled functions walk."""
        return SideColumns(self.first, self.total, self.begin, self.run, self.before, self.places, self.start)

    @property
    def queue(self) -> IntArray:
        """Queue number of each side."""
        return self.key // self.tokens

    @property
    def token(self) -> IntArray:
        """Token number of each side."""
        return self.key % self.tokens

    def find(self, key: IntArray) -> IntArray:
        """Number of the side of each ``key``; -1 where the queue takes, or gives, none of the token."""
        at = np.searchsorted(self.key, key)
        there = (key >= 0) & (np.append(self.key, -1)[at] == key)
        return np.where(there, at, -1)

    def nth(self, side: IntArray, number: IntArray) -> IntArray:
        """Command index of token ``number`` of each side, which has more."""
        sums = np.append(0, np.cumsum(self.total))
        ahead = self.before + np.repeat(sums[:-1], np.diff(self.first))
        part = np.searchsorted(ahead, sums[side] + number, side="right") - 1
        at: IntArray = self.begin[part] + self.places[self.start[self.run[part]] + number - self.before[part]]
        return at

    def commands_of(self, side: int) -> IntArray:
        """Command index at which each token of a side is taken, or given; none for side -1."""
        found = [np.empty(0, dtype=np.int64)]
        for part in range(int(self.first[side]), int(self.first[side + 1])) if side >= 0 else ():
            run = int(self.run[part])
            found.append(self.places[int(self.start[run]) : int(self.start[run + 1])] + self.begin[part])
        return np.concatenate(found)

    def commands(self, queue: int, token: int) -> IntArray:
        """Command index at which ``queue`` takes, or gives, each ``token``."""
        return self.commands_of(int(self.find(np.array([queue * self.tokens + token]))[0]))


def taken_and_given(queues: Sequence[UnrolledQueue], numbers: Mapping[str, int]) -> tuple[TokenSides, TokenSides]:
    """Sides of all waits and of all signals; ``numbers``: of tokens by name."""
    runs = _Runs()
    waits, signals = _Found(numbers, runs), _Found(numbers, runs)
    for number, queue in enumerate(queues):
        for text in queue.texts:
            if text.command.waits:
                waits.add(number, text, text.command.waits)
            if text.command.signals:
                signals.add(number, text, text.command.signals)
    return waits.sides(), signals.sides()


class _Runs:
    """The distinct runs: of a text of a nest where a condition holds, n times each; and joined ones."""

    def __init__(self) -> None:
        self.arrays: list[IntArray] = []
        self._nests: list[UnrolledNest] = []  # kept, so that no other has its id
        self._numbers: dict[tuple[int, int, int, int], int] = {}
        self._equal: dict[tuple[int, int, int, When], int] = {}
        self._joined: dict[tuple[int, ...], int] = {}

    def of(self, text: NestText, when: When, n: int) -> int:
        """Number of the run of a text where ``when`` holds, each place ``n`` times."""
        key = (id(text.nest), text.number, n, id(when))
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = self._known(text, when, n)
        return found

    def _known(self, text: NestText, when: When, n: int) -> int:
        """The same for a condition that is another object, perhaps an equal one."""
        key = (id(text.nest), text.number, n, when)
        if key not in self._equal:
            self._nests.append(text.nest)
            places = text.nest.places(text.number, when)
            self._equal[key] = self._kept(places if n == 1 else np.repeat(places, n))
        return self._equal[key]

    def joined(self, runs: tuple[int, ...]) -> int:
        """Number of the run that has all places of ``runs``, which are of one nest."""
        if runs not in self._joined:
            self._joined[runs] = self._kept(np.sort(np.concatenate([self.arrays[run] for run in runs]), kind="stable"))
        return self._joined[runs]

    def _kept(self, places: IntArray) -> int:
        self.arrays.append(places)
        return len(self.arrays) - 1


class _Found:
    """Tokens of command texts: the number and the run of each; for each text how many they are, its queue, and the
    first command of its nest.
    """

    def __init__(self, numbers: Mapping[str, int], runs: _Runs) -> None:
        self.numbers, self.runs = numbers, runs
        self.token: list[int] = []
        self.run: list[int] = []
        self.texts: list[int] = []

    def add(self, queue: int, text: NestText, tokens: Sequence[Token]) -> None:
        """Append what a command text of ``queue`` takes, or gives."""
        numbers, run_of = self.numbers, self.runs.of
        every = run_of(text, (), 1)
        self.token += [numbers[token.name] for token in tokens]
        if any([token.n != 1 or token.when for token in tokens]):
            self.run += [run_of(text, token.when, token.n) for token in tokens]
        else:
            self.run += [every] * len(tokens)
        self.texts += (len(tokens), queue, text.begin)

    def sides(self) -> TokenSides:
        """The rows that have tokens, sorted; those of one side and nest are joined."""
        count, queue, begin = np.array(self.texts, dtype=np.int64).reshape(-1, 3).T
        token, run = np.array(self.token, dtype=np.int64), np.array(self.run, dtype=np.int64)
        key, begin = np.repeat(queue, count) * len(self.numbers) + token, np.repeat(begin, count)
        sizes = np.array([len(places) for places in self.runs.arrays], dtype=np.int64)
        some = sizes[run] > 0 if len(run) else np.empty(0, dtype=np.bool_)
        key, begin, run = key[some], begin[some], run[some]
        order = np.lexsort((begin, key))
        key, begin, run = self._joined(key[order], begin[order], run[order])
        sizes = np.array([len(places) for places in self.runs.arrays], dtype=np.int64)
        used, run = np.unique(run, return_inverse=True)
        length = sizes[used][run]
        opens = np.flatnonzero(np.diff(key, prepend=-1))
        first = np.append(opens, len(key))
        sums = np.append(0, np.cumsum(length))
        before = sums[:-1] - np.repeat(sums[opens], np.diff(first))
        start = np.append(0, np.cumsum(sizes[used]))
        places = np.concatenate([np.empty(0, dtype=np.int64), *(self.runs.arrays[number] for number in used.tolist())])
        total = np.diff(sums[first])
        return TokenSides(len(self.numbers), key[opens], first, total, begin, run, before, places, start)

    def _joined(self, key: IntArray, begin: IntArray, run: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """One row for each side and nest."""
        opens = np.ones(len(key), dtype=np.bool_)
        opens[1:] = (np.diff(key) != 0) | (np.diff(begin) != 0)
        firsts = np.flatnonzero(opens)
        sizes = np.diff(np.append(firsts, len(key)))
        for first, size in zip(firsts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
            run[first] = self.runs.joined(tuple(run[first : first + size].tolist()))
        return key[opens], begin[opens], run[opens]
