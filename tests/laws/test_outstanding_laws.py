"""Laws of limits on what is under way in the DRAM, and of rows in one transfer or in many: 22, 34, 46."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.dram.address import DEFAULT, by_name
from archsim.facts.dram.device import ControllerPolicy, DramMemory
from archsim.memory.dram.constant import ConstantRateMemory
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.fast_model import FastDram
from archsim.memory.dram.interface import DramModel, RowList, Transfer, TransferCompletion
from tests.laws.test_dram_laws import EVERY_GRADE, drain, memory

IDLE_PS = 10**7
QUIET = ControllerPolicy(refresh="none")


def read_ps(part: DramMemory, bursts: int, outstanding: int | None) -> int:
    """A sequential read of rows that are open already, on idle channels without refreshes, from when it is seen."""
    model, size = DramController(part, QUIET), part.device.burst_bytes
    model.submit(0, [Transfer(0, False, 0, bursts * size)])
    (opened,) = drain(model)
    hz = part.device.clock_hz
    seen = (opened.time_ps + IDLE_PS) * hz // 10**12
    model.submit(seen * 10**12 // hz - 1, [Transfer(1, False, 0, bursts * size, outstanding=outstanding)])
    (done,) = drain(model)
    return done.time_ps - seen * 10**12 // hz


@pytest.mark.parametrize("outstanding", [1, 2, 3, 7, 16, 64])
@pytest.mark.parametrize(("name", "speed"), EVERY_GRADE)
def test_law_22_rate_of_a_limited_read(name: str, speed: int, outstanding: int) -> None:
    """Law 22 with n bursts under way: min(peak, n x burst / unloaded latency), within the latency of one burst.

    The latency is that of a row hit; less one cycle where the data clock need not be started anew each time.
    """
    for channels in (1, 3):
        part = memory(name, speed, channels)
        device, bursts = part.device, 48 * channels
        hit = read_ps(part, 1, None)
        least = hit - (10**12 // device.clock_hz + 1 if device.clock_linger else 1)
        found = read_ps(part, bursts, outstanding)
        at_peak = bursts * device.burst_bytes * 10**12 // part.peak_bytes_per_s
        assert found >= max(at_peak, bursts // outstanding * least)
        assert found <= max(read_ps(part, bursts, None), bursts * hit // outstanding) + hit


def random_move(rng: Random) -> Transfer:
    run, runs = rng.choice([(4096, 4), (320, 40), (64, 100), (48, 7)])
    return Transfer(0, rng.random() < 0.3, rng.randrange(1 << 16), run, (runs,), (rng.randrange(run, 9000),))


@given(st.integers(0, 2**64))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_law_46_a_limit_that_is_never_met_changes_nothing(seed: int) -> None:
    """Law 46: as many outstanding as the move has bursts are no limit, bit for bit; any limit moves the same bytes."""
    rng = Random(seed)
    part = memory(*rng.choice(EVERY_GRADE), rng.choice([1, 2, 3]))
    move = random_move(rng)
    (free,) = run(DramController(part), move)
    bursts = free.pin_bytes // part.device.burst_bytes
    assert run(DramController(part), replace(move, outstanding=bursts)) == [free]
    (limited,) = run(DramController(part), replace(move, outstanding=rng.randint(1, bursts)))
    assert limited.pin_bytes == free.pin_bytes and limited.useful_bytes == free.useful_bytes


def run(model: DramModel, *transfers: Transfer) -> list[TransferCompletion]:
    model.submit(0, transfers)
    return drain(model)


def some_rows(rng: Random, setup_cycles: int = 0) -> RowList:
    count = rng.randint(1, 60)
    addresses = np.array([rng.randrange(1 << 16) for _ in range(count)], np.int64)
    sizes = np.full(count, rng.choice([32, 64, 100, 512]), np.int64)
    return RowList(count, addresses, sizes, np.arange(count, dtype=np.int64), setup_cycles, 10**9)


def one_by_one(model: DramModel, rows: RowList, write: bool, outstanding: int | None) -> int:
    """A transfer for each row, submitted by an engine of 1 GHz: row n when row n - outstanding was retired."""
    ends: dict[int, int] = {}
    now = retired = 0

    def wait(row: int, until: int) -> int:
        while row not in ends:
            ends.update((done.id, done.time_ps) for done in model.advance(10**15))
        return max(until, -(-ends[row] // 1000) * 1000)

    for row in range(rows.count):
        now += 1000 * rows.setup_cycles
        if outstanding is not None and row - retired == outstanding:
            now, retired = wait(retired, now), retired + 1
        while (event := model.next_event_ps()) is not None and event < now:
            found = model.advance(now)
            ends.update((done.id, done.time_ps) for done in found)
            if not found:
                break
        model.submit(now, [Transfer(row, write, int(rows.addresses[row]), int(rows.sizes[row]))])
    return max(wait(row, 0) for row in range(rows.count))


@given(st.integers(0, 2**64))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_law_34_rows_of_one_transfer_are_those_of_many(seed: int) -> None:
    """Law 34: a list of rows takes what a transfer for each takes, to the picosecond, and the same rows of the DRAM."""
    rng = Random(seed)
    write, limit = rng.random() < 0.5, rng.choice([None, 1, 2, 5, 16])
    rows = some_rows(rng, rng.choice([0, 0, 1, 7, 40]))
    if rng.random() < 0.3:
        whole, parts = (ConstantRateMemory(None if limit == 2 else 1, 12_345) for _ in range(2))
    else:
        part = memory(*rng.choice(EVERY_GRADE), rng.choice([1, 2, 3]))
        whole, parts = DramController(part), DramController(part)
    (done,) = run(whole, Transfer(0, write, 0, 0, outstanding=limit, rows=rows))
    assert -(-done.time_ps // 1000) * 1000 == one_by_one(parts, rows, write, limit)
    found, expected = whole.stats, parts.stats
    for name in ("read_bytes", "write_bytes", "useful_read_bytes", "row_hits", "row_misses", "row_conflicts"):
        assert getattr(found, name) == getattr(expected, name), name


@pytest.mark.parametrize("outstanding", [1, 4, 16])
@pytest.mark.parametrize(("name", "speed"), [("ddr4", 3200), ("hbm2", 2400), ("lpddr5", 6400)])
def test_law_22_the_fast_model_follows_limits(name: str, speed: int, outstanding: int) -> None:
    """Law 22: with a limit a move alone takes within 10 % of what it takes exactly, one or three lists of rows 20 %."""
    part = memory(name, speed, 2)
    rng, size = Random(5), part.device.burst_bytes

    def rows(number: int) -> Transfer:
        addresses = np.array([rng.randrange(1 << 18) * size for _ in range(1000)], np.int64)
        listed = RowList(1000, addresses, np.full(1000, size, np.int64), np.arange(1000, dtype=np.int64), 2, 10**9)
        return Transfer(number, False, 0, 0, outstanding=outstanding, rows=listed)

    def error(*transfers: Transfer) -> float:
        fast = FastDram(part, ControllerPolicy(), by_name(DEFAULT, part.device), interleave_bytes=size)
        exact_ps, fast_ps = (run(model, *transfers)[-1].time_ps for model in (DramController(part), fast))
        return abs(fast_ps / exact_ps - 1)

    assert error(Transfer(0, False, rng.randrange(1 << 18) * size, 1 << 17, outstanding=outstanding)) <= 0.1
    assert error(rows(0)) <= 0.2
    assert error(*(rows(n) for n in range(3))) <= 0.2


@pytest.mark.parametrize("outstanding", [16, None])
@pytest.mark.parametrize("refresh", ["all_bank", "per_bank"])
@pytest.mark.parametrize(("name", "speed"), [("ddr5", 5600), ("hbm2", 2000), ("lpddr5", 6400)])
def test_law_22_refresh_takes_no_time_of_an_idle_memory(
    name: str, speed: int, refresh: str, outstanding: int | None
) -> None:
    """Law 22: a refresh takes time of accesses; an engine that asks for a row every 100 ns waits for none of them.

    3,000 rows take 300 us and the latency of the last one, of the fast model too: within 1 %, one list or three.
    """
    part, count = memory(name, speed, 2), 3000
    rng, size = np.random.default_rng(1), part.device.burst_bytes
    policy = ControllerPolicy(refresh=refresh)  # type: ignore[arg-type]

    def rows(number: int) -> Transfer:
        addresses = rng.integers(0, 1 << 18, count) * size
        listed = RowList(count, addresses, np.full(count, size, np.int64), np.arange(count, dtype=np.int64), 100, 10**9)
        return Transfer(number, False, 0, 0, outstanding=outstanding, rows=listed)

    for transfers in ([rows(0)], [rows(n) for n in range(3)]):
        fast = FastDram(part, policy, by_name(DEFAULT, part.device), interleave_bytes=size)
        exact_ps, fast_ps = (run(model, *transfers)[-1].time_ps for model in (DramController(part, policy), fast))
        assert 300_000_000 <= exact_ps <= 301_000_000
        assert abs(fast_ps / exact_ps - 1) <= 0.01


@pytest.mark.parametrize(("name", "speed", "channels"), [("hbm2", 2000, 8), ("hbm3", 6400, 16), ("gddr6", 14000, 8)])
def test_law_22_one_burst_at_a_time_on_many_channels(name: str, speed: int, channels: int) -> None:
    """Law 22: where refreshes close each row before the next burst comes to it, the fast model is within 5 %."""
    part = memory(name, speed, channels)
    move = Transfer(0, False, 0, 1 << 19, outstanding=1)
    fast = FastDram(part, ControllerPolicy(), by_name(DEFAULT, part.device), interleave_bytes=part.device.burst_bytes)
    (exact,), (quick,) = (run(model, move) for model in (DramController(part), fast))
    assert exact.activates > 1000  # of 8,192 bursts or more in 512 or fewer rows
    assert abs(quick.time_ps / exact.time_ps - 1) <= 0.05
