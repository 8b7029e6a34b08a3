"""What a command waits for of earlier layers: on its own core, and on all cores.

Tokens of one core are called ``core[3].store.5>core[3].load``: its load queue may go on when its store queue is done
with layer 5. Where cores meet - in memories that they share, and in a core's own memory where another core writes - it
takes all of them: each gives ``store.5>load``, the first one's queue collects them and lets the others go on with
``store.5>core[3].load``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from sys import intern
from typing import NamedTuple

from archsim.ir.program import Command, Semaphore, Token, When
from mapper.lower.fences import Fences, Span
from mapper.lower.item import Lane, of_core

HOST: Lane = ("host", 0)
Touches = tuple[tuple[str, bool], ...]


def label(lane: Lane) -> str:
    """``load``, ``load1``: an engine and its further channels."""
    return f"{lane[0]}{lane[1] or ''}"


class Waits(NamedTuple):
    """Tokens that a command takes before its first run: of its own core, and of every core."""

    own: tuple[str, ...] = ()
    every: tuple[str, ...] = ()


class Order:
    """Fences between the layers of a Program of ``cores`` cores; ``shared``: memories that all of them reach."""

    def __init__(
        self, names: Mapping[Lane, str], spans: Mapping[str, Span], cores: int, shared: frozenset[str]
    ) -> None:
        self.names, self.spans, self.cores, self.shared = names, spans, cores, shared
        self._own = Fences(spans)
        self._all = Fences(spans, across=True)
        self._labels = {label(lane): lane for lane in names}
        self._queues = {lane: [of_core(name, core) for core in range(cores)] for lane, name in names.items()}

    def queue(self, lane: Lane, core: int) -> str:
        """Name of a lane's queue on a core."""
        return self._queues[lane][core]

    def instances(self, lane: Lane) -> range:
        """The cores that have such a queue: the host has one."""
        return range(1 if lane == HOST else self.cores)

    def wait_for(self, layer: int, lane: Lane, touches: Touches, *, remote: bool = False) -> Waits:
        """What a command needs; ``remote``: it writes into the memories of other cores."""
        met = tuple(touch for touch in touches if remote or self.spans[touch[0]].memory in self.shared)
        alone = tuple(touch for touch in touches if touch not in met)
        if self.cores > 1:
            self._all.note(layer, label(lane), alone)
        return Waits(
            tuple(self._own.wait_for(layer, self.names[lane], alone)),
            tuple(self._all.wait_for(layer, label(lane), met)),
        )

    def close_layer(self, layer: int) -> None:
        """End a layer."""
        self._own.close_layer(layer, tuple(self.names.values()))
        self._all.close_layer(layer, tuple(self._labels))

    def waits(self, lane: Lane, core: int, waits: Waits, when: When) -> tuple[Token, ...]:
        """The tokens that a core's queue takes."""
        own = [Token(of_core(token, core), when=when) for token in waits.own]
        if core:
            return (*own, *(Token(self._released(token, lane, core), when=when) for token in waits.every))
        if len(self.instances(lane)) > 1:
            return tuple(own)
        return (*own, *(Token(token, self._given(token), when) for token in waits.every))

    def collected(self, lane: Lane, core: int, layer: str, waits: Waits, when: When) -> Iterator[Command]:
        """What the first core's queue does before a command that needs all cores: then the others may go on too."""
        others = self.instances(lane)[1:]
        for token in waits.every if others and not core else ():
            signals = tuple(Token(self._released(token, lane, other)) for other in others)
            waited = (Token(token, self._given(token)),)
            yield Command(f"{layer}.{token}", "SYNC", layer, waits=waited, signals=signals, when=when)

    def signals(self, lane: Lane, core: int, layer: int) -> tuple[Token, ...]:
        """What a core's queue gives when it is done with a layer."""
        own = [of_core(token, core) for token in self._own.signals(self.names[lane], layer)]
        return tuple(Token(token) for token in (*own, *self._all.signals(label(lane), layer)))

    def semaphores(self) -> Iterator[Semaphore]:
        """All tokens."""
        for semaphore in self._own.semaphores():
            for core in range(self.cores):
                yield Semaphore(of_core(semaphore.name, core))
        for semaphore in self._all.semaphores():
            yield semaphore
            lane = self._labels[semaphore.name.rpartition(">")[2]]
            yield from (Semaphore(self._released(semaphore.name, lane, core)) for core in self.instances(lane)[1:])

    def _given(self, token: str) -> int:
        """How often it is given: once by each core."""
        return len(self.instances(self._labels[token.rpartition(">")[0].rpartition(".")[0]]))

    def _released(self, token: str, lane: Lane, core: int) -> str:
        return intern(f"{token.rpartition('>')[0]}>{self.queue(lane, core)}")
