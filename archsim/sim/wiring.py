"""Which counter a token name means to a queue, and where its signals go: the Program's tokens, connected once.

``NAME.free`` and ``NAME.full`` belong to ring NAME; ``full`` is one counter per reading queue. Every other name is
a semaphore. A signal whose taker has another clock passes a ``ClockCrossing``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from archsim.base.errors import ProgramError, nearest
from archsim.ir.program import Command, CommandLoop, Program, ProgramNode, Ring
from archsim.sim.clock import ClockDomain
from archsim.sim.events import EventLoop
from archsim.sim.tokens import ClockCrossing, HeldSlots, RingSlots, TokenCounter, TokenSink


class Counters(dict[str, TokenCounter]):
    """Token -> the counter that a queue takes it from; raises ProgramError for those of which it is not the taker."""

    def __init__(self, wiring: Wiring, queue: str) -> None:
        self._wiring = wiring
        self._queue = queue

    def __missing__(self, token: str) -> TokenCounter:
        raise ProgramError(
            f"queue '{self._queue}' waits for '{token}', which it does not take{nearest(token, self._wiring.tokens())}"
        )


class Sinks(dict[str, tuple[TokenSink, ...]]):
    """Token -> where a queue's signals of it go; raises ProgramError for those that it may not signal."""

    def __init__(self, wiring: Wiring, queue: str) -> None:
        self._wiring = wiring
        self._queue = queue

    def __missing__(self, token: str) -> tuple[TokenSink, ...]:
        found = self[token] = self._wiring.connect(self._queue, token)
        return found


class Wiring:
    """All counters of one Program.

    ``clocks``: queue -> clock of its engine; ``notify``: queue -> what to call when a counter it waits for is met.
    ``counters``, ``sinks``: by queue, what it takes tokens from and where its signals go.
    Raises ProgramError for a semaphore with two taking queues and for rings without readers or with unknown queues.
    """

    def __init__(
        self,
        program: Program,
        event_loop: EventLoop,
        clocks: Mapping[str, ClockDomain],
        notify: Mapping[str, Callable[[], None]],
    ) -> None:
        self._program = program
        self._event_loop = event_loop
        self._clocks = clocks
        self._notify = notify
        self.counters = {queue: Counters(self, queue) for queue in clocks}
        self.sinks = {queue: Sinks(self, queue) for queue in clocks}
        self._rings: dict[str, Ring] = {}
        self._free: dict[str, tuple[Ring, RingSlots]] = {}  # by the token that readers signal
        self._full: dict[str, Ring] = {}  # by the token that the writer signals
        self._takers = _takers(program)
        self._semaphores = dict.fromkeys(semaphore.name for semaphore in program.semaphores)
        for semaphore in program.semaphores:
            taker = self._takers.get(semaphore.name)
            if taker is not None:
                self._count(taker, semaphore.name, semaphore.initial)
        for ring in program.rings:
            self._add_ring(ring)

    def tokens(self) -> list[str]:
        """All that there are."""
        taken = {name for counters in self.counters.values() for name in counters}
        return sorted(taken | self._semaphores.keys())

    def slots(self, queue: str, ring: str) -> TokenCounter:
        """The counter of the slots of ``ring`` that ``queue`` takes; raises ProgramError when it takes none."""
        return self.counters[queue][f"{ring}.free" if queue == self._rings[ring].writer else f"{ring}.full"]

    def givers(self, queue: str, token: str) -> tuple[str, ...]:
        """Queues whose signal would raise ``token`` for ``queue``."""
        if token in self._full:
            return (self._full[token].writer,)
        if token in self._free:
            return self._free[token][1].lagging()
        return tuple(q.name for q in self._program.queues if token in _signalled(q.body))

    def _add_ring(self, ring: Ring) -> None:
        unknown = [name for name in (ring.writer, *ring.readers) if name not in self._clocks]
        if unknown or not ring.readers:
            raise ProgramError(f"ring '{ring.name}': needs a writer and readers; unknown queues: {unknown}")
        free_token, full_token, writer = f"{ring.name}.free", f"{ring.name}.full", ring.writer
        free = self._count(writer, free_token, ring.slots)
        slots = RingSlots(free, ring.readers)
        filled: list[TokenSink] = [HeldSlots(full_token, free)]
        for reader, release in slots.readers.items():
            full = self._count(reader, full_token, 0)
            filled.append(self._border(writer, reader, full))
            self.sinks[reader][free_token] = HeldSlots(free_token, full), self._border(reader, writer, release)
        self.sinks[writer][full_token] = tuple(filled)
        self._rings[ring.name] = self._full[full_token] = ring
        self._free[free_token] = ring, slots

    def _count(self, taker: str, token: str, initial: int) -> TokenCounter:
        counter = TokenCounter(token, initial, self._notify[taker])
        self.counters[taker][token] = counter
        return counter

    def connect(self, queue: str, token: str) -> tuple[TokenSink, ...]:
        """Where signals of semaphore ``token`` by ``queue`` go; raises ProgramError when it may not signal it."""
        taker = self._takers.get(token)
        if taker is not None:
            return (self._border(queue, taker, self.counters[taker][token]),)
        if token in self._semaphores:
            return ()
        if token in self._full or token in self._free:
            allowed = (self._full[token].writer,) if token in self._full else self._free[token][0].readers
            raise ProgramError(f"queue '{queue}' signals '{token}'; only {', '.join(allowed)} may")
        names = list(self._semaphores)
        raise ProgramError(f"queue '{queue}' signals unknown token '{token}'{nearest(token, names)}")

    def _border(self, giver: str, taker: str, sink: TokenSink) -> TokenSink:
        clock = self._clocks[taker]
        return ClockCrossing(self._event_loop, clock, sink) if clock.crosses(self._clocks[giver]) else sink


def _takers(program: Program) -> dict[str, str]:
    """Semaphore -> the one queue that waits for it."""
    semaphores = {semaphore.name for semaphore in program.semaphores}
    takers: dict[str, str] = {}
    for queue in program.queues:
        for command in commands_of(queue.body):
            for token in command.waits:
                if token.name in semaphores and takers.setdefault(token.name, queue.name) != queue.name:
                    raise ProgramError(
                        f"semaphore '{token.name}' is waited on by '{takers[token.name]}' and '{queue.name}' "
                        f"({command.name}); one queue may wait on it"
                    )
    return takers


def _signalled(body: tuple[ProgramNode, ...]) -> set[str]:
    return {token.name for command in commands_of(body) for token in command.signals}


def commands_of(body: tuple[ProgramNode, ...]) -> Iterator[Command]:
    """The commands of a queue's text, each once."""
    for node in body:
        if isinstance(node, CommandLoop):
            yield from commands_of(node.body)
        else:
            yield node
