"""The memory of the compiled machine as tables by name, which grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.base.served import REQUEST_WIDTH
from archsim.sim.compiled import layout as k
from archsim.sim.compiled.exact import Exact

WIDTHS = {
    "NODES": k.NODE_WIDTH, "COMMANDS": k.COMMAND_WIDTH, "WAITS": k.WAIT_WIDTH, "SIGNALS": k.SIGNAL_WIDTH,
    "EXTENTS": k.EXTENT_WIDTH, "AFFINES": k.AFFINE_WIDTH, "TERMS": k.TERM_WIDTH, "CLIPS": k.CLIP_WIDTH,
    "PLACES": k.PLACE_WIDTH, "OPERANDS": k.OPERAND_WIDTH, "SITES": k.SITE_WIDTH, "QUEUES": k.QUEUE_WIDTH,
    "COUNTERS": k.COUNTER_WIDTH, "TOKENS": k.TOKEN_WIDTH, "RINGS": k.RING_WIDTH, "RELEASES": k.RELEASE_WIDTH,
    "GUARDS": k.GUARD_WIDTH, "CLOCKS": k.CLOCK_WIDTH, "PLANS": k.PLAN_WIDTH, "STREAMS": k.STREAM_WIDTH,
    "SHARES": k.SHARE_WIDTH, "CONFLICTS": k.CONFLICT_WIDTH, "FLOWS": k.FLOW_WIDTH, "PORTS": k.PORT_WIDTH,
    "MEMBERS": k.MEMBER_WIDTH, "EVENTS": k.EVENT_WIDTH, "CROSSINGS": k.CROSSING_WIDTH, "ASKED": k.ASKED_WIDTH,
    "TOLD": k.TOLD_WIDTH, "RECORDS": k.RECORD_WIDTH, "PHASES": k.PHASE_WIDTH, "SCRATCH": k.SCRATCH_WIDTH,
    "MODELS": k.MODEL_WIDTH, "REQUESTS": REQUEST_WIDTH, "TICKETS": k.TICKET_WIDTH, "BEGUN": k.BEGUN_WIDTH,
    "PARCELS": k.PARCEL_WIDTH,
}  # fmt: skip


BLOCK = 1 << 16  # numbers that are copied at a time


class Arena:
    """Three arrays ``m``, ``x`` and ``r`` (``compiled.layout``) with a number of rows of each table."""

    def __init__(self, rows: dict[str, int], numbers: dict[str, int], widths: dict[str, int]) -> None:
        """``rows`` and exact ``numbers`` by table; ``widths`` of tables that are not always as wide."""
        self.rows = {name: rows.get(name, 0) for name in k.TABLES}
        self.numbers = {name: numbers.get(name, 0) for name in k.EXACT_TABLES}
        self._widths = {name: widths.get(name, WIDTHS.get(name, 1)) for name in k.TABLES}
        self.m = np.zeros(k.HEADER + sum(self._size(name) for name in k.TABLES), np.int64)
        total = sum(self.numbers.values())
        self.x, self.r = np.zeros(2 * total), np.zeros(total, np.uint64)
        self._place()

    def table(self, name: str) -> Any:
        """The rows of a table, shape (rows, width): a view, until the next ``grow``."""
        at = int(self.m[k.TABLES.index(name)])
        return self.m[at : at + self._size(name)].reshape(-1, self._widths[name])

    def first_number(self, name: str) -> int:
        """The first exact number of a table."""
        return int(self.m[k.CLOCK_NUMBERS + k.EXACT_TABLES.index(name)])

    def keep(self, name: str, number: int, value: Exact) -> None:
        """Write exact number ``number`` of a table."""
        at = self.first_number(name) + number
        self.x[2 * at], self.x[2 * at + 1], self.r[at] = value[0], value[1], value[2]

    def clear(self) -> None:
        """Let go of all memory; no table is there any more."""
        self.m, self.x, self.r = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.uint64)

    def room(self, name: str, rows: int) -> None:
        """See to it that a table has so many rows, and as many again."""
        if self.rows[name] < rows:
            self._grow({name: 2 * rows}, {})

    def room_for_numbers(self, name: str, numbers: int) -> None:
        """The same for exact numbers."""
        if self.numbers[name] < numbers:
            self._grow({}, {name: 2 * numbers})

    def _size(self, name: str) -> int:
        return self.rows[name] * self._widths[name]

    def _place(self) -> None:
        """Write where tables begin into the header."""
        at = k.HEADER
        for number, name in enumerate(k.TABLES):
            self.m[number] = at
            at += self._size(name)
        first = 0
        for number, name in enumerate(k.EXACT_TABLES):
            self.m[k.CLOCK_NUMBERS + number] = first
            first += self.numbers[name]

    def _grow(self, rows: dict[str, int], numbers: dict[str, int]) -> None:
        old = self.__dict__ | {"tables": {name: self.table(name) for name in k.TABLES}}
        firsts = {name: self.first_number(name) for name in k.EXACT_TABLES}
        self.__init__(self.rows | rows, self.numbers | numbers, self._widths)  # type: ignore[misc]
        header = slice(k.CLOCK_NUMBERS + len(k.EXACT_TABLES), k.HEADER)
        self.m[header] = old["m"][header]
        for name, table in old["tables"].items():
            _copy(table.reshape(-1), self.table(name).reshape(-1))
        for name, first in firsts.items():
            count, to = old["numbers"][name], self.first_number(name)
            self.x[2 * to : 2 * (to + count)] = old["x"][2 * first : 2 * (first + count)]
            self.r[to : to + count] = old["r"][first : first + count]
        self._move(int(old["m"][k.TABLES.index("MEMBERS")]))

    def _move(self, before: int) -> None:
        """Members of ports are named by where they stand."""
        by = int(self.m[k.MEMBERS_AT]) - before
        members, ports = self.table("MEMBERS"), self.table("PORTS")
        members[:, 2:4][members[:, 2:4] > 0] += by
        ports[:, k.PORT_FIRST][ports[:, k.PORT_FIRST] > 0] += by


def _copy(old: Any, new: Any) -> None:
    """Write numbers to the beginning of an array of zeros; where they are 0 its memory stays untouched."""
    for first in range(0, len(old), BLOCK):
        part = old[first : first + BLOCK]
        if part.any():
            new[first : first + len(part)] = part
