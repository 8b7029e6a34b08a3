"""Who gives and takes which token: the Program reduced to its tokens.

Every wait draws on one or more **sources**. A plain semaphore is one source with any number of giving queues.
``RING.full`` is one source per reading queue, given by the writer. ``RING.free`` is one source per reader, and the
writer needs all of them: a slot is free when every reader has signalled it. So each source has one taking queue.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from archsim.ir.check.tokens.places import TokenSides, taken_and_given
from archsim.ir.check.tokens.texts import RunTexts, run_texts
from archsim.ir.check.tokens.unrolled import UnrolledNests, UnrolledQueue
from archsim.ir.columns import ProgramColumns
from archsim.ir.program import Program, Ring

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

    columns: ProgramColumns
    steps: list[UnrolledQueue]
    texts: RunTexts
    taken: TokenSides
    given: TokenSides

    @property
    def program(self) -> Program:
        """Whose it is."""
        return self.columns.program

    @property
    def numbers(self) -> Mapping[str, int]:
        """Numbers of queues by name."""
        return self.columns.queues

    @property
    def tokens(self) -> Mapping[str, int]:
        """Numbers of tokens by name."""
        return self.columns.tokens

    def name(self, queue: int) -> str:
        """Name of queue number ``queue``."""
        return self.program.queues[queue].name

    def slots(self, queue: int, ring: Ring) -> tuple[list[int], list[int]]:
        """Command index at which ``queue`` takes each slot, to write or to read it, and at which it signals each."""
        free = self.tokens[f"{ring.name}.free"]
        takes, gives = (free, free + 1) if self.name(queue) == ring.writer else (free + 1, free)
        return self.taken.commands(queue, takes).tolist(), self.given.commands(queue, gives).tolist()

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
        takers, queues = self._takers(), self._givers()
        plain = {item.name: item for item in self.program.semaphores}
        for token in [*takers, *(name for name in plain if name not in takers)]:
            taker = takers.get(token, NOBODY)
            givers = queues.get(self.tokens[token], [])
            found[taker, token] = self._draw(taker, (self._source(token, plain[token].initial, 0, givers),))
        return found

    def _takers(self) -> dict[str, int]:
        """Semaphores that are waited on, in order of the first wait, with their takers."""
        sides, begins = self.taken, 2 * len(self.program.rings)
        rows = np.flatnonzero(sides.token >= begins)
        first = sides.nth(rows, np.zeros_like(rows)).tolist()
        found: list[tuple[int, int, int, str]] = []
        for queue, at, token in zip(sides.queue[rows].tolist(), first, sides.token[rows].tolist(), strict=True):
            name = self.program.semaphores[token - begins].name
            rank = next(rank for rank, (wait, _) in enumerate(self.steps[queue][at].waits) if wait == name)
            found.append((queue, at, rank, name))
        return {name: queue for queue, _, _, name in sorted(found)}

    def _givers(self) -> dict[int, list[int]]:
        """The queues that give each token."""
        found: dict[int, list[int]] = {}
        for token, queue in zip(self.given.token.tolist(), self.given.queue.tolist(), strict=True):
            found.setdefault(token, []).append(queue)
        return found

    def _source(self, token: str, initial: int, final: int, givers: Sequence[int]) -> TokenSource:
        commands = [(giver, self.given.commands(giver, self.tokens[token]).tolist()) for giver in givers]
        return TokenSource(token, initial, final, tuple(commands), sum(len(indices) for _, indices in commands))

    def _draw(self, taker: int, sources: tuple[TokenSource, ...]) -> TokenDraw:
        return TokenDraw(sources, self.taken.commands(taker, self.tokens[sources[0].token]).tolist())


def build_ledger(columns: ProgramColumns) -> TokenLedger:
    """Reduce the unrolled commands of every queue to what they take and give."""
    nests = UnrolledNests()
    steps = [UnrolledQueue(queue, nests) for queue in columns.program.queues]
    texts = run_texts(columns, steps)
    return TokenLedger(columns, steps, texts, *taken_and_given(texts))
