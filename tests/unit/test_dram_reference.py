"""The machine's compiled DRAM controller against a second implementation that ticks every cycle: equal bit for bit."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.dram.address import by_name
from archsim.facts.dram.constraints import DramTimings
from archsim.facts.dram.device import AddressMap, ControllerPolicy, DramChannel, DramMemory
from archsim.facts.dram.families import DDR, DDR5, GDDR6, HBM2, HBM3, LPDDR4, LPDDR5
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.interface import BurstAsker, RowList, Transfer, TransferCompletion
from tests.tools.dram_commands import named, violations
from tests.tools.dram_reference import Reference

FAMILIES = (DDR, DDR5, GDDR6, HBM2, HBM3, LPDDR4, LPDDR5, LPDDR5)


def random_device(rng: Random) -> DramChannel:
    family = rng.choice(FAMILIES)
    split = family.protocol == "split"
    groups, banks = rng.choice([1, 2, 4]), rng.choice([2, 4])
    burst = rng.randint(1, 4)
    timings = {name: rng.randint(1, 12) for name in DramTimings.__dataclass_fields__}
    timings |= {"bl": burst, "bl_long": burst + rng.randint(0, 2), "ccd_s": burst, "ccd_l": burst + rng.randint(0, 3)}
    timings["cwl"] = rng.randint(1, timings["cl"] + timings["bl"] + 2)
    timings["rc"] = timings["ras"] + timings["rp"]
    timings["faw"] = rng.randint(1, 50)
    t = DramTimings(**timings)
    return DramChannel(
        standard="random",
        clock_hz=rng.choice([1_200_000_000, 800_000_000, 533_375_000, 10**12, 999_999_937, 7_000]),
        ranks=rng.choice([1, 2]),
        groups=groups,
        banks=banks,
        stacks=rng.choice([1, 2]) if family is HBM3 else 1,
        columns=rng.choice([4, 8, 16]),
        burst_bytes=32,
        protocol=family.protocol,
        read_latency=family.read_latency(t),
        write_latency=family.write_latency(t),
        burst_cycles=t.bl,
        refresh_cycles=rng.choice([0, rng.randint(120, 400)]),
        constraints=family.constraints(t),
        bank_refresh_cycles=rng.randint(60, 200),
        bank_refresh_banks=rng.choice([1, groups * banks // 2]),
        activate_window=rng.randint(1, 8) if split else 0,
        clock_linger=rng.randint(1, 4) if split else 0,
    )


def random_policy(rng: Random) -> ControllerPolicy:
    return ControllerPolicy(
        read_queue=rng.choice([1, 2, 5, 32, 128]),
        write_queue=rng.choice([1, 2, 5, 32, 128]),
        rows=rng.choice(["open", "open", "closed", "timeout"]),
        row_timeout_ps=rng.choice([1, 10_000, 100_000]),
        refresh=rng.choice(["all_bank", "all_bank", "per_bank", "none"]),
        turn_bursts=rng.choice([1, 3, 16]),
    )


def random_map(rng: Random, device: DramChannel) -> AddressMap:
    found = by_name(rng.choice(["RoRaBaCoBg", "RoBaRaCoCh", "MOP4CLXOR"]), device)
    hashed = (("bank", "row", rng.randint(0, 3)), ("bank", "row", rng.randint(0, 9)), ("bankgroup", "row", 1))
    return found if rng.random() < 0.6 else replace(found, xors=(*found.xors, *hashed))


def random_rows(rng: Random, hz: int) -> RowList:
    count = rng.randint(1, 20)
    row = [n for n in range(count) for _ in range(rng.choice([0, 1, 1, 1, 1, 3]))]
    room = rng.choice([16, 3000])
    return RowList(
        count=count,
        addresses=np.array([rng.randint(5000, 5000 + room) for _ in row], np.int64),
        sizes=np.array([rng.choice([1, 32, rng.randint(1, 90), rng.randint(1, 700)]) for _ in row], np.int64),
        row=np.array(row, np.int64),
        setup_cycles=rng.choice([0, 0, 1, rng.randint(1, 30)]),
        engine_hz=rng.choice([hz, hz * 3 // 7, 4 * hz + 1]),
    )


def random_askers(rng: Random, hz: int) -> tuple[BurstAsker, ...]:
    """None, an engine or a port, or both; clocks as the memory's, slower and faster."""
    engine = BurstAsker(
        ("engine", rng.randint(0, 2)), rng.choice([1, 2, 3, 8, 40]), rng.choice([hz, hz // 3, hz * 5 // 2])
    )
    port = BurstAsker(("port", rng.randint(0, 1)), rng.choice([1, 2, 7]), hz)
    return rng.choice([(), (), (), (engine,), (port,), (engine, port)])


def random_transfer(rng: Random, number: int, hz: int) -> Transfer:
    return replace(unasked_transfer(rng, number, hz), askers=random_askers(rng, hz))


def unasked_transfer(rng: Random, number: int, hz: int) -> Transfer:
    limit = rng.choice([None, None, 1, 2, 3, rng.randint(1, 60)])
    if rng.random() < 0.2:
        return Transfer(number, rng.random() < 0.5, 0, 0, outstanding=limit, rows=random_rows(rng, hz))
    count = rng.choice([0, 0, 1, 2, 5])
    loops = [(rng.randint(1, 2 if count == 5 else 4), rng.randint(-300, 300)) for _ in range(count)]
    if rng.random() < 0.1:
        loops = [(0, 64)]
    return Transfer(
        id=number,
        write=rng.random() < 0.5,
        address=rng.randint(5000, 9000),
        run_bytes=rng.choice([0, rng.randint(0, 100), rng.randint(0, 900), rng.randint(0, 4000)]) // (1 + len(loops)),
        extents=tuple(extent for extent, _ in loops),
        strides=tuple(stride for _, stride in loops),
        outstanding=limit,
    )


class Case:
    """A memory with random options, and the same by the second implementation."""

    def __init__(self, rng: Random) -> None:
        device = random_device(rng)
        self.part = DramMemory(device=device, channels=rng.randint(1, 4), capacity_bytes=1 << 20, source="random")
        self.interleave = 32 * rng.choice([1, 1, 2, 8])
        self.policy, self.mapping = random_policy(rng), random_map(rng, device)
        self.log = rng.random() < 0.7  # without, refreshes of idle channels are not played out
        self.dram = DramController(
            self.part,
            self.policy,
            self.mapping,
            interleave_bytes=self.interleave,
            log=self.log,
        )
        self.reference = Reference(self.part, self.policy, self.mapping, self.interleave)

    def ps(self, cycles: int) -> int:
        return cycles * 10**12 // self.part.device.clock_hz


def submissions(rng: Random, case: Case) -> list[tuple[int, list[Transfer]]]:
    result, at, number = [], 0, 0
    for _ in range(rng.randint(1, 8)):
        at += rng.randint(0, rng.choice([1, case.ps(20), case.ps(800)]))
        batch = [random_transfer(rng, number + i, case.part.device.clock_hz) for i in range(rng.randint(1, 4))]
        result.append((at, batch))
        number += len(batch)
    return result


def served(case: Case, submitted: list[tuple[int, list[Transfer]]], end_ps: int) -> list[TransferCompletion]:
    completions: list[TransferCompletion] = []
    for at, batch in [*submitted, (end_ps, [])]:
        while found := case.dram.advance(at):
            completions += found
        case.dram.submit(at, batch)
    return completions


@pytest.mark.slow
@given(st.integers(0, 2**64))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_kernel_equals_reference(seed: int) -> None:
    rng = Random(seed)
    case = Case(rng)
    submitted = submissions(rng, case)
    expected = case.reference.run(submitted)
    assert served(case, submitted, expected[-1].time_ps + case.ps(1)) == expected
    check_commands(case)
    check_totals(case.dram, expected)
    check_open_rows(case, expected[-1].time_ps + case.ps(1))


@pytest.mark.slow
@given(st.integers(0, 2**64))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_submits_at_completions_equal_reference(seed: int) -> None:
    """Law 34: each completion is answered at its own instant, and no channel has run beyond it."""
    rng = Random(seed)
    case = Case(rng)
    dram = case.dram
    todo = [random_transfer(rng, number, case.part.device.clock_hz) for number in range(12)]
    start = [todo.pop() for _ in range(rng.randint(1, 6))]
    submitted, completions = [(0, start)], []
    dram.submit(0, start)
    while (at := dram.next_event_ps()) is not None:
        found = dram.advance(at + case.ps(rng.choice([0, 10, 10**6])))
        assert all(at <= completion.time_ps for completion in found)
        completions += found
        answers = [todo.pop() for _ in found[: len(todo)]]
        if answers:
            dram.submit(found[0].time_ps, answers)
            submitted.append((found[0].time_ps, answers))
    assert completions == case.reference.run(submitted)
    check_commands(case)


def check_commands(case: Case) -> None:
    """The same commands in the same cycles, none of them too soon."""
    if not case.log:
        return
    for channel, rows in zip(case.reference.channels, case.dram.commands, strict=True):
        device = case.part.device
        found = named(device, rows)
        last = channel.issued[-1][0] if channel.issued else -1
        assert [command for command in found if command[0] <= last] == channel.issued
        assert violations(device, found) == []


def check_open_rows(case: Case, end_ps: int) -> None:
    """Standing time with an open row, of all ranks together."""
    hz = case.part.device.clock_hz
    cycles = case.reference.open_cycles(-(-end_ps * hz // 10**12))
    assert case.dram.stats.open_ps == cycles * 10**12 // hz


def check_totals(dram: DramController, expected: list[TransferCompletion]) -> None:
    stats = dram.stats
    reads, writes = [c for c in expected if not c.write], [c for c in expected if c.write]
    assert stats.read_bytes == sum(c.pin_bytes for c in reads) == stats.reads * dram.dram.device.burst_bytes
    assert stats.write_bytes == sum(c.pin_bytes for c in writes) == stats.writes * dram.dram.device.burst_bytes
    assert stats.useful_read_bytes == sum(c.useful_bytes for c in reads)
    assert stats.useful_write_bytes == sum(c.useful_bytes for c in writes)
    assert stats.row_hits == sum(c.row_hits for c in expected)
    assert stats.row_misses == sum(c.row_misses for c in expected)
    assert stats.row_conflicts == sum(c.row_conflicts for c in expected)
    assert stats.activates == sum(c.activates for c in expected)


@given(st.integers(0, 2**64))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_turns_in_one_run_end_as_submitted_one_by_one(seed: int) -> None:
    rng = Random(seed)
    case = Case(rng)
    transfers = [random_transfer(rng, number, case.part.device.clock_hz) for number in range(rng.randint(1, 40))]
    most, todo = rng.randint(1, 5), transfers[::-1]
    asked = DramController(case.part, case.policy, case.mapping, interleave_bytes=case.interleave)
    asked.submit(0, [todo.pop() for _ in range(min(most, len(todo)))])
    end_ps = 0
    while asked.next_event_ps() is not None:
        ended = asked.advance(10**15)
        end_ps = ended[0].time_ps
        asked.submit(end_ps, [todo.pop() for _ in ended[: len(todo)]])
    assert case.dram.in_turns(transfers, most) == end_ps
