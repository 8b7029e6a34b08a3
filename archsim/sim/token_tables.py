"""Tokens of a Program as tables of the compiled machine: counters, rings, and what signals raise.

Each queue that takes a token has a counter of it. A ring has one for its writer and one for each reader, each with a
guard that what is signalled was taken before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter

import numpy as np

from archsim.base.arrays import AnyArray, IntArray
from archsim.base.ragged import alike, firsts, stretches
from archsim.ir.columns import UNKNOWN, ProgramColumns, TokenColumns
from archsim.ir.unroll import count_runs
from archsim.sim.clock import ClockDomain
from archsim.sim.compiled import layout as k
from archsim.sim.given_up import UnsuitedError

Bits = Callable[[IntArray, IntArray, TokenColumns], IntArray]


class TokenTables:
    """Rows of COUNTERS, RINGS, RELEASES and GUARDS, and of the WAITS and SIGNALS of commands.

    ``number``: of each queue of the Program in the tables, UNKNOWN outside; ``clocks``: of all that are known;
    ``clock``: the number of one. ``room``: tokens that counters hold at most, all together; ``initial``: counters that
    have tokens at time 0, and how many.
    """

    def __init__(
        self,
        columns: ProgramColumns,
        number: IntArray,
        clocks: Sequence[ClockDomain | None],
        clock: Callable[[ClockDomain], int],
    ) -> None:
        self._columns, self._number, self._clocks, self._clock = columns, number, clocks, clock
        self._queues = max(1, len(number))
        self.outside: dict[tuple[str, str], int] = {}  # tokens that queues outside take: their sinks
        self.rows: dict[str, AnyArray] = {}
        self._crossings: dict[tuple[int, int], int] = {}
        self._takers = _takers(columns)
        self._rings()
        self._counters()

    def _rings(self) -> None:
        """Who holds rings: pairs of a ring and its reader, and the place of each ring's counters among theirs."""
        rings, queues = self._columns.program.rings, self._columns.queues
        readers = np.fromiter(map(len, map(attrgetter("readers"), rings)), np.int64, len(rings))
        if not readers.all():
            raise UnsuitedError("a ring has no readers")
        names = chain.from_iterable(map(attrgetter("readers"), rings))
        self._reader = np.array([queues.get(name, UNKNOWN) for name in names], dtype=np.int64)
        self._writer = np.array([queues.get(ring.writer, UNKNOWN) for ring in rings], dtype=np.int64)
        holders = np.concatenate((self._reader, self._writer))
        if (holders < 0).any() or (self._number[holders] < 0).any():
            raise UnsuitedError("a ring of a queue outside")
        self._slots = np.fromiter(map(attrgetter("slots"), rings), np.int64, len(rings))
        self._readers, self._pairs = readers, firsts(readers)
        self._ring = np.repeat(np.arange(len(rings)), readers)
        self._held = firsts(readers + 1)[:-1]
        self._full = np.arange(len(self._reader)) + self._ring + 1  # place of each pair's counter

    def _counters(self) -> None:
        columns, rings, plain = self._columns, len(self._slots), 2 * len(self._slots)
        taker = self._takers[plain:]
        kept = np.flatnonzero((taker >= 0) & (np.append(self._number, UNKNOWN)[taker] >= 0))
        initial = np.array([semaphore.initial for semaphore in columns.program.semaphores], dtype=np.int64)
        most = (initial + _given(columns)[plain:])[kept]
        self._base = len(kept)
        count = self._base + rings + len(self._ring)
        queue, token, starts, room = np.zeros((4, count), dtype=np.int64)
        queue[: self._base], token[: self._base], starts[: self._base] = taker[kept], plain + kept, initial[kept]
        room[: self._base] = np.maximum(most, 1)
        free, full = self._base + self._held, self._base + self._full
        queue[free], token[free], starts[free] = self._writer, 2 * np.arange(rings), self._slots
        queue[full], token[full] = self._reader, 2 * self._ring + 1
        room[free], room[full] = np.maximum(self._slots, 1), np.maximum(self._slots, 1)[self._ring]
        nothing = np.zeros(count, dtype=np.int64)
        cells = (self._number[queue], np.cumsum(room) - room, room, nothing, starts, nothing, nothing)
        self.rows["COUNTERS"] = np.stack(cells, axis=1)
        self.room = int(room.sum())
        filled = np.flatnonzero(starts)
        self.initial = filled, starts[filled]
        guards = self._base + np.arange(count - self._base)
        self.rows["GUARDS"] = np.stack((guards, np.zeros_like(guards)), axis=1)
        self.rows["RELEASES"] = np.stack((self._ring, np.zeros_like(self._ring)), axis=1)
        begin, end = self._pairs[:-1], self._pairs[1:]
        self.rows["RINGS"] = np.stack((free, np.zeros_like(free), self._readers, begin, end), axis=1)
        key = token * self._queues + queue
        self._order = np.argsort(key)
        self._keys = key[self._order]

    def find(self, token: IntArray, queue: IntArray) -> IntArray:
        """The counter of each token that a queue takes, UNKNOWN where it takes none."""
        key = token * self._queues + queue
        at = np.searchsorted(self._keys, key)
        there = (token >= 0) & (np.append(self._keys, UNKNOWN)[at] == key)
        return np.where(there, np.append(self._order, UNKNOWN)[at], UNKNOWN)

    def slots(self, ring: IntArray, queue: IntArray) -> IntArray:
        """The counter of the slots of each ring that a queue takes."""
        found = self.find(2 * ring + (self._writer[ring] != queue), queue)
        if (found < 0).any():
            raise UnsuitedError("a ring is touched without taking slots of it")
        return found

    def waits(self, at: IntArray, bits: Bits) -> tuple[IntArray, IntArray]:
        """Rows of what commands ``at`` wait for, and where those of each begin and end."""
        tokens = self._columns.waits
        rows, row = stretches(tokens.first[at], np.diff(tokens.first)[at])
        token, command = tokens.token[rows], tokens.command[rows]
        if len(np.unique(command * (self._columns.token_count + 1) + token)) < len(rows):
            raise UnsuitedError("a command waits for a token twice")
        counter = self.find(token, self._columns.queue[command])
        if (counter < 0).any():
            raise UnsuitedError("a command waits for a token that its queue does not take")
        some = np.flatnonzero(tokens.n[rows])
        cells = (*bits(rows[some], command[some], tokens).T, counter[some], tokens.n[rows[some]])
        return np.stack(cells, axis=1), firsts(np.bincount(row[some], minlength=len(at)))

    def signals(self, at: IntArray, bits: Bits) -> tuple[IntArray, IntArray]:
        """Rows of where the signals of commands ``at`` go, and where those of each begin and end."""
        tokens, plain = self._columns.signals, 2 * len(self._slots)
        rows, row = stretches(tokens.first[at], np.diff(tokens.first)[at])
        some = np.flatnonzero(tokens.n[rows])
        rows, row = rows[some], row[some]
        token, queue = tokens.token[rows], self._columns.queue[tokens.command[rows]]
        if (token < 0).any():
            raise UnsuitedError("a command signals a token that is not declared")
        taken = np.flatnonzero((token >= plain) & (self._takers[token] >= 0))
        free = np.flatnonzero((token < plain) & (token & 1 == 0))
        full = np.flatnonzero((token < plain) & (token & 1 == 1))
        parts = [self._to_takers(token[taken], taken), self._to_writers(token[free] >> 1, queue[free], free)]
        parts += self._to_readers(token[full] >> 1, queue[full], full)
        which, rank, kind, sink, taker = np.concatenate(parts, axis=1)
        order = np.lexsort((rank, which))
        which, kind, sink, taker = which[order], kind[order], sink[order], taker[order]
        rows, row = rows[which], row[which]
        across = np.where(kind == k.TO_GUARD, k.NONE, self._across(queue[which], taker))
        cells = (*bits(rows, tokens.command[rows], tokens).T, kind, sink, tokens.n[rows], across)
        return np.stack(cells, axis=1), firsts(np.bincount(row, minlength=len(at)))

    def _to_takers(self, token: IntArray, which: IntArray) -> IntArray:
        """Sinks of semaphores: (which signal, rank among its sinks, kind, sink, taker)."""
        taker = self._takers[token]
        kind, sink = np.full_like(token, k.TO_COUNTER), self.find(token, taker)
        for at in np.flatnonzero(self._number[taker] < 0).tolist():
            kind[at], sink[at] = k.TO_PYTHON, self._out(int(token[at]))
        return np.stack((which, np.zeros_like(which), kind, sink, taker))

    def _out(self, token: int) -> int:
        """The sink of a semaphore that a queue outside takes."""
        program = self._columns.program
        name = program.semaphores[token - 2 * len(program.rings)].name
        return self.outside.setdefault((program.queues[self._takers[token]].name, name), len(self.outside))

    def _to_writers(self, ring: IntArray, queue: IntArray, which: IntArray) -> IntArray:
        """The same of slots that readers free: a guard, and a release to the writer."""
        order = np.argsort(self._ring * self._queues + self._reader)
        keys = (self._ring * self._queues + self._reader)[order]
        at = np.searchsorted(keys, ring * self._queues + queue)
        if (np.append(keys, UNKNOWN)[at] != ring * self._queues + queue).any():
            raise UnsuitedError("a queue frees slots of a ring that it does not read")
        pair = np.append(order, UNKNOWN)[at]
        zeros = np.zeros_like(which)
        guard = np.stack((which, zeros, zeros + k.TO_GUARD, self._full[pair], queue))
        return np.concatenate((guard, np.stack((which, zeros + 1, zeros + k.TO_RELEASE, pair, self._writer[ring]))), 1)

    def _to_readers(self, ring: IntArray, queue: IntArray, which: IntArray) -> list[IntArray]:
        """The same of slots that the writer fills: a guard, and the counter of each reader."""
        if (self._writer[ring] != queue).any():
            raise UnsuitedError("a queue fills slots of a ring that it does not write")
        zeros = np.zeros_like(which)
        guard = np.stack((which, zeros, zeros + k.TO_GUARD, self._held[ring], queue))
        pair, row = stretches(self._pairs[ring], self._readers[ring])
        counter = self._base + self._full[pair]
        rank = 1 + pair - self._pairs[ring[row]]
        return [guard, np.stack((which[row], rank, np.full_like(pair, k.TO_COUNTER), counter, self._reader[pair]))]

    def _across(self, giver: IntArray, taker: IntArray) -> IntArray:
        """The clocks of queues that take tokens across clock domains; NONE where it needs no time."""
        pairs, which = np.unique(giver * self._queues + taker, return_inverse=True)
        ends = zip((pairs // self._queues).tolist(), (pairs % self._queues).tolist(), strict=True)
        return np.array([self._crossing(*each) for each in ends], dtype=np.int64)[which]

    def _crossing(self, giver: int, taker: int) -> int:
        own, clock = self._clocks[giver], self._clocks[taker]
        if own is None or clock is None or not clock.crosses(own):
            return k.NONE
        return self._clock(clock)

    @cached_property
    def _semaphores(self) -> dict[str, int]:
        """The numbers of semaphores by name."""
        plain = 2 * len(self._slots)
        return {each.name: number for number, each in enumerate(self._columns.program.semaphores, plain)}

    def sinks(self, token: str) -> list[tuple[int, int, str]]:
        """(kind, sink, who takes the tokens) of all that a signal of a semaphore by a queue outside raises."""
        number = self._semaphores.get(token)
        if number is None:
            raise UnsuitedError(f"a queue outside signals '{token}'")
        taker = int(self._takers[number])
        if taker < 0:
            return []
        name = self._columns.program.queues[taker].name
        if self._number[taker] < 0:
            return [(k.TO_PYTHON, self._out(number), name)]
        return [(k.TO_COUNTER, int(self.find(np.array([number]), np.array([taker]))[0]), name)]


def _takers(columns: ProgramColumns) -> IntArray:
    """Of semaphores the queue that waits for each, UNKNOWN for none; of tokens of rings nothing."""
    waits = columns.waits
    on = np.flatnonzero(waits.token >= 2 * len(columns.program.rings))
    taker = np.full(columns.token_count + 1, UNKNOWN, dtype=np.int64)
    queue = columns.queue[waits.command[on]]
    taker[waits.token[on]] = queue
    if (taker[waits.token[on]] != queue).any():
        raise UnsuitedError("a semaphore has two takers")
    return taker[:-1]


def _given(columns: ProgramColumns) -> IntArray:
    """How many of each token are given in all."""
    signals = columns.signals
    inside, when = columns.inside[signals.command], columns.shared("when")[signals.command]
    chosen, kind = alike([inside, when, signals.when])
    runs = np.ones(len(chosen), dtype=np.int64)
    for number, row in enumerate(chosen.tolist()):
        trips: Mapping[str, int] = dict(columns.nests[inside[row]])
        if trips:
            whole = (*columns.commands[signals.command[row]].when, *signals.whens[signals.when[row]])
            runs[number] = count_runs(whole, trips)
    given = np.zeros(columns.token_count + 1, dtype=np.int64)
    np.add.at(given, signals.token, runs[kind] * signals.n)
    return given[:-1]
