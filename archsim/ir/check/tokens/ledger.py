"""Who gives and takes which token, command by command and in columns: the Program reduced to its tokens.

Every wait draws on one or more **sources**. A plain semaphore is one source with any number of giving queues.
``RING.full`` is one source per reading queue, given by the writer. ``RING.free`` is one source per reader, and the
writer needs all of them: a slot is free when every reader has signalled it. So each source has one taking queue.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archsim.base.arrays import IntArray
from archsim.ir.check.tokens.unrolled import NestText, UnrolledNests, UnrolledQueue
from archsim.ir.program import Program, Ring, Token


@dataclass(frozen=True, slots=True)
class TokenEvents:
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


def taken_and_given(queues: Sequence[UnrolledQueue], numbers: Mapping[str, int]) -> tuple[TokenEvents, TokenEvents]:
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

    def add(self, queue: int, text: NestText, tokens: Sequence[Token]) -> None:
        """Append what a command text of ``queue`` takes, or gives."""
        runs, places = text.nest.runs[text.number].at, text.nest.places
        self.places += [places(text.number, token.when) if token.when else runs for token in tokens]
        self.token += [self.numbers[token.name] for token in tokens]
        self.n += [token.n for token in tokens]
        self.rank += range(len(tokens))
        self.text += [(queue, text.begin)] * len(tokens)

    def events(self, counts: IntArray) -> TokenEvents:
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
        return TokenEvents(len(self.numbers), key, at, n, rank, *each)


def _small(column: Sequence[int]) -> NDArray[np.signedinteger[Any]]:
    """Counts in the smallest signed integers that hold them."""
    found: NDArray[np.signedinteger[Any]] = np.array(column, dtype=np.min_scalar_type(-max(column, default=0) - 1))
    return found


NOBODY = -1  # queue number of the taker of a token that no queue waits for

Givers = tuple[tuple[int, Sequence[int]], ...]


class TokenSource(NamedTuple):
    """Tokens of ``token`` for one taker. ``givers``: (queue number, command index of each token it gives).

    ``total``: tokens given over the whole Program; ``final``: tokens that must be left at its end.
    """

    token: str
    initial: int
    final: int
    givers: Givers
    total: int

    def available(self, done: Sequence[int]) -> int:
        """Tokens given when queue q has finished its first ``done[q]`` commands."""
        return self.initial + sum(bisect_left(indices, done[queue]) for queue, indices in self.givers)


class TokenDraw(NamedTuple):
    """What one queue takes of one token: its sources and the command index of each token taken.

    For a ring's token, taking number k takes slot number k.
    """

    sources: tuple[TokenSource, ...]
    commands: list[int]


@dataclass
class TokenLedger:
    """``steps[q]`` of queue number q; what they take and give, by numbers of queues and of ``tokens``.

    Ring number r has the tokens 2r (free) and 2r + 1 (full); semaphores follow.
    """

    program: Program
    steps: list[UnrolledQueue]
    numbers: Mapping[str, int]
    tokens: Mapping[str, int]
    taken: TokenEvents
    given: TokenEvents

    def name(self, queue: int) -> str:
        """Name of queue number ``queue``."""
        return self.program.queues[queue].name

    def slots(self, queue: int, ring: Ring) -> tuple[list[int], list[int]]:
        """Command index at which ``queue`` takes each slot, to write or to read it, and at which it signals each."""
        free = self.tokens[f"{ring.name}.free"]
        takes, gives = (free, free + 1) if self.name(queue) == ring.writer else (free + 1, free)
        return self.taken.commands(queue, takes), self.given.commands(queue, gives)

    @cached_property
    def draws(self) -> dict[tuple[int, str], TokenDraw]:
        """What each queue draws by (q, token), one by one: for messages and the few sources of several givers."""
        found: dict[tuple[int, str], TokenDraw] = {}
        for ring in self.program.rings:
            free, full = f"{ring.name}.free", f"{ring.name}.full"
            writer, readers = self.numbers[ring.writer], [self.numbers[reader] for reader in ring.readers]
            for reader in readers:
                found[reader, full] = self._draw(reader, (self._source(full, 0, 0, [writer]),))
            frees = [self._source(free, ring.slots, ring.slots, [reader]) for reader in readers]
            found[writer, free] = self._draw(writer, tuple(frees))
        takers, queues = self._takers(), self.given.queues()
        plain = {item.name: item for item in self.program.semaphores}
        for token in [*takers, *(name for name in plain if name not in takers)]:
            taker = takers.get(token, NOBODY)
            givers = queues.get(self.tokens[token], [])
            found[taker, token] = self._draw(taker, (self._source(token, plain[token].initial, 0, givers),))
        return found

    def _takers(self) -> dict[str, int]:
        """Semaphores that are waited on, in order of the first wait, with their takers."""
        events, first = self.taken, 2 * len(self.program.rings)
        rows = (events.token >= first).nonzero()[0]
        rows = rows[np.lexsort((events.rank[rows], events.at[rows], events.queue[rows]))]
        pairs = zip(events.token[rows].tolist(), events.queue[rows].tolist(), strict=True)
        return {self.program.semaphores[token - first].name: queue for token, queue in pairs}

    def _source(self, token: str, initial: int, final: int, givers: Sequence[int]) -> TokenSource:
        commands = [(giver, self.given.commands(giver, self.tokens[token])) for giver in givers]
        return TokenSource(token, initial, final, tuple(commands), sum(len(indices) for _, indices in commands))

    def _draw(self, taker: int, sources: tuple[TokenSource, ...]) -> TokenDraw:
        return TokenDraw(sources, self.taken.commands(taker, self.tokens[sources[0].token]))


def build_ledger(program: Program) -> TokenLedger:
    """Reduce the unrolled commands of every queue to what they take and give."""
    names = [f"{ring.name}.{kind}" for ring in program.rings for kind in ("free", "full")]
    names += [semaphore.name for semaphore in program.semaphores]
    tokens = {name: number for number, name in enumerate(names)}
    nests = UnrolledNests()
    steps = [UnrolledQueue(queue, nests) for queue in program.queues]
    numbers = {queue.name: number for number, queue in enumerate(program.queues)}
    return TokenLedger(program, steps, numbers, tokens, *taken_and_given(steps, tokens))
