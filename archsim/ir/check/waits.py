"""The commands that wait for others, and for which: what surely ended, and tokens of several givers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.ledger import Ledger, Source
from archsim.ir.check.sources import Sources, needs_of

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Waits:
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
    counted: Mapping[int, Sequence[tuple[Source, int]]]


def waits_of(ledger: Ledger, sources: Sources) -> Waits:
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
    return Waits(keys // stride, keys % stride, begin, needs.giver, needs.index, after, more)


def _counted(ledger: Ledger, sources: Sources) -> dict[tuple[int, int], list[tuple[Source, int]]]:
    """By queue and command that waits: sources of several givers and tokens taken of each so far, in their order.

    Who takes all that there are needs all givers, in any interleaving.
    """
    found: dict[tuple[int, int], list[tuple[Source, int]]] = {}
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


def _several(ledger: Ledger, sources: Sources) -> Iterator[Source]:
    """The sources of several givers."""
    names, first = ledger.program.semaphores, 2 * len(ledger.program.rings)
    rows = np.flatnonzero(sources.givers > 1)
    givers = zip(sources.giver[rows].tolist(), sources.begin[rows].tolist(), sources.count[rows].tolist(), strict=True)
    gives = [(giver, ledger.given.each_at[begin : begin + count].tolist()) for giver, begin, count in givers]
    columns = (sources.token, sources.initial, sources.final, sources.total, sources.givers)
    at = 0
    while at < len(rows):
        token, initial, final, total, several = (int(column[rows[at]]) for column in columns)
        yield Source(names[token - first].name, initial, final, tuple(gives[at : at + several]), total)
        at += several
