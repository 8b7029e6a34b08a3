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

from archsim.ir.program import Program, Ring
from archsim.ir.unroll import Step

NOBODY = -1  # queue number of the taker of a token that no queue waits for
NEVER = 2**62  # index of a command that does not exist: a token nobody gives

Givers = tuple[tuple[int, Sequence[int]], ...]


@dataclass(frozen=True, slots=True)
class Source:
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
        found = []
        for queue, indices in self.givers:
            own = short - (self.total - len(indices))
            if own > 0:
                found.append((queue, indices[own - 1]))
        return found


@dataclass(frozen=True, slots=True)
class Wait:
    """A command that waits: ``needs`` hold in every interleaving; ``counted``: (source of several givers, tokens)."""

    index: int
    needs: tuple[tuple[int, int], ...]
    counted: tuple[tuple[Source, int], ...]


@dataclass(slots=True)
class Draw:
    """What one queue takes of one token: its sources and the command index of each token taken.

    For a ring's token, taking number k takes slot number k.
    """

    sources: tuple[Source, ...]
    commands: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Ledger:
    """``steps[q]`` of queue number q, its ``waits``, and what it draws by (q, token)."""

    program: Program
    steps: list[Sequence[Step]]
    numbers: Mapping[str, int]
    waits: list[list[Wait]] = field(default_factory=list)
    draws: dict[tuple[int, str], Draw] = field(default_factory=dict)

    def name(self, queue: int) -> str:
        """Name of queue number ``queue``."""
        return self.program.queues[queue].name

    def taken_slots(self, queue: int, ring: Ring) -> Sequence[int]:
        """Command index at which ``queue`` takes each slot of ``ring``, to write or to read it."""
        kind = "free" if self.name(queue) == ring.writer else "full"
        return self.draws[queue, f"{ring.name}.{kind}"].commands


def build_ledger(program: Program, steps: Mapping[str, Sequence[Step]]) -> Ledger:
    """Reduce the unrolled commands of every queue to what they take and give."""
    numbers = {queue.name: number for number, queue in enumerate(program.queues)}
    ledger = Ledger(program, [steps[queue.name] for queue in program.queues], numbers)
    given = _given(ledger)
    for ring in program.rings:
        _add_ring(ledger, ring, given)
    plain = {item.name: (_source(item.name, item.initial, 0, given, None),) for item in program.semaphores}
    for queue in range(len(program.queues)):
        ledger.waits.append(_waits(ledger, queue, plain))
    waited = {token for _, token in ledger.draws}
    for token, sources in plain.items():
        if token not in waited:
            ledger.draws[NOBODY, token] = Draw(sources)
    return ledger


def _given(ledger: Ledger) -> dict[str, dict[int, list[int]]]:
    """Token -> queue number -> command index of each token given."""
    given: dict[str, dict[int, list[int]]] = {}
    for queue, steps in enumerate(ledger.steps):
        own: dict[str, list[int]] = {}
        for step in steps:
            for name, n in step.signals:
                if name not in own:
                    own[name] = given.setdefault(name, {})[queue] = []
                own[name].extend((step.index,) * n)
    return given


def _source(
    token: str, initial: int, final: int, given: Mapping[str, Mapping[int, list[int]]], only: int | None
) -> Source:
    """A source given by every queue, or by queue number ``only``."""
    by_queue = given.get(token, {})
    givers: Givers = tuple(by_queue.items()) if only is None else ((only, by_queue.get(only, [])),)
    return Source(token, initial, final, givers, sum(len(indices) for _, indices in givers))


def _add_ring(ledger: Ledger, ring: Ring, given: Mapping[str, Mapping[int, list[int]]]) -> None:
    free, full = f"{ring.name}.free", f"{ring.name}.full"
    writer, readers = ledger.numbers[ring.writer], [ledger.numbers[reader] for reader in ring.readers]
    for reader in readers:
        ledger.draws[reader, full] = Draw((_source(full, 0, 0, given, writer),))
    frees = tuple(_source(free, ring.slots, ring.slots, given, reader) for reader in readers)
    ledger.draws[writer, free] = Draw(frees)


def _waits(ledger: Ledger, queue: int, plain: Mapping[str, tuple[Source, ...]]) -> list[Wait]:
    found = []
    draws: dict[str, Draw] = {token: draw for (number, token), draw in ledger.draws.items() if number == queue}
    for step in ledger.steps[queue]:
        if not step.waits:
            continue
        needs: list[tuple[int, int]] = []
        counted: list[tuple[Source, int]] = []
        for name, n in step.waits:
            if name not in draws:
                draws[name] = ledger.draws[queue, name] = Draw(plain[name])
            draw = draws[name]
            draw.commands.extend((step.index,) * n)
            taken = len(draw.commands)
            for source in draw.sources:
                needs += source.needs(taken)
                if len(source.givers) > 1:
                    counted.append((source, taken))
        found.append(Wait(step.index, tuple(needs), tuple(counted)))
    return found
