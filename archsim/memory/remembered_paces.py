"""Fair paces of commands on ports, which are worked out once where the same shares meet in the same way.

Paces follow from the shares that commands ask of overfull ports, from who meets whom at which port, and from the order
of their numbers. Programs repeat themselves: the same shares meet again and again, on ports of other cores too.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from archsim.memory.memory_port import MemoryPort, PortFlow, ShareKinds
from archsim.memory.water_level import fair_paces
from archsim.sim.protocols import Cycles

MOST = 1 << 12  # meetings that are remembered, and how many numbers say them at most
LONGEST = 1 << 10
END = -1  # of what one command asks


class FairPaces:
    """Paces by who asks what of which port."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[int, int], int] = {}  # shares, numbered
        self._known: dict[tuple[int, ...], tuple[Cycles, ...]] = {}
        self._ones: dict[tuple[int, int], Cycles] = {(1, 1): 1}

    def of(self, flows: Iterable[PortFlow], overfull: Iterable[MemoryPort]) -> dict[PortFlow, Cycles]:
        """Max-min fair paces of ``flows``, which are all commands on the ports that are ``overfull``."""
        flows = sorted(flows, key=_number)
        met: list[int] = []
        ports: dict[MemoryPort, int] = dict.fromkeys(overfull, -1)
        seen = 0
        for flow in flows:
            for port, kind in flow.kinds or self._asked(flow):
                place = ports.get(port)
                if place is None:
                    continue
                if place < 0:
                    place = ports[port] = seen
                    seen += 1
                met += (place, kind)
            met.append(END)
        if len(met) > LONGEST:
            return fair_paces(flows)
        key = tuple(met)
        paces = self._known.get(key)
        if paces is None:
            if len(self._known) >= MOST:
                self._known.clear()
                self._ones = {(1, 1): 1}
            paces = self._known[key] = tuple([self._one(pace) for pace in fair_paces(flows).values()])
        return dict(zip(flows, paces, strict=True))

    def _one(self, pace: Cycles) -> Cycles:
        """The one object of all paces that are equal."""
        return self._ones.setdefault(pace.as_integer_ratio(), pace)

    def _asked(self, flow: PortFlow) -> ShareKinds:
        """What a command asks, which all that have the same streams share."""
        kinds = tuple([(port, self._kind(share)) for port, share in flow.exact.items()])
        flow.kinds = kinds
        if flow.exact is flow.streams.exact:
            flow.streams.kinds = kinds
        return kinds

    def _kind(self, share: Fraction) -> int:
        return self._kinds.setdefault(share.as_integer_ratio(), len(self._kinds))


def _number(flow: PortFlow) -> int:
    return flow.number
