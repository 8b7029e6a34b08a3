"""What has ended when each of some commands starts, of the queues that it may meet: found in one walk of the tokens."""

from __future__ import annotations

import numpy as np

from archsim.base.arrays import AnyArray, IntArray
from archsim.ir.check.tokens.run import HappensBefore


class Clocks:
    """``HappensBefore.ended`` of the commands ``index`` of ``queue``, each for the queues of its ``sheet``: those that
    have a command of it here, and queue 0. There are as many as ``sheets``.

    ``wanted``: numbers of the commands that are asked for; of others nothing is known.
    """

    def __init__(
        self, order: HappensBefore, commands: tuple[IntArray, IntArray, IntArray], sheets: int, wanted: IntArray
    ) -> None:
        queue, index, self._sheet = commands
        queues = self._count = len(order.counts)
        keys = self._keys = np.union1d(self._sheet * queues + queue, np.arange(sheets if queues else 0) * queues)
        self._first = np.searchsorted(keys, np.arange(sheets + 1) * queues)
        self._queues = keys % max(queues, 1)
        widths = np.zeros_like(queue)
        widths[wanted] = np.diff(self._first)[self._sheet[wanted]]
        self._cell = np.cumsum(widths) - widths
        rows = wanted[np.lexsort((index[wanted], queue[wanted]))]
        asked = queue[rows], index[rows], self._sheet[rows], self._cell[rows]
        self._found = order.clocks(asked, self._first, self._queues, int(widths.sum()))

    def queues(self, sheet: int) -> IntArray:
        """The queues of a sheet, ascending."""
        return self._queues[self._first[sheet] : self._first[sheet + 1]]

    def ended(self, number: IntArray, queue: IntArray) -> AnyArray:
        """How many commands of a queue have ended, of numbers of commands and queues of their sheets."""
        sheet = self._sheet[number]
        column = np.searchsorted(self._keys, sheet * self._count + queue) - self._first[sheet]
        found: AnyArray = self._found[self._cell[number] + column]
        return found

    def of(self, number: IntArray, sheet: int) -> AnyArray:
        """The same of all queues of a sheet, shape (commands, queues)."""
        found: AnyArray = self._found[self._cell[number][:, None] + np.arange(len(self.queues(sheet)))]
        return found
