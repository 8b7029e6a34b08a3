"""Fair paces of commands on shared ports, by water filling.

Among the commands without a pace, a port whose demands exceed what is left of it gives each the same level, or its
demand if less. The command that this slows most gets its pace, its use of every port is subtracted, and so on. What a
command then leaves at one port because another one holds it up is divided in the same way, until everyone who is slowed
is on a port that is full.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from archsim.memory.port import Flow, Port
from archsim.sim.engine import Cycles


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
