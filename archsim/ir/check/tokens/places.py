"""Where queues take and give tokens: places of command texts in their nests, from which a token is found by its number.

A **side** is what one queue takes, or gives, of one token. It is a list of **parts**, one for each nest of the queue
that has some of it: the index of the nest's first command, and a **run**, the places there, ascending, one for each
token. Runs are kept once, since cores run the same nests: a Program that is unrolled into millions of commands has
sides as long as its text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archsim.base.arrays import IntArray
from archsim.base.ragged import alike, stretches
from archsim.ir.check.tokens.compiled import SideColumns
from archsim.ir.check.tokens.texts import RunTexts
from archsim.ir.columns import TokenColumns
from archsim.ir.program import When


@dataclass(frozen=True, slots=True)
class TokenSides:
    """Sides in order of ``key``, which counts queue and token in one; ``tokens``: how many tokens there are."""

    tokens: int
    key: IntArray
    columns: SideColumns

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
        of = self.columns
        sums = np.append(0, np.cumsum(of.total))
        ahead = of.before + np.repeat(sums[:-1], np.diff(of.first))
        part = np.searchsorted(ahead, sums[side] + number, side="right") - 1
        at: IntArray = of.begin[part] + of.places[of.start[of.run[part]] + number - of.before[part]]
        return at

    def commands_of(self, side: int) -> IntArray:
        """Command index at which each token of a side is taken, or given; none for side -1."""
        of = self.columns
        found = [np.empty(0, dtype=np.int64)]
        for part in range(int(of.first[side]), int(of.first[side + 1])) if side >= 0 else ():
            run = int(of.run[part])
            found.append(of.places[int(of.start[run]) : int(of.start[run + 1])] + of.begin[part])
        return np.concatenate(found)

    def commands(self, queue: int, token: int) -> IntArray:
        """Command index at which ``queue`` takes, or gives, each ``token``."""
        return self.commands_of(int(self.find(np.array([queue * self.tokens + token]))[0]))


def taken_and_given(texts: RunTexts) -> tuple[TokenSides, TokenSides]:
    """Sides of all waits and of all signals."""
    runs = _Runs(texts)
    return _sides(texts, texts.columns.waits, runs), _sides(texts, texts.columns.signals, runs)


class _Runs:
    """The distinct runs: of a text of a nest where a condition holds, n times each; and joined ones."""

    def __init__(self, texts: RunTexts) -> None:
        self.arrays: list[IntArray] = []
        self._texts = texts
        self._known: dict[tuple[int, int, int, When], int] = {}
        self._joined: dict[tuple[int, ...], int] = {}

    def of(self, text: int, when: When, n: int) -> int:
        """Number of the run of a text where ``when`` holds, each place ``n`` times."""
        nest, number = int(self._texts.nest[text]), int(self._texts.number[text])
        key = nest, number, n, when
        if key not in self._known:
            places = self._texts.nests[nest].places(number, when)
            self._known[key] = self._kept(places if n == 1 else np.repeat(places, n))
        return self._known[key]

    def joined(self, runs: tuple[int, ...]) -> int:
        """Number of the run that has all places of ``runs``, which are of one nest."""
        if runs not in self._joined:
            self._joined[runs] = self._kept(np.sort(np.concatenate([self.arrays[run] for run in runs]), kind="stable"))
        return self._joined[runs]

    @property
    def sizes(self) -> IntArray:
        """Places of each."""
        return np.array([len(places) for places in self.arrays], dtype=np.int64)

    def _kept(self, places: IntArray) -> int:
        self.arrays.append(places)
        return len(self.arrays) - 1


def _sides(texts: RunTexts, tokens: TokenColumns, runs: _Runs) -> TokenSides:
    """The sides of what texts take, or give; what is of one side and nest is one part."""
    count = texts.columns.token_count
    begins = tokens.first[texts.command]
    rows, text = stretches(begins, tokens.first[texts.command + 1] - begins)
    when, n = tokens.when[rows], tokens.n[rows]
    chosen, kind = alike([texts.nest[text], texts.number[text], when, n])
    asked = zip(text[chosen].tolist(), when[chosen].tolist(), n[chosen].tolist(), strict=True)
    run = np.array([runs.of(at, tokens.whens[of], each) for at, of, each in asked], dtype=np.int64)[kind]
    key, begin = texts.queue[text] * count + tokens.token[rows], texts.begin[text]
    some = runs.sizes[run] > 0
    key, begin, run = key[some], begin[some], run[some]
    order = np.lexsort((begin, key))
    key, begin, run = _joined(key[order], begin[order], run[order], runs)
    sizes = runs.sizes
    used, run = np.unique(run, return_inverse=True)
    length = sizes[used][run]
    opens = np.flatnonzero(np.diff(key, prepend=-1))
    first = np.append(opens, len(key))
    sums = np.append(0, np.cumsum(length))
    before = sums[:-1] - np.repeat(sums[opens], np.diff(first))
    start = np.append(0, np.cumsum(sizes[used]))
    places = np.concatenate([np.empty(0, dtype=np.int64), *(runs.arrays[number] for number in used.tolist())])
    return TokenSides(count, key[opens], SideColumns(first, np.diff(sums[first]), begin, run, before, places, start))


def _joined(key: IntArray, begin: IntArray, run: IntArray, runs: _Runs) -> tuple[IntArray, IntArray, IntArray]:
    """One row for each side and nest."""
    opens = np.ones(len(key), dtype=np.bool_)
    opens[1:] = (np.diff(key) != 0) | (np.diff(begin) != 0)
    firsts = np.flatnonzero(opens)
    sizes = np.diff(np.append(firsts, len(key)))
    for first, size in zip(firsts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        run[first] = runs.joined(tuple(run[first : first + size].tolist()))
    return key[opens], begin[opens], run[opens]
