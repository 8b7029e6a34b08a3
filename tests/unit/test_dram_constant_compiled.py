"""The constant-rate memory in compiled code gives what the one on rational numbers does, whatever comes when."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import ConfigError, SimulationError
from archsim.ir.program import Program
from archsim.memory import offchip
from archsim.memory.dram import constant_state
from archsim.memory.dram.constant import ConstantRateMemory
from archsim.memory.dram.interface import RowList, Transfer
from archsim.spec.architecture import Architecture
from archsim.system import Machine
from tests.laws.builders import pipeline
from tests.laws.test_compiled_machine_laws import chips, meshes
from tests.oracles.constant_rate import ConstantRateOracle

EXACT = settings(max_examples=200, deadline=None, derandomize=True)
NEVER = 1 << 62
FAR_PS = 10**17

rates = (
    st.none()
    | st.fractions(Fraction(1, 1000), 100, max_denominator=1000)
    | st.builds(Fraction, st.integers(NEVER - 10**6, NEVER - 1), st.integers(1 << 58, 1 << 64))
)


def rows(rng: Random) -> RowList:
    """Rows of none, one or more runs, at clocks that divide no picosecond too."""
    count = rng.choice([1, 2, 7, 30])
    row = np.array(sorted(rng.choices(range(count), k=rng.choice([0, 1, count, 2 * count]))), np.int64)
    addresses = np.array([rng.randrange(1 << 30) for _ in row], np.int64)
    sizes = np.array([rng.choice([1, 32, 100, 4096]) for _ in row], np.int64)
    return RowList(count, addresses, sizes, row, rng.choice([0, 0, 1, 9]), rng.choice([10**9, 700_000_000, 10**12, 3]))


def transfer(rng: Random, number: int) -> Transfer:
    write, most = rng.random() < 0.4, rng.choice([None, None, 1, 2, 5])
    if rng.random() < 0.3:
        return Transfer(number, write, 0, 0, outstanding=most, rows=rows(rng))
    extents, strides = rng.choice([((), ()), ((8,), (4096,)), ((3, 5), (70_000, -9)), ((0,), (1,))])
    return Transfer(number, write, rng.randrange(1 << 40), rng.choice([0, 1, 64, 4097]), extents, strides, most)


@EXACT
@given(rates, st.sampled_from((0, 1, 12_345)), st.integers(0, 1 << 64))
def test_all_ends_are_those_of_the_definition(rate: Fraction | None, latency_ps: int, seed: int) -> None:
    """Completions and their order, bounds, counters and state, however time is chopped."""
    rng = Random(seed)
    one, other = ConstantRateMemory(rate, latency_ps), ConstantRateOracle(rate, latency_ps)
    now_ps = number = 0
    for _ in range(12):
        come = [transfer(rng, number + n) for n in range(rng.choice([0, 1, 1, 3, 25]))]
        number += len(come)
        one.submit(now_ps, come)
        other.submit(now_ps, come)
        now_ps += rng.choice([0, 1, 50, 3000, 10**6, 10**12])
        assert one.next_event_ps() == other.next_event_ps()
        while found := one.advance(now_ps):
            assert found == other.advance(now_ps)
            assert one.stats == other.stats and one.next_event_ps() == other.next_event_ps()
        assert other.advance(now_ps) == []
        assert one.entry(now_ps, align=False) == other.entry(now_ps, align=False)
    while other.next_event_ps() is not None:
        assert one.advance(FAR_PS) == other.advance(FAR_PS)
    assert one.next_event_ps() is None and one.stats == other.stats
    assert one.peak_bytes_per_s == other.peak_bytes_per_s
    assert one.least_ps(4097, write=False) == other.least_ps(4097, write=False)


def test_words_of_lists_are_used_again() -> None:
    """Lists that come one after the other need the room of one."""
    memory, rng = ConstantRateMemory(Fraction(1)), Random(1)
    listed = rows(rng)
    room = set()
    for number in range(50):
        memory.submit(number * 10**12, [Transfer(number, False, 0, 0, rows=listed)])
        (done,) = memory.advance((number + 1) * 10**12)
        assert done.id == number
        room.add(len(memory._state.words))
    assert len(room) == 1


# ---- in machines


def assert_as_defined(text: Program, on: Architecture) -> None:
    """The machine of processes on rational numbers and the compiled one on compiled memories give the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offchip, "ConstantRateMemory", ConstantRateOracle)
        one = Machine(text, on, trace=True).run()
    for compiled in (False, True):
        two = Machine(text, on, trace=True, compiled=compiled).run()
        for field in fields(one):
            if field.name == "records":
                assert {name: list(found) for name, found in one.records.items()} == {
                    name: list(found) for name, found in two.records.items()
                }
            else:
                assert getattr(one, field.name) == getattr(two, field.name), field.name


@settings(EXACT, max_examples=30)
@given(chips(), meshes(), st.integers(1, 12), st.tuples(*[st.integers(1, 60)] * 3))
def test_machines_do_what_they_do_on_the_definition(
    on: Architecture, text: Program, tiles: int, lengths: tuple[int, int, int]
) -> None:
    """Records, counts, streams and statistics, of Programs whose moves the machine begins itself."""
    assert_as_defined(text, on)
    assert_as_defined(pipeline(tiles, *lengths), on)


# ---- what 64 bits do not hold


def test_rates_and_latencies_that_64_bits_do_not_hold_are_refused() -> None:
    for rate, latency_ps in ((Fraction(NEVER + 1, NEVER), 0), (None, NEVER)):
        with pytest.raises(ConfigError, match=r"found .*2\^62"):
            ConstantRateMemory(rate, latency_ps)
    ConstantRateMemory(Fraction(NEVER - 1, NEVER), NEVER - 1)


def test_transfers_that_end_too_late_are_refused() -> None:
    """One by one, all together, for a latency, and rows that are asked for too late."""
    day_ps = 86_400 * 10**12
    with pytest.raises(SimulationError, match=r"takes 8640{16} ps; allowed below 2\^62"):
        ConstantRateMemory(Fraction(1)).submit(0, [Transfer(0, False, 0, 100 * day_ps)])
    memory = ConstantRateMemory(Fraction(1, 2))
    memory.submit(0, [Transfer(0, False, 0, 20 * day_ps)])
    memory.submit(1, [Transfer(1, False, 0, 6 * day_ps)])
    with pytest.raises(SimulationError, match=r"ends at 2\^62 ps \(53 days\) or later"):
        memory.submit(2, [Transfer(2, False, 0, day_ps)])
    for size_bytes in (0, 1):
        late = ConstantRateMemory(Fraction(1), NEVER - 1)
        with pytest.raises(SimulationError, match="or later"):
            late.submit(1, [Transfer(0, False, 0, size_bytes)])
    listed = RowList(3, np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), 10**6, 1)
    slow = ConstantRateMemory(Fraction(1))
    slow.submit(0, [Transfer(0, False, 0, 0, rows=listed)])
    assert slow.next_event_ps() == 10**18
    assert slow.advance(10**18) == []
    far = RowList(5, *(np.zeros(0, np.int64) for _ in range(3)), 10**6, 1)
    slow.submit(10**18, [Transfer(1, False, 0, 0, rows=far)])
    (done,) = slow.advance(NEVER)
    assert (done.id, done.time_ps) == (0, 3 * 10**18)
    with pytest.raises(SimulationError, match="or later"):
        slow.advance(NEVER)


@pytest.mark.parametrize("empty", [0, 1])
def test_the_last_row_of_a_list_cannot_end_beyond_64_bits(empty: int) -> None:
    """Its time on the port and the latency are held each by itself, their sum is not; rows before it may be empty."""
    one = np.ones(1, np.int64)
    listed = RowList(1 + empty, 0 * one, (NEVER - 1) * one, empty * one, 0, 10**12)
    memory = ConstantRateMemory(Fraction(1), NEVER - 1)
    with pytest.raises(SimulationError, match="or later"):
        memory.submit(10, [Transfer(0, False, 0, 0, rows=listed)])


def test_bytes_that_cannot_be_counted_are_refused() -> None:
    memory = ConstantRateMemory(None)
    with pytest.raises(SimulationError, match=r"a transfer of \d+ B"):
        memory.submit(0, [Transfer(0, False, 0, NEVER)])
    memory.submit(0, [Transfer(0, False, 0, NEVER - 1)])
    with pytest.raises(SimulationError, match=r"2\^62 B or more in all"):
        memory.submit(0, [Transfer(1, False, 0, 1)])


def test_malformed_transfers_are_refused() -> None:
    nothing = np.zeros(0, np.int64)
    for wrong, message in (
        (Transfer(0, False, 0, -1), "malformed"),
        (Transfer(0, False, 0, 1, (-1,), (1,)), "malformed"),
        (Transfer(0, False, 0, 0, rows=RowList(0, nothing, nothing, nothing, 0, 1)), "malformed"),
        (Transfer(0, False, 0, 0, outstanding=0, rows=RowList(1, nothing, nothing, nothing, 0, 1)), "outstanding"),
        (Transfer(0, False, 0, 0, rows=RowList(1, nothing, nothing, nothing, 0, 10**12 + 1)), r"up to 10\^12 Hz"),
        (Transfer(0, False, 0, 0, rows=RowList(1, nothing, nothing, nothing, NEVER, 1)), "cycles apart"),
    ):
        with pytest.raises(SimulationError, match=message):
            ConstantRateMemory(Fraction(1)).submit(0, [wrong])


def test_arrays_grow() -> None:
    """More transfers at once, and shapes, than there is room for at first."""
    memory = ConstantRateMemory(Fraction(1))
    sizes = range(1, 4 * max(constant_state.FIRST_SLOTS, constant_state.FIRST_SHAPES))
    memory.submit(0, [Transfer(size, False, 0, size) for size in sizes])
    found = []
    while (at := memory.next_event_ps()) is not None:
        found += [(done.id, done.time_ps) for done in memory.advance(at)]
    assert found == [(size, size * (size + 1) // 2) for size in sizes]
