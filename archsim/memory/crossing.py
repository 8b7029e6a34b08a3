"""Moves over the network: between a memory above it and one below, or between two cores.

What crosses is cut in parts of at most ``message_bytes``, in the order in which the move goes through its addresses
(``parts``); each is one message of ceil(bytes / link bytes) flits beside headers, and goes through the port of the
shared memory that its first byte's address names (``noc.fabric``). Several cores get one message with several targets;
what stays in a core or above the network does not cross.

Read from DRAM: a request of ``request_flits`` goes from the engine's core to each port in use (0: none); when it has
arrived, all parts of that port are asked of the DRAM at once, and each enters the network when its last byte was read.
Write to DRAM: all parts enter at the start, each is written when it has arrived whole. SRAM above the network: parts
enter at once (reads after the request), while its ports stream. Core to core: parts enter at once, without a request.
The move ends when the last part has arrived, or was written, and all streams on ports have ended.

GATHER and SCATTER go alike: so many rows as fit together are a part, which the engine comes to when it has issued the
rows before, ``row_setup`` each; a row that is longer is read whole and goes on as several messages.

With ``outstanding`` n, a part is asked of the DRAM, in order, when its bursts (or rows) and those under way for the
move are n at most, or none is under way; inside a part the limit holds burst by burst. The borders of clock domains are
those of DRAM: what a model ends is seen at the first edge at or after it of who goes on, and a model sees it at its
first edge after that.

Not modelled: a shared SRAM that is slower than the network does not hold up messages; the streams on ports go on evenly
beside them, no faster than the link of a core carries the flits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from archsim.ir.unroll import Step
from archsim.memory.journey import Freight, Journey
from archsim.memory.leg import Leg
from archsim.memory.offchip import Shape, asker_of
from archsim.memory.routes import Fabric, Route, Routes, Side
from archsim.sim.clock import Clock
from archsim.sim.kernel import Event
from archsim.sim.machine import Surroundings
from archsim.spec.architecture import Dma


class Crossings:
    """The way of a DMA engine's moves to the network. ``rank``: the engine's, where they meet in one instant.

    ``asker``: the engine, where it offers so many bursts a cycle and no more.
    """

    def __init__(self, around: Surroundings, fabric: Fabric, clock: Clock, core: int, rank: int, spec: Dma) -> None:
        self.fabric = fabric
        self.routes = Routes(fabric, core)
        self._around = around
        self._clock = clock
        self._node = fabric.node(core)
        self._rank = rank
        self._outstanding = spec.outstanding
        self.asker = asker_of(spec, rank)

    def journey(self, step: Step) -> Journey:
        """Of a command that starts now."""
        return Journey(self._around.kernel, self.fabric, self._clock, self._node, (self._rank, step), self._outstanding)

    def begin(self, step: Step, routes: Sequence[Route]) -> Journey:
        """Start all of ``routes`` now."""
        journey = self.journey(step)
        for route in routes:
            side = route.side
            address = self._address(step, side) if side is not None else 0
            if side is None or side.leg is None:
                journey.ship(self.routes.load(route, address))
            else:
                journey.start(route.way, self._freight(journey, route, side.leg, address))
        return journey

    def _freight(self, journey: Journey, route: Route, leg: Leg, address: int) -> list[Freight]:
        """The parts of a route from or to a DRAM."""
        starts = [address + part.offset for part in route.parts]

        def transfer(leg: Leg, shape: Shape, at: int, clock: Clock, port: int) -> Event:
            return leg.dram.submit(journey.order(), shape, at, clock, engine=self.asker, port=port)

        return [
            Freight(at, flits, leg.dram, partial(transfer, leg, ask.shape, at), ask.bursts)
            for at, flits, ask in zip(starts, route.messages, route.asks, strict=True)
        ]

    def _address(self, step: Step, side: Side) -> int:
        """Of the first byte touched; the cache forgets what is written past it."""
        stores, region = self._around.stores, step.operand(side.operand)
        if side.leg is None:
            return stores.slot_address(step, region) + region.offset.at(step.env) + side.shift
        address = stores.address(step, region) + region.offset.at(step.env) + side.shift
        side.leg.drop(address)
        return address
