"""Frames of several streams on one chip: each once, none early, and power by the law of periods."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from archsim.base.errors import ConfigError
from archsim.lab.scenario.form import ChipSleep
from archsim.lab.scenario.frames import frames_of, hyperperiod_ps, released
from archsim.lab.scenario.outcome import ScenarioOutcome, load
from archsim.lab.scenario.serve import FrameService
from archsim.lab.scenario.timeline import FrameServer, urgency
from tests.tools.scenarios import IDLE_NW, by_picoseconds, loads, queues, served, service, stream

_RATES = (24, 25, 30, 50, 60, 72, 90, Fraction(30_000, 1001))  # Hz


def _average(found: ScenarioOutcome) -> Fraction:
    """In nW."""
    return Fraction(sum(found.energy_zj.values()), found.window.length_ps)


@given(rate=st.sampled_from(_RATES), share=st.fractions(0, 1), energy=st.integers(0, 10**18))
def test_average_power_of_one_stream(rate: Fraction, share: Fraction, energy: int) -> None:
    """Law 40: one stream of period P and run time t takes (E + P_idle (P-t)) / P on average, exactly."""
    period = Fraction(10**12) / rate
    run = max(1, int(period * share))
    found = served([service(stream(0, period), run, energy)])
    average = _average(found)
    assert average == (energy + sum(IDLE_NW.values()) * (period - run)) / period
    assert found.power_avg_w == float(average / 10**9)


@given(rate=st.sampled_from(_RATES), more=st.integers(1, 10**12))
def test_a_period_below_the_run_time(rate: Fraction, more: int) -> None:
    """Law 40: P < t is an error that says the load."""
    period = Fraction(10**12) / rate
    with pytest.raises(ConfigError, match=r"found a load of .* of the chip: s0 .*; allowed at most 1"):
        served([service(stream(0, period), int(period) + more)])


@given(services=loads(), queue=queues())
def test_every_frame_once(services: list[FrameService], queue: dict) -> None:
    """Law 40: each frame is done once, no sooner than its run takes, met or missed; its time is counted once."""
    found = served(services, **queue)
    window = found.window
    assert len(set(window.done)) == len(window.done)
    for place, each in enumerate(services):
        done = found.done(place)
        assert len(done) == frames_of(each.stream, window.length_ps)
        assert all(one.response_ps >= each.run_ps for one in done)
        met = sum(one.end_ps <= one.frame.deadline_ps for one in done)
        assert met + sum(one.slack_ps < 0 for one in done) == len(done)
    assert Fraction(window.busy_ps, window.length_ps) == found.load == load(services)
    for before, after in zip(window.slices, window.slices[1:], strict=False):
        assert before.end_ps <= after.start_ps


@given(services=loads(), queue=queues())
def test_energy_of_a_hyperperiod(services: list[FrameService], queue: dict) -> None:
    """Law 40: the energy is that of frames, of rest, sleep and waking over their time; by stream and by part alike."""
    found = served(services, **queue)
    window, sleep = found.window, queue["sleep"]
    frames = sum(frames_of(each.stream, window.length_ps) * each.energy_zj for each in services)
    rest, idle = window.length_ps - window.busy_ps, sum(IDLE_NW.values())
    asleep = window.rest_ps if sleep else 0
    expected = frames + idle * (rest - asleep) + (round(sleep.power_w * 10**9) * asleep if sleep else 0)
    assert sum(found.energy_zj.values()) == sum(found.parts_zj.values()) == expected


@given(services=loads(), queue=queues(sleeping=False))
def test_as_a_scheduler_that_looks_at_every_picosecond(services: list[FrameService], queue: dict) -> None:
    """Law 40: every frame ends when it does for a second scheduler, which decides anew at each picosecond."""
    streams = [each.stream for each in services]
    whole = queue["preempt"] == "never"
    cuts = [(each.run_ps,) if whole else each.layer_ends_ps for each in services]
    key = urgency(queue["policy"], streams)
    frames = released(streams, 60)
    slices = FrameServer(cuts, key).serve(frames)
    assert {each.frame: each.end_ps for each in slices if each.last} == by_picoseconds(frames, cuts, key)


@given(services=loads(most=5))
def test_earliest_deadline_first_meets_all_deadlines(services: list[FrameService]) -> None:
    """Law 40: with a load of at most 1, deadlines at the next frame and cuts at every picosecond, edf misses none."""
    fine = [
        service(stream(n, each.stream.period_ps, 0, each.stream.offset_ps), each.run_ps, 0, range(1, each.run_ps + 1))
        for n, each in enumerate(services)
    ]
    assert served(fine, policy="edf", preempt="layer").misses == 0


@given(services=loads(), first=queues(sleeping=False), second=queues(sleeping=False))
def test_no_policy_rests_while_a_frame_waits(services: list[FrameService], first: dict, second: dict) -> None:
    """Law 40: when the chip rests does not depend on which frame is first, nor does the energy."""
    one, other = served(services, **first), served(services, **second)
    assert one.window.rest_ps == other.window.rest_ps
    assert one.energy_zj == other.energy_zj


@given(services=loads(), wake=st.integers(0, 5))
def test_sleep_is_worth_what_it_saves(services: list[FrameService], wake: int) -> None:
    """Law 40: a chip asleep at its power at rest that wakes in no time takes what one does that never sleeps; one that
    draws nothing asleep takes no more, however long it wakes."""
    assume(load(services) < 1)
    awake = served(services)
    asleep = served(services, sleep=ChipSleep(Fraction(sum(IDLE_NW.values()), 10**9), 0, "made up"))
    assert sum(asleep.energy_zj.values()) == sum(awake.energy_zj.values())
    later = served(services, sleep=ChipSleep(Fraction(0), wake, "made up"))
    assert _average(later) <= _average(awake)


@given(services=loads())
def test_first_come_first_served(services: list[FrameService]) -> None:
    """Law 40: with fifo frames end in the order of their releases."""
    window = served(services, policy="fifo").window
    assert [each.frame.release_ps for each in window.done] == sorted(each.frame.release_ps for each in window.done)


@given(rates=st.lists(st.sampled_from(_RATES[:-1]), min_size=1, max_size=3), number=st.integers(0, 20))
def test_releases_repeat_with_the_hyperperiod(rates: list[int], number: int) -> None:
    """Laws 33, 40: releases are rounded boundaries, not sums of rounded periods; a hyperperiod later they repeat."""
    streams = [stream(place, Fraction(10**12, rate)) for place, rate in enumerate(rates)]
    length = hyperperiod_ps(streams)
    for each in streams:
        count = frames_of(each, length)
        frames = released([each], 2 * length)
        assert len(frames) == 2 * count
        first, second = frames[number % count], frames[number % count + count]
        assert first.release_ps == number % count * each.period_ps // 1 == second.release_ps - length
