"""Refreshes bank by bank: their own banks wait, the others go on."""

from __future__ import annotations

import numpy as np
import pytest

from archsim.facts.dram import catalogue
from archsim.facts.dram.bit_order import mapped
from archsim.facts.dram.device import ControllerPolicy, DramMemory
from archsim.memory.dram.device_records import COMMANDS
from archsim.memory.dram.trace import ReplayedTrace, replay
from tests.tools.dram_commands import named, violations

REQUESTS = 20_000


def memory(standard: str, speed_mts: int) -> DramMemory:
    width, capacity = catalogue.usual(standard)
    return catalogue.dram(standard, speed_mts, width, 1, capacity)


def saturated(part: DramMemory, refresh: str, bursts: object, log: bool = False) -> ReplayedTrace:
    """All requests are there from cycle 0; every third writes."""
    numbers = np.asarray(bursts, np.int64)
    mapping, _ = mapped("row bank rank column bankgroup", part)
    writes = (np.arange(numbers.size) % 3 == 0).astype(np.int64)
    policy = ControllerPolicy(refresh=refresh)  # type: ignore[arg-type]
    return replay(
        part.device, mapping, policy, np.zeros_like(numbers), numbers * part.device.burst_bytes, writes, log=log
    )


@pytest.mark.parametrize(
    ("standard", "speed"),
    [("hbm2", 2000), ("hbm3", 6400), ("lpddr4", 3200), ("lpddr4x", 4267), ("lpddr5", 6400), ("lpddr5x", 8533),
     ("gddr6", 14000)],
)  # fmt: skip
@pytest.mark.parametrize("seed", [1, 2])
def test_bank_by_bank_is_not_slower_than_whole_ranks(standard: str, speed: int, seed: int) -> None:
    """It never stops all banks at once: random requests without end are done at least as soon."""
    part = memory(standard, speed)
    device = part.device
    bursts = np.random.default_rng(seed).integers(0, part.rows * device.columns * device.all_banks, REQUESTS)
    single, whole = (saturated(part, refresh, bursts) for refresh in ("per_bank", "all_bank"))
    assert int(single.issued[0][COMMANDS["REFpb"]]) > 0 and int(whole.issued[0][COMMANDS["REFab"]]) > 0
    assert saturated(part, "none", bursts).cycles <= single.cycles <= whole.cycles


@pytest.mark.parametrize(("standard", "speed"), [("ddr5", 5600), ("hbm3", 6400), ("lpddr5", 6400)])
def test_banks_that_are_not_refreshed_go_on(standard: str, speed: int) -> None:
    """In the cycles between two refreshes of a bank and those around each, other banks get commands."""
    part = memory(standard, speed)
    device = part.device
    bursts = np.random.default_rng(3).integers(0, part.rows * device.columns * device.all_banks, REQUESTS)
    result = saturated(part, "per_bank", bursts, log=True)
    assert result.commands is not None
    rows = named(device, result.commands[0])
    assert violations(device, rows[:3000]) == []
    together = device.size_of("rank") // device.bank_refresh_banks
    for due in range(
        device.bank_refresh_cycles, result.cycles - device.bank_refresh_cycles, device.bank_refresh_cycles
    ):
        issued = next((cycle, bank) for cycle, name, bank, _ in rows if name == "REFpb" and cycle >= due)
        unit = {issued[1] + i * together for i in range(device.bank_refresh_banks)}
        while_it_waits = [(name, bank) for cycle, name, bank, _ in rows if due < cycle < issued[0]]
        assert all(bank not in unit or name not in ("ACT", "ACT1") for name, bank in while_it_waits)
        if issued[0] - due > 40:
            assert any(bank not in unit for _, bank in while_it_waits)


def test_a_stream_of_row_hits_does_not_put_a_refresh_off() -> None:
    """Queued hits of the bank wait, so its refresh comes after at most the accesses whose row was opened for them."""
    part = memory("lpddr5", 6400)
    device = part.device
    mapping, _ = mapped("row bank bankgroup rank column", part)  # a row after the other in one bank
    numbers = np.arange(4000) % device.columns
    result = replay(
        device,
        mapping,
        ControllerPolicy(refresh="per_bank"),
        np.zeros_like(numbers),
        numbers * device.burst_bytes,
        np.zeros_like(numbers),
        log=True,
    )
    assert result.commands is not None
    cycles = [cycle for cycle, name, _, _ in named(device, result.commands[0]) if name == "REFpb"]
    assert len(cycles) >= 16
    for number, cycle in enumerate(cycles):
        assert cycle - (number + 1) * device.bank_refresh_cycles < device.bank_refresh_cycles


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rows", ["open", "closed", "timeout"])
@pytest.mark.parametrize("refresh", ["all_bank", "per_bank"])
@pytest.mark.parametrize(("standard", "speed"), [("ddr5", 5600), ("hbm3", 6400), ("lpddr5", 6400)])
def test_refreshes_that_are_left_out_change_nothing(
    standard: str, speed: int, refresh: str, rows: str, channels: int
) -> None:
    """Bursts of requests with long gaps between them: the same with a log, for which every refresh is performed."""
    part = memory(standard, speed)
    device = part.device
    rng = np.random.default_rng(7)
    gaps = np.where(rng.random(300) < 0.2, rng.integers(0, 40 * device.refresh_cycles, 300), 0)
    bursts = rng.integers(0, part.rows * device.columns * device.all_banks, 300)
    mapping, _ = mapped("row bank rank column bankgroup", part)
    policy = ControllerPolicy(refresh=refresh, rows=rows)  # type: ignore[arg-type]
    quick, whole = (
        replay(
            device,
            mapping,
            policy,
            np.cumsum(gaps),
            bursts * device.burst_bytes,
            (np.arange(300) % 3 == 0).astype(np.int64),
            channels,
            log,
        )
        for log in (False, True)
    )
    assert whole.commands is not None and int(whole.issued.sum()) == sum(map(len, whole.commands))
    for name in ("accepted", "ended", "hits", "misses", "conflicts", "issued", "opened"):
        assert np.array_equal(getattr(quick, name), getattr(whole, name)), name


def test_the_longest_gap() -> None:
    """Refreshes of 2^40 cycles are counted, not walked through."""
    part = memory("ddr4", 2400)
    mapping, _ = mapped("row bank rank column bankgroup", part)
    last = (1 << 40) - 1
    result = replay(
        part.device, mapping, ControllerPolicy(), np.array([0, last]), np.array([0, 64]), np.zeros(2, np.int64)
    )
    assert int(result.issued[0][COMMANDS["REFab"]]) == last // part.device.refresh_cycles * part.device.ranks
    assert result.accepted.tolist() == [0, last]
