"""Processes of the event loop, and the edges of clocks that engines count by."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archsim.base.errors import SimulationError
from archsim.lab.run.job import Job, build
from archsim.sim.clock import ClockDomain
from archsim.sim.events import EventLoop, ProcessBody
from archsim.spec.load import load
from archsim.system import Machine


def test_a_process_goes_on_at_once_when_what_it_waits_for_has_happened() -> None:
    event_loop, seen = EventLoop(), []
    past = event_loop.timeout(3)

    def body() -> ProcessBody:
        yield event_loop.timeout(5)
        yield past
        seen.append(event_loop.now)

    def waits_for(other: Any) -> ProcessBody:
        yield other
        seen.append(-event_loop.now)

    event_loop.start(waits_for(event_loop.start(body())))
    event_loop.run()
    assert seen == [5, -5]


def test_what_a_process_raises_leaves_the_run() -> None:
    event_loop = EventLoop()

    def body() -> ProcessBody:
        yield event_loop.timeout(5)
        raise SimulationError("broken")

    event_loop.start(body())
    with pytest.raises(SimulationError, match="broken"):
        event_loop.run()
    assert event_loop.now == 5


def test_nothing_happens_in_the_past() -> None:
    with pytest.raises(ValueError, match="2 ps ago"):
        EventLoop().timeout(-2)


@given(st.integers(1, 3 * 10**12), st.integers(0, 10**13), st.lists(st.integers(0, 10**6), max_size=3))
def test_edges_counted_from_an_instant_are_the_clocks_edges(hz: int, time_ps: int, cycles: list[int]) -> None:
    clock = ClockDomain(hz)
    first = clock.cycle(time_ps)
    assert clock.edges(time_ps, *cycles) == [clock.edge(first + more) for more in cycles]
    assert [clock.span(time_ps, more) for more in cycles] == [(first, clock.edge(first + more)) for more in cycles]


def test_with_a_network_no_two_instants_are_alike() -> None:
    """Without one, instants at the same place between the clocks' edges are."""
    for name, alike in (("edge_npu", True), ("mtia_v2i", False)):
        chip = load(name)
        machine = Machine(build(Job("eye_tracking", name, fidelity="fast")).program, chip, trace=False)
        step = 10**12  # of all clocks whole cycles
        assert (machine.entry(step, align=False) == machine.entry(2 * step, align=False)) == alike, name
