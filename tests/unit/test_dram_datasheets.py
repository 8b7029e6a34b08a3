"""Every standard against the formulas of its data sheet: peak, latency, streams, row cycles, activates, refreshes."""

from __future__ import annotations

import numpy as np
import pytest

from archsim.base.errors import ConfigError
from archsim.facts.dram import catalogue
from archsim.facts.dram.bit_order import mapped
from archsim.facts.dram.device import ControllerPolicy, DramChannel, DramMemory
from archsim.memory.dram.device_records import COMMANDS
from archsim.memory.dram.trace import ReplayedTrace, replay
from tests.tools.dram_commands import named, violations

GIB = 1 << 30
NS = 10**9
QUIET = ControllerPolicy(refresh="none")


def found_by_name() -> dict[str, DramMemory]:
    found = {}
    for name in catalogue.names():
        for speed in catalogue.speeds_mts(name):
            found[f"{name}-{speed}"] = catalogue.dram(
                name, speed, catalogue.usual(name)[0], 1, catalogue.usual(name)[1]
            )
    return found


DRAMS = found_by_name()
# Read latency of an open row without the burst, ns: tAA of JESD79-3F tables 62-67, of JESD79-4C's speed bins and of
# JESD79-5C's bins B; RL + tDQSCK (at most 3.5 ns) of JESD209-4; RL of JESD209-5, GDDR6 (K4Z80325BC: 24 cycles of
# 572 ps), HBM2 and HBM3 (presets, see the standards).
T_AA_NS = {
    "ddr3": (13.1, 13.94),
    "ddr4": (13.3, 14.33),
    "ddr5": (15.9, 16.7),
    "lpddr4": (19.5, 23.6),
    "lpddr4x": (19.5, 23.6),
    "lpddr5": (21.2, 22.6),
    "lpddr5x": (21.3, 21.8),
    "gddr6": (13.7, 14.05),
    "hbm2": (12.5, 14.3),
    "hbm2e": (14.1, 14.5),
    "hbm3": (12.4, 13.1),
}
# What a command takes on its bus before the latency counts: DDR5 one more cycle, LPDDR4 three.
BEFORE = {"ddr5": 1, "lpddr4": 3, "lpddr4x": 3}


def between(device: DramChannel, before: str, after: str, *levels: str) -> int:
    return max(
        (
            c.cycles
            for c in device.constraints
            if before in c.before and after in c.after and c.level in levels and c.window == 1 and not c.siblings
        ),
        default=0,
    )


def served(
    memory: DramMemory, text: str, bursts: object, policy: ControllerPolicy = QUIET, spacing: int = 0
) -> ReplayedTrace:
    """Reads of the given bursts of one channel, ``spacing`` cycles apart."""
    numbers = np.asarray(bursts, np.int64)
    device, (mapping, _) = memory.device, mapped(text, memory)
    arrivals = np.arange(numbers.size) * spacing
    return replay(device, mapping, policy, arrivals, numbers * device.burst_bytes, np.zeros_like(numbers), log=True)


def cycles_of(device: DramChannel, result: ReplayedTrace, *names: str) -> list[int]:
    assert result.commands is not None
    return [cycle for cycle, name, _, _ in named(device, result.commands[0]) if name in names]


@pytest.mark.parametrize("name", catalogue.names())
def test_peaks(name: str) -> None:
    """Law 41: pins x transfers, whatever the width; four channels are four times one."""
    width_bits, capacity_bytes = catalogue.usual(name)
    for speed in catalogue.speeds_mts(name):
        for channels, wide in ((1, 1), (4, 1), (1, 2), (2, 2)):
            if name in ("ddr3", "ddr4") and wide == 2:
                continue
            memory = catalogue.dram(name, speed, width_bits * wide, channels, capacity_bytes * channels * wide)
            assert memory.peak_bytes_per_s == channels * wide * width_bits * speed * 10**6 // 8
            assert memory.channels == channels * wide and memory.device == DRAMS[f"{name}-{speed}"].device
            rows = memory.device.columns * memory.device.burst_bytes * memory.device.all_banks
            assert memory.rows * rows * memory.channels == memory.capacity_bytes


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAMS)
def test_unloaded_read(name: str) -> None:
    """A read of an open row: tAA and its burst after its command, which leaves a cycle after acceptance."""
    memory = DRAMS[name]
    device = memory.device
    standard = name.partition("-")[0]
    text = "row rank bank bankgroup column"
    result = served(memory, text, [0, 1], spacing=device.clock_hz * 200 // NS)
    issue = 2 if device.clock_linger else 1  # LPDDR5 starts its data clock
    cycles = int(result.ended[1] - result.accepted[1]) - issue - device.burst_cycles - BEFORE.get(standard, 0)
    low, high = T_AA_NS[standard]
    assert low <= cycles * NS / device.clock_hz <= high
    assert device.burst_cycles * NS / device.clock_hz == pytest.approx(
        device.burst_bytes * (device.ranks if device.protocol == "dual" else 1) * NS / device.peak_bytes_per_s
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAMS)
def test_a_stream_over_bank_groups_is_the_peak_less_refreshes(name: str) -> None:
    """Law 22: peak (1 - tRFC / tREFI), and for each refresh at most what closes and opens the rows of a rank.

    The queue has to reach over tRCD: 32 accesses of two pseudo-channels are 32 cycles, too few from HBM2-2400 on.
    """
    memory = DRAMS[name]
    device = memory.device
    arrive = 60_000
    result = served(memory, "row bank column bankgroup rank", range(arrive), ControllerPolicy(read_queue=64))
    act = "ACT1" if device.protocol == "split" else "ACT"
    blocked = between(device, "REFab", act, "rank")
    buses = device.ranks if device.protocol == "dual" else 1
    share = arrive * device.burst_cycles / buses / result.cycles
    bound = 1 - blocked / device.refresh_cycles
    lost = (
        between(device, "ACT", "PREab", "rank")
        + between(device, "PREab", "REFab", "rank")
        + between(device, act, "RD", "bank")
        + device.groups * between(device, act, act, "rank")
        + device.read_latency
    )
    assert bound - lost / device.refresh_cycles - 0.01 <= share <= bound + 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAMS)
def test_a_bank_is_one_row_cycle_an_access(name: str) -> None:
    """Reads of one bank, each of another row: an activate every tRC, or tRCD + tRTP + tRP where that is longer."""
    memory = DRAMS[name]
    device = memory.device
    act = "ACT1" if device.protocol == "split" else "ACT"
    row = device.columns * device.all_banks
    result = served(memory, "row rank bank bankgroup column", [row * i for i in range(40)])
    opened = np.diff(cycles_of(device, result, act))
    chain = (
        between(device, act, "RD", "bank")
        + between(device, "RD", "PREpb", "bank")
        + between(device, "PREpb", act, "bank")
    )
    closing = between(device, act, "PREpb", "bank") + between(device, "PREpb", act, "bank")
    least = max(between(device, act, act, "bank"), chain, closing)
    # LPDDR5 may start its data clock between the two, and its second half may come first
    assert least <= opened.min() and opened.max() <= least + (3 if device.protocol == "split" else 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAMS)
def test_four_activates_a_window(name: str) -> None:
    """Reads of one row each, over the banks of a rank: activates as fast as tRRD and tFAW let them."""
    memory = DRAMS[name]
    device = memory.device
    act = "ACT1" if device.protocol == "split" else "ACT"
    of_rank = device.size_of("rank")
    result = served(memory, "rank row column bank bankgroup", range(4 * of_rank))
    # consecutive bursts are on consecutive bank groups of one rank; every row serves all its columns later
    opened = cycles_of(device, result, act)[: of_rank // device.stacks]
    windows = [later - first for first, later in zip(opened, opened[4:], strict=False)]
    faw = next(c.cycles for c in device.constraints if c.window == 4)
    apart = between(device, act, act, "rank")
    assert min(windows) >= max(faw, 4 * apart)
    if device.groups >= 4 and device.protocol == "single":
        assert min(windows) <= max(faw, 4 * apart) + 4


@pytest.mark.parametrize("name", [name for name in DRAMS if DRAMS[name].device.bank_refresh_cycles])
def test_interval_of_refreshes_bank_by_bank(name: str) -> None:
    """JEDEC: each bank of a rank within tREFI, together with those of its command; of DDR5 within tREFI2, a half."""
    device = DRAMS[name].device
    units = device.all_banks // device.bank_refresh_banks
    half = 2 if name.startswith("ddr5") else 1
    assert device.bank_refresh_cycles * units * half <= device.refresh_cycles
    assert device.refresh_cycles <= ((device.bank_refresh_cycles + 1) * units + 1) * half
    together = {"ddr5": 8, "lpddr5": 2, "lpddr5x": 2}
    assert device.bank_refresh_banks == together.get(name.partition("-")[0], 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DRAMS if DRAMS[name].device.bank_refresh_cycles])
def test_refreshes_bank_by_bank(name: str) -> None:
    """Law 22: their number is T / interval, each bank has its share, and the others serve on meanwhile."""
    memory = DRAMS[name]
    device = memory.device
    rng = np.random.default_rng(1)
    bursts = rng.integers(0, memory.rows * device.columns * device.all_banks, 6000)
    result = served(memory, "row bank bankgroup rank column", bursts, ControllerPolicy(refresh="per_bank"))
    assert result.commands is not None
    rows = named(device, result.commands[0])
    asked = result.cycles // device.bank_refresh_cycles
    count = int(result.issued[0][COMMANDS["REFpb"]])
    assert asked - 2 <= count <= asked and int(result.issued[0][COMMANDS["REFab"]]) == 0
    units = device.all_banks // device.bank_refresh_banks
    banks = [bank for _, name_, bank, _ in rows if name_ == "REFpb"]
    assert count > units and len(set(banks[:units])) == units
    assert banks[units:] == banks[: count - units]


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAMS)
def test_no_constraint_is_violated_by_any_policy(name: str) -> None:
    """Law 26: on every standard and speed, with every row policy and refresh that it has."""
    memory = DRAMS[name]
    device = memory.device
    refreshes = ("all_bank", "per_bank") if device.bank_refresh_cycles else ("all_bank",)
    rng = np.random.default_rng(sorted(DRAMS).index(name))
    mapping, _ = mapped("row column:2 bank bankgroup rank column", memory)
    for rows in ("open", "closed", "timeout"):
        for refresh in refreshes:
            policy = ControllerPolicy(rows=rows, refresh=refresh, row_timeout_ps=20_000)  # type: ignore[arg-type]
            arrivals = np.cumsum(rng.integers(0, 60, 150))
            addresses = rng.integers(0, 8 * device.columns * device.all_banks, 150) * device.burst_bytes
            result = replay(device, mapping, policy, arrivals, addresses, rng.integers(0, 2, 150), log=True)
            assert result.commands is not None
            assert violations(device, named(device, result.commands[0])) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ddr5", 3201, 32, 1, GIB), ["3201", "nearest 3200"]),
        (("ddr5", 4800, 48, 1, GIB), ["48 b", "8, 16, 32, 64, 128 b"]),
        (("hbm3", 6400, 32, 1, GIB), ["whole pairs of pseudo-channels, 64 b"]),
        (("hbm3", 6400, 64, 1, 3 * GIB), ["capacity", "at most 2 GiB"]),
        (("gddr6", 14000, 8, 1, GIB), ["8 b", "16, 32"]),
        (("hbm2e", 2000, 128, 1, GIB), ["2000", "2800, 3200, 3600"]),
        (("lpddr5x", 6400, 16, 0, GIB), ["6400", "7500"]),
        (("lpddr5x", 8533, 16, 0, GIB), ["channels", "found 0"]),
    ],
)
def test_refused(arguments: tuple[str, int, int, int, int], words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        catalogue.dram(*arguments)
    for word in words:
        assert word in str(error.value)


def test_opening_another_row_is_a_precharge_and_an_activate() -> None:
    ddr4, lpddr5 = DRAMS["ddr4-2400"].device, DRAMS["lpddr5-6400"].device
    assert ddr4.row_cycles == 16 + 16  # JESD79-4, DDR4-2400R: tRP = tRCD = 16 clocks
    assert 36.0 <= lpddr5.row_cycles * NS / lpddr5.clock_hz <= 40.0  # JESD209-5: tRPpb = tRCD = 18 ns
