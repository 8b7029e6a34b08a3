"""A collective of cores as moves of a Program: who sends which elements of its buffer to whom, and after which tokens.

Each core has its buffer in a tensor of its own memory; its DMA queue sends from there. A move waits for the moves of
other queues that it must follow: those that end at its source, and those that read or write the same elements of its
targets. What follows by the queue's own order, or from an earlier wait for the same queue, has no token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from archsim.base.errors import ConfigError
from archsim.facts.collectives import CollectiveHop, Combine, expand
from archsim.ir.program import Affine, Command, Extent, Region, Semaphore, Token


@dataclass(frozen=True)
class Collective:
    """A collective (a name of ``archsim.facts.collectives``) over equal buffers.

    ``buffers``: core -> tensor; ``elements`` of ``element_bytes`` lie one behind the other from its first byte.
    ``queues``: core -> the DMA queue that sends; ``root``: the place in ``buffers`` of the core that is one's.
    ``filled``: core -> the queue that has filled its buffer before; ``read``: core -> the queue that uses it after.
    """

    name: str
    layer: str
    buffers: Mapping[int, str]
    queues: Mapping[int, str]
    elements: int
    element_bytes: int
    root: int = 0
    combine: Combine = "add"
    role: str = "partials"
    filled: Mapping[int, str] = field(default_factory=dict)
    read: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Moves:
    """``commands`` by core, for its queue; ``semaphores`` to declare.

    ``begin``: core -> what the queue that fills its buffer signals when it is full; ``end``: core -> what the queue
    that uses its buffer waits for.
    """

    commands: Mapping[int, tuple[Command, ...]]
    semaphores: tuple[Semaphore, ...]
    begin: Mapping[int, tuple[Token, ...]]
    end: Mapping[int, tuple[Token, ...]]


def moves(asked: Collective) -> Moves:
    """The moves of a collective; raises ConfigError as ``expand``, and for a core that sends without a queue."""
    nodes = list(asked.buffers)
    hops = expand(asked.name, nodes, asked.elements, root=asked.root, combine=asked.combine)
    for hop in hops:
        if hop.source not in asked.queues:
            raise ConfigError(f"collective {asked.name}: core {hop.source} sends; found no queue of it")
    return _Expansion(asked, hops).moves()


class _Expansion:
    """Tokens between the hops of one collective, which go in order of their steps."""

    def __init__(self, asked: Collective, hops: list[CollectiveHop]) -> None:
        self.asked, self.hops = asked, hops
        self.waits: list[list[Token]] = [[] for _ in hops]
        self.signals: list[list[Token]] = [[] for _ in hops]
        self.tokens: dict[str, None] = {}
        self._waited: list[dict[int, int]] = [{} for _ in hops]

    def moves(self) -> Moves:
        """All commands and tokens."""
        for number, hop in enumerate(self.hops):
            for giver, earlier in self._needed(number, hop).items():
                self._token(earlier, number, f"{self._queue(giver)}>{self._queue(hop.source)}")
        begin = {core: tuple(self._begin(core)) for core in self.asked.filled}
        end = {core: tuple(self._end(core)) for core in self.asked.read}
        commands = {core: tuple(self._commands(core)) for core in self.asked.buffers}
        return Moves(commands, tuple(Semaphore(name) for name in self.tokens), begin, end)

    def _queue(self, core: int) -> str:
        return self.asked.queues[core]

    def _name(self, what: str) -> str:
        name = f"{self.asked.layer}@{self.asked.name}.{what}"
        self.tokens[name] = None
        return name

    def _needed(self, number: int, hop: CollectiveHop) -> dict[int, int]:
        """The last hop of each other core that this one must follow and no earlier one of its core has waited for."""
        found: dict[int, int] = {}
        for earlier, other in enumerate(self.hops[:number]):
            if other.source != hop.source and _ordered(other, hop):
                found[other.source] = earlier
        known: dict[int, int] = {}
        for at in range(number):
            if self.hops[at].source == hop.source:
                known |= self._waited[at]  # never less than before
        needed = {giver: at for giver, at in found.items() if at > known.get(giver, -1)}
        self._waited[number] = needed
        return needed

    def _token(self, earlier: int, later: int, what: str) -> None:
        token = Token(self._name(what))
        self.signals[earlier].append(token)
        self.waits[later].append(token)

    def _begin(self, core: int) -> Iterator[Token]:
        """A token for each other queue that touches a core's buffer, which its first move there takes."""
        first: dict[int, int] = {}
        for number, hop in enumerate(self.hops):
            if core == hop.source or core in hop.targets:
                first.setdefault(hop.source, number)
        for giver, number in first.items():
            if self._queue(giver) != self.asked.filled[core]:
                token = Token(self._name(f"filled[{core}]>{self._queue(giver)}"))
                self.waits[number].append(token)
                yield token

    def _end(self, core: int) -> Iterator[Token]:
        """A token from the last move of each other queue that touches a core's buffer."""
        last = {hop.source: at for at, hop in enumerate(self.hops) if core == hop.source or core in hop.targets}
        for giver, number in last.items():
            if self._queue(giver) != self.asked.read[core]:
                token = Token(self._name(f"{self._queue(giver)}>used[{core}]"))
                self.signals[number].append(token)
                yield token

    def _commands(self, core: int) -> Iterator[Command]:
        for number, hop in enumerate(self.hops):
            if hop.source == core:
                yield Command(
                    f"{self.asked.layer}.{self.asked.name}{number}",
                    "MOVE",
                    self.asked.layer,
                    role=self.asked.role,
                    waits=tuple(self.waits[number]),
                    signals=tuple(self.signals[number]),
                    extents=(Extent("i", hop.elements),),
                    reads=(self._region("src", hop.source, hop),),
                    writes=tuple(self._region("dst", target, hop) for target in hop.targets),
                    combine=hop.combine,
                )

    def _region(self, operand: str, core: int, hop: CollectiveHop) -> Region:
        width = self.asked.element_bytes
        return Region(operand, self.asked.buffers[core], width, (("i", width),), Affine(hop.start * width))


def _ordered(first: CollectiveHop, then: CollectiveHop) -> bool:
    """Whether ``then`` must follow ``first``: they meet in a buffer, and one of them writes there."""
    if first.start >= then.stop or then.start >= first.stop:
        return False
    wrote, writes = {*first.targets}, {*then.targets}
    return bool(wrote & (writes | {then.source}) or first.source in writes)
