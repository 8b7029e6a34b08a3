"""Laws of DRAM, for every standard and speed present: 12, 22, 23, 26 (with the unit tests' reference), 34, 41, 46."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.memory.dram import catalogue
from archsim.memory.dram.constant import ConstantRateMemory
from archsim.memory.dram.controller import Completion, DramController, Transfer
from archsim.memory.dram.interface import DramModel
from archsim.memory.dram.timing import DramTiming, edge_ps

MIB, GIB = 1 << 20, 1 << 30
FAR_PS = 10**15
EVERY_GRADE = [
    (name, catalogue.usual_width_bits(name), speed)
    for name in catalogue.with_timing()
    for speed in catalogue.speeds_mts(name)
]
SEEDS = st.integers(0, 2**64)
quantified = settings(max_examples=40, deadline=None, derandomize=True)


@cache
def timing(name: str, width: int, speed: int, channels: int = 1) -> DramTiming:
    return catalogue.timing(name, speed, width, channels, channels * GIB)


def some_timing(rng: Random, channels: int) -> DramTiming:
    return timing(*rng.choice(EVERY_GRADE), channels)


def drain(dram: DramModel) -> list[Completion]:
    completions = []
    while dram.next_event_ps() is not None:
        completions += dram.advance(FAR_PS)
    return completions


def run(dram: DramModel, *transfers: Transfer, at_ps: int = 0) -> list[Completion]:
    dram.advance(at_ps)
    dram.submit(at_ps, transfers)
    return drain(dram)


def cycle_of(dram: DramTiming, time_ps: int) -> int:
    return dram.cycles(time_ps)


def in_cycles(dram: DramTiming, *names: str) -> list[int]:
    return [dram.cycles(getattr(dram, f"t_{name}_ps")) for name in names]


def random_region(rng: Random, unit: int, number: int = 0) -> Transfer:
    """Runs in multiples of ``unit`` bytes, apart from each other by at least one byte more than a burst."""
    run_bytes = unit * rng.randint(1, 600 // unit)
    loops, reach = [], run_bytes
    for _ in range(rng.randint(0, 3)):
        stride = -(-reach // unit) * unit + unit * rng.randint(-(-65 // unit), -(-300 // unit))
        loops.insert(0, (rng.randint(1, 4), stride))
        reach = loops[0][0] * stride + reach
    extents, strides = tuple(extent for extent, _ in loops), tuple(stride for _, stride in loops)
    return Transfer(number, rng.random() < 0.5, unit * rng.randint(0, 4000), run_bytes, extents, strides)


def granules_touched(transfer: Transfer, burst_bytes: int) -> int:
    touched = set()
    for index in product(*(range(extent) for extent in transfer.extents)):
        start = transfer.address + sum(i * s for i, s in zip(index, transfer.strides, strict=True))
        touched |= set(range(start // burst_bytes, (start + transfer.run_bytes - 1) // burst_bytes + 1))
    return len(touched)


@given(SEEDS)
@quantified
def test_pin_bytes(seed: int) -> None:
    """Law 12: pin bytes = bursts touched >= useful bytes, equal iff runs begin and end at burst boundaries."""
    rng = Random(seed)
    dram = some_timing(rng, rng.choice([1, 2, 3, 4]))
    transfer = random_region(rng, unit=rng.choice([1, 8, dram.burst_bytes]))
    (completion,) = run(DramController(dram), transfer)
    assert completion.pin_bytes == granules_touched(transfer, dram.burst_bytes) * dram.burst_bytes
    moving = [stride for extent, stride in zip(transfer.extents, transfer.strides, strict=True) if extent > 1]
    aligned = all(n % dram.burst_bytes == 0 for n in (transfer.address, transfer.run_bytes, *moving))
    assert completion.pin_bytes >= completion.useful_bytes
    assert (completion.pin_bytes == completion.useful_bytes) == aligned


@pytest.mark.parametrize("idle", [True, False])
@pytest.mark.parametrize(("name", "width", "speed"), EVERY_GRADE)
def test_refresh_count(name: str, width: int, speed: int, idle: bool) -> None:
    """Law 22: refreshes within 1 of T / tREFI for each rank of each channel, idle or streaming."""
    dram = timing(name, width, speed, 2)
    model = DramController(dram)
    if not idle:
        model.submit(0, [Transfer(0, False, 0, 4 * MIB)])
    for intervals in (Fraction(1, 2), 1, Fraction(31, 2), 25):
        until_ps = int(intervals * dram.t_refi_ps)
        while model.advance(until_ps):
            pass
        assert abs(model.stats.refreshes / (dram.channels * dram.ranks) - intervals) <= 1


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize(("name", "width", "speed"), EVERY_GRADE)
def test_streaming_rate(name: str, width: int, speed: int, write: bool) -> None:
    """Law 22: the bus is free of data for tRFC at each refresh, so a stream <= peak x (1 - tRFC / tREFI).

    And it is a stream: of the rest at most the way from precharge to the next beat is lost at each refresh.
    """
    dram = timing(name, width, speed, 2)
    size_bytes = int(dram.peak_bytes_per_s * 40 * dram.t_refi_ps / 10**12) // 64 * 64
    model = DramController(dram)
    (completion,) = run(model, Transfer(0, write, 0, size_bytes))
    refreshes = completion.time_ps // dram.t_refi_ps
    at_peak_ps = size_bytes * 10**12 / dram.peak_bytes_per_s
    assert at_peak_ps <= completion.time_ps - refreshes * dram.t_rfc_ps
    efficiency = at_peak_ps / completion.time_ps
    assert efficiency <= (1 - Fraction(dram.t_rfc_ps, dram.t_refi_ps)) * (1 + Fraction(1, refreshes))
    reopen_ps = (
        dram.t_ras_ps + dram.t_cwl_ps + dram.t_burst_ps + dram.t_wr_ps + dram.t_rp_ps + dram.t_rcd_ps + dram.t_cl_ps
    )
    lost_ps = (refreshes + 1) * (dram.t_rfc_ps + reopen_ps) + dram.t_faw_ps
    assert at_peak_ps >= completion.time_ps - lost_ps


@pytest.mark.parametrize(("name", "width", "speed"), EVERY_GRADE)
def test_turn_around(name: str, width: int, speed: int) -> None:
    """Law 23: two bursts in one open row. Read, write: tRTW between the commands; write, read: tWTR after the beats."""
    dram = timing(name, width, speed)
    burst, rcd, cl, cwl, wtr, rtw = in_cycles(dram, "burst", "rcd", "cl", "cwl", "wtr", "rtw")
    read, write = Transfer(0, False, 0, dram.burst_bytes), Transfer(1, True, dram.burst_bytes, dram.burst_bytes)
    ends = {c.id: cycle_of(dram, c.time_ps) for c in run(DramController(dram), read, write)}
    assert ends == {0: 1 + rcd + cl + burst, 1: 1 + rcd + rtw + cwl + burst}
    ends = {c.id: cycle_of(dram, c.time_ps) for c in run(DramController(dram), write, read)}
    assert ends == {1: 1 + rcd + cwl + burst, 0: 1 + rcd + cwl + burst + wtr + cl + burst}


@pytest.mark.parametrize(("name", "width", "speed"), EVERY_GRADE)
def test_unloaded_latency(name: str, width: int, speed: int) -> None:
    """Closed row: tRCD + tCL + burst; open row: tCL + burst; another row: tRP more, tRAS after the first activate."""
    dram = timing(name, width, speed, 2)
    burst, rcd, rp, ras, cl = in_cycles(dram, "burst", "rcd", "rp", "ras", "cl")
    other_row = 2 * dram.row_bytes * dram.banks
    reads = [Transfer(n, False, address, 1) for n, address in enumerate((0, 2 * dram.burst_bytes, other_row))]
    model = DramController(dram)
    first, at_ps = 1, 0
    for read, latency in zip(reads, (rcd + cl, cl, rp + rcd + cl), strict=True):
        model.submit(at_ps, [read])
        (completion,) = model.advance(FAR_PS)
        assert cycle_of(dram, completion.first_beat_ps) == first + latency
        assert cycle_of(dram, completion.time_ps) == first + latency + burst
        assert model.advance(at_ps := completion.time_ps + edge_ps(ras, dram.clock_hz)) == []
        first = dram.cycles(at_ps + 1)


def test_peak() -> None:
    """Law 41: 4 x16 LPDDR5-6400 = 51.2 GB/s."""
    assert catalogue.timing("lpddr5", 6400, 16, 4, 8 * GIB).peak_bytes_per_s == 51_200_000_000


@given(SEEDS)
@quantified
def test_more_channels_never_slower_for_a_stream(seed: int) -> None:
    """Law 46 for one contiguous transfer: each doubling of the channels ends no later."""
    rng = Random(seed)
    grade = rng.choice(EVERY_GRADE)
    transfer = Transfer(0, rng.random() < 0.5, rng.randrange(64 * MIB), rng.choice([100, 10_000, MIB, 4 * MIB]))
    ends = [run(DramController(timing(*grade, channels)), transfer)[0].time_ps for channels in (1, 2, 4, 8)]
    assert ends == sorted(ends, reverse=True)


def closed_loop(model: DramModel, seed: int, bound_ps: list[int] | None = None) -> list[Completion]:
    """Three streams, each submitting its next transfer some time after its last one ended.

    The driver knows the next submit and never lets the model run beyond it; ``bound_ps``, when given, chops the way
    there into further steps of these lengths, in turn.
    """
    rng = Random(seed)
    todo = {stream: [random_region(rng, 1, 100 * stream + n) for n in range(6)] for stream in range(3)}
    delay = {transfer.id: rng.choice([0, 1, 5000, 10**6, 10**7]) for stream in todo.values() for transfer in stream}
    due = [(0, stream) for stream in todo]
    completions: list[Completion] = []
    now = steps = 0
    while due or model.next_event_ps() is not None:
        now_batch = [todo[stream].pop() for at, stream in sorted(due) if at == now]
        due = [(at, stream) for at, stream in due if at != now]
        model.submit(now, now_batch)
        until = min([at for at, _ in due], default=FAR_PS)
        if bound_ps:
            until = min(until, now + bound_ps[steps % len(bound_ps)])
            steps += 1
        found = model.advance(until)
        now = found[0].time_ps if found else until
        completions += found
        due += [(now + delay[c.id], c.id // 100) for c in found if todo[c.id // 100]]
    return completions


@given(SEEDS, st.lists(st.sampled_from([1, 700, 833, 1250, 3000, 40_000, 300_000]), min_size=1, max_size=3))
@quantified
def test_results_do_not_depend_on_the_steps_of_advance(seed: int, steps_ps: list[int]) -> None:
    """Law 34: however ``advance`` is chopped, the same completions at the same times and the same totals."""
    rng = Random(seed)
    dram = some_timing(rng, rng.choice([1, 2, 4]))
    whole, chopped = DramController(dram), DramController(dram)
    assert closed_loop(whole, seed) == closed_loop(chopped, seed, [*steps_ps, 10**6])
    assert replace(whole.stats, refreshes=0) == replace(chopped.stats, refreshes=0)


@given(SEEDS, st.integers(1, 1000))
@quantified
def test_shift_in_time(seed: int, intervals: int) -> None:
    """After whole refresh intervals of idleness everything happens again, that much later."""
    rng = Random(seed)
    dram = rng.choice([timing("lpddr5", 16, 6400, 2), timing("hbm2", 64, 2000, 2), timing("lpddr4", 16, 1600, 2)])
    transfers = [random_region(rng, 1, n) for n in range(6)]
    start_ps = dram.t_refi_ps + dram.t_rfc_ps + rng.randrange(dram.t_refi_ps)  # a first refresh closed all rows
    shift_ps = intervals * dram.t_refi_ps
    early = run(DramController(dram), *transfers, at_ps=start_ps)
    late = run(DramController(dram), *transfers, at_ps=start_ps + shift_ps)
    moved = [replace(c, time_ps=c.time_ps + shift_ps, first_beat_ps=c.first_beat_ps + shift_ps) for c in early]
    assert late == moved


@given(SEEDS)
@quantified
def test_bytes_are_conserved(seed: int) -> None:
    """Sums over transfers equal the totals; the bus is busy for exactly the bursts, at most all the time."""
    rng = Random(seed)
    dram = some_timing(rng, rng.choice([1, 2, 4]))
    model = DramController(dram)
    found = closed_loop(model, seed)
    stats = model.stats
    assert stats.read_bytes + stats.write_bytes == sum(c.pin_bytes for c in found)
    assert stats.useful_read_bytes == sum(c.useful_bytes for c in found if not c.write)
    assert stats.useful_write_bytes == sum(c.useful_bytes for c in found if c.write)
    assert stats.reads + stats.writes == stats.row_hits + stats.row_misses + stats.row_conflicts
    assert stats.activates == stats.row_misses + stats.row_conflicts
    bursts = [dram.cycles(busy) / dram.cycles(dram.t_burst_ps) for busy in stats.busy_ps]
    assert sum(bursts) == stats.reads + stats.writes
    assert max(stats.busy_ps) <= max(c.time_ps for c in found)


@given(SEEDS, st.fractions(Fraction(1, 1000), 100), st.integers(0, 10**6))
@quantified
def test_constant_rate(seed: int, bytes_per_ps: Fraction, latency_ps: int) -> None:
    """A saturated port ends n transfers at ceil(sum of bytes / rate) + latency; steps of advance do not matter."""
    rng = Random(seed)
    transfers = [random_region(rng, 1, n) for n in range(8)]
    found = run(ConstantRateMemory(bytes_per_ps, latency_ps), *transfers)
    total = 0
    for completion in found:
        total += completion.useful_bytes
        assert completion.time_ps == -(-total // bytes_per_ps) + latency_ps
    whole, chopped = (ConstantRateMemory(bytes_per_ps, latency_ps) for _ in range(2))
    assert closed_loop(whole, seed) == closed_loop(chopped, seed, [10_000, 10**6])
    assert whole.stats == chopped.stats
