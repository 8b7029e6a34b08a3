"""Batches of messages as the compiled network reads them, worked out once and kept for the next time.

A load is written down message by message. A route is what a move of one kind sends, wherever it starts: parts to or
from the ports that take turns; the compiled code makes its messages when it is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from archsim.base.errors import SimulationError
from archsim.noc.compiled import serving as s
from archsim.noc.compiled.records import ASKS, COPY, FAN, LED, NONE, PLAIN
from archsim.noc.fans import MulticastFan, MulticastFans
from archsim.noc.parameters import PacketFormat
from archsim.noc.shipments import MessageLoad
from archsim.sim.clock import ClockDomain
from archsim.sim.messages import Message, MessageBatch, SentRoute

FIRST_ROOM = 64


class _Known(NamedTuple):
    """A fan and its number among the compiled code's."""

    number: int
    fan: MulticastFan


class MessageLoads:
    """Of a network with these ``fans``. The arrays are those of ``compiled.serving.ServedNetwork``."""

    def __init__(self, fans: MulticastFans, packets: PacketFormat, clock: ClockDomain) -> None:
        self.loads: Any = np.zeros((0, s.LOAD_WIDTH), np.int64)
        self.rows: Any = np.zeros((0, s.ROW_WIDTH), np.int64)
        self.routes: Any = np.zeros((0, s.ROUTE_WIDTH), np.int64)
        self.parts: Any = np.zeros((0, s.PART_WIDTH), np.int64)
        self.route_fans: Any = np.zeros(0, np.int64)
        self.fans: Any = np.zeros(0, FAN)
        self.copies: Any = np.zeros(0, COPY)
        self.facts: Any = np.zeros((0, s.FACT_WIDTH + 2 * fans.levels), np.int64)
        self.made: Any = np.zeros((0, s.ROW_WIDTH), np.int64)
        self.chain: Any = np.zeros((0, s.CHAIN_WIDTH), np.int64)
        self._used = dict.fromkeys(("loads", "rows", "routes", "parts", "route_fans", "copies"), 0)
        self._fans = fans
        self._packets = packets
        self._clock = clock
        self._known: dict[tuple[int, tuple[int, ...]], _Known] = {}
        self._least: dict[tuple[int, int], int] = {}  # cycles, by fan and flits
        self._known_routes: dict[tuple[SentRoute, int], int] = {}
        self._known_fans: dict[Any, int] = {}
        self._known_parts: dict[int, tuple[tuple[int, int], object]] = {}

    def of(self, batches: Sequence[MessageBatch]) -> MessageLoad:
        """The load of ``batches``. Raises SimulationError on an empty message, one to no node, to its own, or twice to
        one."""
        rows: list[tuple[int, int, int]] = []
        least = 0
        passed = [(0, 0)] * self._fans.levels
        for messages, request in batches:
            asking, longest, role = 0, 0, PLAIN
            if request is not None:
                asking, role = self._add(request, ASKS, rows, passed), LED
            for message in messages:
                longest = max(longest, self._add(message, role, rows, passed))
            least = max(least, asking + longest)
        first, last = self._append("rows", rows)
        number, _ = self._append("loads", [(first, last, least - 1)])
        return MessageLoad(number, least - 1, self._clock.edge(least - 1), tuple(passed))

    def route(self, sent: SentRoute, parts: object, rows: Iterable[tuple[int, int]]) -> int:
        """The number of what is sent so; ``rows``: how far each part begins behind the address, and its flits, alike
        for the same object ``parts``.
        """
        number = self._known_routes.get((sent, id(parts)))
        if number is None:
            first, last = self._parts_of(parts, rows)
            fans, ports = self._fans_of(sent), max(1, len(sent.ports))
            request = sent.request_flits if sent.source is None else 0
            row = first, last, fans, ports, sent.source is None, request, sent.message_bytes
            number, _ = self._append("routes", [row])
            self._known_routes[sent, id(parts)] = number
            self._room_to_make(last - first, ports)
        return number

    def _parts_of(self, parts: object, rows: Iterable[tuple[int, int]]) -> tuple[int, int]:
        """Where parts stand, which the routes of many cores share."""
        known = self._known_parts.get(id(parts))
        if known is None:
            known = self._known_parts[id(parts)] = self._append("parts", [*rows]), parts
        return known[0]

    def _fans_of(self, sent: SentRoute) -> int:
        """The first of the fans to, or from, all ports; of what asks them, behind those."""
        source, node, targets, ports = sent.source, sent.node, sent.targets, sent.ports
        asked = bool(source is None and sent.request_flits)
        key = source, node if asked else None, targets, ports
        first = self._known_fans.get(key)
        if first is None:
            if source is None:
                ways = [(port, targets) for port in ports] + [(node, (port,)) for port in ports if asked]
            else:
                ways = [(source, (port,)) for port in ports] or [(source, targets)]
            first, _ = self._append("route_fans", [self.known(*way).number for way in ways])
            self._known_fans[key] = first
        return first

    def _room_to_make(self, parts: int, ports: int) -> None:
        """Room for the messages of one route at a time."""
        self.made = _with_room(self.made, parts + ports)
        rows = len(self.chain)
        self.chain = _with_room(self.chain, max(parts, ports))
        self.chain[rows:, s.FIRST] = NONE

    def _append(self, name: str, rows: list[Any]) -> tuple[int, int]:
        """Add rows to an array; the first, and the one after the last."""
        first = self._used[name]
        self._used[name] = last = first + len(rows)
        array = _with_room(getattr(self, name), last)
        setattr(self, name, array)
        if rows:
            array[first:last] = rows
        return first, last

    def _add(self, message: Message, role: int, rows: list[tuple[int, int, int]], passed: list[tuple[int, int]]) -> int:
        """Put a message into ``rows`` and what it passes into ``passed``; its least cycles."""
        source, targets, flits = message
        known = self.known(source, targets)
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

    def known(self, source: int, targets: tuple[int, ...]) -> _Known:
        """The fan of messages of these ends."""
        known = self._known.get((source, targets))
        if known is None:
            known = self._known[source, targets] = self._found(source, targets)
        return known

    def _found(self, source: int, targets: tuple[int, ...]) -> _Known:
        fan, number = self._fans.to(source, targets), len(self._known)
        first, _ = self._append("copies", [(way.where, way.nodes, way.flight_cycles) for way in fan.ways])
        self.fans, self.facts = _with_room(self.fans, number + 1), _with_room(self.facts, number + 1)
        self.fans[number] = source, first, len(fan.ways)
        self.facts[number, : s.FACT_WIDTH] = fan.least_cycles(1), fan.fewest_cycles
        self.facts[number, s.FACT_WIDTH :] = [count for level in fan.levels for count in level]
        return _Known(number, fan)


def _with_room(array: Any, count: int) -> Any:
    """The array, or twice as long a one, with room for ``count`` records."""
    if count <= len(array):
        return array
    more = max(FIRST_ROOM, len(array), count - len(array))
    return np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)])
