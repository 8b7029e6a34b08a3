"""The constant-rate memory: exact rational time of one port, first come first served."""

from __future__ import annotations

from fractions import Fraction

import pytest

from archsim.base.errors import ConfigError, SimulationError
from archsim.memory.dram.constant import ConstantRateMemory
from archsim.memory.dram.interface import Transfer, TransferCompletion


def move(number: int, size_bytes: int, write: bool = False) -> Transfer:
    return Transfer(id=number, write=write, address=0, run_bytes=size_bytes)


def drain(memory: ConstantRateMemory) -> list[TransferCompletion]:
    completions = []
    while (at := memory.next_event_ps()) is not None:
        completions += memory.advance(at)
    return completions


def test_no_rounding_adds_up() -> None:
    """Three bytes in 10 ps: 1000 transfers of one byte end at ceil(10000 / 3) ps, not 1000 roundings later."""
    memory = ConstantRateMemory(Fraction(3, 10))
    memory.submit(0, [move(n, 1) for n in range(1000)])
    assert [c.time_ps for c in drain(memory)] == [-(-(n + 1) * 10 // 3) for n in range(1000)]


def test_latency_does_not_hold_the_port() -> None:
    memory = ConstantRateMemory(Fraction(2), latency_ps=100)
    memory.submit(7, [move(0, 20), move(1, 20, write=True)])
    memory.submit(50, [move(2, 10)])
    found = [(c.id, c.first_beat_ps, c.time_ps, c.write) for c in drain(memory)]
    assert found == [(0, 107, 117, False), (1, 117, 127, True), (2, 150, 155, False)]


def test_infinite_rate_and_empty_transfers() -> None:
    memory = ConstantRateMemory(None)
    memory.submit(5, [move(0, 10**9), move(1, 1)])
    assert [c.id for c in memory.advance(5)] == [0, 1]
    slow = ConstantRateMemory(Fraction(1, 1000))
    slow.submit(0, [move(0, 10)])
    slow.submit(1, [move(1, 0)])
    assert [(c.id, c.time_ps) for c in drain(slow)] == [(1, 1), (0, 10_000)]


def test_strided_regions_count_their_bytes() -> None:
    memory = ConstantRateMemory(Fraction(1))
    memory.submit(0, [Transfer(0, True, 64, 3, (4, 5), (100, 7))])
    (completion,) = memory.advance(1000)
    assert (completion.time_ps, completion.useful_bytes, completion.pin_bytes) == (60, 60, 60)
    assert memory.stats.useful_write_bytes == memory.stats.write_bytes == 60
    assert memory.stats.busy_ps == (60,) and memory.stats.reads == 0


def test_stops_at_the_first_completion() -> None:
    memory = ConstantRateMemory(Fraction(1))
    memory.submit(0, [move(0, 10), move(1, 10)])
    assert memory.advance(9) == []
    assert [c.id for c in memory.advance(50)] == [0]
    assert memory.next_event_ps() == 20
    memory.submit(10, [move(2, 1)])
    with pytest.raises(SimulationError, match="9 ps"):
        memory.submit(9, [])
    with pytest.raises(SimulationError, match="already at 10"):
        memory.advance(9)


def test_impossible_options() -> None:
    for rate, latency in ((Fraction(0), 0), (Fraction(-1), 0), (None, -1)):
        with pytest.raises(ConfigError, match="allowed"):
            ConstantRateMemory(rate, latency)
