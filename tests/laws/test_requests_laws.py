"""Laws of what engines and ports offer to the DRAM in a cycle: 22, 34, 46, and the same as a trace."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.dram.address import DEFAULT, by_name
from archsim.facts.dram.device import ControllerPolicy, DramMemory
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.fast_model import FastDram
from archsim.memory.dram.interface import BurstAsker, Transfer
from archsim.memory.dram.trace import replay
from tests.laws.test_dram_laws import EVERY_GRADE, memory, run
from tests.laws.test_outstanding_laws import random_move

SEEDS = st.integers(0, 2**64)


def engine(requests: int, hz: int, number: int = 0) -> tuple[BurstAsker, ...]:
    return (BurstAsker(("engine", number), requests, hz),)


def bursts_of(move: Transfer, size: int) -> list[int]:
    """In the order of the region; the last of one run is not moved again as the first of the next."""
    (extent,), (stride,) = move.extents, move.strides
    found: list[int] = []
    for start in range(move.address, move.address + extent * stride, stride):
        first, last = start // size, (start + move.run_bytes - 1) // size
        found += range(first + (found[-1:] == [first]), last + 1)
    return found


@given(SEEDS)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_law_34_an_engine_is_a_trace(seed: int) -> None:
    """Law 34: a read by an engine at the DRAM's clock ends in the cycle in which a trace of its bursts does that offers
    as many a cycle, on any channels, queues and policies; rows too. Queues take in 8 a cycle at most in the machine."""
    rng = Random(seed)
    part = memory(*rng.choice(EVERY_GRADE), rng.choice([1, 2, 3, 4, 16]))
    device, requests = part.device, rng.choice([1, 1, 2, 3, 8])
    policy = ControllerPolicy(read_queue=rng.choice([1, 4, 32, 128]), rows=rng.choice(["open", "closed"]))
    move = replace(random_move(rng), write=False, askers=engine(requests, device.clock_hz))
    addresses = np.array(bursts_of(move, device.burst_bytes), np.int64) * device.burst_bytes
    ones, zeros = np.ones_like(addresses), np.zeros_like(addresses)
    mapping = by_name(DEFAULT, device)
    trace = replay(device, mapping, policy, ones, addresses, zeros, part.channels, requests_per_cycle=requests)
    (done,) = run(DramController(part, policy, mapping), move)
    assert done.time_ps == trace.cycles * 10**12 // device.clock_hz  # seen in cycle 1
    rows = (int(trace.hits.sum()), int(trace.misses.sum()), int(trace.conflicts.sum()))
    assert (done.row_hits, done.row_misses, done.row_conflicts) == rows


def read_ps(part: DramMemory, bursts: int, *askers: BurstAsker) -> int:
    """A contiguous read, without refreshes."""
    move = Transfer(0, False, 0, bursts * part.device.burst_bytes, askers=askers)
    return run(DramController(part, ControllerPolicy(refresh="none")), move)[0].time_ps


@pytest.mark.parametrize("requests", [1, 2, 5])
@pytest.mark.parametrize(("name", "speed"), [("ddr4", 2400), ("lpddr5", 6400), ("hbm3", 6400)])
def test_law_22_rate_of_requests(name: str, speed: int, requests: int) -> None:
    """Law 22 with n requests a cycle: n bursts in a cycle of the slower clock where that is less than the pins carry.

    At no time sooner, and later than without a limit by the latency of one burst at most beyond that.
    """
    bursts = 4000
    for share in (1, 3, 8):  # of the DRAM's clock; and faster than that
        part = memory(name, speed, 16)
        hz = part.device.clock_hz // share if share < 8 else 3 * part.device.clock_hz
        offered_ps = (bursts // requests - 1) * 10**12 // min(hz, part.device.clock_hz)
        free, found = read_ps(part, bursts), read_ps(part, bursts, BurstAsker(("engine", 0), requests, hz))
        assert found >= max(free, offered_ps)
        if offered_ps > 2 * free:
            assert found <= 1.01 * offered_ps + read_ps(part, 1) + 2 * 10**12 // hz


@given(SEEDS)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_law_46_requests_that_are_never_short_change_nothing(seed: int) -> None:
    """Law 46: on one channel as many requests a cycle as the queue takes in are no limit, bit for bit."""
    rng = Random(seed)
    part = memory(*rng.choice(EVERY_GRADE))
    move = random_move(rng)
    (free,) = run(DramController(part), move)
    for requests in (8, 1000):
        assert run(DramController(part), replace(move, askers=engine(requests, part.device.clock_hz))) == [free]
    (slow,) = run(DramController(part), replace(move, askers=engine(1, 10**7)))
    assert slow.pin_bytes == free.pin_bytes and slow.time_ps >= free.time_ps


def test_law_46_engines_share_a_port() -> None:
    """Law 46: two engines through ports of their own take less time than through one, which serves one after another;
    the limits of an engine and of its port hold both."""
    part = memory("hbm3", 6400, 16)
    hz, size = part.device.clock_hz, part.device.burst_bytes

    def ends_ps(*askers: tuple[BurstAsker, ...]) -> list[int]:
        moves = [Transfer(n, False, n << 24, 2000 * size, askers=each) for n, each in enumerate(askers)]
        return [done.time_ps for done in run(DramController(part), *moves)]

    ports = [BurstAsker(("port", n), 2, hz) for n in range(2)]
    apart, one = ends_ps((ports[0],), (ports[1],)), ends_ps((ports[0],), (ports[0],))
    assert max(apart) < 0.6 * max(one) and one[0] < 0.6 * one[1]
    both = ends_ps((engine(1, hz)[0], ports[0]))
    assert both == ends_ps(engine(1, hz)) and both[0] > 1.9 * ends_ps((ports[0],))[0]


@pytest.mark.parametrize("requests", [1, 4])
@pytest.mark.parametrize(("name", "speed"), [("ddr4", 3200), ("hbm3", 6400)])
def test_law_22_the_fast_model_follows_requests(name: str, speed: int, requests: int) -> None:
    """Law 22: with a limit on requests a move takes within 10 % of what it takes exactly, and so do four through one
    port; four of engines of their own, at places that are no whole rows apart, within 15 %."""
    part, rng = memory(name, speed, 8), Random(3)
    size, hz = part.device.burst_bytes, part.device.clock_hz // 2

    def error(*askers: tuple[BurstAsker, ...]) -> float:
        places = [rng.randrange(1 << 20) * size for _ in askers]
        moves = [Transfer(n, False, places[n], 1 << 18, askers=each) for n, each in enumerate(askers)]
        fast = FastDram(part, ControllerPolicy(), by_name(DEFAULT, part.device), interleave_bytes=size)
        exact_ps, fast_ps = (run(model, *moves)[-1].time_ps for model in (DramController(part), fast))
        return abs(fast_ps / exact_ps - 1)

    assert error(engine(requests, hz)) <= 0.1
    assert error(*(engine(requests, hz, n) for n in range(4))) <= 0.15
    assert error(*[engine(requests, hz)] * 4) <= 0.1
