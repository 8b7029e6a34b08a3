"""Who waits for whom when the token run stops: the cycle, or the token that nobody gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from archsim.base.errors import ProgramError
from archsim.ir.check.ledger import Ledger, Source


def report_deadlock(ledger: Ledger, done: Sequence[int]) -> NoReturn:
    """Raise ProgramError with the wait cycle; ``done[q]``: commands of queue q that could finish."""
    stuck = [queue for queue, steps in enumerate(ledger.steps) if done[queue] < len(steps)]
    chain: list[int] = []
    lines: list[str] = []
    queue: int | None = stuck[0]
    while queue is not None and queue not in chain:
        chain.append(queue)
        line, queue = _explain(ledger, done, queue)
        lines.append(line)
    if queue is None:
        raise ProgramError("deadlock: a token that nobody gives\n" + "\n".join(lines))
    cycle = lines[chain.index(queue) :]
    raise ProgramError("deadlock: these commands wait for each other in a cycle\n" + "\n".join(cycle))


def _explain(ledger: Ledger, done: Sequence[int], queue: int) -> tuple[str, int | None]:
    """One line for the head of ``queue``, and the queue that it waits for (None: nobody)."""
    step = ledger.steps[queue][done[queue]]
    source, wants, left = _unmet(ledger, done, queue)
    here = f"{step.where} (command {step.index} of {ledger.name(queue)})"
    line = f"  {here} waits for {wants} '{source.token}' and there are {left}"
    givers = [(number, indices) for number, indices in source.givers if indices and indices[-1] >= done[number]]
    if not givers:
        return f"{line}; no command left gives one", None
    number, indices = givers[0]
    index = next(index for index in indices if index >= done[number])
    giver = ledger.steps[number][index]
    where = "itself" if (number, index) == (queue, step.index) else giver.where
    return f"{line}; the next is given by {where} (command {index} of {ledger.name(number)})", number


def _unmet(ledger: Ledger, done: Sequence[int], queue: int) -> tuple[Source, int, int]:
    """The first source that the head of ``queue`` is short of, the tokens it takes and the tokens left for it."""
    step = ledger.steps[queue][done[queue]]
    past = ledger.steps[queue][: step.index]
    short = []
    for name in dict.fromkeys(name for name, _ in step.waits):
        before = sum(n for earlier in past for token, n in earlier.waits if token == name)
        wants = sum(n for token, n in step.waits if token == name)
        for source in ledger.draws[queue, name].sources:
            left = source.available(done) - before
            if left < wants:
                short.append((source, wants, left))
    return short[0]
