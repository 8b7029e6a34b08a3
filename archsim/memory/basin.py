"""What is left of a port during water filling, rounded for the search and exact where it decides.

No command takes more of a port than that port's level, so levels only rise while paces are given: a port passes its
demands once, in rising order, on floating-point numbers. Whatever they leave open (``NEAR``) is decided by rational
numbers, which are added only for a port that may be the next to decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf

from archsim.memory.port import ROUNDING, Flow, Port
from archsim.sim.engine import Cycles

Bid = tuple[Cycles, int]  # (by how much a pace rises, the command's number): the least is next
Given = Sequence[tuple[Flow, Cycles]]  # by how much paces rose in this round, in order
NEAR = 4 * ROUNDING  # relative; a rounded level is nearer than this to the exact one


class Basin:
    """A port and the commands that wait for a part of its ``room``.

    ``near``: what it allows the one of them that asks most per cycle, rounded; infinite when all of them fit.
    """

    __slots__ = (
        *("_above", "_fitting", "_level", "_paces", "_passed", "_port", "_rising", "_room", "_sharers", "_start"),
        *("_wishes", "near"),
    )

    def __init__(
        self, port: Port, sharers: Sequence[tuple[float, Flow]], paces: Mapping[Flow, Cycles], room: Fraction
    ) -> None:
        self._port = port
        self._paces = paces
        self._start = room
        self._room = float(room)
        self._sharers = sorted(sharers, key=lambda entry: entry[0])
        self._wishes = {flow: share * float(1 - paces[flow]) for share, flow in sharers}  # of those that wait
        self._rising = sorted(self._wishes, key=self._wishes.__getitem__)
        self._passed: dict[Flow, float] = {}  # those of them that surely fit
        self._fitting = 0.0  # their sum
        self._above = len(self._rising)  # how many wait besides
        self._rising.reverse()
        self._rise()

    def serve(self, flow: Flow, used: float) -> None:
        """A command was given ``used`` of the room, rounded; it waits no more."""
        del self._wishes[flow]
        self._room -= used
        if flow in self._passed:
            self._fitting -= self._passed.pop(flow)
        else:
            self._above -= 1
        self._rise()

    def bid(self, given: Given) -> Bid | None:
        """What the port allows the one of the waiting commands that asks most per cycle; None when all of them fit."""
        level = self._exact_level(given)
        if level is None:
            return None
        most = self._sharers[-1][0] * (1 - NEAR)
        asking = []
        for share, flow in reversed(self._sharers):
            if share < most:
                break
            if flow in self._wishes:
                asking.append((flow.exact[self._port], -flow.number))
        share_of_most, number = max(asking)
        return level / share_of_most, -number

    def left(self, given: Given) -> Fraction:
        """The room, exactly."""
        room = self._start
        for flow, gain in given:
            if self._port in flow.exact:
                room -= flow.exact[self._port] * gain
        return room

    def may_be_full(self) -> bool:
        """Whether nothing may be left."""
        return self._room <= NEAR * self._start

    def _rise(self) -> None:
        """Find the rounded level anew, which has not fallen."""
        self._level = inf
        while self._above:
            self._level = (self._room - self._fitting) / self._above
            lowest = self._rising[-1]
            if lowest in self._wishes:
                wish = self._wishes[lowest]
                if wish > self._level * (1 - ROUNDING):
                    break
                self._passed[lowest] = wish
                self._fitting += wish
                self._above -= 1
            self._rising.pop()
        else:
            self._level = inf
        self.near = inf
        if self._level < inf:
            while self._sharers[-1][1] not in self._wishes:
                self._sharers.pop()
            self.near = self._level / self._sharers[-1][0]

    def _exact_level(self, given: Given) -> Fraction | None:
        """The most that each gets of the room; None when all of their wishes fit."""
        room, unsure = self.left(given), []
        count = len(self._wishes)
        for flow, near in self._wishes.items():
            if near > self._level * (1 + NEAR):
                continue
            wish = flow.exact[self._port] * (1 - self._paces[flow])
            if near < self._level * (1 - NEAR):
                room -= wish
                count -= 1
            else:
                unsure.append(wish)
        for wish in sorted(unsure):
            if wish * count > room:
                break
            room -= wish
            count -= 1
        return room / count if count else None
