"""How far work has come: what is counted, what is foretold, when it is shown, and that it costs next to nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from archsim.base import progress
from archsim.base.progress import WorkStretch
from archsim.cli import meter as meters
from archsim.cli.meter import CLEAR, ProgressMeter, _done, in_words
from archsim.ir.asm.parser import parse_program
from archsim.ir.program import Program
from archsim.ir.unroll import count_commands, unroll
from archsim.lab.run.job import Job, build
from archsim.lab.run.run import execute, simulated
from archsim.lab.sweep.progress import SweepStretches
from archsim.lab.sweep.worker import FAILED, OK, SweepRow
from archsim.report.run.summary import summarise
from tests.tools.commands import GOLDEN


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def meter(clock: Clock, lines: list[str]) -> ProgressMeter:
    return ProgressMeter(lambda text: lines.append(text.removeprefix(CLEAR)), clock)


def test_nothing_is_shown_for_two_seconds(meter: ProgressMeter, clock: Clock, lines: list[str]) -> None:
    with progress.watched(meter), progress.stretch("mapping", "layers", 4) as made:
        for _ in range(3):
            clock.wait(0.6)
            made.add()
            meter.look()
        assert lines == []
        clock.wait(0.3)
        meter.look()
        assert lines == ["mapping: 3 of 4 layers, a few seconds left"]
    meter.clear()
    assert lines[-1] == ""


def test_time_left_is_what_the_pieces_so_far_took_each(meter: ProgressMeter, clock: Clock, lines: list[str]) -> None:
    with progress.watched(meter), progress.stretch("mapping", "layers", 100) as made:
        made.at = "n0"
        clock.wait(3)
        meter.look()
        assert lines[-1] == "mapping: 0 of 100 layers (n0)"  # of nothing nothing is foretold
        made.add(10)
        clock.wait(1)
        meter.look()
        assert lines[-1] == "mapping: 10 of 100 layers, about 40 s left (n0)"
        clock.wait(56)
        meter.look()
        assert lines[-1] == "mapping: 10 of 100 layers, about 9 min left (n0)"


def test_what_was_done_before_says_nothing_of_the_rate(meter: ProgressMeter, clock: Clock) -> None:
    with progress.watched(meter), progress.stretch("exact", "rows", 100) as made:
        made.add(80)
        made.known = 80
        clock.wait(10)
        assert meter.text(clock()) == "exact: 80 of 100 rows"
        made.add(10)
        assert meter.text(clock()) == "exact: 90 of 100 rows, about 10 s left"


def test_an_upper_bound_is_called_one(meter: ProgressMeter, clock: Clock) -> None:
    with progress.watched(meter), progress.stretch("simulating", "loads", 22, at_most=True) as made:
        made.add(2)
        clock.wait(4)
        assert meter.text(clock()) == "simulating: 2 of at most 22 loads, at most about 40 s left"


def test_work_within_work_counts_for_its_part(meter: ProgressMeter, clock: Clock) -> None:
    """Half of the second of four changes is 1.5 of 4 done; the inner stretch is shown when it takes long itself."""
    done = [0]
    with progress.watched(meter), progress.stretch("what would help", "changes", 4) as outer:
        clock.wait(20)
        outer.add()
        with progress.stretch("simulating", "commands", 1000, done=lambda: done[0]):
            clock.wait(1)
            done[0] = 400
            assert meter.text(clock()) == "what would help: 1 of 4 changes, about 40 s left"
            clock.wait(9)
            done[0] = 500
            said = "what would help: 1 of 4 changes, about 50 s left; simulating: 500 of 1,000 commands"
            assert meter.text(clock()) == said
            meter.say("checking the Program")
            assert meter.text(clock()) == f"{said}; checking the Program"


def test_compiling_is_said_and_is_none_of_the_work(meter: ProgressMeter, clock: Clock) -> None:
    with progress.watched(meter), progress.stretch("simulating", "commands", 10) as made:
        clock.wait(1)
        for jit in (1, 1, -1):  # kernels within kernels
            meter.compiling(jit)
        clock.wait(60)
        assert meter.text(clock()) == progress.COMPILING
        meter.compiling(-1)
        clock.wait(3)
        made.add(2)
        assert meter.text(clock()) == "simulating: 2 of 10 commands, about 20 s left"


def test_steps_are_shown_where_nothing_is_counted(meter: ProgressMeter, clock: Clock, lines: list[str]) -> None:
    meter.say("reading the model")
    clock.wait(2)
    meter.say("checking the Program")
    assert lines == ["checking the Program"]
    meter.look()
    clock.wait(1)
    meter.look()
    assert lines == ["checking the Program"]  # what has not changed is not written again


def test_the_line_makes_way(meter: ProgressMeter, clock: Clock, lines: list[str]) -> None:
    with progress.watched(meter):
        clock.wait(2)
        meter.say("mapping")
        with progress.aside():
            assert lines == ["mapping", ""]
        clock.wait(1)
        meter.look()
        assert lines == ["mapping", "", "mapping"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.1, "a few seconds"), (12, "about 20 s"), (60, "about 60 s"), (91, "about 2 min"), (5399, "about 90 min"),
     (5401, "about 2 h"), (90_000, "about 25 h")],
)  # fmt: skip
def test_times_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_a_stretch_ends_with_what_raised(meter: ProgressMeter, clock: Clock) -> None:
    clock.wait(9)
    with progress.watched(meter):
        with pytest.raises(ValueError, match="x"), progress.stretch("mapping", "layers", 3):
            raise ValueError("x")
        for _ in progress.each([1, 2], "scoring", "rows"):
            break
        assert meter.text(clock()) == ""
    assert progress.watcher() is None


def test_a_sweep_says_rate_failures_and_the_best(meter: ProgressMeter, clock: Clock) -> None:
    with progress.watched(meter), SweepStretches("max utilization", print, clock) as telling:
        telling.begin("fast", 10)
        telling.known(4)
        clock.wait(30)
        telling.row(SweepRow("a", OK, "", {"utilization": 0.25}, 1.0))
        telling.row(SweepRow("b", FAILED, "x", {}, 1.0))
        said = "fast: 6 of 10 rows, about 60 s left (4 a minute, 1 failed, best utilization 0.25)"
        assert meter.text(clock()) == said
        telling.begin("exact", 2)
        assert meter.text(clock()) == "exact: 0 of 2 rows"
    assert meter.text(clock()) == ""


@pytest.mark.parametrize(("model", "chip"), [("eye_tracking", "edge_npu"), ("gemm_4096", "mtia_v2i")])
def test_commands_are_counted_without_unrolling_them(model: str, chip: str) -> None:
    _same_count(build(Job(model, chip)).program)


def test_commands_of_the_golden_program_are_counted() -> None:
    _same_count(parse_program((GOLDEN / "program.asm").read_text(encoding="utf-8"), "program.asm"))


def _same_count(program: Program) -> None:
    for queue in program.queues:
        assert count_commands(queue) == sum(1 for _ in unroll(queue)), queue.name


def _calls(work: Callable[[], object]) -> tuple[int, int]:
    """Calls of Python functions, and those among them of the two files that tell of progress."""
    files = (progress.__file__, meters.__file__)
    counts = [0, 0]

    def seen(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            counts[0] += 1
            counts[1] += frame.f_code.co_filename in files

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counts[0], counts[1]


def test_it_costs_less_than_one_call_in_a_hundred(meter: ProgressMeter) -> None:
    """A whole run, watched: stretches are few, and what is done is looked up by who shows it, four times a second."""
    with progress.watched(meter):
        calls, own = _calls(lambda: execute(Job("eye_tracking", "edge_npu")))
    assert own > 10 and own < calls / 100


def test_results_are_equal_with_and_without(clock: Clock) -> None:
    """Whoever looks on, at whatever time, reads only."""
    job = Job("eye_tracking", "edge_npu")
    built = build(job)
    alone = simulated(job, built)

    def impatient() -> float:
        clock.wait(10)
        return clock()

    looking = ProgressMeter(lambda text: None, impatient)
    with progress.watched(looking):
        assert summarise(simulated(job, built)) == summarise(alone)


def test_the_machine_is_looked_at_while_it_runs(clock: Clock) -> None:
    """Of all commands so many have ended, more each time, at the end all."""
    job = Job("eye_tracking", "edge_npu")
    built = build(job)
    seen: list[progress.WorkStretch] = []

    class Watcher(ProgressMeter):
        def end(self, stretch: progress.WorkStretch) -> None:
            seen.append(stretch)
            super().end(stretch)

    with progress.watched(Watcher(lambda text: None, clock)):
        simulated(job, built)
    assert [(each.what, each.unit) for each in seen] == [("simulating", "commands")]
    assert seen[0].done == seen[0].total == sum(map(count_commands, built.program.queues)) > 100


def test_a_kernel_that_is_compiled_is_announced_once(
    meter: ProgressMeter, clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """To who shows progress, else on stderr; other people's kernels are none of ours."""
    import numba
    from numba.core import event

    from archsim.base import entries, linking

    monkeypatch.setattr(entries, "_noted", set())
    told: list[int] = []

    class Watcher(ProgressMeter):
        def compiling(self, kernels: int) -> None:
            told.append(kernels)

    def plus(x: int) -> int:
        return x + 1

    def compiled() -> None:
        kernel = numba.njit(plus)
        kernel(1)

    compiled()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(plus, "__module__", "archsim.memory")
    with progress.watched(Watcher(lambda text: None, clock)):
        compiled()
    assert (told, capsys.readouterr().err) == ([1, -1], "")
    compiled()
    compiled()
    assert capsys.readouterr().err == f"{progress.COMPILING}\n"
    assert any(isinstance(each, linking.CompileAnnouncer) for each in event._registered["numba:compile"])


@pytest.mark.parametrize("text", ["dark\x1b[31m", "a\rb"])
def test_names_of_layers_do_nothing_to_the_terminal(text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "err").open("w+", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(meters, "AFTER_S", 0.0)
        with meters.on_terminal() as meter:
            meter.say(text)
        stream.seek(0)
        assert text not in stream.read().replace(CLEAR, "")


def test_pieces_within_pieces_that_are_all_done_are_one() -> None:
    outer, inner = (WorkStretch("mapping", "layers", total, at_most=False, ask=None) for total in (4, 10))
    outer.add(1)
    inner.add(5)
    assert _done([outer, inner]) == 1.5
    inner.add(5)
    assert _done([outer, inner]) == 2.0
    outer.add(3)
    assert _done([outer]) == 4.0
