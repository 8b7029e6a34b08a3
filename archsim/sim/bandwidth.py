"""The bandwidth trace in the making: numbers only, for a run has millions of streams.

Commands of one loop mostly have the same streams, so that a command is three numbers: which streams, when begun, when
ended. They become streams once all is over.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from archsim.ir.activity import Bandwidth
from archsim.ir.bandwidth import FIELDS, BandwidthTrace
from archsim.sim.engine import Demand

IntArray = NDArray[np.int64]
Demands = tuple[Demand, ...]


class Recorder:
    """Streams so far."""

    def __init__(self) -> None:
        self._moved: dict[str, array[int]] = {}  # memory -> fields of its streams, one after the other
        self._kinds: dict[int, tuple[int, Demands]] = {}  # by the identity of demands, which commands share
        self._commands = array("q")  # kind, start, end of each

    def moved(self, stream: Bandwidth) -> None:
        """One stream."""
        self._moved.setdefault(stream.memory, array("q")).extend(stream[1:])

    def streamed(self, demands: Demands, start_ps: int, end_ps: int) -> None:
        """The streams of a command."""
        kind = self._kinds.get(id(demands))
        if kind is None:
            kind = self._kinds[id(demands)] = len(self._kinds), demands
        self._commands.extend((kind[0], start_ps, end_ps))

    def trace(self) -> BandwidthTrace:
        """All streams."""
        tables = {memory: np.array(cells).reshape(-1, len(FIELDS)) for memory, cells in self._moved.items()}
        commands = np.array(self._commands, dtype=np.int64).reshape(-1, 3)
        commands = commands[np.argsort(commands[:, 0], kind="stable")]
        begin = np.searchsorted(commands[:, 0], np.arange(len(self._kinds) + 1))
        for memory, demands in self._demands().items():
            table = _expanded(np.array(demands, dtype=np.int64), commands[:, 1:], begin)
            tables[memory] = np.concatenate((tables[memory], table)) if memory in tables else table
        return BandwidthTrace(tables)

    def _demands(self) -> dict[str, list[tuple[int, int, int]]]:
        """Memory -> (kind, bytes, whether written) of what commands ask of it."""
        found: dict[str, list[tuple[int, int, int]]] = {}
        for kind, demands in self._kinds.values():
            for memory, write, size_bytes, *_ in demands:
                if size_bytes:
                    found.setdefault(memory, []).append((kind, size_bytes, write))
        return found


def _expanded(demands: IntArray, times: IntArray, begin: IntArray) -> IntArray:
    """Rows of ``FIELDS``: a stream for each demand (kind, bytes, write) of each command of its kind.

    ``times`` of the commands by kind; those of kind k are numbers ``begin[k]`` to ``begin[k + 1]``.
    """
    kinds = demands[:, 0]
    counts = (begin[1:] - begin[:-1])[kinds]
    demand = np.repeat(np.arange(len(demands)), counts)
    number = np.arange(len(demand)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.zeros((len(demand), len(FIELDS)), dtype=np.int64)
    rows[:, :2] = times[begin[kinds[demand]] + number]
    rows[:, 2:4] = demands[demand, 1:]
    return rows
