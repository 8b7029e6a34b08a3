"""Processes of the event kernel, and the edges of clocks that engines count by."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archsim.base.errors import SimulationError
from archsim.sim.clock import Clock
from archsim.sim.events import Kernel, ProcessBody


def test_a_process_goes_on_at_once_when_what_it_waits_for_has_happened() -> None:
    kernel, seen = Kernel(), []
    past = kernel.timeout(3)

    def body() -> ProcessBody:
        yield kernel.timeout(5)
        yield past
        seen.append(kernel.now)

    def waits_for(other: Any) -> ProcessBody:
        yield other
        seen.append(-kernel.now)

    kernel.start(waits_for(kernel.start(body())))
    kernel.run()
    assert seen == [5, -5]


def test_what_a_process_raises_leaves_the_run() -> None:
    kernel = Kernel()

    def body() -> ProcessBody:
        yield kernel.timeout(5)
        raise SimulationError("broken")

    kernel.start(body())
    with pytest.raises(SimulationError, match="broken"):
        kernel.run()
    assert kernel.now == 5


def test_nothing_happens_in_the_past() -> None:
    with pytest.raises(ValueError, match="2 ps ago"):
        Kernel().timeout(-2)


@given(st.integers(1, 3 * 10**12), st.integers(0, 10**13), st.lists(st.integers(0, 10**6), max_size=3))
def test_edges_counted_from_an_instant_are_the_clocks_edges(hz: int, time_ps: int, cycles: list[int]) -> None:
    clock = Clock(hz)
    first = clock.cycle(time_ps)
    assert clock.edges(time_ps, *cycles) == [clock.edge(first + more) for more in cycles]
    assert [clock.span(time_ps, more) for more in cycles] == [(first, clock.edge(first + more)) for more in cycles]
