"""The token-only run: deadlock and lost tokens before time 0, and happens-before as vector clocks.

Queues advance in any order as far as their waits allow; because every source of tokens has one taker, the outcome does
not depend on that order. A queue's clock, which counts for each queue the commands that have ended in every token-legal
interleaving, changes at some of its waits only: each distinct one is kept once, and commands know its row.

Clocks are worked out level by level. Waits of one level follow none of each other, so that they are merged together:
with many cores there are few levels of many waits. Where a level has few, one after the other is faster.

Where the run stops, the message says who waits for whom: the cycle of waits, or the token that nobody gives.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from archsim.base.arrays import IntArray
from archsim.base.errors import ProgramError
from archsim.ir.check.tokens.ledger import TokenLedger, TokenSource
from archsim.ir.check.tokens.sources import TokenSources, check_ends, needs_of, sources_of


@dataclass(frozen=True, slots=True)
class CommandWaits:
    """Commands ``at`` of ``queue`` that wait for others, numbered in this order.

    Those of number n follow, in every interleaving, command ``index`` of queue ``giver`` of rows ``begin[n]`` to
    ``begin[n + 1]``; ``after``: the last wait there (-1: none, their number if it never ends). ``counted`` by number:
    (source of several givers, tokens that are taken of it up to here), which not all interleavings give alike.
    """

    queue: IntArray
    at: IntArray
    begin: IntArray
    giver: IntArray
    index: IntArray
    after: IntArray
    counted: Mapping[int, Sequence[tuple[TokenSource, int]]]


def waits_of(ledger: TokenLedger, sources: TokenSources) -> CommandWaits:
    """The commands that wait for what is not clear without."""
    needs = needs_of(ledger, sources)
    counted = _counted(ledger, sources)
    stride = max(map(len, ledger.steps), default=0) + 1
    alone = np.array([queue * stride + at for queue, at in counted], dtype=np.int64)
    wanted = needs.queue * stride + needs.at
    keys = np.union1d(wanted, alone)
    never = needs.index >= stride
    after = np.searchsorted(keys, needs.giver * stride + np.where(never, 0, needs.index), side="right") - 1
    after[keys[after] // stride != needs.giver] = -1
    after[never] = len(keys)
    numbers = np.searchsorted(keys, alone).tolist()
    begin = np.searchsorted(wanted, np.append(keys, np.iinfo(np.int64).max))
    more = dict(zip(numbers, counted.values(), strict=True))
    return CommandWaits(keys // stride, keys % stride, begin, needs.giver, needs.index, after, more)


def _counted(ledger: TokenLedger, sources: TokenSources) -> dict[tuple[int, int], list[tuple[TokenSource, int]]]:
    """By queue and command that waits: sources of several givers and tokens taken of each so far, in their order.

    Who takes all that there are needs all givers, in any interleaving.
    """
    found: dict[tuple[int, int], list[tuple[TokenSource, int]]] = {}
    known = {source.token: source for source in _several(ledger, sources)}
    names = ledger.program.semaphores
    events, first = ledger.taken, 2 * len(ledger.program.rings)
    rows = np.flatnonzero(np.isin(events.key, sources.key[sources.givers > 1]))
    taken = Counter[str]()
    columns = (events.queue, events.token, events.at, events.n)
    for queue, token, at, n in zip(*(column[rows].tolist() for column in columns), strict=True):
        name = names[token - first].name
        taken[name] += n
        if taken[name] < known[name].initial + known[name].total:
            found.setdefault((queue, at), []).append((known[name], taken[name]))
    return dict(sorted(found.items()))


def _several(ledger: TokenLedger, sources: TokenSources) -> Iterator[TokenSource]:
    """The sources of several givers."""
    names, first = ledger.program.semaphores, 2 * len(ledger.program.rings)
    rows = np.flatnonzero(sources.givers > 1)
    givers = zip(sources.giver[rows].tolist(), sources.begin[rows].tolist(), sources.count[rows].tolist(), strict=True)
    gives = [(giver, ledger.given.each_at[begin : begin + count].tolist()) for giver, begin, count in givers]
    columns = (sources.token, sources.initial, sources.final, sources.total, sources.givers)
    at = 0
    while at < len(rows):
        token, initial, final, total, several = (int(column[rows[at]]) for column in columns)
        yield TokenSource(names[token - first].name, initial, final, tuple(gives[at : at + several]), total)
        at += several


VectorClocks = NDArray[Any]  # in the smallest unsigned integers that hold all counts
AT_ONCE = 1 << 18  # bytes of clocks that are merged together: what processors keep near
FEW = 4  # waits of a level below which they are merged one by one


def clocks_of(waits: CommandWaits, levels: IntArray, counts: IntArray) -> VectorClocks:
    """Row 0: nothing has ended; row n + 1: the clock of wait n's queue from it on, shape (1 + waits, queues).

    ``levels`` of the waits, above those of all that they follow; ``counts``: commands of each queue.
    """
    clocks = np.zeros((1 + len(levels), len(counts)), dtype=np.min_scalar_type(int(counts.max(initial=0))))
    sizes = np.diff(waits.begin)
    order = np.lexsort((-sizes, levels))
    before = np.where(np.diff(waits.queue, prepend=-1) == 0, np.arange(len(levels)), 0)
    ends = np.cumsum(np.bincount(levels)).tolist() if len(levels) else []
    at_once = max(1, AT_ONCE // max(1, clocks[0].nbytes))
    begin = 0
    for end in ends:
        numbers = order[begin:end]
        if end - begin < FEW:
            for number in numbers.tolist():
                _merge_one(clocks, waits, number, int(before[number]))
        else:
            for part in range(0, end - begin, at_once):
                some = numbers[part : part + at_once]
                _merge(clocks, waits, some, before[some], sizes[some])
        begin = end
    return clocks


def _merge(clocks: VectorClocks, waits: CommandWaits, numbers: IntArray, before: IntArray, sizes: IntArray) -> None:
    """The clocks of the waits ``numbers``: that of the wait ``before``, what each giver knew, and the givers.

    ``sizes``: how many each follows, the most first.
    """
    mine = clocks[before]
    begin, each = waits.begin[numbers], np.arange(len(numbers))
    having = np.searchsorted(-sizes, -np.arange(int(sizes[0])), side="left")
    for rank, count in enumerate(having.tolist()):
        rows = begin[:count] + rank
        some, giver = mine[:count], waits.giver[rows]
        np.maximum(some, clocks[waits.after[rows] + 1], out=some)
        at = each[:count], giver
        some[at] = np.maximum(some[at], (waits.index[rows] + 1).astype(some.dtype))
    clocks[numbers + 1] = mine


def _merge_one(clocks: VectorClocks, waits: CommandWaits, number: int, before: int) -> None:
    """The same of one wait."""
    giver, index, after = waits.giver.data, waits.index.data, waits.after.data
    mine = clocks[number + 1]
    mine[:] = clocks[before]
    for row in range(waits.begin.item(number), waits.begin.item(number + 1)):
        source, at = giver[row], index[row]
        if mine.item(source) <= at:
            np.maximum(mine, clocks[after[row] + 1], out=mine)
            mine[source] = at + 1


def report_deadlock(ledger: TokenLedger, done: Sequence[int]) -> NoReturn:
    """Raise ProgramError with the wait cycle; ``done[q]``: commands of queue q that could finish."""
    stuck = [queue for queue, steps in enumerate(ledger.steps) if done[queue] < len(steps)]
    chain: list[int] = []
    lines: list[str] = []
    queue: int | None = stuck[0]
    while queue is not None and queue not in chain:
        chain.append(queue)
        line, queue = _explain(ledger, done, queue)
        lines.append(line)
    if queue is None:
        raise ProgramError("deadlock: a token that nobody gives\n" + "\n".join(lines))
    cycle = lines[chain.index(queue) :]
    raise ProgramError("deadlock: these commands wait for each other in a cycle\n" + "\n".join(cycle))


def _explain(ledger: TokenLedger, done: Sequence[int], queue: int) -> tuple[str, int | None]:
    """One line for the head of ``queue``, and the queue that it waits for (None: nobody)."""
    step = ledger.steps[queue][done[queue]]
    source, wants, left = _unmet(ledger, done, queue)
    here = f"{step.where} (command {step.index} of {ledger.name(queue)})"
    line = f"  {here} waits for {wants} '{source.token}' and there are {left}"
    givers = [(number, indices) for number, indices in source.givers if indices and indices[-1] >= done[number]]
    if not givers:
        return f"{line}; no command left gives one", None
    number, indices = givers[0]
    index = next(index for index in indices if index >= done[number])
    giver = ledger.steps[number][index]
    where = "itself" if (number, index) == (queue, step.index) else giver.where
    return f"{line}; the next is given by {where} (command {index} of {ledger.name(number)})", number


def _unmet(ledger: TokenLedger, done: Sequence[int], queue: int) -> tuple[TokenSource, int, int]:
    """The first source that the head of ``queue`` is short of, the tokens it takes and the tokens left for it."""
    step = ledger.steps[queue][done[queue]]
    past = ledger.steps[queue][: step.index]
    short = []
    for name in dict.fromkeys(name for name, _ in step.waits):
        before = sum(n for earlier in past for token, n in earlier.waits if token == name)
        wants = sum(n for token, n in step.waits if token == name)
        for source in ledger.draws[queue, name].sources:
            left = source.available(done) - before
            if left < wants:
                short.append((source, wants, left))
    return short[0]


Integers = IntArray | np.int64 | int


@dataclass(frozen=True, slots=True)
class HappensBefore:
    """Happens-before. ``counts[q]``: commands of queue number q; ``first[q]``: the number of its first one among all.

    ``clocks``: distinct vector clocks, shape (versions, queues), in the smallest unsigned integers that hold them;
    ``version``: row of it by command number.
    """

    counts: IntArray
    first: IntArray
    version: IntArray
    clocks: VectorClocks

    def ended(self, queue: Integers, index: Integers, other: Integers) -> IntArray:
        """How many commands of queue ``other`` have ended when command ``index`` of ``queue`` starts, whatever happens.

        All three broadcast. Of its own queue those before it have.
        """
        rows = self.version[self.first[queue] + index]
        return np.where(np.equal(queue, other), index, self.clocks[rows, other])


def run_tokens(ledger: TokenLedger) -> HappensBefore:
    """Run the Program's tokens alone; raises ProgramError on deadlock and on lost tokens."""
    sources = sources_of(ledger)
    run = _Run(np.array([len(steps) for steps in ledger.steps], dtype=np.int64), waits_of(ledger, sources))
    run.go()
    if run.head != run.end:
        report_deadlock(ledger, run.done())
    check_ends(ledger, sources)
    return run.order()


class _Run:
    """State of the token run: of each queue the number of its next wait, ``head``, up to ``end``. ``levels`` of waits
    that have passed, from 1 on: above those of all that they follow, and of the queue's own before.
    """

    def __init__(self, counts: IntArray, waits: CommandWaits) -> None:
        """``counts``: commands of each queue."""
        self.counts, self.waits = counts, waits
        numbers = np.arange(len(counts))
        self.first: list[int] = np.searchsorted(waits.queue, numbers, side="left").tolist()
        self.end: list[int] = np.searchsorted(waits.queue, numbers, side="right").tolist()
        self.head = [*self.first]
        self.levels = [0] * (len(waits.at) + 1)  # the last: of what follows no wait
        self.sleepers: list[list[int]] = [[] for _ in numbers]

    def go(self) -> None:
        """Advance every queue until none can."""
        ready = deque(range(len(self.head)))
        while ready:
            queue = ready.popleft()
            before = self.head[queue]
            self._advance(queue)
            if self.head[queue] > before and self.sleepers[queue]:
                ready.extend(self.sleepers[queue])
                self.sleepers[queue] = []

    def _advance(self, queue: int) -> None:
        """Pass the waits of ``queue`` as far as tokens are there."""
        head, levels, counted = self.head, self.levels, self.waits.counted
        begin, giver, after = self.waits.begin.data, self.waits.giver.data, self.waits.after.data
        start = head[queue]
        level = levels[start - 1] if start > self.first[queue] else 0
        for number in range(start, self.end[queue]):
            for row in range(begin[number], begin[number + 1]):
                past = after[row]
                if past >= head[giver[row]]:
                    self.sleepers[giver[row]].append(queue)
                    return
                if levels[past] > level:
                    level = levels[past]
            if number in counted and not self._given(number, queue):
                return
            level += 1
            levels[number] = level
            head[queue] = number + 1

    def _given(self, number: int, queue: int) -> bool:
        """Whether what wait ``number`` takes of sources of several givers is there; else ``queue`` is told of more."""
        done = self.done()
        for source, taken in self.waits.counted[number]:
            if source.available(done) < taken:
                for giver, _ in source.givers:
                    self.sleepers[giver].append(queue)
                return False
        return True

    def done(self) -> list[int]:
        """How many commands of each queue could finish."""
        ends = zip(self.head, self.end, self.counts.tolist(), strict=True)
        return [int(self.waits.at[head]) if head < end else count for head, end, count in ends]

    def order(self) -> HappensBefore:
        """What is known when every queue has run to its end."""
        first = np.cumsum(self.counts) - self.counts
        version = np.zeros(int(self.counts.sum()), dtype=np.int64)
        version[first[self.waits.queue] + self.waits.at] = np.arange(1, len(self.levels))
        version = np.maximum.accumulate(version)
        version[version <= np.repeat(self.first, self.counts)] = 0
        levels = np.array(self.levels[:-1], dtype=np.int64)
        return HappensBefore(self.counts, first, version, clocks_of(self.waits, levels, self.counts))
