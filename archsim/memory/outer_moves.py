"""What of a move goes to DRAM or over the network, kept for all its repetitions: only an address differs.

So a move that has one operand outside its core, all of it in one transfer of a DRAM or in messages of an on-chip memory
above the network, is begun with that operand's address alone. Others are begun command by command (``memory.dma``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from archsim.memory.dram.interface import BurstAsker
from archsim.memory.dram_side import DramSide
from archsim.memory.move_routes import MoveRoute, RouteFinder
from archsim.sim.clock import ClockDomain
from archsim.sim.events import Event
from archsim.sim.protocols import Parcel

MOST_ADDRESSES = 4096  # of a move, whose messages are kept

TravelEnd = Callable[[int, int], None]  # the last beat in a DRAM and the last flit, 0 where there was none


class MoverFacts(NamedTuple):
    """A DMA engine as its moves need it. ``rank``: its place among those that meet in one instant."""

    rank: int
    clock: ClockDomain
    asker: BurstAsker | None


class DramMove:
    """A move with one transfer of a DRAM, which it reaches without a network."""

    def __init__(self, leg: DramSide, mover: MoverFacts) -> None:
        self._leg, self._mover = leg, mover

    def begin(self, address: int, index: int, layer: str, ended: Callable[[], None], _: TravelEnd) -> None:
        """Ask for the transfer of command ``index`` at ``address``; ``ended`` is called at its end."""
        leg, (rank, clock, asker) = self._leg, self._mover
        dram, at = leg.dram, address + leg.shift
        leg.drop(at)

        def end(event: Any) -> None:
            dram.charge(layer, event.value)
            ended()

        dram.submit((rank, index, 0), leg.shape, at, clock, engine=asker).callbacks.append(end)

    def parcels(self) -> list[Parcel] | None:
        """What the compiled machine asks for, wherever the operand lies; None where Python has to."""
        leg = self._leg
        known = None if leg.drops else leg.dram.known(leg.shape, self._mover.asker)
        return None if known is None else [Parcel(*known, 0, leg.shift, False)]


class ShippedMove:
    """A move whose messages go between its core and other cores, or an on-chip memory above the network."""

    def __init__(self, routes: tuple[MoveRoute, ...], finder: RouteFinder, mover: MoverFacts, send: Any) -> None:
        """``send``: ``noc.fabric.Fabric.send``."""
        self._routes, self._finder, self._mover, self._send = routes, finder, mover, send
        self._loads: dict[int, list[Any]] = {}

    def parcels(self) -> list[Parcel] | None:
        """What the compiled machine sends, wherever the operand lies; None where Python has to."""
        found = []
        for number, route in enumerate(self._routes, 1):
            sent = self._finder.sent(route)
            if sent is None:
                return None
            found.append(Parcel(*sent, number, route.side.shift if route.side is not None else 0, True))
        return found

    def begin(self, address: int, index: int, layer: str, _: Callable[[], None], travelled: TravelEnd) -> None:
        """Send all messages of command ``index`` with its operand at ``address``."""
        loads = self._loads.get(address)
        if loads is None:
            loads = self._found(address)
        rank, clock, _asker = self._mover
        left = len(loads)

        def end(event: Event) -> None:
            nonlocal left
            left -= 1
            if not left:
                travelled(0, int(event.env.now))

        for number, load in enumerate(loads, 1):
            self._send((rank, index, number), layer, load, clock).callbacks.append(end)

    def _found(self, address: int) -> list[Any]:
        if len(self._loads) >= MOST_ADDRESSES:
            self._loads.clear()
        found = self._loads[address] = [
            self._finder.load(route, address + route.side.shift if route.side is not None else 0)
            for route in self._routes
        ]
        return found
