"""Ports of on-chip memories, shared by concurrent commands at max-min fair rates.

Each command has a natural duration of D cycles and moves b bytes over each port that it uses: a demand of b / D. Its
streams are coupled, so it progresses at the pace of its most starved one: pace p <= 1 stretches it to D / p.

A command whose words collide in banks does not load all of them alike. While one is on a port, banks with the same
loads of such commands are a port of their own, on which every other command of the port has what it has of the whole
(``parting``).

Paces hold from one start or end of a command to the next; all starts and ends of an instant are settled together, when
it is over (``settle``). Progress is kept as an exact rational of the command's own cycles; it ends at the first edge at
or after its exact end, and holds its share until then. Demands that fit are never touched: they cost no arithmetic but
the comparison.

An overfull port whose commands no other port holds up, and no bank, is a ``pool``: a start or an end there changes one
number. Wherever ports hold up the same commands, each start and end gives all of these their paces anew (``fair``).
Once overfull, a port stays a pool until it is empty or another port interferes.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial

from archsim.memory.memory_port import FULL, MemoryPort, PortFlow, PortStreams
from archsim.memory.port_pool import PortPool
from archsim.memory.remembered_paces import FairPaces
from archsim.sim.events import Event, EventLoop, end_stream, postpone
from archsim.sim.protocols import Cycles


def _part(port: MemoryPort) -> None:
    """Form the ports of banks anew from the commands on a port; none when no bank can be overfull."""
    old = set(port.banks)
    for flow in dict.fromkeys(flow for bank in port.banks for flow in bank.flows):
        flow.leave(old)
    port.banks = []
    if not port.uneven or not port.crowded():
        return
    port.banks, loads = _alike(port)
    for flow in port.flows:
        even = flow.streams.uneven(port).even if flow in loads else flow.exact[port]
        more = loads.get(flow, {})
        flow.join({bank: even + more[bank] if bank in more else even for bank in port.banks})


def _alike(port: MemoryPort) -> tuple[list[MemoryPort], dict[PortFlow, dict[MemoryPort, Fraction]]]:
    """A port for each kind of bank, and what commands load them by beyond what they load all banks by."""
    kinds: dict[int, list[tuple[int, int, int]]] = {}
    for flow in port.uneven:
        for number, share in flow.streams.uneven(port).more.items():
            kinds.setdefault(number, []).append((flow.number, share.numerator, share.denominator))
    alike = {tuple(kind): number for number, kind in kinds.items()}
    banks = {number: MemoryPort(f"{port.name}[{number}]", 0, is_bank=True) for number in alike.values()}
    loads = {
        flow: {banks[number]: share for number, share in flow.streams.uneven(port).more.items() if number in banks}
        for flow in port.uneven
    }
    return list(banks.values()), loads


class ChipPorts:
    """All ports of the chip."""

    def __init__(self, event_loop: EventLoop) -> None:
        self._event_loop = event_loop
        self._started = 0
        self._pools: dict[MemoryPort, PortPool] = {}  # a command is in one at most, which has all commands of its port
        self._unsettled = False
        self._came: list[PortFlow] = []  # commands that started on ports of which one may hold them up
        self._slack: dict[MemoryPort, None] = {}  # ports that commands have left which held some up
        self._uneven: dict[MemoryPort, None] = {}  # ports whose banks may be alike in another way now
        self._paces = FairPaces()

    def begin(self, streams: PortStreams) -> PortFlow:
        """Start ``streams`` now."""
        event_loop = self._event_loop
        flow = PortFlow(self._started, streams, event_loop.now)
        self._started += 1
        for port, more in flow.peaks:
            port.add_uneven(flow, more)
        flow.event = event_loop.event()
        crowded = False
        for port, share in flow.shares:
            if port.add(flow, share):
                crowded = True
        if crowded:
            self._join_banks(flow)
            self._came.append(flow)
            self._unsettle()
        else:
            end_stream(flow.event, flow.end_ps - event_loop.now, flow.number)
        flow.event.callbacks.append(partial(self.end, flow))
        return flow

    def end(self, flow: PortFlow, _: Event) -> None:
        """Take a command off its ports, at its end, which has happened."""
        flow.ended = True
        pooled = flow.pooled
        for port, share in flow.shares:
            if port.rough >= FULL and pooled is None and port.overfull():
                self._slack[port] = None
                self._unsettle()
            port.remove(flow, share)
        for port, _peak in flow.peaks:
            port.remove_uneven(flow)
        if flow.shares is not flow.streams.shares:
            self._leave_banks(flow)
        if pooled is not None:
            self._pools[pooled].remove(flow)
            self._unsettle()

    def pace(self, flow: PortFlow) -> Cycles:
        """Present pace of a command under way."""
        self.settle()
        return flow.pace if flow.pooled is None else self._pools[flow.pooled].pace(flow)

    def settle(self) -> None:
        """Give the commands that this instant's starts and ends may slow or speed up their paces anew."""
        if not self._unsettled:
            return
        self._unsettled = False
        for port in self._uneven:
            _part(port)
        slack = [flow for port in self._slack for flow in port.flows if not flow.ended]
        came = [flow for flow in self._came if not flow.ended and self._meets(flow)]
        self._uneven.clear()
        self._slack.clear()
        self._came.clear()
        for flow in came:
            self._leave(flow)
        self._retime([*came, *slack])
        for port, pool in list(self._pools.items()):
            if port.flows:
                pool.settle()
            else:
                self._pools.pop(port).close()

    def _unsettle(self) -> None:
        if not self._unsettled:
            self._unsettled = True
            self._event_loop.at_end(self.settle)

    def _join_banks(self, flow: PortFlow) -> None:
        """A command has come to its ports; it loads the banks of some."""
        for port in flow.streams.exact:
            if port.banks and flow not in port.uneven:
                flow.join(dict.fromkeys(port.banks, flow.exact[port]))
            elif port.uneven and port.crowded():
                self._uneven[port] = None

    def _leave_banks(self, flow: PortFlow) -> None:
        """A command has gone from its ports and those of banks, which may be fewer then."""
        uneven = [port for port, _ in flow.peaks]
        for port in flow.streams.exact:
            if port.banks and (port in uneven or not port.crowded()):
                self._uneven[port] = None
                self._unsettle()

    def _meets(self, flow: PortFlow) -> bool:
        """Whether ports may hold a command up that has come to them and is not in a pool of its own from now on."""
        crowded = [port for port in flow.exact if port.is_pool or port.overfull()]
        if len(crowded) == 1 and crowded[0].is_pool:
            self._pools[crowded[0]].add(flow)
            return False
        if not crowded:
            end_stream(flow.event, flow.end_ps - self._event_loop.now, flow.number)
        return bool(crowded)

    def _leave(self, flow: PortFlow) -> None:
        """Leave the commands of all pools that a command is on to themselves."""
        for port in flow.exact:
            if port.is_pool:
                self._pools.pop(port).close()

    def _retime(self, flows: list[PortFlow]) -> None:
        """Give ``flows``, and every command that they may slow or speed up, their paces anew."""
        found: set[PortFlow] = set()
        for flow in flows:
            if flow not in found:
                group, ports = _connected(flow)
                found.update(group)
                self._settle(group, ports)

    def _settle(self, flows: list[PortFlow], ports: list[MemoryPort]) -> None:
        """Give the commands that ``ports`` tie to one another their paces anew."""
        if len(ports) == 1 and ports[0].is_pool:
            return
        for flow in flows:
            self._leave(flow)
        if len(ports) == 1 and len(flows) > 1 and not (ports[0].is_bank or ports[0].banks):
            self._pools[ports[0]] = PortPool(ports[0], self._event_loop)
            return
        now = self._event_loop.now
        paces: Mapping[PortFlow, Cycles] = self._paces.of(flows, ports) if ports else dict.fromkeys(flows, 1)
        for flow, pace in paces.items():
            if not flow.event.triggered:
                flow.change(pace, now)
                end_stream(flow.event, flow.end_ps - now, flow.number)
            elif pace is not flow.pace and flow.end_ps > now:
                before = flow.end_ps
                flow.change(pace, now)
                if flow.end_ps != before:
                    flow.event = postpone(flow.event, flow.end_ps - now, flow.number)


def _connected(flow: PortFlow) -> tuple[list[PortFlow], list[MemoryPort]]:
    """``flow`` and all that it shares overfull ports with, directly or through others, and those ports."""
    found = {flow: None}
    ports: dict[MemoryPort, None] = {}
    todo = [flow]
    while todo:
        for port in todo.pop().exact:
            if port in ports or not port.overfull():
                continue
            ports[port] = None
            for other in port.flows:
                if other not in found:
                    found[other] = None
                    todo.append(other)
    return list(found), list(ports)
