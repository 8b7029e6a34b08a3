"""The tokens of a queue that runs outside the compiled machine, as ``sim.wiring`` has them for all."""

from __future__ import annotations

from collections.abc import Callable

from archsim.sim.clock import ClockDomain
from archsim.sim.compiled_core import CompiledCore
from archsim.sim.events import EventLoop
from archsim.sim.tokens import ClockCrossing, TokenCounter, TokenSink


class OutsideCounters(dict[str, TokenCounter]):
    """Token -> the counter that the queue takes it from; there are those that the Program says."""


class OutsideSinks(dict[str, tuple[TokenSink, ...]]):
    """Token -> where the queue's signals of it go."""

    def __init__(self, core: CompiledCore, queue: str, clock: ClockDomain, event_loop: EventLoop) -> None:
        self._core, self._queue, self._clock, self._event_loop = core, queue, clock, event_loop

    def __missing__(self, token: str) -> tuple[TokenSink, ...]:
        found: list[TokenSink] = []
        for sink, taker in self._core.sinks(self._queue, token):
            clock = self._core.tables.facts[taker].clock
            crosses = clock.crosses(self._clock)
            found.append(ClockCrossing(self._event_loop, clock, sink) if crosses else sink)
        self[token] = tuple(found)
        return self[token]


class OutsideWiring:
    """What ``sim.queue.TokenQueue`` asks of its wiring, for one queue."""

    def __init__(
        self,
        core: CompiledCore,
        queue: str,
        clock: ClockDomain,
        notify: Callable[[], None],
        event_loop: EventLoop,
    ) -> None:
        counters = OutsideCounters()
        initial = {item.name: item.initial for item in core.tables.program.semaphores}
        for (taker, token), sink in core.tables.outside.items():
            if taker == queue:
                counters[token] = TokenCounter(token, initial[token], notify)
                core.hand_to(sink, counters[token])
        self.counters = {queue: counters}
        self.sinks = {queue: OutsideSinks(core, queue, clock, event_loop)}
