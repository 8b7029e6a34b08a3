"""What a command waits for of earlier layers: on its own core, and on all cores.

Tokens of one core are called ``core[3].store.5>core[3].load``: its load queue may go on when its store queue is done
with layer 5. Where cores meet - in memories that they share, and in a core's own memory where another core writes - it
takes all of them: each gives ``store.5>load``, the first one's queue collects them and lets the others go on with
``store.5>core[3].load``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from archsim.ir.program import Command, Semaphore, Token, When
from mapper.lower.fences import Fences, Span
from mapper.lower.item import Lane

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
    """Fences between the layers of a Program; ``queues``: lane -> names of its queue by core; ``shared``: memories
    that all cores reach.
    """

    def __init__(
        self, queues: Mapping[Lane, Sequence[str]], spans: Mapping[str, Span], cores: int, shared: frozenset[str]
    ) -> None:
        self.names, self.spans, self.cores, self.shared = (
            {lane: of[0] for lane, of in queues.items()},
            spans,
            cores,
            shared,
        )
        self._own = Fences(spans)
        self._all = Fences(spans, across=True)
        self._labels = {label(lane): lane for lane in queues}
        self._queues = queues
        self._called: dict[str, list[str]] = {}

    def queue(self, lane: Lane, core: int) -> str:
        """Name of a lane's queue on a core."""
        return self._queues[lane][core]

    def instances(self, lane: Lane) -> range:
        """The cores that have such a queue: the host has one."""
        return range(len(self._queues[lane]))

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

    def wait_for_all(self, layer: int, lane: Lane, waits: Waits) -> Waits:
        """The same, and all that earlier layers do in other queues."""
        if not layer:
            return waits
        if self.cores > 1:
            named = [self._all.need(layer - 1, label(other), label(lane)) for other in self.names]
            return Waits(waits.own, (*waits.every, *chain.from_iterable(named)))
        mine = self.names[lane]
        named = [self._own.need(layer - 1, name, mine) for name in self.names.values() if name != mine]
        return Waits((*waits.own, *chain.from_iterable(named)), waits.every)

    def ended(self, layer: int, lane: Lane, told: Collection[Lane]) -> tuple[Token, ...]:
        """The tokens by which a lane of one queue sees that all that earlier layers do in other lanes has ended; from
        then on the queues of the lanes that it has ``told`` know."""
        others = [other for other in self.names if other != lane]
        if self.cores > 1:
            named = [self._all.need(layer - 1, label(other), label(lane)) for other in others]
            waits = Waits((), tuple(chain.from_iterable(named)))
        else:
            named = [self._own.need(layer - 1, self.names[other], self.names[lane]) for other in others]
            waits = Waits(tuple(chain.from_iterable(named)))
        self._own.all_known(layer - 1, tuple(self.names.values()), [self.names[each] for each in told])
        self._all.all_known(layer - 1, tuple(self._labels), [label(each) for each in told])
        return self.waits(lane, waits, ())[0]

    def close_layer(self, layer: int) -> None:
        """End a layer."""
        self._own.close_layer(layer, tuple(self.names.values()))
        self._all.close_layer(layer, tuple(self._labels))

    def waits(self, lane: Lane, waits: Waits, when: When) -> list[tuple[Token, ...]]:
        """The tokens that each core's queue takes."""
        cores = self.instances(lane)
        if not waits.own and not waits.every:
            return [()] * len(cores)
        own = [self._of_cores(token) for token in waits.own]
        released = [self._released(token, lane) for token in waits.every]
        found = [tuple([Token(names[core], 1, when) for names in (*own, *released)]) for core in cores]
        mine = [Token(names[0], 1, when) for names in own]
        if len(cores) == 1:
            mine += [Token(token, self._given(token), when) for token in waits.every]
        found[0] = tuple(mine)
        return found

    def collected(self, lane: Lane, layer: str, waits: Waits, when: When) -> Iterator[Command]:
        """What the first core's queue does before a command that needs all cores: then the others may go on too."""
        if len(self.instances(lane)) == 1:
            return
        for token in waits.every:
            signals = tuple([Token(name) for name in self._released(token, lane)[1:]])
            waited = (Token(token, self._given(token)),)
            yield Command(f"{layer}.{token}", "SYNC", layer, waits=waited, signals=signals, when=when)

    def signals(self, lane: Lane, layer: int) -> list[tuple[Token, ...]]:
        """What each core's queue gives when it is done with a layer."""
        own = [self._of_cores(token) for token in self._own.signals(self.names[lane], layer)]
        every = [Token(token) for token in self._all.signals(label(lane), layer)]
        return [(*[Token(names[core]) for names in own], *every) for core in self.instances(lane)]

    def semaphores(self) -> Iterator[Semaphore]:
        """All tokens."""
        for semaphore in self._own.semaphores():
            yield from map(Semaphore, self._of_cores(semaphore.name))
        for semaphore in self._all.semaphores():
            yield semaphore
            lane = self._labels[semaphore.name.rpartition(">")[2]]
            yield from map(Semaphore, self._released(semaphore.name, lane)[1:])

    def _of_cores(self, token: str) -> list[str]:
        """A core's own token, as each core calls it: one object for equal names."""
        found = self._called.get(token)
        if found is None:
            found = self._called[token] = [token.replace("core[0]", f"core[{core}]") for core in range(self.cores)]
        return found

    def _given(self, token: str) -> int:
        """How often it is given: once by each core."""
        return len(self.instances(self._labels[token.rpartition(">")[0].rpartition(".")[0]]))

    def _released(self, token: str, lane: Lane) -> list[str]:
        """What lets each core's queue go on that waits for a token of all; the first one takes that one itself."""
        found = self._called.get(token)
        if found is None:
            source = token.rpartition(">")[0]
            found = self._called[token] = [f"{source}>{queue}" for queue in self._queues[lane]]
        return found
