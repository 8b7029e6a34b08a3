"""The end of the token run: rings as they began, semaphores at 0, no slot signalled before it was taken."""

from __future__ import annotations

from operator import lt
from typing import NoReturn

from archsim.errors import ProgramError
from archsim.ir.check.ledger import Ledger, Source
from archsim.ir.program import Ring


def check_ends(ledger: Ledger) -> None:
    """Raise ProgramError for tokens that are lost or missing at the end, and for slots signalled before taken."""
    for ring in ledger.program.rings:
        held = ledger.rings[ring.name]
        for queue in (held.writer, *held.readers):
            taken, given = held.slots(queue)
            if len(given) != len(taken) or any(map(lt, given, taken)):
                _refuse_slots(ledger, ring, queue)
    for (queue, _), draw in ledger.draws.items():
        for source in draw.sources:
            left = source.initial + source.total - len(draw.commands)
            if left != source.final:
                raise ProgramError(_lost(ledger, queue, source, len(draw.commands), left))


def _refuse_slots(ledger: Ledger, ring: Ring, queue: int) -> NoReturn:
    """The writer signals as many slots full as it took, a reader as many free, none before it took it."""
    held = ledger.rings[ring.name]
    kind = "full" if queue == held.writer else "free"
    taken, given = held.slots(queue)
    for number, (took, gave) in enumerate(zip(taken, given, strict=False)):
        if gave < took:
            raise ProgramError(
                f"{ledger.steps[queue][gave].where} of {ledger.name(queue)} signals slot {number} of ring "
                f"'{ring.name}' {kind} before it is taken by {ledger.steps[queue][took].where}"
            )
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
