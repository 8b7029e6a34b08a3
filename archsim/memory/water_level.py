"""Fair paces of commands on shared ports, by water filling.

Among the commands without a pace, a port whose demands exceed what is left of it gives each the same level, or its
demand if less. The command that this slows most gets its pace, its use of every port is subtracted, and so on. What a
command then leaves at one port because another one holds it up is divided in the same way, until everyone who is slowed
is on a port that is full.

What is left of a port is rounded for the search, and exact where it decides. No command takes more of a port than that
port's level, so levels only rise while paces are given: a port passes its demands once, in rising order, on
floating-point numbers. Whatever they leave open (``NEAR``) is decided by rational numbers, which are added only for a
port that may be the next to decide, each once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop
from math import inf

from archsim.memory.memory_port import ROUNDING, MemoryPort, PortFlow
from archsim.sim.protocols import Cycles

WaterLevelBid = tuple[Cycles, int]  # (by how much a pace rises, the command's number): the least is next
NEAR = 4 * ROUNDING  # relative; a rounded level is nearer than this to the exact one


class WaterLevel:
    """A port and the commands that wait for a part of its ``room``.

    ``near``: what it allows the one of them that asks most per cycle, rounded; infinite when all of them fit.
    """

    __slots__ = (
        *("_above", "_bid", "_bids", "_exact", "_fitting", "_gains", "_left", "_level", "_offered", "_over", "_paces"),
        *("_passed", "_port", "_rising", "_room", "_sharers", "_start", "_sum", "_summed", "_times", "_unsummed"),
        *("_wishes", "near"),
    )

    def __init__(
        self,
        port: MemoryPort,
        sharers: Sequence[tuple[float, PortFlow]],
        paces: Mapping[PortFlow, Cycles],
        room: Fraction,
    ) -> None:
        self._port = port
        self._paces = paces
        self._left = room  # exactly, but for ``_gains``
        self._gains: list[tuple[Fraction, Cycles]] = []  # (share, gain) of those that were served since,
        self._times: list[int] = []  # and how many of them in a row
        self._start = float(room)
        self._room = float(room)
        self._sharers = sorted(sharers, key=lambda entry: (entry[0], entry[1].exact[port], -entry[1].number))
        self._wishes = {flow: share * float(1 - paces[flow]) for share, flow in sharers}  # of those that wait
        self._rising = sorted(self._wishes, key=self._wishes.__getitem__)
        self._passed: dict[PortFlow, float] = {}  # those of them that surely fit
        self._fitting = 0.0  # their sum
        self._unsummed: list[PortFlow] = []  # the latest of them
        self._summed: dict[PortFlow, Fraction] = {}  # the others, exactly
        self._sum = Fraction(0)  # the sum of these
        self._above = len(self._rising)  # how many wait besides
        self._bid: WaterLevelBid | None = None  # what it bids since it last served one,
        self._bids = False  # once that is known
        self._exact: Fraction | None = None  # the level, exactly, where it is the same since it was last found
        self._over = 0  # how many it holds up
        self._offered: tuple[Fraction | None, Fraction | None, Cycles] = None, None, 0  # share, level, bid
        self._rising.reverse()
        self._rise()

    def serve(self, flow: PortFlow, used: float, gain: Cycles) -> None:
        """The pace of a command has risen by ``gain``, for ``used`` of the room, rounded; it waits no more.

        Who took what the port bid, which is the level, leaves it as it is for the others.
        """
        del self._wishes[flow]
        self._over -= 1
        if self._bid is None or self._bid[0] is not gain or self._bid[1] != flow.number or flow in self._passed:
            self._exact = None
        self._bids = False
        self._room -= used
        self._use(flow.exact[self._port], gain)
        if flow in self._passed:
            self._fitting -= self._passed.pop(flow)
            if flow in self._summed:
                self._sum -= self._summed.pop(flow)
        else:
            self._above -= 1
        self._rise()

    def bid(self) -> WaterLevelBid | None:
        """What the port allows the one of the waiting commands that asks most per cycle; None when all of them fit."""
        if not self._bids:
            self._bids = True
            if self._exact is None or not self._over:
                self._exact = self._exact_level()
            self._bid = None if self._exact is None else self._offer(self._exact)
        return self._bid

    def _offer(self, level: Fraction) -> WaterLevelBid:
        asking = self._sharers[-1][1]
        share = asking.exact[self._port]
        if self._offered[0] is not share or self._offered[1] is not level:
            self._offered = share, level, level / share
        return self._offered[2], asking.number

    def _use(self, share: Fraction, gain: Cycles) -> None:
        """Somebody takes ``share`` x ``gain`` of the room."""
        if self._gains and self._gains[-1][0] is share and self._gains[-1][1] is gain:
            self._times[-1] += 1
        else:
            self._gains.append((share, gain))
            self._times.append(1)

    def left(self) -> Fraction:
        """The room, exactly."""
        for (share, gain), times in zip(self._gains, self._times, strict=True):
            self._left -= share * gain * times
        self._gains.clear()
        self._times.clear()
        return self._left

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
                self._unsummed.append(lowest)
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

    def _exact_level(self) -> Fraction | None:
        """The most that each gets of the room; None when all of their wishes fit."""
        unsure = self._unsure()
        for flow in self._unsummed:
            if flow in self._passed:
                self._sum += self._summed.setdefault(flow, self._wish(flow))
        self._unsummed.clear()
        again = [wish for flow, wish in unsure.items() if flow in self._summed]
        room = self.left() - self._sum + sum(again)
        count = len(self._wishes) - len(self._summed) + len(again)
        for wish in sorted(unsure.values()):
            if wish * count > room:
                break
            room -= wish
            count -= 1
        self._over = count
        return room / count if count else None

    def _unsure(self) -> dict[PortFlow, Fraction]:
        """Wishes of which rounded numbers do not tell whether they fit, exactly."""
        found = {}
        for flow, near in reversed(self._passed.items()):
            if near < self._level * (1 - NEAR):
                break
            found[flow] = self._wish(flow)
        for flow in reversed(self._rising):
            if self._wishes.get(flow, 0.0) > self._level * (1 + NEAR):
                break
            if flow in self._wishes:
                found[flow] = self._wish(flow)
        return found

    def _wish(self, flow: PortFlow) -> Fraction:
        return flow.exact[self._port] * (1 - self._paces[flow])


def fair_paces(flows: Iterable[PortFlow]) -> dict[PortFlow, Cycles]:
    """Max-min fair paces of ``flows``, which are all commands on those of their ports that are overfull."""
    growing = sorted(flows, key=lambda flow: flow.number)
    paces: dict[PortFlow, Cycles] = dict.fromkeys(growing, 0)
    ports = dict.fromkeys(port for flow in growing for port in flow.exact)
    left = {port: Fraction(1) for port in ports if port.overfull()}
    while growing:
        growing = _fill(growing, paces, left)
    return paces


def _fill(
    growing: Sequence[PortFlow], paces: dict[PortFlow, Cycles], left: dict[MemoryPort, Fraction]
) -> list[PortFlow]:
    """Raise the paces of ``growing`` by a fair division of what is ``left`` of the ports, the slowest first.

    Returns those that are slowed and on no port that is full.
    """
    users: dict[MemoryPort, list[tuple[float, PortFlow]]] = {port: [] for port in left}
    for flow in growing:
        for port, share in flow.shares:
            if port in users:
                users[port].append((share, flow))
    basins = {port: WaterLevel(port, on, paces, left[port]) for port, on in users.items() if len(on) > 1}
    bids = [
        (
            _lack(flow, paces, {port: left[port] for port in flow.exact if port in left and port not in basins}),
            flow.number,
        )
        for flow in growing
    ]
    flows = {flow.number: flow for flow in growing}
    for gain, number in _slowest_first(flows, bids, basins.values()):
        flow, near = flows.pop(number), float(gain)
        for port, share in flow.shares:
            if port in basins:
                basins[port].serve(flow, share * near, gain)
            elif port in left:
                left[port] -= flow.exact[port] * gain
        paces[flow] += gain
    left.update({port: basin.left() for port, basin in basins.items() if basin.may_be_full()})
    full = {port for port, room in left.items() if not room}
    slowed = [flow for flow in growing if paces[flow] < 1 and full.isdisjoint(flow.exact)]
    if slowed:
        left.update({port: basin.left() for port, basin in basins.items()})
    return slowed


def _lack(flow: PortFlow, paces: Mapping[PortFlow, Cycles], alone: Mapping[MemoryPort, Fraction]) -> Cycles:
    """What ``flow`` lacks to go at full pace, or what the ports that it has for itself allow it of that."""
    return min([1 - paces[flow], *(room / flow.exact[port] for port, room in alone.items())])


def _slowest_first(
    waiting: Mapping[int, PortFlow], bids: list[WaterLevelBid], basins: Collection[WaterLevel]
) -> Iterator[WaterLevelBid]:
    """The least bid, again and again until nobody is ``waiting``: everybody's own in ``bids``, and those of ports.

    A port where all fit is looked at no more, for it leaves room to the end.
    """
    heapify(bids)
    while waiting:
        basins = [basin for basin in basins if basin.near < inf]
        while bids[0][1] not in waiting:
            heappop(bids)
        least = min([float(bids[0][0]), *[basin.near for basin in basins]]) * (1 + NEAR)
        close = [bid for basin in basins if basin.near <= least and (bid := basin.bid()) is not None]
        yield min([bids[0], *close]) if close else bids[0]
