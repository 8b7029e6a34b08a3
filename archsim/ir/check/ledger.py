"""Who gives and takes which token, command by command: the Program reduced to its tokens.

Every wait draws on one or more **sources**. A plain semaphore is one source with any number of giving queues.
``RING.full`` is one source per reading queue, given by the writer. ``RING.free`` is one source per reader, and the
writer needs all of them: a slot is free when every reader has signalled it. So each source has one taking queue.

For the happens-before relation of all interleavings, the taker of ``need`` tokens of a source comes after the command
of queue s that gives token number ``need - initial - (all that the other queues could ever give)`` of s, if positive.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from archsim.ir.program import Program, Ring
from archsim.ir.unroll import Step

NOBODY = -1  # queue number of the taker of a token that no queue waits for
NEVER = 2**62  # index of a command that does not exist: a token nobody gives

Givers = tuple[tuple[int, Sequence[int]], ...]
Given = Mapping[str, list[tuple[int, list[int]]]]  # token -> (queue number, command index of each token it gives)


class Source(NamedTuple):
    """Tokens of ``token`` for one taker. ``givers``: (queue number, command index of each token it gives).

    ``total``: tokens given over the whole Program; ``final``: tokens that must be left at its end.
    """

    token: str
    initial: int
    final: int
    givers: Givers
    total: int

    def available(self, done: Sequence[int]) -> int:
        """Tokens given when queue q has finished its first ``done[q]`` commands."""
        return self.initial + sum(bisect_left(indices, done[queue]) for queue, indices in self.givers)

    def needs(self, taken: int) -> Sequence[tuple[int, int]]:
        """(queue, command) that surely ended before the taker of token number ``taken`` (from 1) starts."""
        short = taken - self.initial
        if short <= 0:
            return ()
        if short > self.total:
            return ((self.givers[0][0] if self.givers else 0, NEVER),)
        if len(self.givers) == 1:
            queue, indices = self.givers[0]
            return ((queue, indices[short - 1]),)
        found = []
        for queue, indices in self.givers:
            own = short - (self.total - len(indices))
            if own > 0:
                found.append((queue, indices[own - 1]))
        return found


class Wait(NamedTuple):
    """Command ``at`` waits: ``needs`` hold in every interleaving; ``counted``: (source of several givers, tokens)."""

    at: int
    needs: Sequence[tuple[int, int]]
    counted: Sequence[tuple[Source, int]]


class Draw(NamedTuple):
    """What one queue takes of one token: its sources and the command index of each token taken.

    For a ring's token, taking number k takes slot number k.
    """

    sources: tuple[Source, ...]
    commands: list[int]


class Held(NamedTuple):
    """The tokens of one ring: queue numbers of its writer and readers, and what they draw (``full``: by reader)."""

    writer: int
    readers: tuple[int, ...]
    free: Draw
    full: tuple[Draw, ...]

    def slots(self, queue: int) -> tuple[Sequence[int], Sequence[int]]:
        """Command index at which ``queue`` takes each slot, to write or to read it, and at which it signals each."""
        if queue == self.writer:
            return self.free.commands, self.full[0].sources[0].givers[0][1]
        at = self.readers.index(queue)
        return self.full[at].commands, self.free.sources[at].givers[0][1]


@dataclass(slots=True)
class Ledger:
    """``steps[q]`` of queue number q, its ``waits``, what it draws by (q, token), and the tokens of each ring."""

    program: Program
    steps: list[Sequence[Step]]
    numbers: Mapping[str, int]
    waits: list[list[Wait]] = field(default_factory=list)
    draws: dict[tuple[int, str], Draw] = field(default_factory=dict)
    rings: dict[str, Held] = field(default_factory=dict)

    def name(self, queue: int) -> str:
        """Name of queue number ``queue``."""
        return self.program.queues[queue].name


def build_ledger(program: Program, steps: Mapping[str, Sequence[Step]]) -> Ledger:
    """Reduce the unrolled commands of every queue to what they take and give."""
    numbers = {queue.name: number for number, queue in enumerate(program.queues)}
    ledger = Ledger(program, [steps[queue.name] for queue in program.queues], numbers)
    given = _given(ledger)
    draws: list[dict[str, Draw]] = [{} for _ in program.queues]
    for ring in program.rings:
        _add_ring(ledger, ring, given, draws)
    plain = {item.name: (_source(item.name, item.initial, 0, given.get(item.name, ())),) for item in program.semaphores}
    for queue, own in enumerate(draws):
        ledger.waits.append(_waits(ledger, queue, own, plain))
    waited = {token for _, token in ledger.draws}
    for token, sources in plain.items():
        if token not in waited:
            ledger.draws[NOBODY, token] = Draw(sources, [])
    return ledger


def _given(ledger: Ledger) -> Given:
    """Who gives which token, by queue number."""
    given: dict[str, list[tuple[int, list[int]]]] = {}
    for queue, steps in enumerate(ledger.steps):
        own: dict[str, list[int]] = {}
        for step in steps:
            for name, n in step.signals:
                if name not in own:
                    own[name] = []
                if n == 1:
                    own[name].append(step.index)
                else:
                    own[name].extend((step.index,) * n)
        for name, indices in own.items():
            given.setdefault(name, []).append((queue, indices))
    return given


def _source(token: str, initial: int, final: int, givers: Sequence[tuple[int, list[int]]]) -> Source:
    total = len(givers[0][1]) if len(givers) == 1 else sum([len(indices) for _, indices in givers])
    return Source(token, initial, final, tuple(givers), total)


def _add_ring(ledger: Ledger, ring: Ring, given: Given, draws: Sequence[dict[str, Draw]]) -> None:
    free, full = f"{ring.name}.free", f"{ring.name}.full"
    writer, readers = ledger.numbers[ring.writer], tuple([ledger.numbers[reader] for reader in ring.readers])
    filled, freed = dict(given.get(full, ())), dict(given.get(free, ()))
    fulls = []
    for reader in readers:
        draw = Draw((_source(full, 0, 0, ((writer, filled.get(writer, [])),)),), [])
        ledger.draws[reader, full] = draws[reader][full] = draw
        fulls.append(draw)
    frees = [_source(free, ring.slots, ring.slots, ((reader, freed.get(reader, [])),)) for reader in readers]
    draw = ledger.draws[writer, free] = draws[writer][free] = Draw(tuple(frees), [])
    ledger.rings[ring.name] = Held(writer, readers, draw, tuple(fulls))


def _waits(ledger: Ledger, queue: int, draws: dict[str, Draw], plain: Mapping[str, tuple[Source, ...]]) -> list[Wait]:
    """The waits of one queue; ``draws``: what it draws by token, so far its rings'."""
    found = []
    for step in ledger.steps[queue]:
        if not step.waits:
            continue
        needs: list[tuple[int, int]] = []
        counted: list[tuple[Source, int]] = []
        for name, n in step.waits:
            if name not in draws:
                draws[name] = ledger.draws[queue, name] = Draw(plain[name], [])
            sources, commands = draws[name]
            commands.extend((step.index,) * n)
            taken = len(commands)
            for source in sources:
                needs += source.needs(taken)
                if len(source.givers) > 1:
                    counted.append((source, taken))
        found.append(Wait(step.index, needs, counted))
    return found
