"""The batches of messages that a network is given, as its kernel reads them; each is worked out once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from archsim.base.errors import SimulationError
from archsim.noc.fans import Fan, Fans
from archsim.noc.interface import Load
from archsim.noc.kernel.layout import ASKS, COPY, FAN, LED, PLAIN
from archsim.noc.parameters import Packets
from archsim.sim.clock import Clock
from archsim.sim.messages import Batch, Message

FIRST_ROOM = 64


class _Known(NamedTuple):
    """A fan and its number among the kernel's."""

    number: int
    fan: Fan


class Loads:
    """Of a network with these ``fans``. ``fans``, ``copies``: the kernel's records of all fans so far."""

    def __init__(self, fans: Fans, packets: Packets, clock: Clock) -> None:
        self.fans: Any = np.zeros(0, FAN)
        self.copies: Any = np.zeros(0, COPY)
        self._fans = fans
        self._packets = packets
        self._clock = clock
        self._used = 0  # copies
        self._known: dict[tuple[int, tuple[int, ...]], _Known] = {}
        self._least: dict[tuple[int, int], int] = {}  # cycles, by fan and flits

    def of(self, batches: Sequence[Batch]) -> Load:
        """The load of ``batches``. Raises SimulationError on an empty message, one to no node, to its own, or twice to
        one."""
        rows: list[tuple[int, int, int]] = []
        least, records = 0, 0
        passed = [(0, 0)] * self._fans.levels
        for messages, request in batches:
            asking, longest, role = 0, 0, PLAIN
            if request is not None:
                asking, role = self._add(request, ASKS, rows, passed), LED
                records += 1
            for message in messages:
                longest = max(longest, self._add(message, role, rows, passed))
                records += len(self._known[message.source, message.targets].fan.ways)
            least = max(least, asking + longest)
        return Load(least - 1, self._clock.edge(least - 1), tuple(passed), np.array(rows, np.int64), records)

    def _add(self, message: Message, role: int, rows: list[tuple[int, int, int]], passed: list[tuple[int, int]]) -> int:
        """Put a message into ``rows`` and what it passes into ``passed``; its least cycles."""
        source, targets, flits = message
        known = self._known.get((source, targets))
        if known is None:
            known = self._known[source, targets] = self._found(source, targets)
        total = self._packets.flits(flits)
        if flits < 0 or total < 1:
            raise SimulationError(f"network: a message of {flits} flits and no header; allowed 1 or more")
        rows.append((known.number, flits, role))
        for level, (links, routers) in enumerate(known.fan.levels):
            before = passed[level]
            passed[level] = before[0] + total * links, before[1] + total * routers
        key = known.number, total
        least = self._least.get(key)
        if least is None:
            least = self._least[key] = known.fan.least_cycles(total)
        return least

    def _found(self, source: int, targets: tuple[int, ...]) -> _Known:
        fan, number, first = self._fans.to(source, targets), len(self._known), self._used
        self.fans = _with_room(self.fans, number + 1)
        self.copies = _with_room(self.copies, first + len(fan.ways))
        self.fans[number] = source, first, len(fan.ways)
        for place, way in enumerate(fan.ways, first):
            self.copies[place] = way.where, way.nodes, way.flight_cycles
        self._used += len(fan.ways)
        return _Known(number, fan)


def _with_room(array: Any, count: int) -> Any:
    """The array, or twice as long a one, with room for ``count`` records."""
    if count <= array.size:
        return array
    return np.concatenate([array, np.zeros(max(FIRST_ROOM, array.size, count - array.size), array.dtype)])
