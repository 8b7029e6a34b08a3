"""The fast DRAM model in compiled code gives what the one on rational numbers does, whatever comes when."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import SimulationError
from archsim.base.jit import entry, njit
from archsim.facts.dram import catalogue
from archsim.facts.dram.address import DEFAULT, by_name
from archsim.facts.dram.device import ControllerPolicy, DramMemory
from archsim.memory.dram.compiled import fast_rates
from archsim.memory.dram.compiled.fast_rates import rate_row
from archsim.memory.dram.compiled.fast_records import FORWARD, INVERSE, LACKING, SCALE
from archsim.memory.dram.fast_model import FastDram
from archsim.memory.dram.interface import BurstAsker, DramModel, RowList, Transfer
from archsim.memory.dram.patterns import TransferPattern
from archsim.memory.dram.sampling import PatternSample, PatternSampler
from tests.oracles.shared_dram import SharedDram

EXACT = settings(max_examples=150, deadline=None, derandomize=True)
GHZ = 10**9
FAR_PS = 10**15


@entry
@njit
def floor_of(rates: Any, at: int, a: int) -> Any:
    """The floor of a number times a side of the first rate, and whether there is a rest."""
    return fast_rates.floor_of(rates, 0, at, a)


paces = st.fractions(Fraction(1, 6), 8, max_denominator=6) | st.builds(
    Fraction, st.integers(10**12, 10**15), st.integers(10**13, 10**14)
)


@EXACT
@given(paces, st.integers(0, 1 << 36), st.sampled_from((FORWARD, INVERSE)), st.integers(1, 6))
def test_products_are_exact(pace: Fraction, some: int, at: int, times: int) -> None:
    """Floor and rest, also of numbers that the denominator divides."""
    value = pace * SCALE if at == FORWARD else 1 / (pace * SCALE)
    for a in (some, times * value.denominator):
        whole, rest = divmod(a * value, 1)
        if a < 1 << 62 and whole < 1 << 61:
            floor, more = floor_of(np.array([rate_row(pace)]), at, a)
            assert more == LACKING or (floor, more) == (whole, int(rest > 0))
            assert more != LACKING or value.denominator >= 1 << 63


@EXACT
@given(st.integers(1 << 20, 1 << 40), st.integers(1, 1 << 50), st.sampled_from((-1, 1)))
def test_products_that_are_too_near_to_whole_numbers_are_not_guessed(a: int, whole: int, side: int) -> None:
    """By less than 64 bits tell, with a denominator of hundreds."""
    pace = (Fraction(whole, a) + Fraction(side, 3**200)) / SCALE
    if Fraction(1, 1 << 40) < pace < 1 << 20:
        floor, rest = floor_of(np.array([rate_row(pace)]), FORWARD, a)
        exact = whole if side > 0 else whole - 1
        assert rest == LACKING or (floor, rest) == (exact, 1)


# ---- transfers


def drawn(*what: object) -> int:
    """A number that follows from what it is of."""
    return int.from_bytes(hashlib.sha256(repr(what).encode()).digest()[:6], "little")


def sample(_: PatternSampler, pattern: TransferPattern) -> PatternSample:
    bursts = 1 + drawn("bursts", pattern) % 2048
    hits = drawn("hits", pattern) % (bursts + 1)
    misses = drawn("misses", pattern) % (bursts - hits + 1)
    work_ps = bursts * (500 + drawn("work", pattern) % 4000)
    return PatternSample(bursts, work_ps, hits, misses, bursts - hits - misses, misses)


def speed(_: PatternSampler, pattern: TransferPattern, transfers: int, *, both: bool) -> Fraction:
    """Of some patterns simple, as of streams that nothing holds up."""
    number = drawn("speed", pattern, transfers, both)
    if number % 3:
        return Fraction(1 + number % 4, 1 + (number >> 8) % 3)
    return Fraction(10**6 + number % 10**7, 10**6 + (number >> 20) % 10**7)


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates that are drawn: to measure them takes long, and what is found of them is the same."""
    monkeypatch.setattr(PatternSampler, "sample", sample)
    monkeypatch.setattr(PatternSampler, "speed", speed)
    monkeypatch.setattr(PatternSampler, "_refreshing", lambda _: Fraction(97, 100))
    monkeypatch.setattr(PatternSampler, "_first", lambda _, write: 30_000 + 5000 * write)
    monkeypatch.setenv("ARCHSIM_NO_CACHE", "1")


def part(standard: str, speed_mts: int) -> DramMemory:
    width, capacity = catalogue.usual(standard)
    return catalogue.dram(standard, speed_mts, width, 2, 2 * capacity)


def models(dram: DramMemory, policy: ControllerPolicy | None = None) -> tuple[FastDram, SharedDram]:
    mapping, size = by_name(DEFAULT, dram.device), dram.device.burst_bytes
    of = dram, policy or ControllerPolicy(), mapping
    return FastDram(*of, interleave_bytes=size), SharedDram(*of, interleave_bytes=size)


REGIONS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), ()), ((8,), (4096,)), ((3, 5), (70_000, 9000))]
ASKERS = [
    (),
    (BurstAsker(("engine", 0), 1, GHZ),),
    (BurstAsker(("engine", 1), 2, GHZ), BurstAsker(("port", 0), 2, GHZ)),
    (BurstAsker(("engine", 2), 2, GHZ), BurstAsker(("port", 0), 2, GHZ)),
]


def transfers(rng: Random) -> Any:
    """Transfers without an end: of a few shapes, at places of their own or one behind the other, empty ones, lists."""
    shapes = [
        (rng.random() < 0.4, rng.choice([0, 64, 100, 4096, 65_536]), *rng.choice(REGIONS), rng.choice([None, None, 4]))
        for _ in range(6)
    ]
    last = number = 0
    while True:
        (write, run_bytes, extents, strides, most), askers = rng.choice(shapes), rng.choice(ASKERS)
        address = last if rng.random() < 0.3 else rng.randrange(1 << 20) * rng.choice([1, 64])
        if rng.random() < 0.1:
            count = rng.choice([4, 16])
            places = np.arange(count)
            rows = RowList(count, places * rng.choice([64, 4096]), np.full(count, 64), places, 3, GHZ)
            yield Transfer(number, write, 0, 0, outstanding=2, rows=rows, askers=askers)
        else:
            yield Transfer(number, write, address, run_bytes, extents, strides, most, askers=askers)
            last = address + run_bytes
        number += 1


@pytest.mark.parametrize("seed", range(8))
def test_all_ends_are_those_of_the_definition(unmeasured: None, seed: int) -> None:
    """Completions, counters and state, with crowds of many patterns that come and go."""
    rng = Random(seed)
    standard = rng.choice([("ddr4", 2400), ("lpddr5", 6400), ("hbm2", 2000)])
    one, other = models(part(*standard), ControllerPolicy(refresh=rng.choice(["none", "all_bank"])))
    more, now_ps = transfers(rng), 0
    for _ in range(40):
        come = [next(more) for _ in range(rng.choice([1, 1, 2, 3, 8, 20]))]
        one.submit(now_ps, come)
        other.submit(now_ps, come)
        now_ps += rng.choice([0, 10, 1000, 10**5, 10**6, 2 * 10**7])
        while (found := one.advance(now_ps)) or other.next_event_ps() == now_ps:
            assert found == other.advance(now_ps)
            assert one.stats == other.stats
        assert other.advance(now_ps) == []
        assert one.entry(now_ps, align=False) == other.entry(now_ps, align=False)
    while other.next_event_ps() is not None:
        assert one.advance(FAR_PS) == other.advance(FAR_PS)
    assert one.next_event_ps() is None and one.stats == other.stats


def ends(model: DramModel | SharedDram) -> list[int]:
    found = []
    while model.next_event_ps() is not None:
        found += [done.time_ps for done in model.advance(FAR_PS)]
    return found


def test_python_is_asked_where_the_last_bits_do_not_tell(unmeasured: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pace whose product with the work is less than 2^-64 off a whole number."""
    moves = [Transfer(n, False, n << 16, 4096) for n in range(2)]
    one, other = models(part("ddr4", 2400))
    work_ps = one._sampler.sample(TransferPattern(False, 0, 4096, (1,) * 5, (0,) * 5)).scaled(64).work_ps
    near = Fraction(work_ps, 123_457) + Fraction(1, 3**200)
    monkeypatch.setattr(PatternSampler, "speed", lambda *_, **__: 2 * near)
    asked = []
    divide = FastDram._divide
    monkeypatch.setattr(FastDram, "_divide", lambda self: (asked.append(self), divide(self))[1])
    for model in (one, other):
        model.submit(0, moves)
    assert ends(one) == ends(other)
    assert asked


def test_work_that_never_ends_is_counted_anew(unmeasured: None) -> None:
    """A memory that has something to do for longer than 2^60 parts of a picosecond."""
    one, other = models(part("ddr4", 2400))
    moves = [Transfer(n, False, n % 4 << 31, 1 << 31) for n in range(140)]
    of_each = one._sampler.sample(TransferPattern(False, 0, 1 << 31, (1,) * 5, (0,) * 5)).scaled(1 << 25).work_ps
    assert len(moves) * of_each * SCALE > 1 << 61
    for number, move in enumerate(moves):
        for model in (one, other):
            model.submit(number * of_each // 2, [move])
        until_ps = (number + 1) * of_each // 2
        found = one.advance(until_ps)
        while found:
            assert found == other.advance(until_ps)
            found = one.advance(until_ps)
        assert other.advance(until_ps) == []
    assert ends(one) == ends(other)


def test_what_cannot_be_is_refused(unmeasured: None) -> None:
    dram = part("ddr4", 2400)
    model, _ = models(dram)
    for wrong in (
        Transfer(0, False, dram.capacity_bytes - 64, 128),
        Transfer(0, False, 0, 64, (2,), (-64,)),
        Transfer(0, False, 0, 64, (2,)),
    ):
        with pytest.raises(SimulationError, match="DRAM"):
            model.submit(0, [wrong])
        model, _ = models(dram)
    model.submit(100, [Transfer(0, False, 0, 64)])
    with pytest.raises(SimulationError, match="after"):
        model.submit(99, [Transfer(1, False, 0, 64)])
    large = replace(dram, capacity_bytes=1 << 50)
    with pytest.raises(SimulationError, match="less than 1.1 s: move it in smaller parts"):
        models(large)[0].submit(0, [Transfer(0, False, 0, 1 << 46)])
