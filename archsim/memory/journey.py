"""What a command sends over the network, on its way: asked for, read, sent, arrived, written.

Each stage begins in the callback of the event that ends the one before, so parts overtake one another as they can.

Where a DRAM is asked in parts, a limit says for how many bursts of the move it is asked at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from archsim.ir.activity import charged_to
from archsim.ir.unroll import Step
from archsim.memory.move_routes import FabricView, MemoryWay, request
from archsim.memory.offchip import OffChip
from archsim.sim.clock import ClockDomain
from archsim.sim.events import Event, EventLoop
from archsim.sim.messages import Message, MessageBatch
from archsim.sim.protocols import Phases


class OutstandingWindow:
    """Parts of a move that a DRAM is asked for in order, while at most ``most`` bursts are under way (None: any)."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._under_way = 0
        self._waiting: deque[tuple[int, Callable[[], Event], Callable[[Event], None]]] = deque()

    def ask(self, bursts: int, submit: Callable[[], Event], then: Callable[[Event], None]) -> None:
        """Submit a part of so many bursts when there is room, and go on with ``then`` when it has ended."""
        if self._most is None:
            submit().callbacks.append(then)
            return
        self._waiting.append((bursts, submit, then))
        self._pump()

    def _pump(self) -> None:
        while self._waiting and self._most is not None:
            bursts, submit, then = self._waiting[0]
            if self._under_way and self._under_way + bursts > self._most:
                return
            self._waiting.popleft()
            self._under_way += bursts
            event = submit()
            event.callbacks.append(partial(self._ended, bursts))
            event.callbacks.append(then)

    def _ended(self, bursts: int, _: Event) -> None:
        self._under_way -= bursts
        self._pump()


Then = Callable[[Event], None]


class PartFreight(NamedTuple):
    """A part: its first byte's address above the network, the flits of each of its messages.

    ``transfer``: asks ``dram`` for it, if it is there, with an end on edges of a clock, through a port; so many
    ``bursts`` at most. The engine comes to it ``after_cycles`` of its clock.
    """

    address: int
    messages: tuple[int, ...]
    dram: OffChip | None = None
    transfer: Callable[[ClockDomain, int], Event] | None = None
    bursts: int = 0
    after_cycles: int = 0


class Journey:
    """All that one command sends. ``event``: it has arrived and is written; ``left``: parts of it that have not yet.

    ``beat_ps``: last beat in a DRAM, ``flit_ps``: last arrival, as far as they are known.
    """

    __slots__ = (
        *(
            "_clock",
            "_fabric",
            "_index",
            "_event_loop",
            "_layer",
            "_node",
            "_orders",
            "_outstanding",
            "_rank",
            "_windows",
        ),
        *("beat_ps", "event", "flit_ps", "left"),
    )

    def __init__(
        self,
        event_loop: EventLoop,
        fabric: FabricView,
        clock: ClockDomain,
        node: int,
        engine: tuple[int, Step],
        outstanding: int | None,
    ) -> None:
        """``node``: the engine's own; ``engine``: its rank, and the command."""
        self.event = event_loop.event()
        self.left = 0
        self.beat_ps = 0
        self.flit_ps = 0
        self._event_loop = event_loop
        self._fabric = fabric
        self._clock = clock
        self._node = node
        self._rank, step = engine
        self._index, self._layer = step.index, charged_to(step.command)
        self._outstanding = outstanding
        self._orders = 0
        self._windows: dict[str, OutstandingWindow] = {}

    def ship(self, load: Any) -> None:
        """Send what the network sees to all the way (``Fabric.load``)."""
        self.left += 1
        self._send(load, self._clock, self._arrived)

    def start(self, way: MemoryWay, freight: Sequence[PartFreight]) -> None:
        """Send all parts as the engine comes to them, or ask for them."""
        self.left += len(freight)
        if way.source is not None:
            for item in freight:
                self._when(item, partial(self._leave, way.source, way, item))
            return
        by_port: dict[int, list[PartFreight]] = {}
        for item in freight:
            by_port.setdefault(self._fabric.port(way.memory, item.address), []).append(item)
        for port, items in by_port.items():
            asked = request(self._fabric, self._node, port)
            if asked is None:
                self._serve(way, port, items)
            else:
                then = partial(self._asked, way, port, items)
                self._send(self._fabric.load((MessageBatch((asked,)),)), self._fabric.clock, then)

    def phases(self, beat_ps: int, *, reads: bool) -> Phases:
        """Where the command's bytes were, in their order, at its end; ``beat_ps``: last beat of what did not travel.

        Read from a DRAM: dram until the last beat, then noc until the last flit; else noc first, then dram. What
        follows is the ports'.
        """
        clock, end_ps = self._clock, self._event_loop.now
        beat_ps = max(beat_ps, clock.at_or_after(self.beat_ps)) if self.beat_ps else beat_ps
        stages = ("dram", beat_ps), ("noc", clock.at_or_after(self.flit_ps))
        return (*(stages if reads else stages[::-1]), ("sram_port", end_ps))

    def order(self) -> tuple[int, ...]:
        """Where the next request of this instant stands among others'."""
        self._orders += 1
        return self._rank, self._index, self._orders

    def _asked(self, way: MemoryWay, port: int, items: Sequence[PartFreight], _: Event) -> None:
        self._serve(way, port, items)

    def _serve(self, way: MemoryWay, port: int, items: Sequence[PartFreight]) -> None:
        """A port knows what to send."""
        for item in items:
            self._when(item, partial(self._fetch, way, port, item))

    def _fetch(self, way: MemoryWay, port: int, item: PartFreight) -> None:
        if item.transfer is None:
            self._deliver(way, port, item)
        else:
            self._transfer(item, self._fabric.clock, port, partial(self._read, way, port, item))

    def _read(self, way: MemoryWay, port: int, item: PartFreight, event: Event) -> None:
        """A part's last byte was read."""
        self._beat(item, event)
        self._deliver(way, port, item)

    def _deliver(self, way: MemoryWay, port: int, item: PartFreight) -> None:
        self._send(self._load(port, way.targets, item), self._clock, self._arrived)

    def _leave(self, source: int, way: MemoryWay, item: PartFreight) -> None:
        """Send a part to a memory above, or to other cores."""
        targets = (self._fabric.port(way.memory, item.address),) if way.memory else way.targets
        load = self._load(source, targets, item)
        if item.transfer is None:
            self._send(load, self._clock, self._arrived)
        else:
            self._send(load, self._fabric.clock, partial(self._write, targets[0], item))

    def _write(self, port: int, item: PartFreight, _: Event) -> None:
        """A part has arrived whole at the port of a DRAM."""
        self.flit_ps = self._event_loop.now
        self._transfer(item, self._clock, port, partial(self._written, item))

    def _written(self, item: PartFreight, event: Event) -> None:
        self._beat(item, event)
        self._end()

    def _arrived(self, _: Event) -> None:
        self.flit_ps = self._event_loop.now
        self._end()

    # steps that all ways share

    def _load(self, source: int, targets: tuple[int, ...], item: PartFreight) -> Any:
        """The messages of a part."""
        return self._fabric.load((MessageBatch(tuple([Message(source, targets, flits) for flits in item.messages])),))

    def _when(self, item: PartFreight, then: Callable[[], None]) -> None:
        """Go on with a part when the engine has come to it."""
        if item.after_cycles:
            self._event_loop.at(self._clock.edge(self._clock.cycle(self._event_loop.now) + item.after_cycles), then)
        else:
            then()

    def _send(self, load: Any, clock: ClockDomain, then: Then) -> None:
        self._fabric.send(self.order(), self._layer, load, clock).callbacks.append(then)

    def _transfer(self, item: PartFreight, clock: ClockDomain, port: int, then: Then) -> None:
        assert item.dram is not None and item.transfer is not None
        window = self._windows.get(item.dram.name)
        if window is None:
            window = self._windows[item.dram.name] = OutstandingWindow(self._outstanding)
        window.ask(item.bursts, partial(item.transfer, clock, port), then)

    def _beat(self, item: PartFreight, event: Event) -> None:
        assert item.dram is not None
        completion: Any = event.value
        item.dram.charge(self._layer, completion)
        self.beat_ps = max(self.beat_ps, completion.time_ps)

    def _end(self) -> None:
        self.left -= 1
        if not self.left:
            self.event.succeed()
