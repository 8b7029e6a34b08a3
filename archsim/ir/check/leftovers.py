"""The end of the token run: rings as they began, semaphores at 0, no slot signalled before it was taken."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from archsim.base.errors import ProgramError
from archsim.ir.check.ledger import Ledger, Source
from archsim.ir.check.sources import Sources
from archsim.ir.program import Ring

IntArray = NDArray[np.int64]


def check_ends(ledger: Ledger, sources: Sources) -> None:
    """Raise ProgramError for tokens that are lost or missing at the end, and for slots signalled before taken."""
    if not _held_rightly(ledger):
        for ring in ledger.program.rings:
            for name in (ring.writer, *ring.readers):
                _check_held(ledger, ring, ledger.numbers[name])
    taken = ledger.taken.each_key
    takes = np.searchsorted(taken, sources.key, side="right") - np.searchsorted(taken, sources.key, side="left")
    if (sources.initial + sources.total - takes != sources.final).any():
        for (queue, _), draw in ledger.draws.items():
            for source in draw.sources:
                left = source.initial + source.total - len(draw.commands)
                if left != source.final:
                    raise ProgramError(_lost(ledger, queue, source, len(draw.commands), left))


def _held_rightly(ledger: Ledger) -> bool:
    """Whether all that hold slots of a ring signal as many as they take, and none before it is taken."""
    held = [
        (ledger.numbers[name], 2 * number + (name != ring.writer))
        for number, ring in enumerate(ledger.program.rings)
        for name in (ring.writer, *ring.readers)
    ]
    queue, takes = np.array(held, dtype=np.int64).reshape(-1, 2).T
    begin, end = ledger.taken.each(queue, takes)
    first, last = ledger.given.each(queue, takes ^ 1)
    sizes = end - begin
    if (last - first != sizes).any():
        return False
    inside = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    took = ledger.taken.each_at[np.repeat(begin, sizes) + inside]
    return not (ledger.given.each_at[np.repeat(first, sizes) + inside] < took).any()


def _check_held(ledger: Ledger, ring: Ring, queue: int) -> None:
    """The writer signals as many slots full as it took, a reader as many free, none before it took it."""
    kind = "full" if ledger.name(queue) == ring.writer else "free"
    taken, given = ledger.slots(queue, ring)
    for number, (took, gave) in enumerate(zip(taken, given, strict=False)):
        if gave < took:
            raise ProgramError(
                f"{ledger.steps[queue][gave].where} of {ledger.name(queue)} signals slot {number} of ring "
                f"'{ring.name}' {kind} before it is taken by {ledger.steps[queue][took].where}"
            )
    if len(given) != len(taken):
        which = (given if len(given) > len(taken) else taken)[-1]
        raise ProgramError(
            f"lost tokens: {ledger.name(queue)} takes {len(taken)} slots of ring '{ring.name}' and signals "
            f"{len(given)} {kind}; the last command to do so is {ledger.steps[queue][which].where}"
        )


def _lost(ledger: Ledger, taker: int, source: Source, taken: int, left: int) -> str:
    kind = "lost" if left > source.final else "missing"
    text = f"{kind} tokens: '{source.token}' starts at {source.initial} and ends at {left} instead of {source.final}"
    for queue, indices in source.givers:
        last = f", the last by {ledger.steps[queue][indices[-1]].where}" if indices else ""
        text += f"; {ledger.name(queue)} gives {len(indices)}{last}"
    if not taken:
        return f"{text}; nobody takes any"
    last_take = ledger.draws[taker, source.token].commands[-1]
    return f"{text}; {ledger.name(taker)} takes {taken}, the last by {ledger.steps[taker][last_take].where}"
