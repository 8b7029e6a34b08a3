"""A queue unrolled in columns, as the checker asks of it; the concrete commands that are looked at are made then.

The columns say which command texts run, in order, at which loop indices. That depends on the loops and conditions of a
nest alone, and cores run the same nests with other stores and tokens, so each distinct nest is unrolled once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, overload

import numpy as np

from archsim.base.arrays import BoolArray, IntArray
from archsim.ir.program import Command, CommandLoop, ProgramNode, Queue, When
from archsim.ir.unroll import Step, unroll

NestKey = tuple[object, ...]


class TextRuns(NamedTuple):
    """Of one command text: ``at``, the places of its runs in its nest, and loop indices there, by variable."""

    at: IntArray
    env: Mapping[str, IntArray]

    def pick(self, keep: BoolArray) -> TextRuns:
        """Those where ``keep`` holds."""
        return TextRuns(self.at[keep], {var: column[keep] for var, column in self.env.items()})


class UnrolledNest:
    """A nest unrolled. ``size``: commands that it runs; ``runs`` by number of command text; ``order``: numbers of the
    texts that run at all, by their first run.
    """

    def __init__(self, node: ProgramNode) -> None:
        self.trips: dict[str, int] = {}
        whens: list[When] = []
        text, env = self._expand((node,), whens)
        kept = np.ones(len(text), dtype=np.bool_)
        for number, when in enumerate(whens):
            if when:
                kept &= (text != number) | self.holds(when, env, len(text))
        text, env = text[kept], {var: column[kept] for var, column in env.items()}
        self.size = len(text)
        self.runs = tuple([self._runs(np.flatnonzero(text == number), env) for number in range(len(whens))])
        used = [number for number, runs in enumerate(self.runs) if len(runs.at)]
        self.order = sorted(used, key=lambda number: int(self.runs[number].at[0]))
        self._places: dict[tuple[int, int], tuple[When, IntArray]] = {}

    def places(self, number: int, when: When) -> IntArray:
        """Where in the nest a text runs and ``when`` holds. Equal conditions may be one object: then they are asked
        once."""
        if not when:
            return self.runs[number].at
        known = self._places.get((number, id(when)))
        if known is None:
            runs = self.runs[number]
            known = self._places[number, id(when)] = when, runs.at[self.holds(when, runs.env, len(runs.at))]
        return known[1]

    def holds(self, when: When, env: Mapping[str, IntArray], count: int) -> BoolArray:
        """Whether every literal of ``when`` is true at each of ``count`` loop indices ``env``."""
        found = np.ones(count, dtype=np.bool_)
        for edge in when:
            at_edge = env[edge.var] == (0 if edge.kind == "first" else self.trips[edge.var] - 1)
            found &= at_edge != edge.negated
        return found

    @staticmethod
    def _runs(at: IntArray, env: Mapping[str, IntArray]) -> TextRuns:
        return TextRuns(at, {var: column[at] for var, column in env.items()})

    def _expand(self, body: Sequence[ProgramNode], whens: list[When]) -> tuple[IntArray, dict[str, IntArray]]:
        """Text numbers and loop indices of all runs of a body, conditions aside; indices of other loops are 0."""
        texts: list[IntArray] = []
        columns: list[dict[str, IntArray]] = []
        for node in body:
            if isinstance(node, CommandLoop):
                self.trips[node.var] = node.trips
                text, env = self._expand(node.body, whens)
                indices = np.repeat(np.arange(node.trips), len(text))
                env = {var: np.tile(column, node.trips) for var, column in env.items()}
                texts.append(np.tile(text, node.trips))
                columns.append(env | {node.var: indices})
            else:
                texts.append(np.array([len(whens)]))
                columns.append({})
                whens.append(node.when)
        names = dict.fromkeys(var for env in columns for var in env)
        zeros = [np.zeros(len(text), dtype=np.int64) for text in texts]
        parts = {
            var: np.concatenate([env.get(var, zero) for env, zero in zip(columns, zeros, strict=True)]) for var in names
        }
        return np.concatenate(texts) if texts else np.empty(0, dtype=np.int64), parts


class UnrolledNests:
    """The distinct nests of a Program."""

    def __init__(self) -> None:
        self._known: dict[object, UnrolledNest] = {}

    def of(self, node: ProgramNode) -> UnrolledNest:
        """The unrolled nest of a node of a queue's body."""
        key = _key(node)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = UnrolledNest(node)
        return found


def _key(node: ProgramNode) -> object:
    """Equal for nodes that run alike."""
    if isinstance(node, CommandLoop):
        return (node.var, node.trips, tuple([_key(each) for each in node.body]))
    return node.when


def texts_of(node: ProgramNode) -> Iterator[Command]:
    """The command texts of a node, by their number."""
    if isinstance(node, CommandLoop):
        for each in node.body:
            yield from texts_of(each)
    else:
        yield node


class NestText(NamedTuple):
    """A command text, the ``number`` that it has in its ``nest``, and the index of the nest's first command."""

    command: Command
    nest: UnrolledNest
    number: int
    begin: int


class UnrolledQueue(Sequence[Step]):
    """The concrete commands of a queue. ``nests``: of the nodes of its body, and ``begins``: where each begins."""

    def __init__(self, queue: Queue, nests: UnrolledNests) -> None:
        self.queue = queue
        self.nests = [nests.of(node) for node in queue.body]
        *self.begins, self._size = accumulate([nest.size for nest in self.nests], initial=0)
        self._steps: dict[int, list[Step]] = {}

    @cached_property
    def texts(self) -> list[NestText]:
        """Those that run at all, by their first run."""
        found: list[NestText] = []
        for node, nest, begin in zip(self.queue.body, self.nests, self.begins, strict=True):
            commands = list(texts_of(node))
            found += [NestText(commands[number], nest, number, begin) for number in nest.order]
        return found

    @cached_property
    def retaining(self) -> IntArray:
        """Indices of the commands that are flagged ``retains``."""
        found = [text.begin + text.nest.runs[text.number].at for text in self.texts if text.command.retains]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> list[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | list[Step]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self._size))]
        if not 0 <= index < self._size:
            raise IndexError(index)
        number = bisect_right(self.begins, index) - 1
        begin = self.begins[number]
        if number not in self._steps:
            self._steps = {number: list(unroll(replace(self.queue, body=(self.queue.body[number],))))}
        return replace(self._steps[number][index - begin], index=index)
