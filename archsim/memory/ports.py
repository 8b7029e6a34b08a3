"""Ports of on-chip memories, shared by concurrent commands at max-min fair rates.

Each command has a natural duration of D cycles and moves b bytes over each port that it uses: a demand of b / D. Its
streams are coupled, so it progresses at the pace of its most starved one: pace p <= 1 stretches it to D / p.

A command whose words collide in banks does not load all of them alike. While one is on a port, banks with the same
loads of such commands are a port of their own, on which every other command of the port has what it has of the whole.

Paces (``fair``) hold from one start or end of a command to the next. Progress is kept as an exact rational of the
command's own cycles; it ends at the first edge at or after its exact end, and holds its share until then. Demands that
fit are never touched: they cost no arithmetic but the comparison.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from archsim.memory.fair import fair_paces
from archsim.memory.port import Flow, Port, PortStreams
from archsim.sim.kernel import Kernel, postpone


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
        flow.event.callbacks.append(lambda _: self.end(flow))
        crowded = False
        for port, share in flow.shares:
            port.add(flow, share)
            crowded = port.overfull() or crowded
            if port.banks and port not in flow.uneven:
                crowded = _join_banks(flow, port) or crowded
        slowed = [flow] if crowded else []
        for port in flow.uneven:
            slowed += _regroup(port)
        if slowed:
            self._retime(slowed)
        return flow

    def end(self, flow: Flow) -> None:
        """Take a command off its ports, at its end."""
        flow.ended = True
        slowed: list[Flow] = []
        for port, share in flow.shares:
            crowded = port.overfull()
            port.remove(flow, share)
            if crowded:
                slowed += port.flows
        for port in flow.uneven:
            slowed += _regroup(port)
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


def _join_banks(flow: Flow, port: Port) -> bool:
    """Put a command that loads all banks of a port alike on each of them; whether one is overfull then."""
    share = flow.exact[port]
    for bank in port.banks:
        flow.join(bank, share)
    return any([bank.overfull() for bank in port.banks])


def _regroup(port: Port) -> list[Flow]:
    """Form the ports of banks anew from the commands on a port; those that an overfull one slows, or slowed."""
    slowed = [flow for bank in port.banks if bank.overfull() for flow in bank.flows]
    for bank in port.banks:
        for flow in bank.flows:
            flow.leave(bank)
    loads: dict[int, dict[Flow, Fraction]] = {}
    for flow in port.flows:
        if port in flow.uneven:
            for number, share in flow.uneven[port].more.items():
                loads.setdefault(number, {})[flow] = share
    alike = {tuple(more.items()): number for number, more in loads.items()}
    port.banks = [Port(f"{port.name}[{number}]", 0) for number in alike.values()]
    for bank, more in zip(port.banks, alike, strict=True):
        extra = dict(more)
        for flow in port.flows:
            even = flow.uneven[port].even if port in flow.uneven else flow.exact[port]
            flow.join(bank, even + extra.get(flow, Fraction(0)))
        if bank.overfull():
            slowed += bank.flows
    return slowed


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
