"""Fair paces of commands on shared ports, by water filling.

Among the commands without a pace, a port whose demands exceed what is left of it gives each the same level, or its
demand if less. The command that this slows most gets its pace, its use of every port is subtracted, and so on. What a
command then leaves at one port because another one holds it up is divided in the same way, until everyone who is slowed
is on a port that is full.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop

from archsim.memory.basin import NEAR, Basin, Bid
from archsim.memory.port import Flow, Port
from archsim.sim.engine import Cycles


def fair_paces(flows: Iterable[Flow]) -> dict[Flow, Cycles]:
    """Max-min fair paces of ``flows``, which are all commands on those of their ports that are overfull."""
    growing = sorted(flows, key=lambda flow: flow.number)
    paces: dict[Flow, Cycles] = dict.fromkeys(growing, 0)
    ports = dict.fromkeys(port for flow in growing for port in flow.exact)
    left = {port: Fraction(1) for port in ports if port.overfull()}
    while growing:
        growing = _fill(growing, paces, left)
    return paces


def _fill(growing: Sequence[Flow], paces: dict[Flow, Cycles], left: dict[Port, Fraction]) -> list[Flow]:
    """Raise the paces of ``growing`` by a fair division of what is ``left`` of the ports, the slowest first.

    Returns those that are slowed and on no port that is full.
    """
    users: dict[Port, list[tuple[float, Flow]]] = {port: [] for port in left}
    for flow in growing:
        for port, share in flow.shares:
            if port in users:
                users[port].append((share, flow))
    basins = {port: Basin(port, on, paces, left[port]) for port, on in users.items() if len(on) > 1}
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


def _lack(flow: Flow, paces: Mapping[Flow, Cycles], alone: Mapping[Port, Fraction]) -> Cycles:
    """What ``flow`` lacks to go at full pace, or what the ports that it has for itself allow it of that."""
    return min([1 - paces[flow], *(room / flow.exact[port] for port, room in alone.items())])


def _slowest_first(waiting: Mapping[int, Flow], bids: list[Bid], basins: Collection[Basin]) -> Iterator[Bid]:
    """The least bid, again and again until nobody is ``waiting``: everybody's own in ``bids``, and those of ports."""
    heapify(bids)
    while waiting:
        while bids[0][1] not in waiting:
            heappop(bids)
        least = min([float(bids[0][0]), *[basin.near for basin in basins]]) * (1 + NEAR)
        close = [bid for basin in basins if basin.near <= least and (bid := basin.bid()) is not None]
        yield min([bids[0], *close])
