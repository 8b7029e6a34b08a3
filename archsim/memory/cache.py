"""A cache in front of the DRAM: set-associative lines, least recently used out first, for gathers and scatters.

A gather looks every line of its rows up, in order. A line that is there is read from the cache. One that is not is
fetched whole from the DRAM, written into the cache in the place of the least recently used line of its set, and its
bytes go on to their destination at once; a later row of the same command finds it there. A scatter writes through: it
writes to the DRAM always, and into the lines that are there; it brings none in. A move passes the cache by and drops
the lines that it writes. The state is that of the order in which commands start, and lasts for the whole run.

Time: ``hit_cycles`` from the first row's number to what its tags say, look-ups of the rows behind it pipelined; the
data travel over the cache's ports, shared with other commands. Modelled: tag look-ups, line reads and fills, counted
when performed. Not modelled: conflicts between the banks of the cache, and that a row may find a line that is still on
its way: the command ends when all fetches have ended.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from archsim.base.arrays import BoolArray, IntArray
from archsim.facts.lru.lines import LineTouches, LruLines, first_line, touches
from archsim.ir.activity import CacheStats
from archsim.ir.footprint import ByteFootprint
from archsim.sim.clock import ClockDomain
from archsim.spec.memories import Cache


class TableCache:
    """One cache; ``drams``: names of the memories behind it, whose lines it tells apart."""

    def __init__(self, spec: Cache, drams: Sequence[str]) -> None:
        self.name = spec.name
        self.line_bytes = spec.line_bytes
        self.word_bytes = spec.word_bytes
        self._hit_cycles = spec.hit_cycles
        self._clock = ClockDomain(spec.clock_hz, spec.sync_stages)
        self._lines = LruLines(spec.sets, spec.ways)
        self._first = {name: first_line(number, spec.line_bytes) for number, name in enumerate(drams)}
        self._counts = dict.fromkeys(("hits", "misses", "write_hits", "write_misses"), 0)

    def answered_ps(self, now_ps: int) -> int:
        """When the tags have answered a look-up that begins now."""
        return self._clock.edge(self._clock.cycle(now_ps) + self._hit_cycles)

    def touches(self, addresses: IntArray, row: ByteFootprint) -> LineTouches:
        """What rows at ``addresses`` of their DRAM ask of lines."""
        return touches(addresses, row, self.line_bytes, self.word_bytes)

    def read(self, dram: str, asked: LineTouches) -> BoolArray:
        """Look lines up for a gather; which were there."""
        hits = self._lines.look_up(asked.line + self._first[dram])
        return self._counted(hits, "hits", "misses")

    def write(self, dram: str, asked: LineTouches) -> BoolArray:
        """Look lines up for a scatter; which are there and were written."""
        hits = self._lines.update(asked.line + self._first[dram])
        return self._counted(hits, "write_hits", "write_misses")

    def drop(self, dram: str, low: int, high: int) -> None:
        """Forget the lines of bytes [low, high), which a move writes."""
        first = self._first[dram]
        self._lines.drop(first + low // self.line_bytes, first + -(-high // self.line_bytes))

    @property
    def state(self) -> bytes:
        """What it holds."""
        return self._lines.state

    @property
    def stats(self) -> CacheStats:
        """Line accesses since time 0."""
        return CacheStats(**self._counts)

    def _counted(self, hits: BoolArray, found: str, missing: str) -> BoolArray:
        number = int(np.count_nonzero(hits))
        self._counts[found] += number
        self._counts[missing] += len(hits) - number
        return hits
