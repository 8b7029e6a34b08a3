"""Streams whose runs are numbers instead of simulations, and a second scheduler that looks at every picosecond."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from archsim.lab.scenario.form import ChipSleep, FrameStream, Scenario
from archsim.lab.scenario.frames import ScenarioFrame
from archsim.lab.scenario.outcome import ScenarioOutcome, outcome
from archsim.lab.scenario.serve import FrameService
from archsim.lab.scenario.timeline import Urgency

IDLE_NW = {"dram": 7, "l1": 3}


def stream(place: int, period_ps: Fraction | int, deadline_ps: int = 0, offset_ps: int = 0) -> FrameStream:
    """A stream named by its place; its deadline its period unless stated."""
    period = Fraction(period_ps)
    return FrameStream(f"s{place}", "model", period, Fraction(deadline_ps) if deadline_ps else period, offset_ps)


def service(of: FrameStream, run_ps: int, energy_zj: int = 11, ends_ps: Sequence[int] = ()) -> FrameService:
    """A frame that takes ``run_ps``, without a simulated run behind it."""
    none: Any = None
    return FrameService(of, run_ps, tuple(ends_ps) or (run_ps,), {"l1": energy_zj}, 0.5, none)


def served(services: Sequence[FrameService], **queue: Any) -> ScenarioOutcome:
    """The outcome of streams on a chip that draws IDLE_NW at rest; ``queue``: policy, preempt, sleep."""
    scenario = Scenario("synthetic", "", "made up", tuple(each.stream for each in services), **queue)
    return outcome(scenario, tuple(services), IDLE_NW)


@st.composite
def loads(draw: st.DrawFn, most: int = 4) -> list[FrameService]:
    """One to ``most`` streams of short whole periods that need no more time than there is."""
    found: list[FrameService] = []
    left = Fraction(1)
    for place in range(draw(st.integers(1, most))):
        period = draw(st.sampled_from((4, 6, 8, 12, 24)))
        room = int(left * period)
        if room < 1:
            break
        run = draw(st.integers(1, room))
        left -= Fraction(run, period)
        cuts = sorted({*draw(st.lists(st.integers(1, run), max_size=3)), run})
        of = stream(
            place, period, draw(st.sampled_from((0, period, period // 2, 2 * period))), draw(st.integers(0, 30))
        )
        found.append(service(of, run, draw(st.integers(0, 1000)), cuts))
    return found


def queues(sleeping: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    """Policy, preemption and, where ``sleeping``, a chip that sleeps or not."""
    sleep = st.builds(ChipSleep, st.just(Fraction(1, 10**9)), st.integers(0, 5), st.just("made up"))
    return st.fixed_dictionaries(
        {
            "policy": st.sampled_from(("edf", "rate_monotonic", "fifo")),
            "preempt": st.sampled_from(("never", "layer")),
            "sleep": st.one_of(st.none(), sleep) if sleeping else st.none(),
        }
    )


def by_picoseconds(
    frames: Sequence[ScenarioFrame], cuts_ps: Sequence[Sequence[int]], key: Urgency
) -> dict[ScenarioFrame, int]:
    """When each frame is done: at each picosecond the most urgent waiting one goes on, unless one is between cuts."""
    left = {frame: 0 for frame in frames}
    ends: dict[ScenarioFrame, int] = {}
    running: ScenarioFrame | None = None
    now = 0
    while left:
        free = running is None or left[running] in cuts_ps[running.stream] or left[running] == 0
        ready = [frame for frame in left if frame.release_ps <= now]
        if ready:
            running = min(ready, key=key) if free else running
            assert running is not None
            left[running] += 1
            if left[running] == cuts_ps[running.stream][-1]:
                ends[running] = now + 1
                del left[running]
                running = None
        now += 1
    return ends
