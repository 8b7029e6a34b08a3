"""In-order command queues: wait for tokens, run the command on the engine, signal, record.

``CommandQueue`` runs one command at a time. ``PipelinedQueue`` starts the next command before the last has ended
(the host's launches). A command takes its tokens at its start and gives its signals at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Protocol

from archsim.base.errors import ProgramError
from archsim.ir.program import Queue
from archsim.ir.records import CommandText, Records
from archsim.ir.unroll import ResolvedTokens, Step, unroll
from archsim.sim.events import Event, EventLoop, ProcessBody, happen
from archsim.sim.protocols import CommandOutcome, Engine, Pipeline
from archsim.sim.tokens import INITIAL, TokenArrival, TokenCounter, TokenSink

AHEAD = 64  # commands
TokenWaits = tuple[tuple[TokenCounter, int], ...]
TokenSignals = tuple[tuple[TokenSink, int], ...]


class QueueWiring(Protocol):
    """What a queue takes tokens from and where its signals go, by queue and token."""

    @property
    def counters(self) -> Mapping[str, Mapping[str, TokenCounter]]:
        """Of waits."""

    @property
    def sinks(self) -> Mapping[str, Mapping[str, tuple[TokenSink, ...]]]:
        """Of signals."""


class TokenQueue:
    """The token side of a queue: head command, waits, signals, records."""

    def __init__(self, event_loop: EventLoop, queue: Queue) -> None:
        self.event_loop = event_loop
        self.name = queue.name
        self.queue = queue
        self.head: Step | None = None
        self.records = Records(queue.name)
        self.ended = False
        self._wiring: QueueWiring | None = None
        self._lacking = 0
        self._met: Event | None = None

    def connect(self, wiring: QueueWiring) -> None:
        """Give the queue its counters, before it runs."""
        self._wiring = wiring

    def notify(self) -> None:
        """One of the counters that the head waits for has enough tokens."""
        self._lacking -= 1
        if self._lacking == 0 and self._met is not None:
            happen(self._met)
            self._met = None

    def commands(self) -> Iterator[Step]:
        """The queue's commands, in order, with the counters that they take tokens from and where their signals go.

        They are worked out many at a time, while what they have in common is at hand.
        """
        steps = unroll(self.queue, self._waits, self._signals)
        return chain.from_iterable(iter(lambda: list(islice(steps, AHEAD)), []))

    def lacking(self) -> list[tuple[str, int, int]]:
        """Tokens that the blocked head waits for: (name, needed, present); empty when it is not blocked."""
        if self._met is None or self.head is None:
            return []
        return [(c.name, n, len(c.tokens)) for c, n in self.head.takes if len(c.tokens) < n]

    def blocked(self, waits: TokenWaits) -> Event | None:
        """None when all tokens are here, else the event of the last one's coming."""
        lacking = 0
        for counter, count in waits:
            if len(counter.tokens) < count:
                counter.need = count
                lacking += 1
        if not lacking:
            return None
        self._lacking = lacking
        self._met = self.event_loop.event()
        return self._met

    def close(self, step: Step, head_ps: int, start_ps: int, last: TokenArrival, outcome: CommandOutcome) -> None:
        """The command ends now: signal and record. ``last``: the token that met its last wait."""
        end_ps = self.event_loop.now
        signals: TokenSignals = step.gives
        if signals:
            arrival = end_ps, self.name, step.index
            for sink, count in signals:
                sink.give(count, arrival)
        text = step.kept.get("text")
        if text is None:
            command = step.command
            text = self.records.text(CommandText(command.name, command.op, command.layer, command.role))
            step.kept["text"] = text
        seen_ps, unit, number = last
        critical = (unit, number) if seen_ps > head_ps else None
        self.records.add(text, (head_ps, start_ps, end_ps), critical, *outcome)

    def _waits(self, tokens: ResolvedTokens) -> TokenWaits:
        counters = self._connected().counters[self.name]
        merged: dict[str, int] = {}
        for name, count in tokens:
            merged[name] = merged.get(name, 0) + count
        return tuple([(counters[name], count) for name, count in merged.items() if count])

    def _signals(self, tokens: ResolvedTokens) -> TokenSignals:
        sinks = self._connected().sinks[self.name]
        return tuple([(sink, count) for name, count in tokens if count for sink in sinks[name]])

    def _connected(self) -> QueueWiring:
        if self._wiring is None:
            raise ProgramError(f"queue '{self.name}' is not connected")
        return self._wiring


class CommandQueue(TokenQueue):
    """Runs its commands one after the other on one engine."""

    def __init__(self, event_loop: EventLoop, queue: Queue, engine: Engine) -> None:
        super().__init__(event_loop, queue)
        self.engine = engine
        self.clock = engine.clock

    def run(self) -> ProcessBody:
        """The process."""
        event_loop, engine = self.event_loop, self.engine
        for step in self.commands():
            self.head = step
            waits: TokenWaits = step.takes
            head_ps = event_loop.now
            last = INITIAL
            if waits:
                blocked = self.blocked(waits)
                if blocked is not None:
                    yield blocked
                last = take(waits)
            start_ps = event_loop.now
            outcome = yield from engine.execute(step)
            self.close(step, head_ps, start_ps, last, outcome)
        self.ended = True


class PipelinedQueue(TokenQueue):
    """Starts commands while earlier ones are under way; they end in order.

    Records do not overlap: a command is shown from the end of the one before it.
    """

    def __init__(self, event_loop: EventLoop, queue: Queue, engine: Pipeline) -> None:
        super().__init__(event_loop, queue)
        self.engine = engine
        self.clock = engine.clock
        self._last_end_ps = 0

    def run(self) -> ProcessBody:
        """The process."""
        event_loop = self.event_loop
        end_ps = 0
        for step in self.commands():
            self.head = step
            waits: TokenWaits = step.takes
            blocked = self.blocked(waits)
            if blocked is not None:
                yield blocked
            last = take(waits)
            end_ps, free_ps = self.engine.launch(step, event_loop.now)
            event_loop.at(end_ps, partial(self._end, step, last))
            if free_ps > event_loop.now:
                yield event_loop.timeout(free_ps - event_loop.now)
        if end_ps > event_loop.now:
            yield event_loop.timeout(end_ps - event_loop.now)
        self.ended = True

    def _end(self, step: Step, last: TokenArrival) -> None:
        head_ps = self._last_end_ps
        start_ps = max(head_ps, last[0])
        self._last_end_ps = self.event_loop.now
        self.close(step, head_ps, start_ps, last, CommandOutcome((("launch", self.event_loop.now),)))


def take(waits: TokenWaits) -> TokenArrival:
    """Take the tokens, which are here; returns the one that came last, of several the lowest (unit, number)."""
    last = INITIAL
    for counter, count in waits:
        arrival = counter.take(count)
        if arrival[0] > last[0] or arrival[0] == last[0] and arrival < last:
            last = arrival
    return last
