"""Ports of on-chip memories, shared by concurrent commands at max-min fair rates.

Each command has a natural duration of D cycles and moves b bytes over each port that it uses: a demand of b / D. Its
streams are coupled, so it progresses at the pace of its most starved one: pace p <= 1 stretches it to D / p.

Paces are found by water filling: among the commands without a pace, a port whose demands exceed what is left of it
gives each the same level, or its demand if less. The command that this slows most gets its pace, its use of every
port is subtracted, and so on. What a command then leaves at one port because another one holds it up is divided in
the same way, until everyone who is slowed is on a port that is full.

Paces hold from one start or end of a command to the next. Progress is kept as an exact rational of the command's own
cycles; it ends at the first edge at or after its exact end, and holds its share until then. Demands that fit are
never touched: they cost no arithmetic but the comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from archsim.sim.clock import Clock
from archsim.sim.engine import Cycles, Demand
from archsim.sim.kernel import Event, Kernel, postpone

ROUNDING = 1e-6  # far more than the error of adding and subtracting a million shares as floating-point numbers


class Port:
    """One direction of one memory, with the commands on it; ``rough``: the sum of their shares, rounded."""

    __slots__ = ("bytes_per_s", "flows", "name", "rough")

    def __init__(self, name: str, bytes_per_s: int) -> None:
        self.name = name
        self.bytes_per_s = bytes_per_s
        self.flows: dict[Flow, None] = {}
        self.rough = 0.0

    def add(self, flow: Flow, share: float) -> None:
        """Put ``flow`` on the port."""
        self.flows[flow] = None
        self.rough += share

    def remove(self, flow: Flow, share: float) -> None:
        """Take ``flow`` off the port."""
        del self.flows[flow]
        self.rough = self.rough - share if self.flows else 0.0

    def overfull(self) -> bool:
        """Whether the demands exceed the port, exactly; rational numbers are added only near the limit."""
        if self.rough < 1 - ROUNDING:
            return False
        return self.rough > 1 + ROUNDING or sum(flow.exact[self] for flow in self.flows) > 1


@dataclass(frozen=True, slots=True)
class PortStreams:
    """The streams of a command.

    ``shares``: each port with the demand on it, as a fraction of the port at full pace; ``exact`` the same, exactly.
    """

    ports: Ports
    clock: Clock
    cycles: Cycles
    demands: tuple[Demand, ...]
    exact: Mapping[Port, Fraction]
    shares: tuple[tuple[Port, float], ...]
    whole_cycles: int

    def begin(self) -> Flow:
        """Start at the present instant, an edge of the clock."""
        return self.ports.begin(self)


class Flow:
    """A command on its ports."""

    __slots__ = ("clock", "cycles", "done", "end_ps", "ended", "event", "exact", "number", "pace", "shares", "since")

    def __init__(self, number: int, streams: PortStreams, now_ps: int) -> None:
        self.number = number
        self.exact = streams.exact
        self.shares = streams.shares
        self.cycles = streams.cycles
        self.clock = streams.clock
        self.pace: Cycles = 1
        self.done: Cycles = 0  # cycles' worth of work done at ``since``
        first = self.clock.cycle(now_ps)
        self.since: Cycles = first  # own cycles since time 0
        self.end_ps = self.clock.edge(first + streams.whole_cycles)
        self.ended = False
        self.event: Event

    def change(self, pace: Cycles, now_ps: int) -> None:
        """Go on at ``pace`` from now."""
        position = self.clock.position(now_ps)
        self.done += self.pace * (position - self.since)
        self.since = position
        self.pace = pace
        if self.done < self.cycles:
            left = Fraction(self.cycles - self.done)
            self.end_ps = self.clock.edge(ceil(position + left / pace))


class Ports:
    """All ports of the chip."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._started = 0

    def begin(self, streams: PortStreams) -> Flow:
        """Start ``streams`` now."""
        kernel = self._kernel
        now = kernel.now
        flow = Flow(self._started, streams, now)
        self._started += 1
        flow.event = kernel.timeout(flow.end_ps - now)
        flow.event.callbacks.append(lambda _: self._end(flow))
        crowded = False
        for port, share in flow.shares:
            port.add(flow, share)
            crowded = port.overfull() or crowded
        if crowded:
            self._retime([flow])
        return flow

    def _end(self, flow: Flow) -> None:
        flow.ended = True
        slowed: list[Flow] = []
        for port, share in flow.shares:
            crowded = port.overfull()
            port.remove(flow, share)
            if crowded:
                slowed += port.flows
        if slowed:
            self._retime(slowed)

    def _retime(self, flows: list[Flow]) -> None:
        """Give ``flows``, and every command that they may slow or speed up, their paces anew."""
        now = self._kernel.now
        for flow, pace in fair_paces(_connected(flows)).items():
            if pace == flow.pace or flow.end_ps <= now:
                continue
            before = flow.end_ps
            flow.change(pace, now)
            if flow.end_ps != before:
                flow.event = postpone(flow.event, flow.end_ps - now)


def fair_paces(flows: Iterable[Flow]) -> dict[Flow, Cycles]:
    """Max-min fair paces of ``flows``, which are all commands on those of their ports that are overfull."""
    growing = sorted(flows, key=lambda flow: flow.number)
    paces: dict[Flow, Cycles] = dict.fromkeys(growing, 0)
    ports = dict.fromkeys(port for flow in growing for port in flow.exact)
    left = {port: Fraction(1) for port in ports if port.overfull()}
    while growing:
        _fill(growing, paces, left)
        growing = [flow for flow in growing if paces[flow] < 1 and all(left.get(port, 1) for port in flow.exact)]
    return paces


def _fill(growing: Iterable[Flow], paces: dict[Flow, Cycles], left: dict[Port, Fraction]) -> None:
    """Raise the paces of ``growing`` by a fair division of what is ``left`` of the ports, the slowest first."""
    waiting = list(growing)
    while waiting:
        levels = {
            port: _level([_wish(f, port, paces) for f in waiting if port in f.exact], left[port]) for port in left
        }
        gains = [(_gain(flow, paces, levels), flow.number, flow) for flow in waiting]
        gain, _, slowest = min(gains, key=lambda entry: entry[:2])
        paces[slowest] += gain
        waiting.remove(slowest)
        for port, share in slowest.exact.items():
            if port in left:
                left[port] -= share * gain


def _wish(flow: Flow, port: Port, paces: Mapping[Flow, Cycles]) -> Fraction:
    """What ``flow`` still lacks of ``port`` to go at full pace."""
    return flow.exact[port] * (1 - paces[flow])


def _level(wishes: Iterable[Fraction], room: Fraction) -> Fraction | None:
    """The most that each of ``wishes`` gets of ``room``; None when all of them fit."""
    rising = sorted(wishes)
    for number, wish in enumerate(rising):
        equal = room / (len(rising) - number)
        if wish > equal:
            return equal
        room -= wish
    return None


def _gain(flow: Flow, paces: Mapping[Flow, Cycles], levels: Mapping[Port, Fraction | None]) -> Cycles:
    """By how much the pace of ``flow`` rises when each port gives it its level, or its wish if less."""
    gain = 1 - paces[flow]
    for port, share in flow.exact.items():
        level = levels.get(port)
        if level is not None:
            gain = min(gain, level / share)
    return gain


def _connected(flows: Iterable[Flow]) -> list[Flow]:
    """``flows`` and all that they share overfull ports with, directly or through others."""
    found = dict.fromkeys(flows)
    todo = list(found)
    while todo:
        for port in todo.pop().exact:
            if not port.overfull():
                continue
            for other in port.flows:
                if other not in found:
                    found[other] = None
                    todo.append(other)
    return list(found)
