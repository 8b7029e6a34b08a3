"""The event loop beside compiled models: order of instants, bounds, several models, real DRAM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import SimulationError
from archsim.ir.program import Affine, CommandLoop, Program
from archsim.memory import offchip
from archsim.memory.dram.controller import DramController
from archsim.memory.offchip import OffChip, TransferShape
from archsim.sim.clock import ClockDomain
from archsim.sim.events import EventLoop, ProcessBody, end_stream, postpone
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from tests.laws.builders import (
    LOAD,
    STORE,
    VECTOR,
    chip,
    constant_dram,
    flat,
    move,
    program,
    queue,
    ring,
    scratchpad,
    tensor,
    tokens,
    vector,
)

PS = ClockDomain(10**12)


@dataclass(frozen=True)
class Ask:
    """A request that takes ``ps``."""

    id: int
    ps: int


@dataclass(frozen=True)
class Done:
    """Its completion."""

    id: int
    time_ps: int


class Counter:
    """A model that serves one request after the other and remembers how far it was run."""

    def __init__(self, log: list[tuple[Any, ...]], name: str = "") -> None:
        self.log, self.name = log, name
        self.now = self.free = 0
        self.ending: list[Done] = []

    def submit(self, at_ps: int, transfers: Sequence[Ask]) -> None:
        assert at_ps >= self.now
        self.log.append(("submit", at_ps, *(ask.id for ask in transfers)))
        for ask in transfers:
            self.free = max(self.free, at_ps) + ask.ps
            self.ending.append(Done(ask.id, self.free))

    def advance(self, until_ps: int) -> list[Done]:
        assert until_ps >= self.now
        first = min((done.time_ps for done in self.ending), default=until_ps + 1)
        self.now = min(first, until_ps)
        found = [done for done in self.ending if done.time_ps == self.now]
        self.ending = [done for done in self.ending if done not in found]
        return found

    def next_event_ps(self) -> int | None:
        return min((done.time_ps for done in self.ending), default=None)


def test_requests_of_an_instant_are_sorted_and_handed_over_once() -> None:
    """All events of the instant come first, whatever their order; then one submit by (port, sequence)."""
    log: list[tuple[Any, ...]] = []
    event_loop = EventLoop()
    model = event_loop.attach(Counter(log))

    def body(port: int, number: int) -> ProcessBody:
        yield event_loop.timeout(10)
        yield event_loop.timeout(0)
        done = yield event_loop.submit(model, (port, number), Ask(10 * port + number, 5), PS)
        log.append(("done", event_loop.now, done.id))

    for port, number in ((2, 0), (1, 1), (1, 0)):
        event_loop.start(body(port, number))
    event_loop.run()
    assert log == [("submit", 10, 10, 11, 20), ("done", 15, 10), ("done", 20, 11), ("done", 25, 20)]


def test_an_instant_is_settled_between_its_events_and_its_requests() -> None:
    """What settles comes once all events have happened; events that it makes happen before requests are handed over."""
    log: list[tuple[Any, ...]] = []
    event_loop = EventLoop()
    model = event_loop.attach(Counter(log))

    def settle() -> None:
        log.append(("settled", event_loop.now))
        event_loop.at(event_loop.now, lambda: log.append(("more", event_loop.now)))

    def body(number: int) -> ProcessBody:
        yield event_loop.timeout(10)
        if number == 0:
            event_loop.at_end(settle)
        log.append(("event", number))
        yield event_loop.submit(model, (number,), Ask(number, 5), PS)

    for number in range(2):
        event_loop.start(body(number))
    event_loop.run()
    assert log == [("event", 0), ("event", 1), ("settled", 10), ("more", 10), ("submit", 10, 0, 1)]


def test_a_completion_comes_before_the_other_events_of_its_time() -> None:
    """Urgent at its own time, on the next edge of the receiver's clock."""
    log: list[tuple[Any, ...]] = []
    event_loop = EventLoop()
    model = event_loop.attach(Counter(log))

    def asks(clock: ClockDomain) -> ProcessBody:
        done = yield event_loop.submit(model, (0, 0), Ask(1, 1_500), clock)
        log.append(("done", event_loop.now, done.time_ps))

    def ticks() -> ProcessBody:
        yield event_loop.timeout(2_000)
        log.append(("tick", event_loop.now))

    event_loop.start(ticks())
    event_loop.start(asks(ClockDomain(10**9)))
    event_loop.run()
    assert log[1:] == [("done", 2_000, 1_500), ("tick", 2_000)]


def test_two_models_feed_one_another() -> None:
    """A model is never run past a completion of another one that could feed it."""
    log: list[tuple[Any, ...]] = []
    event_loop = EventLoop()
    models = [event_loop.attach(Counter(log, "a")), event_loop.attach(Counter(log, "b"))]

    def body(start: int, lengths: tuple[int, ...]) -> ProcessBody:
        for number, length in enumerate(lengths):
            model = models[(start + number) % 2]
            done = yield event_loop.submit(model, (start, number), Ask(10 * start + number, length), PS)
            log.append((event_loop.now, done.id))

    event_loop.start(body(0, (3, 100, 2)))
    event_loop.start(body(1, (7, 4, 1)))
    event_loop.run()
    assert [entry for entry in log if entry[0] != "submit"] == [
        (3, 0),
        (7, 10),
        (11, 11),
        (107, 1),
        (108, 12),
        (109, 2),
    ]


def test_a_model_that_never_completes_is_an_error() -> None:
    event_loop = EventLoop()
    stuck = Counter([])
    model = event_loop.attach(stuck)
    event_loop.submit(model, (0,), Ask(1, 1 << 63), PS)

    def body() -> ProcessBody:
        yield event_loop.timeout(1)

    event_loop.start(body())
    stuck.next_event_ps = lambda: 5  # type: ignore[method-assign]
    with pytest.raises(SimulationError, match="never completes 1 requests"):
        event_loop.run()


def test_a_moved_end_happens_once_at_its_new_time() -> None:
    event_loop = EventLoop()
    seen = []
    event = event_loop.event()
    event.callbacks.append(lambda _: seen.append(event_loop.now))
    end_stream(event, 5, 1)
    postpone(event, 9, 1)
    event_loop.run()
    assert seen == [9]


def test_streams_end_behind_all_else_in_the_order_in_which_they_began() -> None:
    event_loop = EventLoop()
    seen: list[str] = []
    first, second = event_loop.event(), event_loop.event()
    first.callbacks.append(lambda _: seen.append("first"))
    second.callbacks.append(lambda _: seen.append("second"))
    end_stream(second, 9, 2)
    end_stream(first, 5, 1)
    postpone(first, 9, 1)
    event_loop.at(9, lambda: seen.append("else"))
    event_loop.run()
    assert seen == ["else", "first", "second"]


def streaming(tiles: int, sizes: tuple[int, int, int], stride: int, second: str) -> Program:
    """Two loads and a store per tile on real DRAM, some of them strided over rows."""
    x, w, y = sizes
    at = Affine(0, (("i", stride),))
    return program(
        queue(
            LOAD,
            CommandLoop(
                "i",
                tiles,
                (
                    move(
                        "load_x",
                        "x",
                        "a",
                        x,
                        reads=(flat("src", "x", offset=at),),
                        waits=tokens("a.free"),
                        signals=tokens("a.full"),
                    ),
                    move("load_w", "w", "b", w, waits=tokens("b.free"), signals=tokens("b.full")),
                ),
            ),
        ),
        queue(
            VECTOR,
            CommandLoop(
                "j",
                tiles,
                (
                    vector(
                        "use",
                        "a",
                        "c",
                        y,
                        waits=tokens("a.full", "b.full", "c.free"),
                        signals=tokens("a.free", "b.free", "c.full"),
                    ),
                ),
            ),
        ),
        queue(
            STORE,
            CommandLoop("k", tiles, (move("store", "c", "y", y, waits=tokens("c.full"), signals=tokens("c.free")),)),
        ),
        tensors=(tensor("x", "d0", 2**22), tensor("w", second, 2**16, 2**22), tensor("y", "d0", 2**16, 2**23)),
        rings=tuple(
            ring(name, 2, writer, reader, size=2**13, base=place * 2**15)
            for place, (name, writer, reader) in enumerate(
                (("a", LOAD, VECTOR), ("b", LOAD, VECTOR), ("c", VECTOR, STORE))
            )
        ),
    )


def real_chip() -> Architecture:
    """Two DDR4 parts and one scratchpad, clocks that never meet."""
    ddr4 = {"standard": "ddr4", "speed_mts": 2400, "width_bits": 64, "channels": 1, "capacity_bytes": 2**32}
    plain = constant_dram("d0")
    memories = [replace(plain, **ddr4), replace(plain, **ddr4, name="d1"), scratchpad("l1", 64)]
    return chip(memories, clocks={"vector": 1_300_000_000}, vector={"lanes": {"int8": 16}})


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.integers(1, 6),
    st.tuples(*[st.integers(1, 6000)] * 3),
    st.integers(0, 40_000),
    st.sampled_from(["d0", "d1"]),
)
def test_looking_less_often_at_the_memory_changes_nothing(
    tiles: int, sizes: tuple[int, int, int], stride: int, second: str
) -> None:
    """The kernel skips looking at a DRAM before a transfer could end, and runs it in one go to the next event:
    the same Activity as going in steps of at most one burst."""
    text = streaming(tiles, sizes, stride, second)
    usual = simulate(text, real_chip())

    def without_bound(self: OffChip, touched: Any, *, write: bool, outstanding: int | None = None) -> TransferShape:
        return shape(self, touched, write=write, outstanding=outstanding)._replace(least_ps=0)

    def in_steps(self: DramController, until_ps: int) -> list[Any]:
        while True:
            ahead = self.next_event_ps()
            limit = until_ps if ahead is None else min(until_ps, max(ahead, self._now_ps) + 500)
            found = advance(self, limit)
            if found or limit == until_ps:
                return found

    shape, advance = OffChip.shape, DramController.advance
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offchip.OffChip, "shape", without_bound)
        patch.setattr(DramController, "advance", in_steps)
        assert simulate(text, real_chip()) == usual


def test_dram_totals_and_charges() -> None:
    """Useful and pin bytes by layer sum to the controller's totals; refreshes are static; fidelity is told."""
    activity = simulate(streaming(40, (4096, 100, 300), 4096, "d0"), real_chip())
    stats = activity.dram["d0"]
    found = {action: count for (_, part, action), count in activity.counts.items() if part == "d0"}
    assert (found["read_bytes"], found["write_bytes"]) == (40 * 4196, 40 * 300)
    assert (stats.useful_read_bytes, stats.useful_write_bytes) == (found["read_bytes"], found["write_bytes"])
    assert (stats.read_bytes, stats.write_bytes) == (found["pin_read_bytes"], found["pin_write_bytes"])
    assert found["pin_read_bytes"] > found["read_bytes"] and found["activates"] == stats.activates
    assert activity.counts["_static", "d0", "refreshes"] == stats.refreshes > 0
    assert stats.peak_bytes_per_s == 19_200_000_000
    assert activity.fidelity == {"d0": "exact", "d1": "exact"}
    assert activity.dram["d1"].read_bytes == 0
