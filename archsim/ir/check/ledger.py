"""Who gives and takes which token, command by command: the Program reduced to its tokens.

Every wait draws on one or more **sources**. A plain semaphore is one source with any number of giving queues.
``RING.full`` is one source per reading queue, given by the writer. ``RING.free`` is one source per reader, all of
which the writer needs: a slot is free when every reader has signalled it. So each source has one taking queue.

For the happens-before relation of all interleavings, the taker of ``need`` tokens of a source is after the command of
queue s that gives token number ``need - initial - (everything the other queues could ever give)`` of s, where positive.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from archsim.ir.program import Program, Ring
from archsim.ir.unroll import Step

NOBODY = -1  # queue number of the taker of a token that no queue waits for
NEVER = 2**62  # index of a command that does not exist: a token nobody gives


@dataclass(frozen=True, slots=True)
class Source:
    """Tokens of ``token`` for one taker. ``givers``: (queue number, command index of each token it gives)."""

    token: str
    initial: int
    final: int
    givers: tuple[tuple[int, Sequence[int]], ...]

    @property
    def total(self) -> int:
        """Tokens given over the whole Program."""
        return sum(len(indices) for _, indices in self.givers)

    def available(self, done: Sequence[int]) -> int:
        """Tokens given when queue q has finished its first ``done[q]`` commands."""
        return self.initial + sum(bisect_left(indices, done[queue]) for queue, indices in self.givers)

    def needs(self, taken: int) -> list[tuple[int, int]]:
        """(queue, command) that surely ended before the taker of token number ``taken`` (from 1) starts."""
        total = self.total
        short = taken - self.initial
        if short > total:
            return [(self.givers[0][0] if self.givers else 0, NEVER)]
        found = []
        for queue, indices in self.givers:
            own = short - (total - len(indices))
            if own > 0:
                found.append((queue, indices[own - 1]))
        return found


@dataclass(frozen=True, slots=True)
class Wait:
    """A command that waits. ``needs`` hold in every interleaving; ``counted``: (source, tokens) with several givers."""

    index: int
    needs: tuple[tuple[int, int], ...]
    counted: tuple[tuple[Source, int], ...]


@dataclass(slots=True)
class Ledger:
    """``steps[q]`` of queue number q, its ``waits``, the ``sources`` with who takes them and the total taken.

    ``slots[q, ring]``: (command index, slot number) each time queue q takes a slot of a ring, to write or to read it;
    ``claims[ring]``: command index of the writer at which each slot was taken.
    """

    program: Program
    steps: list[Sequence[Step]]
    numbers: Mapping[str, int]
    waits: list[list[Wait]] = field(default_factory=list)
    sources: dict[tuple[int, str], tuple[Source, ...]] = field(default_factory=dict)
    taken: dict[tuple[int, str], int] = field(default_factory=dict)
    slots: dict[tuple[int, str], list[tuple[int, int]]] = field(default_factory=dict)
    claims: dict[str, list[int]] = field(default_factory=dict)

    def name(self, queue: int) -> str:
        """Name of queue number ``queue``."""
        return self.program.queues[queue].name


def build_ledger(program: Program, steps: Mapping[str, Sequence[Step]]) -> Ledger:
    """Reduce the unrolled commands of every queue to what they take and give."""
    numbers = {queue.name: number for number, queue in enumerate(program.queues)}
    ledger = Ledger(program, [steps[queue.name] for queue in program.queues], numbers)
    given = _given(ledger)
    rings = {f"{ring.name}.{kind}": (ring, kind) for ring in program.rings for kind in ("free", "full")}
    plain = _plain_sources(program, given)
    for ring in program.rings:
        ledger.sources.update(_ring_sources(ring, numbers, given))
    for queue in range(len(program.queues)):
        ledger.waits.append(_waits(ledger, queue, rings, plain))
    waited = {token for _, token in ledger.sources}
    ledger.sources.update({(NOBODY, token): sources for token, sources in plain.items() if token not in waited})
    return ledger


def _given(ledger: Ledger) -> dict[str, dict[int, list[int]]]:
    """Token -> queue number -> command index of each token given."""
    given: dict[str, dict[int, list[int]]] = {}
    for queue, steps in enumerate(ledger.steps):
        for step in steps:
            for name, n in step.signals:
                indices = given.setdefault(name, {}).setdefault(queue, [])
                indices.extend([step.index] * n)
    return given


def _plain_sources(program: Program, given: dict[str, dict[int, list[int]]]) -> dict[str, tuple[Source, ...]]:
    return {
        item.name: (Source(item.name, item.initial, 0, tuple(given.get(item.name, {}).items())),)
        for item in program.semaphores
    }


def _ring_sources(
    ring: Ring, numbers: Mapping[str, int], given: dict[str, dict[int, list[int]]]
) -> dict[tuple[int, str], tuple[Source, ...]]:
    free, full = f"{ring.name}.free", f"{ring.name}.full"
    writer = numbers[ring.writer]
    filled = ((writer, given.get(full, {}).get(writer, [])),)
    found: dict[tuple[int, str], tuple[Source, ...]] = {}
    frees = []
    for reader in ring.readers:
        number = numbers[reader]
        found[number, full] = (Source(full, 0, 0, filled),)
        frees.append(Source(free, ring.slots, ring.slots, ((number, given.get(free, {}).get(number, [])),)))
    found[writer, free] = tuple(frees)
    return found


def _waits(
    ledger: Ledger, queue: int, rings: Mapping[str, tuple[Ring, str]], plain: Mapping[str, tuple[Source, ...]]
) -> list[Wait]:
    found = []
    for step in ledger.steps[queue]:
        if not step.waits:
            continue
        needs: list[tuple[int, int]] = []
        counted: list[tuple[Source, int]] = []
        for name, n in step.waits:
            key = (queue, name)
            before = ledger.taken.get(key, 0)
            ledger.taken[key] = taken = before + n
            if name in rings:
                _take_slots(ledger, queue, step.index, rings[name], range(before, taken))
            else:
                ledger.sources[key] = plain[name]
            for source in ledger.sources[key]:
                needs += source.needs(taken)
                if len(source.givers) > 1:
                    counted.append((source, taken))
        found.append(Wait(step.index, tuple(needs), tuple(counted)))
    return found


def _take_slots(ledger: Ledger, queue: int, index: int, token: tuple[Ring, str], slots: range) -> None:
    ring, kind = token
    ledger.slots.setdefault((queue, ring.name), []).extend((index, slot) for slot in slots)
    if kind == "free":
        ledger.claims.setdefault(ring.name, []).extend([index] * len(slots))
