"""A queue unrolled in columns, as the checker asks of it; the concrete commands that are looked at are made then."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np

from archsim.ir.check.nests import IntArray, Nest, Nests, texts_of
from archsim.ir.program import Command, Queue
from archsim.ir.unroll import Step, unroll


class Text(NamedTuple):
    """A command text, the ``number`` that it has in its ``nest``, and the index of the nest's first command."""

    command: Command
    nest: Nest
    number: int
    begin: int


class Unrolled(Sequence[Step]):
    """The concrete commands of a queue. ``texts``: those that run at all, by their first run."""

    def __init__(self, queue: Queue, nests: Nests) -> None:
        self.queue = queue
        self.texts: list[Text] = []
        self._begins: list[int] = []
        self._steps: dict[int, list[Step]] = {}
        size = 0
        for node in queue.body:
            nest = nests.of(node)
            self._begins.append(size)
            commands = list(texts_of(node))
            self.texts += [Text(commands[number], nest, number, size) for number in nest.order]
            size += nest.size
        self._size = size

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
        number = bisect_right(self._begins, index) - 1
        begin = self._begins[number]
        if number not in self._steps:
            self._steps = {number: list(unroll(replace(self.queue, body=(self.queue.body[number],))))}
        return replace(self._steps[number][index - begin], index=index)
