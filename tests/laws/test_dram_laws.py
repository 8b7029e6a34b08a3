"""Laws of the machine's DRAM, for every standard and speed: 12, 22, 34, 41, 46, and memories of constant rate."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.dram import catalogue
from archsim.facts.dram.address import NAMES, by_name
from archsim.facts.dram.device import ControllerPolicy, DramMemory
from archsim.memory.dram.constant import ConstantRateMemory
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.interface import DramModel, Transfer, TransferCompletion

MIB = 1 << 20
T_REFI_OF_BANKS_PS = {  # as each standard's file cites it
    "ddr5": 1_950_000,
    "lpddr4": 3_904_000,
    "lpddr4x": 3_904_000,
    "lpddr5": 3_906_000,
    "lpddr5x": 3_906_000,
    "gddr6": 1_900_000,
    "hbm2": 3_900_000,
    "hbm2e": 3_900_000,
    "hbm3": 3_900_000,
}
FAR_PS = 10**15
EVERY_GRADE = [(name, speed) for name in catalogue.names() for speed in catalogue.speeds_mts(name)]
SEEDS = st.integers(0, 2**64)
quantified = settings(max_examples=40, deadline=None, derandomize=True)


@cache
def memory(name: str, speed: int, channels: int = 1) -> DramMemory:
    """``channels`` usual ones."""
    width_bits, capacity_bytes = catalogue.usual(name)
    return catalogue.dram(name, speed, width_bits, channels, channels * capacity_bytes)


def some_memory(rng: Random, channels: int) -> DramMemory:
    return memory(*rng.choice(EVERY_GRADE), channels)


def drain(dram: DramModel) -> list[TransferCompletion]:
    completions = []
    while dram.next_event_ps() is not None:
        completions += dram.advance(FAR_PS)
    return completions


def run(dram: DramModel, *transfers: Transfer, at_ps: int = 0) -> list[TransferCompletion]:
    dram.advance(at_ps)
    dram.submit(at_ps, transfers)
    return drain(dram)


def interval_ps(part: DramMemory) -> Fraction:
    return Fraction(part.device.refresh_cycles * 10**12, part.device.clock_hz)


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
    part = some_memory(rng, rng.choice([1, 2, 3, 4]))
    burst_bytes = part.device.burst_bytes
    transfer = random_region(rng, unit=rng.choice([1, 8, burst_bytes]))
    (completion,) = run(DramController(part), transfer)
    assert completion.pin_bytes == granules_touched(transfer, burst_bytes) * burst_bytes
    moving = [stride for extent, stride in zip(transfer.extents, transfer.strides, strict=True) if extent > 1]
    aligned = all(n % burst_bytes == 0 for n in (transfer.address, transfer.run_bytes, *moving))
    assert completion.pin_bytes >= completion.useful_bytes
    assert (completion.pin_bytes == completion.useful_bytes) == aligned


@pytest.mark.parametrize("refresh", ["all_bank", "per_bank"])
@pytest.mark.parametrize("idle", [True, False])
@pytest.mark.parametrize(("name", "speed"), EVERY_GRADE)
def test_refresh_count(name: str, speed: int, idle: bool, refresh: str) -> None:
    """Law 22: refreshes within 1 of T / tREFI for each rank of each channel, idle or streaming."""
    part = memory(name, speed, 2)
    device = part.device
    each, interval = part.channels * device.ranks, device.refresh_cycles
    if refresh == "per_bank":
        each, interval = part.channels, device.bank_refresh_cycles
        if not interval:
            return
    model = DramController(part, ControllerPolicy(refresh=refresh))
    if not idle:
        model.submit(0, [Transfer(0, False, 0, 4 * MIB)])
    for intervals in (Fraction(1, 2), 1, Fraction(31, 2), 25):
        until_ps = int(intervals * interval * 10**12 / device.clock_hz)
        while model.advance(until_ps):
            pass
        assert abs(model.stats.refreshes / each - intervals) <= 1 + Fraction(1, each)


@pytest.mark.parametrize(("name", "speed"), EVERY_GRADE)
def test_refresh_count_bank_by_bank(name: str, speed: int) -> None:
    """Law 22: bank by bank, too, refreshes of each rank within 1 of T / tREFI; the interval is at most tREFI's share.

    tREFI, of DDR5 tREFI2, is what JEDEC states as the longest average.
    """
    part = memory(name, speed, 2)
    device = part.device
    if not device.bank_refresh_cycles:
        return
    t_refi_ps = T_REFI_OF_BANKS_PS[name]
    units = device.all_banks // device.bank_refresh_banks
    assert device.bank_refresh_cycles * units * 10**12 <= t_refi_ps * device.clock_hz
    assert (device.bank_refresh_cycles + 1) * units * 10**12 > t_refi_ps * device.clock_hz
    model = DramController(part, ControllerPolicy(refresh="per_bank"))
    share = Fraction(device.bank_refresh_banks, device.size_of("rank") * device.ranks * part.channels)
    for intervals in (Fraction(1, 2), 1, Fraction(31, 2), 25):
        until_ps = int(intervals * t_refi_ps)
        while model.advance(until_ps):
            pass
        assert abs(model.stats.refreshes * share - intervals) <= 1


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize(("name", "speed"), EVERY_GRADE)
def test_streaming_rate(name: str, speed: int, write: bool) -> None:
    """Law 22: the bus is free of data for tRFC at each refresh, so a stream <= peak x (1 - tRFC / tREFI); and > 85 %.

    The rest is what it takes to close the rows before a refresh and to open them after it.
    """
    part = memory(name, speed, 2)
    busy = max(c.cycles for c in part.device.constraints if c.before == ("REFab",) and "ACT" in "".join(c.after))
    size_bytes = int(part.peak_bytes_per_s * 40 * interval_ps(part) / 10**12) // 64 * 64
    (completion,) = run(DramController(part), Transfer(0, write, 0, size_bytes))
    refreshes = completion.time_ps // interval_ps(part)
    at_peak_ps = Fraction(size_bytes * 10**12, part.peak_bytes_per_s)
    assert at_peak_ps <= completion.time_ps - refreshes * Fraction(busy * 10**12, part.device.clock_hz)
    most = (1 - Fraction(busy, part.device.refresh_cycles)) * (1 + Fraction(1, refreshes))
    assert most * Fraction(85, 100) < at_peak_ps / completion.time_ps <= most


def test_peak() -> None:
    """Law 41: 4 x16 LPDDR5-6400 = 51.2 GB/s, as one wide channel too."""
    assert catalogue.dram("lpddr5", 6400, 16, 4, 8 << 30).peak_bytes_per_s == 51_200_000_000
    assert catalogue.dram("lpddr5", 6400, 64, 1, 8 << 30).peak_bytes_per_s == 51_200_000_000


@given(SEEDS)
@quantified
def test_more_channels_never_slower_for_a_stream(seed: int) -> None:
    """Law 46 for one contiguous transfer: each doubling of the channels ends no later, or within 2 % (printed)."""
    rng = Random(seed)
    grade, name = rng.choice(EVERY_GRADE), rng.choice(NAMES)
    transfer = Transfer(0, rng.random() < 0.5, rng.randrange(64 * MIB), rng.choice([100, 10_000, MIB, 4 * MIB]))
    ends = []
    for channels in (1, 2, 4, 8):
        part = memory(*grade, channels)
        ends.append(run(DramController(part, mapping=by_name(name, part.device)), transfer)[0].time_ps)
    for fewer, more in zip(ends, ends[1:], strict=False):
        if more > fewer:
            print(f"{grade} {name} {transfer}: {fewer} ps, with twice the channels {more} ps")
        assert more <= 1.02 * fewer


@given(SEEDS)
@quantified
def test_equal_time_submits_in_any_order(seed: int) -> None:
    """The event loop sorts the transfers of one instant; handing them over one by one changes nothing."""
    rng = Random(seed)
    part = some_memory(rng, rng.choice([1, 2, 4]))
    transfers = [random_region(rng, 1, n) for n in range(6)]
    together, apart = DramController(part), DramController(part)
    together.submit(7, transfers)
    for transfer in transfers:
        apart.submit(7, [transfer])
    assert drain(together) == drain(apart)


def closed_loop(model: DramModel, seed: int, bound_ps: list[int] | None = None) -> list[TransferCompletion]:
    """Three streams, each submitting its next transfer some time after its last one ended.

    The driver knows the next submit and never lets the model run beyond it; ``bound_ps``, when given, chops the way
    there into further steps of these lengths, in turn.
    """
    rng = Random(seed)
    todo = {stream: [random_region(rng, 1, 100 * stream + n) for n in range(6)] for stream in range(3)}
    delay = {transfer.id: rng.choice([0, 1, 5000, 10**6, 10**7]) for stream in todo.values() for transfer in stream}
    due = [(0, stream) for stream in todo]
    completions: list[TransferCompletion] = []
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
    part = some_memory(rng, rng.choice([1, 2, 4]))
    whole, chopped = DramController(part), DramController(part)
    found = closed_loop(whole, seed)
    assert found == closed_loop(chopped, seed, [*steps_ps, 10**6])
    end_ps = found[-1].time_ps + 10**8
    for model in (whole, chopped):
        model.advance(end_ps)
    assert whole.stats == chopped.stats


@given(SEEDS, st.integers(1, 1000))
@quantified
def test_shift_in_time(seed: int, intervals: int) -> None:
    """After whole refresh intervals of idleness everything happens again, that much later."""
    rng = Random(seed)
    part = rng.choice([memory(*grade, 2) for grade in EVERY_GRADE if 10**12 % memory(*grade).device.clock_hz == 0])
    transfers = [random_region(rng, 1, n) for n in range(6)]
    interval = int(interval_ps(part))
    start_ps = 2 * interval + rng.randrange(interval)  # a first refresh closed all rows
    early = run(DramController(part), *transfers, at_ps=start_ps)
    late = run(DramController(part), *transfers, at_ps=start_ps + intervals * interval)
    shift_ps = intervals * interval
    moved = [replace(c, time_ps=c.time_ps + shift_ps, first_beat_ps=c.first_beat_ps + shift_ps) for c in early]
    assert late == moved


@given(SEEDS)
@quantified
def test_bytes_are_conserved(seed: int) -> None:
    """Sums over transfers equal the totals; the bus is busy for exactly the bursts, at most all the time."""
    rng = Random(seed)
    part = some_memory(rng, rng.choice([1, 2, 4]))
    model = DramController(part)
    found = closed_loop(model, seed)
    stats = model.stats
    assert stats.read_bytes + stats.write_bytes == sum(c.pin_bytes for c in found)
    assert stats.useful_read_bytes == sum(c.useful_bytes for c in found if not c.write)
    assert stats.useful_write_bytes == sum(c.useful_bytes for c in found if c.write)
    assert stats.reads + stats.writes == stats.row_hits + stats.row_misses + stats.row_conflicts
    assert stats.activates == sum(c.activates for c in found)
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
