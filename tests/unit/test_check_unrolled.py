"""The checker's columns say what the unrolled commands say: texts, loop indices, tokens, bounds, clocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest

from archsim.base.arrays import IntArray
from archsim.base.errors import ProgramError
from archsim.ir.check.hazards import hazards
from archsim.ir.check.hazards.collect import EvaluatedTexts, RunBounds
from archsim.ir.check.program import check
from archsim.ir.check.tokens.clocks import Clocks
from archsim.ir.check.tokens.ledger import TokenLedger, build_ledger
from archsim.ir.check.tokens.run import run_tokens
from archsim.ir.check.tokens.unrolled import UnrolledNests, UnrolledQueue
from archsim.ir.columns import ProgramColumns
from archsim.ir.footprint import clip
from archsim.ir.program import Affine, Command, CommandLoop, LoopEdge, Program, Queue, Region
from archsim.ir.unroll import Step, unroll
from archsim.spec.architecture import Architecture
from tests.laws.many_cores import gemm_cores
from tests.tools.mutants import mutants, subjects


def programs() -> Iterator[Program]:
    """Golden Programs, each with some of its mutants, and one of several cores."""
    for subject in subjects():
        yield subject.program
        yield from (mutant for _, _, mutant in islice(mutants(subject.program), 0, None, 40))
    yield gemm_cores(4, 3)


def test_steps_are_those_of_the_queue() -> None:
    for program in programs():
        nests = UnrolledNests()
        for queue in program.queues:
            steps = list(unroll(queue))
            columns = UnrolledQueue(queue, nests)
            assert len(columns) == len(steps)
            assert list(columns) == steps
            assert columns[len(steps) // 2 :] == steps[len(steps) // 2 :]
            assert columns.retaining.tolist() == sorted(step.index for step in steps if step.command.retains)


def test_texts_run_where_the_steps_are() -> None:
    for program in programs():
        nests = UnrolledNests()
        for queue in program.queues:
            columns, steps = UnrolledQueue(queue, nests), list(unroll(queue))
            found: dict[int, Step] = {}
            for text in columns.texts:
                runs = text.nest.runs[text.number]
                assert len(runs.at)
                for row, at in enumerate(runs.at.tolist()):
                    step = found[text.begin + at] = steps[text.begin + at]
                    assert step.command is text.command
                    assert all(runs.env[var][row] == value for var, value in step.env.items())
                fresh = text.nest.places(text.number, text.command.fresh) + text.begin
                assert fresh.tolist() == [text.begin + at for at in runs.at.tolist() if steps[text.begin + at].fresh]
            assert len(found) == len(steps)


def test_sides_are_the_tokens_of_the_steps() -> None:
    for program in programs():
        ledger = build_ledger(ProgramColumns(program))
        for sides, field in ((ledger.taken, "waits"), (ledger.given, "signals")):
            stated: dict[int, list[int]] = {}
            for number, queue in enumerate(program.queues):
                for step in unroll(queue):
                    for name, n in getattr(step, field):
                        key = number * len(ledger.tokens) + ledger.tokens[name]
                        stated.setdefault(key, []).extend([step.index] * n)
            found = {key: sides.commands_of(side).tolist() for side, key in enumerate(sides.key.tolist())}
            assert found == stated


def _bounds(region: Region, step: Step) -> tuple[int, int] | None:
    """First byte and end of what a step touches, None where it touches nothing."""
    ranges = clip(region, step)
    if step.is_empty or any(high <= low for low, high in ranges.values()):
        return None
    low = region.offset.at(step.env)
    moved = zip(ranges.values(), region.strides, strict=True)
    ends = [(first * stride, (end - 1) * stride) for (first, end), (_, stride) in moved]
    return low + sum(first for first, _ in ends), low + sum(last for _, last in ends) + region.element_bytes


def test_bounds_are_those_of_the_steps() -> None:
    for program in programs():
        known, nests = EvaluatedTexts(), UnrolledNests()
        for queue in program.queues:
            columns, steps = UnrolledQueue(queue, nests), list(unroll(queue))
            for text in columns.texts:
                for region in (*text.command.reads, *text.command.writes):
                    for only in (None, True, False):
                        number = known.of(text).bounds(region, 0, only)
                        none = np.empty(0, dtype=np.int64)
                        found = known.bounds.found[number] if number >= 0 else RunBounds(none, none, none)
                        shifted = (found.low + region.offset.const, found.high + region.offset.const)
                        places = text.nest.runs[text.number].at.tolist()
                        runs = [steps[text.begin + at] for at in places]
                        stated = [
                            (step.index - text.begin, *bounds)
                            for step in runs
                            if (only is None or step.fresh == only) and (bounds := _bounds(region, step)) is not None
                        ]
                        assert [*zip(found.at.tolist(), *(part.tolist() for part in shifted), strict=True)] == stated


def test_cores_share_nests_and_bounds() -> None:
    """Queues with the same loops have one nest; equal parts of commands, as objects, are evaluated once."""

    def queue(core: int) -> Queue:
        region = Region("src", f"t{core}", 1, strides, Affine(core, terms))
        command = Command("move", "MOVE", "l", reads=(region,), when=(LoopEdge("last", "i"),))
        return Queue(f"core[{core}].load", "load", "dma", (CommandLoop("i", 3, (CommandLoop("j", 2, (command,)),)),))

    strides, terms = (), (("j", 4),)
    nests, known = UnrolledNests(), EvaluatedTexts()
    one, two = (UnrolledQueue(queue(core), nests).texts[0] for core in range(2))
    assert one.nest is two.nest
    regions = [text.command.reads[0] for text in (one, two)]
    bounds = [known.of(text).bounds(region, 0, None) for text, region in zip((one, two), regions, strict=True)]
    assert bounds == [0, 0]
    assert known.bounds.found[0].at.tolist() == [0, 1]
    assert known.bounds.found[0].low.tolist() == [0, 4]


def test_clocks_are_those_of_a_walk_command_by_command() -> None:
    """What has ended before a command: what its queue's last one knew, and all that its tokens' givers knew."""
    for program in (gemm_cores(4, 3), *(subject.program for subject in subjects())):
        ledger = build_ledger(ProgramColumns(program))
        order, known = run_tokens(ledger), _walked(ledger)
        counts = [len(clocks) for clocks in known]
        queue, at = np.repeat(np.arange(len(counts)), counts), np.concatenate([np.arange(count) for count in counts])
        rows = np.arange(len(at))
        clocks = Clocks(order, (queue, at, np.zeros_like(at)), 1, rows)
        numbers = clocks.queues(0)
        walked = np.array([clock for each in known for clock in each]).reshape(len(at), len(counts))
        assert np.array_equal(clocks.of(rows, 0), walked[:, numbers])
        for other in numbers.tolist():
            assert np.array_equal(clocks.ended(rows, np.full(len(at), other)), walked[:, other])


def _walked(ledger: TokenLedger) -> list[list[IntArray]]:
    """The clock of each command of each queue."""
    known: list[list[IntArray]] = [[] for _ in ledger.steps]
    taken = Counter[tuple[int, str]]()
    while any(len(clocks) < len(steps) for clocks, steps in zip(known, ledger.steps, strict=True)):
        for queue, steps in enumerate(ledger.steps):
            while len(known[queue]) < len(steps):
                clock = _clock(ledger, known, queue, taken)
                if clock is None:
                    break
                for name, n in steps[len(known[queue])].waits:
                    taken[queue, name] += n
                known[queue].append(clock)
    return known


def _clock(
    ledger: TokenLedger, known: list[list[IntArray]], queue: int, taken: Counter[tuple[int, str]]
) -> IntArray | None:
    """Of the next command of ``queue``; None while what it follows has no clock."""
    at = len(known[queue])
    clock = known[queue][-1].copy() if at else np.zeros(len(ledger.steps), dtype=np.int64)
    clock[queue] = at
    for name, n in ledger.steps[queue][at].waits:
        for source in ledger.draws[queue, name].sources:
            for giver, indices in source.givers:
                own = taken[queue, name] + n - source.initial - (source.total - len(indices))
                if own > 0 and giver != queue:
                    if indices[own - 1] >= len(known[giver]):
                        return None
                    clock = np.maximum(clock, known[giver][indices[own - 1]])
                    clock[giver] = max(int(clock[giver]), indices[own - 1] + 1)
    clock[queue] = at
    return clock


def test_proofs_change_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the protocol of rings proves nothing, each is judged access by access, with the same words."""
    for subject in subjects():
        for program in (subject.program, *(mutant for _, _, mutant in islice(mutants(subject.program), 0, None, 7))):
            usual = _verdict(program, subject.chip)
            with monkeypatch.context() as patch:
                patch.setattr(
                    hazards, "rightly_used", lambda table: np.zeros(len(table.ledger.program.rings), np.bool_)
                )
                assert _verdict(program, subject.chip) == usual


def _verdict(program: Program, architecture: Architecture) -> str:
    try:
        check(program, architecture)
    except ProgramError as error:
        return str(error)
    return ""
