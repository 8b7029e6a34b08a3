"""Moves over the network: between a memory above it and one below, or between two cores.

What crosses is cut in parts of at most ``message_bytes``, in the order in which the move goes through its addresses
(``parts``); each is one message of ceil(bytes / link bytes) flits beside headers, and goes through the port of the
shared memory that its first byte's address names: port (address // message_bytes) mod ports. Several cores get one
message with several targets; what stays in a core or above the network does not cross.

Read from DRAM: a request of ``request_flits`` goes from the engine's core to each port in use (0: none); when it has
arrived, all parts of that port are asked of the DRAM at once, and each enters the network when its last byte was read.
Write to DRAM: all parts enter at the start, each is written when it has arrived whole. SRAM above the network: parts
enter at once (reads after the request), while its ports stream. Core to core: parts enter at once, without a request.
The move ends when the last part has arrived, or was written, and all streams on ports have ended.

With ``outstanding`` n, a part is asked of the DRAM, in order, when its bursts and those under way for the move are n at
most, or none is under way; inside a part the limit holds burst by burst. The borders of clock domains are those of
DRAM: what a model ends is seen at the first edge at or after it of who goes on, and a model sees it at its first edge
after that.

Not modelled: a shared SRAM that is slower than the network does not hold up messages; the streams on ports go on evenly
beside them, no faster than the link of a core carries the flits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from archsim.ir.unroll import Step
from archsim.memory.offchip import OffChip, Shape
from archsim.memory.routes import Fabric, Route, Routes, Side
from archsim.memory.window import Window
from archsim.sim.clock import Clock
from archsim.sim.kernel import Event
from archsim.sim.machine import Surroundings


class Crossings:
    """The way of a DMA engine's moves to the network. ``rank``: the engine's, where they meet in one instant."""

    def __init__(
        self, around: Surroundings, fabric: Fabric, clock: Clock, core: int, rank: int, outstanding: int | None
    ) -> None:
        self.around = around
        self.fabric = fabric
        self.clock = clock
        self.node = fabric.node(core)
        self.rank = rank
        self.outstanding = outstanding
        self.routes = Routes(fabric, core)

    def begin(self, step: Step, routes: Sequence[Route]) -> Journey:
        """Start all of ``routes`` now."""
        journey = Journey(self, step)
        for route in routes:
            journey.start(route, self._address(step, route.side) if route.side is not None else 0)
        return journey

    def _address(self, step: Step, side: Side) -> int:
        """Of the first byte touched; the cache forgets what is written past it."""
        stores = self.around.stores
        if side.leg is None:
            return stores.slot_address(step, side.region) + side.region.offset.at(step.env) + side.shift
        address = stores.address(step, side.region) + side.region.offset.at(step.env) + side.shift
        side.leg.drop(address)
        return address


class Journey:
    """The parts of one move on their way. ``event``: all have arrived and are written; ``left``: how many are not yet.

    ``beat_ps``: last beat in a DRAM, ``flit_ps``: last flit that arrived, as far as is known.
    """

    def __init__(self, ways: Crossings, step: Step) -> None:
        self.event = ways.around.kernel.event()
        self.left = 0
        self.beat_ps = 0
        self.flit_ps = 0
        self._ways = ways
        self._fabric = ways.fabric
        self._step = step
        self._layer = step.command.layer
        self._orders = 0
        self._windows: dict[str, Window] = {}

    def start(self, route: Route, address: int) -> None:
        """Send the parts, or ask for them."""
        self.left += len(route.parts)
        if route.source is None:
            self._request(route, address)
            return
        side, numbers = route.side, range(len(route.parts))
        for number in numbers:
            targets, at = route.targets, address + route.parts[number].offset
            if side is not None:
                targets = (self._fabric.port(side.memory, at),)
            if side is None or side.leg is None:
                self._send(route.source, targets, route.flits[number], self._ways.clock, self._arrived)
            else:
                write = partial(self._write, side.leg.dram, route.shapes[number], at)
                self._send(route.source, targets, route.flits[number], self._fabric.clock, write)

    def _request(self, route: Route, address: int) -> None:
        """Ask each port for its parts."""
        assert route.side is not None
        by_port: dict[int, list[int]] = {}
        for number, part in enumerate(route.parts):
            by_port.setdefault(self._fabric.port(route.side.memory, address + part.offset), []).append(number)
        flits = self._fabric.request_flits
        for port, numbers in by_port.items():
            asked = partial(self._asked, route, address, port, numbers)
            if flits:
                self._send(self._ways.node, (port,), flits, self._fabric.clock, asked)
            else:
                asked(None)

    def _asked(self, route: Route, address: int, port: int, numbers: Sequence[int], event: Event | None) -> None:
        """A port knows what to send."""
        if event is not None:
            self._fabric.charge(self._layer, event.value)
        assert route.side is not None
        leg = route.side.leg
        for number in numbers:
            send = partial(self._send, port, route.targets, route.flits[number], self._ways.clock, self._arrived)
            if leg is None:
                send()
            else:
                at = address + route.parts[number].offset
                read = partial(self._read, leg.dram, send)
                self._transfer(leg.dram, route.shapes[number], at, self._fabric.clock, read)

    def _read(self, dram: OffChip, send: Callable[[], None], event: Event) -> None:
        """A part's last byte was read."""
        self._beat(dram, event)
        send()

    def _write(self, dram: OffChip, shape: Shape, address: int, event: Event) -> None:
        """A part has arrived at a port of a DRAM."""
        self._flit(event)
        self._transfer(dram, shape, address, self._ways.clock, partial(self._written, dram))

    def _written(self, dram: OffChip, event: Event) -> None:
        self._beat(dram, event)
        self._end()

    def _arrived(self, event: Event) -> None:
        self._flit(event)
        self._end()

    def _end(self) -> None:
        self.left -= 1
        if not self.left:
            self.event.succeed()

    def _beat(self, dram: OffChip, event: Event) -> None:
        completion: Any = event.value
        dram.charge(self._layer, completion)
        self.beat_ps = max(self.beat_ps, completion.time_ps)

    def _flit(self, event: Event) -> None:
        self._fabric.charge(self._layer, event.value)
        self.flit_ps = max(self.flit_ps, self._ways.around.kernel.now)

    def _send(
        self, source: int, targets: Sequence[int], flits: int, clock: Clock, then: Callable[[Event], None]
    ) -> None:
        self._fabric.send(self._order(), source, targets, flits, clock).callbacks.append(then)

    def _transfer(self, dram: OffChip, shape: Shape, address: int, clock: Clock, then: Callable[[Event], None]) -> None:
        submit = partial(self._submit, dram, shape, address, clock)
        window = self._windows.get(dram.name)
        if window is None:
            window = self._windows[dram.name] = Window(self._ways.outstanding)
        window.ask(dram.bursts(shape), submit, then)

    def _submit(self, dram: OffChip, shape: Shape, address: int, clock: Clock) -> Event:
        return dram.submit(self._order(), shape, address, clock)

    def _order(self) -> tuple[int, ...]:
        self._orders += 1
        return self._ways.rank, self._step.index, self._orders
