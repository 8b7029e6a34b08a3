"""The command texts of a Program that run at all, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archsim.base.arrays import IntArray
from archsim.base.ragged import firsts, stretches
from archsim.ir.check.tokens.unrolled import NestText, UnrolledNest, UnrolledQueue
from archsim.ir.columns import ProgramColumns


@dataclass(frozen=True, slots=True)
class RunTexts:
    """Texts by queue and first run: number of the ``command`` in the Program and of its ``queue``, number of the
    ``nest`` among ``nests`` and of the text in it, index of the nest's first command, ``rank`` in the queue.
    """

    columns: ProgramColumns
    nests: Sequence[UnrolledNest]
    command: IntArray
    queue: IntArray
    nest: IntArray
    number: IntArray
    begin: IntArray
    rank: IntArray

    def text(self, row: int) -> NestText:
        """One of them."""
        nest = self.nests[int(self.nest[row])]
        command = self.columns.commands[int(self.command[row])]
        return NestText(command, nest, int(self.number[row]), int(self.begin[row]))


def run_texts(columns: ProgramColumns, queues: Sequence[UnrolledQueue]) -> RunTexts:
    """The texts of unrolled queues."""
    every = [nest for queue in queues for nest in queue.nests]
    known = {nest: number for number, nest in enumerate(dict.fromkeys(every))}
    nest = np.fromiter(map(known.__getitem__, every), np.int64, len(every))
    nests = list(known)
    orders = firsts(np.array([len(each.order) for each in nests], dtype=np.int64))
    numbers = np.array([number for each in nests for number in each.order], dtype=np.int64)
    first = firsts(np.array([len(each.runs) for each in nests], dtype=np.int64)[nest])[:-1]
    at, node = stretches(orders[nest], np.diff(orders)[nest])
    command = first[node] + numbers[at]
    begins = np.array([begin for queue in queues for begin in queue.begins], dtype=np.int64)
    queue = columns.queue[command]
    before = np.searchsorted(queue, np.arange(len(queues)))
    rank = np.arange(len(queue)) - before[queue]
    return RunTexts(columns, nests, command, queue, nest[node], numbers[at], begins[node], rank)
