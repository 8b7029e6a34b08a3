"""Tables of the compiled machine: they grow, also while it runs, and its events come in order."""

from __future__ import annotations

import heapq
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.jit import entry, njit
from archsim.sim import core_arena
from archsim.sim.arena import WIDTHS, Arena
from archsim.sim.compiled import events
from archsim.sim.compiled import layout as k
from archsim.sim.compiled.exact import exact
from tests.laws.builders import chip, constant_dram, pipeline, scratchpad
from tests.laws.two_machines import differences

EXACT = settings(max_examples=100, deadline=None, derandomize=True)


@entry
@njit
def put(m: Any, time_ps: int, what: int) -> None:
    """An event."""
    events.put(m, time_ps, 0, what, 0)


@entry
@njit
def drop(m: Any) -> None:
    """The first one goes."""
    events.drop_first(m)


def test_every_table_has_a_place_and_a_width() -> None:
    assert {*WIDTHS} <= {*k.TABLES}
    assert [getattr(k, "KEY" if name == "KEY" else f"{name}_AT") for name in k.TABLES] == [*range(len(k.TABLES))]
    numbers = [getattr(k, f"{name}_NUMBERS") for name in k.EXACT_TABLES]
    assert numbers == [*range(len(k.TABLES), len(k.TABLES) + len(k.EXACT_TABLES))]
    assert k.FLOWS_BEGUN < k.HEADER


def test_a_table_that_grows_moves_what_stands_behind_it() -> None:
    """Rows, exact numbers and the header stay; who stands on a port is named by the new place."""
    arena = Arena({"QUEUES": 2, "MEMBERS": 3, "PORTS": 2, "PLANS": 1}, {"STREAM": 1, "PORT": 2}, {})
    arena.m[k.NOW] = 77
    arena.table("QUEUES")[:] = 5
    arena.table("PORTS")[:] = 0
    members = int(arena.m[k.MEMBERS_AT])
    arena.table("PORTS")[1, k.PORT_FIRST] = members
    arena.table("MEMBERS")[0] = 4, 5, k.NONE, members + k.MEMBER_WIDTH
    arena.keep("PORT", 1, exact(3))
    arena.room("PLANS", 9)
    arena.room("TOKENS", 4)
    arena.room_for_numbers("STREAM", 6)
    after = int(arena.m[k.MEMBERS_AT])
    assert arena.rows["PLANS"] == 18 and arena.numbers["STREAM"] == 12 and after != members
    assert int(arena.m[k.NOW]) == 77 and (arena.table("QUEUES") == 5).all()
    assert arena.table("PORTS")[1, k.PORT_FIRST] == after
    assert arena.table("MEMBERS")[0].tolist() == [4, 5, k.NONE, after + k.MEMBER_WIDTH]
    number = arena.first_number("PORT") + 1
    assert (arena.x[2 * number], arena.x[2 * number + 1], int(arena.r[number])) == (3.0, 0.0, 3)


@EXACT
@given(st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=60))
def test_events_come_by_time_then_in_the_order_in_which_they_were_put(steps: list[int | None]) -> None:
    """A time is put; None takes the first event away."""
    arena = Arena({"EVENTS": 64}, {}, {})
    m, known = arena.m, list[tuple[int, int]]()
    m[k.EVENT_ROOM] = 64
    for number, time_ps in enumerate(steps):
        if time_ps is not None:
            put(m, time_ps, number)
            heapq.heappush(known, (time_ps, number))
        elif known:
            drop(m)
            heapq.heappop(known)
        assert int(m[k.EVENT_COUNT]) == len(known)
        if known:
            first = arena.table("EVENTS")[0]
            assert (int(first[0]), int(first[3])) == known[0]


def test_an_event_too_many_is_said() -> None:
    arena = Arena({"EVENTS": 1}, {}, {})
    arena.m[k.EVENT_ROOM] = 1
    put(arena.m, 5, 0)
    assert int(arena.m[k.FAILED]) == k.FINE
    put(arena.m, 6, 0)
    assert int(arena.m[k.FAILED]) == k.LOST


def test_tables_grow_in_the_middle_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for one plan, and no more than a few records and events, gives what ample room gives."""
    narrow = chip([constant_dram("din"), constant_dram("dout"), scratchpad("l1", 2)])
    arenas: list[Arena] = []

    class SmallArena(Arena):
        """One that begins small."""

        def __init__(self, rows: dict[str, int], numbers: dict[str, int], widths: dict[str, int]) -> None:
            if not hasattr(self, "m"):
                rows = rows | {"RECORDS": 80, "PHASES": 400, "EVENTS": 500}
            super().__init__(rows, numbers, widths)
            arenas.append(self)

    monkeypatch.setattr(core_arena, "PLANS", 1)
    monkeypatch.setattr(core_arena, "Arena", SmallArena)
    assert differences(pipeline(200, 9, 7, 5), narrow) == []
    assert len(arenas) > 4  # built anew for every growth
