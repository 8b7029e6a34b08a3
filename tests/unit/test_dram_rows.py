"""The timeout row policy: when a row that is left alone is closed, and when it is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.dram import catalogue
from archsim.facts.dram.address import by_name
from archsim.facts.dram.device import ControllerPolicy, DramChannel
from archsim.memory.dram.trace import replay
from tests.tools.dram_commands import Command, named

pytestmark = pytest.mark.slow  # compiles the controller
FAR = 100_000


def device(standard: str, speed: int) -> DramChannel:
    width_bits, capacity_bytes = catalogue.usual(standard)
    return catalogue.dram(standard, speed, width_bits, 1, capacity_bytes).device


def commands(of: DramChannel, policy: ControllerPolicy, *requests: tuple[int, int, int]) -> list[Command]:
    """Every command for requests (cycle, burst, write)."""
    table = np.array(requests, np.int64)
    mapping = by_name("RoBaRaCoCh", of)
    result = replay(of, mapping, policy, table[:, 0], table[:, 1] * of.burst_bytes, table[:, 2], log=True)
    assert result.commands is not None
    return named(of, result.commands[0])


def cycles_of(found: list[Command], *names: str) -> list[int]:
    return [cycle for cycle, name, _, _ in found if name in names]


DEVICES = {"single": device("ddr4", 2400), "split": device("lpddr5", 6400), "dual": device("hbm2", 2000)}


@pytest.mark.parametrize("protocol", DEVICES)
@pytest.mark.parametrize("timeout_ps", [1, 30_000, 100_000, 2_000_000])
@pytest.mark.parametrize("write", [0, 1])
def test_a_row_is_closed_when_its_time_is_up(protocol: str, timeout_ps: int, write: int) -> None:
    """At its last access plus the time, or as soon after as a precharge is legal; the row is then found closed."""
    of = DEVICES[protocol]
    policy = ControllerPolicy(rows="timeout", row_timeout_ps=timeout_ps, refresh="none")
    found = commands(of, policy, (0, 0, write), (FAR, 1, write), (2 * FAR, 2, write))
    (first, second, third), closed = cycles_of(found, "RD", "WR"), cycles_of(found, "PREpb")
    opened = cycles_of(found, "ACT", "ACT1")
    assert len(opened) == 3 and len(closed) == 2
    name, activating = "WR" if write else "RD", "ACT1" if protocol == "split" else "ACT"
    legal = {
        before: max(c.cycles for c in of.constraints if before in c.before and "PREpb" in c.after and c.level == "bank")
        for before in (name, activating)
    }
    timeout = -(-timeout_ps * of.clock_hz // 10**12)
    for access, activate, close in zip((first, second), opened[:2], closed, strict=True):
        assert close == max(access + max(timeout, legal[name]), activate + legal[activating])
    assert third > closed[1]


@pytest.mark.parametrize("protocol", DEVICES)
def test_accesses_keep_a_row_open(protocol: str) -> None:
    """Hits that come more often than the time find the row open; so do hits under the open policy."""
    of = DEVICES[protocol]
    policy = ControllerPolicy(rows="timeout", row_timeout_ps=100_000, refresh="none")
    apart = 90_000 * of.clock_hz // 10**12
    found = commands(of, policy, *((n * apart, n, 0) for n in range(20)))
    assert len(cycles_of(found, "ACT", "ACT1")) == 1 and cycles_of(found, "PREpb") == []
    seldom = commands(of, policy, *((2 * n * apart, n, 0) for n in range(20)))
    assert len(cycles_of(seldom, "ACT", "ACT1")) == 20


@given(st.integers(0, 2**32), st.sampled_from(sorted(DEVICES)), st.sampled_from([20_000, 100_000]))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_a_row_is_closed_early_only_for_another_row(seed: int, protocol: str, timeout_ps: int) -> None:
    """A precharge is logged with the row it is for: another than the open one, or the open one, whose time is up."""
    of, rng = DEVICES[protocol], np.random.default_rng(seed)
    policy = ControllerPolicy(rows="timeout", row_timeout_ps=timeout_ps, refresh="none")
    arrivals = np.cumsum(rng.integers(0, 40, 400))
    addresses = rng.integers(0, 3 * of.columns * of.all_banks, 400) * of.burst_bytes
    mapping = by_name("RoBaRaCoCh", of)
    result = replay(of, mapping, policy, arrivals, addresses, rng.integers(0, 2, 400), log=True)
    assert result.commands is not None
    opened: dict[int, int] = {}
    accessed: dict[int, int] = {}
    idle = []
    for cycle, name, bank, row in named(of, result.commands[0]):
        if name in ("ACT", "ACT1"):
            opened[bank] = row
        elif name in ("RD", "WR"):
            accessed[bank] = cycle
        elif name == "PREpb" and opened[bank] == row:
            idle.append(cycle - accessed[bank])
    assert idle and min(idle) >= -(-timeout_ps * of.clock_hz // 10**12)


def test_a_time_that_never_comes_is_the_open_policy() -> None:
    of = DEVICES["single"]
    requests = [(7 * n, n * 37 % 4096, n % 3 == 0) for n in range(2000)]
    never = ControllerPolicy(rows="timeout", row_timeout_ps=10**12)
    assert commands(of, never, *requests) == commands(of, ControllerPolicy(), *requests)


def test_a_row_that_is_wanted_stays_open() -> None:
    """Queued writes to a row wait while reads are served: their row is not closed under them."""
    of = DEVICES["single"]
    policy = ControllerPolicy(rows="timeout", row_timeout_ps=1, refresh="none", read_queue=64)
    rows = of.columns * of.groups * of.banks
    reads = [(0, of.columns * (n % 3 + 1) + rows * n, 0) for n in range(40)]
    found = commands(of, policy, (0, 0, 0), *reads, (25, 1, 1), (26, 2, 1))
    on_bank = [(cycle, name) for cycle, name, bank, _ in found if bank == 0 and name != "PREab"]
    assert [name for _, name in on_bank][:4] == ["ACT", "RD", "WR", "WR"]


def test_the_time_is_in_picoseconds_whatever_the_clock() -> None:
    of = DEVICES["single"]
    slow = replace(of, clock_hz=of.clock_hz // 2)
    policy = ControllerPolicy(rows="timeout", row_timeout_ps=2_000_000, refresh="none")
    for one, cycles in ((of, 2400), (slow, 1200)):
        found = commands(one, policy, (0, 0, 0), (FAR, 1, 0))
        assert cycles_of(found, "PREpb")[0] - cycles_of(found, "RD")[0] == cycles
