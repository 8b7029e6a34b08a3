"""Commands of one port that go at one pace, for they ask the same of it on the same clock; what they count by.

Progress is counted for all of them at once: the port's service to whoever it holds up, which is the integral of its
level over time, and the clock's position for whoever goes at full pace. Positions are whole on edges and a clock's
edges are rounded to ps, so each clock has its own integral.
"""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop
from math import ceil
from typing import NamedTuple

from archsim.memory.port import Flow
from archsim.sim.clock import Clock
from archsim.sim.engine import Cycles


class End(NamedTuple):
    """The work of its group at which a command ends, both in cycles of the clock."""

    work: Cycles
    number: int
    flow: Flow


class First(NamedTuple):
    """The first end of a group, by service if it is held up, else by position."""

    at: Cycles
    number: int
    group: Group


class Meter:
    """A clock at a port: its position, the service since some instant, and the first ends of groups, as heaps."""

    __slots__ = ("clock", "free", "held", "position", "service")

    def __init__(self, clock: Clock, now_ps: int) -> None:
        self.clock = clock
        self.position: Cycles = clock.position(now_ps)
        self.service: Cycles = 0
        self.free: list[First] = []
        self.held: list[First] = []

    def first_ps(self, level: Fraction | None) -> int | None:
        """The edge at which the first command ends; None while there is none."""
        ends = []
        if free := _valid(self.free):
            ends.append(free.at)
        if level is not None and (held := _valid(self.held)):
            ends.append(self.position + (held.at - self.service) / level)
        return self.clock.edge(ceil(min(ends))) if ends else None

    def reached(self) -> list[Group]:
        """The groups, taken off the heaps, whose first end is not after this instant."""
        groups = []
        for heap, now in ((self.free, self.position), (self.held, self.service)):
            while heap and heap[0].at <= now:
                first = heappop(heap)
                if first.group.first is first:
                    groups.append(first.group)
        return groups


def _valid(heap: list[First]) -> First | None:
    while heap and heap[0].group.first is not heap[0]:
        heappop(heap)
    return heap[0] if heap else None


class Group:
    """Commands of equal ``share`` and clock.

    ``count``: those that hold their share of the port; ``ends``: a heap of those that are not done. Their common work
    was ``base`` when the service (``held``) or the position was ``mark``.
    """

    __slots__ = ("base", "count", "ends", "first", "held", "mark", "meter", "share")

    def __init__(self, share: Fraction, meter: Meter, *, held: bool) -> None:
        self.share = share
        self.meter = meter
        self.count = 0
        self.ends: list[End] = []
        self.first: First | None = None
        self.held = held
        self.base: Cycles = 0
        self.mark = self._measure()

    def order(self) -> tuple[Fraction, int]:
        """What groups of a port are sorted by."""
        return self.share, self.meter.clock.hz

    def pace(self, level: Fraction | None) -> Cycles:
        """Pace of each command at a level of the port."""
        return level / self.share if self.held and level is not None else 1

    def work(self) -> Cycles:
        """Work of each command since some instant, at the present one of the meter."""
        passed = self._measure() - self.mark
        return self.base + (passed / self.share if self.held else passed)

    def switch(self, *, held: bool) -> None:
        """Be held up from now on, or no more."""
        self.base = self.work()
        self.held = held
        self.mark = self._measure()

    def rebase(self) -> None:
        """Count work from the present instant, at which the meter's service becomes 0."""
        work = self.work()
        self.ends = [End(end.work - work, end.number, end.flow) for end in self.ends]
        self.base = 0
        self.mark = 0 if self.held else self.meter.position

    def first_end(self) -> First | None:
        """The first command to end, as the heaps of the meter have it."""
        while self.ends and self.ends[0].flow.ended:
            heappop(self.ends)
        if not self.ends:
            return None
        end = self.ends[0]
        left = end.work - self.base
        return First(self.mark + (left * self.share if self.held else left), end.number, self)

    def _measure(self) -> Cycles:
        return self.meter.service if self.held else self.meter.position
