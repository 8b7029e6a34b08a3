"""Ports of the banks of a port, while some commands load them unevenly and one of them may be overfull."""

from __future__ import annotations

from fractions import Fraction

from archsim.memory.port import Flow, Port


def join_banks(flow: Flow) -> None:
    """A command has come to its ports; it loads the banks of some."""
    for port in flow.streams.exact:
        if port.banks and flow not in port.uneven:
            flow.join(dict.fromkeys(port.banks, flow.exact[port]))
        elif port.uneven and port.crowded():
            _part(port)


def leave_banks(flow: Flow) -> None:
    """A command has gone from its ports and those of banks, which may be fewer then."""
    uneven = [port for port, _ in flow.peaks]
    for port in flow.streams.exact:
        if port.banks and (port in uneven or not port.crowded()):
            _part(port)


def _part(port: Port) -> None:
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


def _alike(port: Port) -> tuple[list[Port], dict[Flow, dict[Port, Fraction]]]:
    """A port for each kind of bank, and what commands load them by beyond what they load all banks by."""
    kinds: dict[int, list[tuple[int, int, int]]] = {}
    for flow in port.uneven:
        for number, share in flow.streams.uneven(port).more.items():
            kinds.setdefault(number, []).append((flow.number, share.numerator, share.denominator))
    alike = {tuple(kind): number for number, kind in kinds.items()}
    banks = {number: Port(f"{port.name}[{number}]", 0, is_bank=True) for number in alike.values()}
    loads = {
        flow: {banks[number]: share for number, share in flow.streams.uneven(port).more.items() if number in banks}
        for flow in port.uneven
    }
    return list(banks.values()), loads
