"""Fair paces of commands on shared ports, by water filling.

Among the commands without a pace, a port whose demands exceed what is left of it gives each the same level, or its
demand if less. The command that this slows most gets its pace, its use of every port is subtracted, and so on. What a
command then leaves at one port because another one holds it up is divided in the same way, until everyone who is slowed
is on a port that is full.

No command takes more of a port than that port's level, so levels only rise while paces are given: each port passes its
demands once, in rising order, and n commands are filled in O(n log n).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heapreplace

from archsim.memory.port import Flow, Port
from archsim.sim.engine import Cycles

Bid = tuple[Cycles, int]  # (by how much a pace rises, the command's number): the least is next


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


def _fill(growing: Sequence[Flow], paces: dict[Flow, Cycles], left: dict[Port, Fraction]) -> None:
    """Raise the paces of ``growing`` by a fair division of what is ``left`` of the ports, the slowest first."""
    waiting = {flow.number: flow for flow in growing}
    users: dict[Port, list[Flow]] = {port: [] for port in left}
    for flow in growing:
        for port in flow.exact:
            if port in users:
                users[port].append(flow)
    basins = {port: Basin(port, on, paces, room=left[port]) for port, on in users.items() if len(on) > 1}
    bids = [
        (
            _lack(flow, paces, [(port, left[port]) for port in flow.exact if port in left and port not in basins]),
            flow.number,
        )
        for flow in growing
    ]
    for gain, number in _slowest_first(waiting, bids, basins.values()):
        flow = waiting.pop(number)
        paces[flow] += gain
        for port, share in flow.exact.items():
            if port in basins:
                basins[port].serve(flow, share * gain)
            if port in left:
                left[port] -= share * gain


def _lack(flow: Flow, paces: Mapping[Flow, Cycles], alone: Iterable[tuple[Port, Fraction]]) -> Cycles:
    """What ``flow`` lacks to go at full pace, or what the ports that it has for itself allow it of that."""
    return min([1 - paces[flow], *(room / flow.exact[port] for port, room in alone)])


def _slowest_first(waiting: Mapping[int, Flow], bids: list[Bid], basins: Iterable[Basin]) -> Iterator[Bid]:
    """The least bid, again and again until nobody is ``waiting``: everybody's own in ``bids``, and those of ports.

    Bids of a port only rise: an old one tells no more than that there is none below it.
    """
    allowed = [(bid, index, basin) for index, basin in enumerate(basins) if (bid := basin.bid(waiting)) is not None]
    heapify(bids)
    heapify(allowed)
    while waiting:
        while bids[0][1] not in waiting:
            heappop(bids)
        while allowed and (bid := allowed[0][2].bid(waiting)) != allowed[0][0]:
            if bid is None:
                heappop(allowed)
            else:
                heapreplace(allowed, (bid, *allowed[0][1:]))
        yield min(bids[0], allowed[0][0]) if allowed else bids[0]


class Basin:
    """What is left of a port and the commands that wait for a part of it.

    Its level is the most that each gets of it; None when all of their wishes fit.
    """

    def __init__(self, port: Port, flows: Sequence[Flow], paces: Mapping[Flow, Cycles], room: Fraction) -> None:
        self._room = room
        self._port = port
        self._wishes = {flow: flow.exact[port] * (1 - paces[flow]) for flow in flows}
        self._rising = sorted(flows, key=self._wishes.__getitem__)
        self._falling = sorted(flows, key=lambda flow: (flow.exact[port], -flow.number))
        self._passed = 0  # of the rising: their wishes are not above the level
        self._fitting = Fraction(0)  # the sum of those wishes, of commands that wait
        self._above = len(flows)  # how many wait whose wishes are above the level
        self._served: set[Flow] = set()
        self._bid: Bid | None = None
        self._level: Fraction | None = None
        self._rise()

    def bid(self, waiting: Mapping[int, Flow]) -> Bid | None:
        """What the port allows the one of its ``waiting`` commands that asks most of it per cycle."""
        if self._level is None:
            return None
        if self._bid is None:
            while self._falling[-1].number not in waiting:
                self._falling.pop()
            most = self._falling[-1]
            self._bid = self._level / most.exact[self._port], most.number
        return self._bid

    def serve(self, flow: Flow, used: Cycles) -> None:
        """Give a command ``used`` of the room; it waits no more."""
        self._room -= used
        self._served.add(flow)
        if self._level is None or self._wishes[flow] <= self._level:
            self._fitting -= self._wishes[flow]
        else:
            self._above -= 1
        self._rise()

    def _rise(self) -> None:
        """Find the level anew, which has not fallen."""
        self._bid = None
        while self._above:
            self._level = (self._room - self._fitting) / self._above
            lowest = self._rising[self._passed]
            if lowest not in self._served:
                if self._wishes[lowest] > self._level:
                    return
                self._fitting += self._wishes[lowest]
                self._above -= 1
            self._passed += 1
        self._level = None
