"""The checker's columns say what the unrolled commands say: texts, loop indices, tokens, bounds, clocks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest

from archsim.ir.check.hazards.collect import EvaluatedTexts
from archsim.ir.check.tokens import run
from archsim.ir.check.tokens.ledger import build_ledger
from archsim.ir.check.tokens.run import run_tokens
from archsim.ir.check.tokens.unrolled import UnrolledNests, UnrolledQueue
from archsim.ir.footprint import clip
from archsim.ir.program import Affine, Command, CommandLoop, LoopEdge, Program, Queue, Region
from archsim.ir.unroll import Step, unroll
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


def test_events_are_the_tokens_of_the_steps() -> None:
    for program in programs():
        ledger = build_ledger(program)
        names = list(ledger.tokens)
        for events, field in ((ledger.taken, "waits"), (ledger.given, "signals")):
            rows = zip(events.queue.tolist(), events.at.tolist(), events.rank.tolist(), strict=True)
            what = zip(events.token.tolist(), events.n.tolist(), strict=True)
            found = [(*row, names[token], n) for row, (token, n) in zip(rows, what, strict=True)]
            stated = [
                (number, step.index, names.index(token), n)
                for number, queue in enumerate(program.queues)
                for step in unroll(queue)
                for token, n in getattr(step, field)
            ]
            assert [(queue, at, names.index(name), n) for queue, at, _, name, n in sorted(found)] == stated
            assert len(events.each_at) == sum(n for *_, n in stated)


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
                        found = known.of(text).bounds(region, 0, only)
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
    assert bounds[0] is bounds[1]
    assert bounds[0].at.tolist() == [0, 1]
    assert bounds[0].low.tolist() == [0, 4]


@pytest.mark.parametrize("few", [1, 1 << 30])
def test_levels_of_few_and_of_many_waits_have_the_same_clocks(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    for program in (gemm_cores(4, 3), *(subject.program for subject in subjects())):
        ledger = build_ledger(program)
        usual = run_tokens(ledger)
        with monkeypatch.context() as patch:
            patch.setattr(run, "FEW", few)
            assert np.array_equal(run_tokens(ledger).clocks, usual.clocks)
