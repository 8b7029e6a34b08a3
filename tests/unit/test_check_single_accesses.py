"""What is judged for the accesses of all stores at once is what every two of them, taken alone, say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product

import numpy as np
import pytest

from archsim.base.errors import ProgramError
from archsim.ir.check.hazards.accesses import READS, WRITES, AccessTable
from archsim.ir.check.hazards.collect import collect, operands_of
from archsim.ir.check.hazards.intervals import SingleAccesses, inside_written
from archsim.ir.check.tokens.ledger import build_ledger
from archsim.ir.check.tokens.run import HappensBefore, run_tokens
from archsim.ir.columns import ProgramColumns
from archsim.ir.program import Program, Ring
from tests.tools.mutants import mutants, subjects


def judged() -> Iterator[tuple[AccessTable, HappensBefore]]:
    """The golden Programs and a third of their mutants, as far as their tokens are right; rings of one slot too."""
    for subject in subjects():
        for program in (subject.program, *(mutant for _, _, mutant in islice(mutants(subject.program), 0, None, 3))):
            found = accesses_of(program)
            if found is not None:
                uses, order = found
                yield uses, order
                short = [replace(item, slots=1) if isinstance(item, Ring) else item for item in uses.items]
                yield replace(uses, items=short), order


def accesses_of(program: Program) -> tuple[AccessTable, HappensBefore] | None:
    try:
        ledger = build_ledger(ProgramColumns(program))
        return collect(operands_of(ledger)), run_tokens(ledger)
    except (ProgramError, KeyError, IndexError, StopIteration):
        return None


def rows(uses: AccessTable, group: int) -> list[tuple[int, int, int]]:
    """(command, first byte, end) of each access."""
    found = uses.accesses(group)
    return list(zip(found.index.tolist(), found.low.tolist(), found.high.tolist(), strict=True))


def before(uses: AccessTable, order: HappensBefore, one: int, at: int, two: int, then: int) -> bool:
    """Whether command ``at`` of group one's queue has surely ended when command ``then`` of group two's starts."""
    queues = uses.groups.queue
    return int(order.ended(queues[two], then, queues[one])) > at


def races(uses: AccessTable, order: HappensBefore, writes: int, others: int) -> bool:
    return any(
        low < end
        and first < high
        and not before(uses, order, writes, at, others, then)
        and not before(uses, order, others, then, writes, at)
        for (at, low, high), (then, first, end) in product(rows(uses, writes), rows(uses, others))
    )


def comes_around(uses: AccessTable, order: HappensBefore, reads: int) -> bool:
    """Whether a writer may reach a byte a second time before the last read that begins below it."""
    size = uses.items[int(uses.groups.store[reads])].size_bytes
    for writes in writers(uses, reads):
        for at, _, high in rows(uses, writes) if uses.groups.queue[writes] != uses.groups.queue[reads] else ():
            below = [then for then, low, _ in rows(uses, reads) if low < high - size]
            if below and not before(uses, order, reads, below[-1], writes, at):
                return True
    return False


def is_unsure(uses: AccessTable, order: HappensBefore, reads: int) -> bool:
    """Whether a read is not inside what is written, or some of that may come later and no equal write before."""
    inside = inside_written(uses.groups, uses.group, uses.low, uses.high)[
        int(uses.groups.begin[reads]) : int(uses.groups.end[reads])
    ].tolist()
    for (then, low, high), held in zip(rows(uses, reads), inside, strict=True):
        earlier, same = held, False
        for writes in writers(uses, reads):
            below = [at for at, first, _ in rows(uses, writes) if first < high]
            equal = [at for at, first, end in rows(uses, writes) if (first, end) == (low, high)]
            earlier &= not below or before(uses, order, writes, below[-1], reads, then)
            same |= bool(equal) and before(uses, order, writes, equal[0], reads, then)
        if not earlier and not same:
            return True
    return False


def writers(uses: AccessTable, group: int) -> list[int]:
    """Groups that write the store of one."""
    return [n for n in uses.of_store(int(uses.groups.store[group])) if uses.groups.kind[n] == WRITES]


@pytest.mark.slow
def test_accesses_of_all_stores_at_once_say_what_each_two_say() -> None:
    counts = dict.fromkeys(("race", "no race", "around", "not around", "unsure", "sure"), 0)
    for uses, order in judged():
        single, kind, store = SingleAccesses(uses, order), uses.groups.kind, uses.groups.store
        groups = range(len(kind))
        reads = np.array([n for n in groups if kind[n] == READS], dtype=np.int64)
        on_rings = np.array([n for n in reads if isinstance(uses.items[int(store[n])], Ring)], dtype=np.int64)
        pairs = [(w, o) for w, o in product(groups, groups) if store[w] == store[o] and kind[w] != READS and w != o]
        racing = [pair for pair in pairs if races(uses, order, *pair)]
        assert single.racing(np.array(pairs, dtype=np.int64).reshape(-1, 2)).tolist() == [list(p) for p in racing]
        around = [comes_around(uses, order, int(group)) for group in on_rings]
        assert single.reused(on_rings).tolist() == around
        unsure = [is_unsure(uses, order, int(group)) for group in reads]
        assert single.unsure(reads).tolist() == unsure
        found = (len(racing), len(pairs) - len(racing), sum(around), len(around) - sum(around))
        for name, more in zip(counts, (*found, sum(unsure), len(unsure) - sum(unsure)), strict=True):
            counts[name] += more
    assert min(counts.values()) > 20, counts
