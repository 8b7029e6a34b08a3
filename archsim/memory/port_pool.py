"""A port whose commands are held up by it alone: all that it holds up get the same level of it.

    level = (1 - sum of the shares that do not exceed it) / how many exceed it

A start or an end changes this one number. Commands of equal share and clock are a group (``peers``), and groups lie
in order of their shares: those that the level holds up are the upper ones. The first end of each group is in a heap,
so that a start or an end costs O(log n), and only the first end of all needs an event.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from heapq import heappop, heappush
from math import gcd

from archsim.memory.memory_port import MemoryPort, PortFlow
from archsim.memory.pace_groups import GroupEnd, PaceGroup, PaceMeter
from archsim.sim.clock import ClockDomain
from archsim.sim.events import EventLoop, hold, postpone
from archsim.sim.protocols import Cycles

CHANGES = 64  # service is counted anew after as many changes as twice the commands and this: its terms grow with them


class PortPool:
    """All commands on ``port``."""

    def __init__(self, port: MemoryPort, event_loop: EventLoop) -> None:
        self.port = port
        self._event_loop = event_loop
        self._now_ps = event_loop.now
        self._scale = 1  # parts of the port in which shares are whole numbers
        self._level = 0  # what each command gets that is held up, in these parts; 0 while none is
        self._meters: dict[int, PaceMeter] = {}
        self._groups: list[PaceGroup] = []
        self._alike: dict[tuple[int, int, int], PaceGroup] = {}  # by share and clock
        self._free = 0  # how many groups are not held up: the lower ones
        self._room = 1  # what they leave of the port, in its parts
        self._held = 0  # commands held up
        self._of: dict[PortFlow, PaceGroup] = {}
        self._changes = 0
        self._moved = False
        self._alarm_ps: int | None = None
        port.is_pool = True
        for flow in port.flows:
            self._enter(flow)
        self._shift()

    def pace(self, flow: PortFlow) -> Cycles:
        """Pace of a command; the present one once the pool has settled."""
        return self._of[flow].pace(self._level)

    def settle(self) -> None:
        """Find the level anew after commands were added or removed in the present instant."""
        if self._moved:
            self._moved = False
            self._shift()

    def add(self, flow: PortFlow) -> None:
        """A command on the port starts now; the pool is to be settled."""
        self._moved = True
        self._advance()
        self._enter(flow)

    def remove(self, flow: PortFlow) -> None:
        """A command has ended now and is off the port; the pool is to be settled."""
        self._moved = True
        self._advance()
        group = self._of.pop(flow)
        self._count(group, -1)
        if not group.count:
            at = bisect_left(self._groups, group.order(), key=PaceGroup.order)
            del self._groups[at]
            del self._alike[group.kind]
            self._free -= at < self._free
            group.first = None

    def close(self) -> None:
        """Leave each command to itself, as it is now."""
        self._advance()
        self.settle()
        going = []
        for group in self._groups:
            work, pace = group.work(), group.pace(self._level)
            group.first = None
            for end in group.ends:
                if not end.flow.ended:
                    left, per = end.work - work, group.share * group.meter.parts
                    common = gcd(left, per)
                    end.flow.resume(left // common, per // common, pace, self._now_ps)
                    going.append(end.flow)
        self._schedule(going)
        self._alarm_ps = None
        self.port.is_pool = False
        for flow in self._of:
            flow.pooled = None

    def _enter(self, flow: PortFlow) -> None:
        """Put a command in its group, with the work that it has done by itself; the level is to be found anew."""
        flow.pooled = self.port
        done = flow.worked(self._now_ps)
        share, per, work, work_per = flow.streams.work(self.port)
        if flow.left != flow.streams.work_cycles:
            left, of = flow.left
            common = gcd(left * share, of * per)
            work, work_per = left * share // common, of * per // common
        self._resolve(per)
        if not done:
            self._resolve(work_per)
        group = self._of[flow] = self._group(share, per, flow.clock)
        self._count(group, 1)
        if done:
            return
        if flow.event.triggered:
            flow.event = hold(flow.event)
        work = work * self._scale // work_per * group.meter.parts
        end = GroupEnd(group.work() + work, flow.number, flow)
        heappush(group.ends, end)
        if group.ends[0] is end:
            self._announce(group)

    def _group(self, share: int, per: int, clock: ClockDomain) -> PaceGroup:
        """The group of ``share / per`` on a clock, made where there is none."""
        kind = share, per, clock.hz
        group = self._alike.get(kind)
        if group is None:
            group = self._alike[kind] = self._made(kind, clock)
        return group

    def _made(self, kind: tuple[int, int, int], clock: ClockDomain) -> PaceGroup:
        share = kind[0] * self._scale // kind[1]
        at = bisect_left(self._groups, (share, clock.hz), key=PaceGroup.order)
        if clock.hz not in self._meters:
            self._meters[clock.hz] = PaceMeter(clock, self._now_ps)
        held = at > self._free or at == self._free and self._exceeds(share)
        group = PaceGroup(kind, share, self._meters[clock.hz], held=held)
        self._groups.insert(at, group)
        self._free += not held
        return group

    def _count(self, group: PaceGroup, change: int) -> None:
        group.count += change
        if group.held:
            self._held += change
        else:
            self._room -= change * group.share

    def _announce(self, group: PaceGroup) -> None:
        """Put the first end of a group in the heap of its side."""
        group.first = group.first_end()
        if group.first is not None:
            heappush(group.meter.held if group.held else group.meter.free, group.first)

    def _advance(self) -> None:
        """Come to the present instant; commands whose work is done then end at their next edge."""
        if self._now_ps == self._event_loop.now:
            return
        now_ps = self._now_ps = self._event_loop.now
        done: list[PortFlow] = []
        for meter in self._meters.values():
            for group in meter.advance(now_ps, self._level):
                done += self._finish(group)
        self._schedule(done)

    def _schedule(self, flows: Iterable[PortFlow]) -> None:
        """Let commands end when they end by themselves."""
        for flow in sorted(flows, key=lambda flow: flow.number):
            flow.event = postpone(flow.event, flow.end_ps - self._now_ps, flow.number)

    def _finish(self, group: PaceGroup) -> list[PortFlow]:
        """The commands of a group whose work is done, with their ends."""
        done = []
        work, rate, meter = group.work(), group.rate(self._level), group.meter
        while group.ends and group.ends[0].work <= work:
            end = heappop(group.ends)
            if not end.flow.ended:
                end.flow.finish(meter.clock.edge(meter.edge_after(end.work - work, rate)))
                done.append(end.flow)
        self._announce(group)
        return done

    def _exceeds(self, share: int) -> bool:
        """Whether ``share`` is above the level."""
        return share * self._held > self._room if self._held else self._room < 0

    def _shift(self) -> None:
        """Find the level anew, whom it holds up, and who ends first."""
        while self._free and self._exceeds(self._groups[self._free - 1].share):
            self._free -= 1
            self._switch(self._groups[self._free], held=True)
        while self._free < len(self._groups) and not self._exceeds(self._groups[self._free].share):
            self._switch(self._groups[self._free], held=False)
            self._free += 1
        self._changes += 1
        if self._changes > 2 * len(self._of) + CHANGES:
            self._rebase()
        self._level = 0
        if self._held:
            if self._room % self._held:
                self._rescale(self._held // gcd(self._held, self._room), 1)
            self._level = self._room // self._held
        self._arm()

    def _switch(self, group: PaceGroup, *, held: bool) -> None:
        count = group.count
        self._count(group, -count)
        group.switch(held=held)
        self._count(group, count)
        self._announce(group)

    def _rebase(self) -> None:
        """Count work and service from now on, in parts no finer than that needs."""
        self._changes = 0
        for group in self._groups:
            group.rebase()
        for meter in self._meters.values():
            meter.service = 0
        works = [end.work for group in self._groups for end in group.ends]
        self._rescale(1, gcd(self._scale, self._room, *[group.share for group in self._groups], *works))

    def _resolve(self, parts: int) -> None:
        """Divide the port in parts of which a whole number makes one of ``parts``."""
        if self._scale % parts:
            self._rescale(parts // gcd(self._scale, parts), 1)

    def _rescale(self, times: int, over: int) -> None:
        """Divide the port in ``times / over`` as many parts."""
        self._scale = self._scale * times // over
        self._room = self._room * times // over
        self._level = self._level * times // over
        for meter in self._meters.values():
            meter.service = meter.service * times // over
            meter.free.clear()
            meter.held.clear()
        for group in self._groups:
            group.rescale(times, over)
            self._announce(group)

    def _arm(self) -> None:
        """See to it that something happens when the first command ends; what happens before is no more than a look."""
        for meter in self._meters.values():
            end_ps = meter.first_ps(self._level)
            if end_ps is not None and (self._alarm_ps is None or end_ps < self._alarm_ps):
                self._alarm_ps = end_ps
                self._event_loop.at(end_ps, self._ring)

    def _ring(self) -> None:
        if self._alarm_ps == self._event_loop.now:
            self._alarm_ps = None
            self._advance()
            self._arm()
