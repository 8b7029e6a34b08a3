"""Commands of one port that go at one pace, for they ask the same of it on the same clock; what they count by.

Progress is counted for all of them at once: the port's service to whoever it holds up, which is the integral of its
level over time, and the clock's position for whoever goes at full pace. Positions are whole on edges and a clock's
edges are rounded to ps, so each clock has its own integral.

All of it is in integers. Positions are in parts of a cycle (``Clock.parts``), shares and levels in parts of the port
(the pool's ``scale``), service and work in the product of both: what a command takes of the port times cycles.
"""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop
from typing import NamedTuple

from archsim.memory.memory_port import PortFlow
from archsim.sim.clock import ClockDomain
from archsim.sim.protocols import Cycles


class GroupEnd(NamedTuple):
    """The work of its group at which a command ends."""

    work: int
    number: int
    flow: PortFlow


class FirstEnd(NamedTuple):
    """The first end of a group, by service if it is held up, else the edge of the clock."""

    at: int
    number: int
    group: PaceGroup


class PaceMeter:
    """A clock at a port: its position, the service since some instant, and the first ends of groups, as heaps."""

    __slots__ = ("clock", "free", "held", "parts", "position", "service")

    def __init__(self, clock: ClockDomain, now_ps: int) -> None:
        self.clock = clock
        self.parts = clock.parts
        self.position = clock.position_in(self.parts, now_ps)
        self.service = 0
        self.free: list[FirstEnd] = []
        self.held: list[FirstEnd] = []

    def advance(self, now_ps: int, level: int) -> list[PaceGroup]:
        """Come to an instant, at a level until then: groups, off the heaps, whose first end may not be after it."""
        position = self.clock.position_in(self.parts, now_ps)
        self.service += level * (position - self.position)
        self.position = position
        groups: list[PaceGroup] = []
        for heap, now in ((self.free, -(-position // self.parts)), (self.held, self.service)):
            while heap and heap[0].at <= now:
                first = heappop(heap)
                if first.group.first is first:
                    groups.append(first.group)
        return groups

    def edge_after(self, work: int, rate: int) -> int:
        """The first edge at or after the end of so much more ``work`` (less than 0: of so much less) at a rate."""
        return -(-(self.position * rate + work) // (rate * self.parts))

    def first_ps(self, level: int) -> int | None:
        """When the first command ends at a level; None while there is none."""
        free, held = _valid(self.free), _valid(self.held)
        if held is None:
            return None if free is None else self.clock.edge(free.at)
        edge = self.edge_after(held.at - self.service, level)
        return self.clock.edge(edge if free is None else min(edge, free.at))


def _valid(heap: list[FirstEnd]) -> FirstEnd | None:
    while heap and heap[0].group.first is not heap[0]:
        heappop(heap)
    return heap[0] if heap else None


class PaceGroup:
    """Commands of equal ``share`` and clock; ``kind``: both, the share as a numerator and a denominator.

    ``count``: those that hold their share of the port; ``ends``: a heap of those that are not done. Their common work
    was ``base`` when the service (``held``) or the position was ``mark``.
    """

    __slots__ = ("base", "count", "ends", "first", "held", "kind", "mark", "meter", "share")

    def __init__(self, kind: tuple[int, int, int], share: int, meter: PaceMeter, *, held: bool) -> None:
        self.kind = kind
        self.share = share
        self.meter = meter
        self.count = 0
        self.ends: list[GroupEnd] = []
        self.first: FirstEnd | None = None
        self.held = held
        self.base = 0
        self.mark = self._measure()

    def order(self) -> tuple[int, int]:
        """What groups of a port are sorted by."""
        return self.share, self.meter.clock.hz

    def rate(self, level: int) -> int:
        """Work of each command in a part of a cycle at a level of the port."""
        return level if self.held else self.share

    def pace(self, level: int) -> Cycles:
        """Pace of each command at a level of the port."""
        return Fraction(level, self.share) if self.held else 1

    def work(self) -> int:
        """Work of each command since some instant, at the present one of the meter."""
        passed = self._measure() - self.mark
        return self.base + (passed if self.held else passed * self.share)

    def switch(self, *, held: bool) -> None:
        """Be held up from now on, or no more."""
        self.base = self.work()
        self.held = held
        self.mark = self._measure()

    def rebase(self) -> None:
        """Count work from the present instant, at which the meter's service becomes 0."""
        work = self.work()
        self.ends = [GroupEnd(end.work - work, end.number, end.flow) for end in self.ends]
        self.base = 0
        self.mark = 0 if self.held else self.meter.position

    def rescale(self, times: int, over: int) -> None:
        """Count in units of which there are ``times / over`` as many."""
        self.share = self.share * times // over
        self.base = self.base * times // over
        self.ends = [GroupEnd(end.work * times // over, end.number, end.flow) for end in self.ends]
        if self.held:
            self.mark = self.mark * times // over

    def first_end(self) -> FirstEnd | None:
        """The first command to end, as the heaps of the meter have it."""
        while self.ends and self.ends[0].flow.ended:
            heappop(self.ends)
        if not self.ends:
            return None
        end = self.ends[0]
        left = end.work - self.base
        if self.held:
            return FirstEnd(self.mark + left, end.number, self)
        return FirstEnd(-(-(self.mark * self.share + left) // (self.share * self.meter.parts)), end.number, self)

    def _measure(self) -> int:
        return self.meter.service if self.held else self.meter.position
