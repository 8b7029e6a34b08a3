"""Ports of on-chip memories, shared by concurrent commands at max-min fair rates.

Each command has a natural duration of D cycles and moves b bytes over each port that it uses: a demand of b / D. Its
streams are coupled, so it progresses at the pace of its most starved one: pace p <= 1 stretches it to D / p.

A command whose words collide in banks does not load all of them alike. While one is on a port, banks with the same
loads of such commands are a port of their own, on which every other command of the port has what it has of the whole.

Paces hold from one start or end of a command to the next. Progress is kept as an exact rational of the command's own
cycles; it ends at the first edge at or after its exact end, and holds its share until then. Demands that fit are never
touched: they cost no arithmetic but the comparison.

An overfull port whose commands no other port holds up, and no bank, is a ``pool``: a start or an end there changes one
number. Wherever ports hold up the same commands, each start and end gives all of these their paces anew (``fair``).
Once overfull, a port stays a pool until it is empty or another port interferes.
"""

from __future__ import annotations

from fractions import Fraction

from archsim.memory.fair import fair_paces
from archsim.memory.pool import Pool
from archsim.memory.port import Flow, Port, PortStreams
from archsim.sim.engine import Cycles
from archsim.sim.kernel import Kernel, postpone


class Ports:
    """All ports of the chip."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._started = 0
        self._pools: dict[Port, Pool] = {}  # a command is in one at most, which has all commands of its port

    def begin(self, streams: PortStreams) -> Flow:
        """Start ``streams`` now."""
        kernel = self._kernel
        flow = Flow(self._started, streams, kernel.now)
        self._started += 1
        crowded = [port for port in flow.exact if port in self._pools]
        pooled = bool(crowded)
        for port, share in flow.shares:
            port.add(flow, share)
            if port not in self._pools and port.overfull():
                crowded.append(port)
            if port.banks and port not in flow.uneven and _join_banks(flow, port):
                crowded += port.banks
        flow.event = kernel.event() if pooled else kernel.timeout(flow.end_ps - kernel.now)
        flow.event.callbacks.append(lambda _: self.end(flow))
        if pooled and len(crowded) == 1 and not flow.uneven:
            self._pools[crowded[0]].add(flow)
            return flow
        if pooled:
            flow.event = postpone(flow.event, flow.end_ps - kernel.now)
            self._leave(flow)
        slowed = [flow] if crowded else []
        for port in flow.uneven:
            slowed += _regroup(port)
        if slowed:
            self._retime(slowed)
        return flow

    def end(self, flow: Flow) -> None:
        """Take a command off its ports, at its end."""
        flow.ended = True
        pool = self._pool(flow)
        slowed: list[Flow] = []
        for port, share in flow.shares:
            crowded = pool is None and port.overfull()
            port.remove(flow, share)
            if crowded:
                slowed += port.flows
        if pool is not None:
            pool.remove(flow)
            if not pool.port.flows:
                self._leave(flow)
            return
        for port in flow.uneven:
            slowed += _regroup(port)
        if slowed:
            self._retime(slowed)

    def pace(self, flow: Flow) -> Cycles:
        """Present pace of a command under way."""
        pool = self._pool(flow)
        return flow.pace if pool is None else pool.pace(flow)

    def _pool(self, flow: Flow) -> Pool | None:
        """The pool that a command is in."""
        return next((self._pools[port] for port in flow.exact if port in self._pools), None)

    def _leave(self, flow: Flow) -> None:
        """Leave the commands of all pools that a command is on to themselves."""
        for port in flow.exact:
            if port in self._pools:
                self._pools.pop(port).close()

    def _retime(self, flows: list[Flow]) -> None:
        """Give ``flows``, and every command that they may slow or speed up, their paces anew."""
        found: set[Flow] = set()
        for flow in flows:
            if flow not in found:
                group, ports = _connected(flow)
                found.update(group)
                self._settle(group, ports)

    def _settle(self, flows: list[Flow], ports: list[Port]) -> None:
        """Give the commands that ``ports`` tie to one another their paces anew."""
        if len(ports) == 1 and ports[0] in self._pools:
            return
        for flow in flows:
            self._leave(flow)
        if len(ports) == 1 and len(flows) > 1 and _plain(ports[0]):
            self._pools[ports[0]] = Pool(ports[0], self._kernel)
            return
        now = self._kernel.now
        for flow, pace in fair_paces(flows).items():
            if pace == flow.pace or flow.end_ps <= now:
                continue
            before = flow.end_ps
            flow.change(pace, now)
            if flow.end_ps != before:
                flow.event = postpone(flow.event, flow.end_ps - now)


def _plain(port: Port) -> bool:
    """Whether no command loads banks of a port more than others."""
    return not (port.is_bank or port.banks or any(flow.uneven for flow in port.flows))


def _join_banks(flow: Flow, port: Port) -> bool:
    """Put a command that loads all banks of a port alike on each of them; whether one is overfull then."""
    share = flow.exact[port]
    flow.join(dict.fromkeys(port.banks, share))
    return any([bank.overfull() for bank in port.banks])


def _regroup(port: Port) -> list[Flow]:
    """Form the ports of banks anew from the commands on a port; those that an overfull one slows, or slowed."""
    slowed = [flow for bank in port.banks if bank.overfull() for flow in bank.flows]
    old = set(port.banks)
    for flow in dict.fromkeys(flow for bank in port.banks for flow in bank.flows):
        flow.leave(old)
    port.banks, loads = _alike(port)
    for flow in port.flows:
        own = flow.uneven.get(port)
        even = flow.exact[port] if own is None else own.even
        more = loads.get(flow, {})
        flow.join({bank: even + more[bank] if bank in more else even for bank in port.banks})
    for bank in port.banks:
        if bank.overfull():
            slowed += bank.flows
    return slowed


def _alike(port: Port) -> tuple[list[Port], dict[Flow, dict[Port, Fraction]]]:
    """A port for each kind of bank, and what commands load them by beyond what they load all banks by."""
    kinds: dict[int, list[tuple[int, int, int]]] = {}
    for flow in port.flows:
        if port in flow.uneven:
            for number, share in flow.uneven[port].more.items():
                kinds.setdefault(number, []).append((flow.number, share.numerator, share.denominator))
    alike = {tuple(kind): number for number, kind in kinds.items()}
    banks = {number: Port(f"{port.name}[{number}]", 0, is_bank=True) for number in alike.values()}
    loads = {
        flow: {banks[number]: share for number, share in flow.uneven[port].more.items() if number in banks}
        for flow in port.flows
        if port in flow.uneven
    }
    return list(banks.values()), loads


def _connected(flow: Flow) -> tuple[list[Flow], list[Port]]:
    """``flow`` and all that it shares overfull ports with, directly or through others, and those ports."""
    found = {flow: None}
    ports: dict[Port, None] = {}
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
