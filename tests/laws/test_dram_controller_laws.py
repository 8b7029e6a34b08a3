"""The DRAM controller command by command: what holds for every device, policy and stream."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.dram import catalogue
from archsim.facts.dram.address import by_name
from archsim.facts.dram.device import ControllerPolicy, DramChannel
from archsim.lab.validate.dram_configs import read
from archsim.lab.validate.dram_streams import stream
from archsim.memory.dram.device_records import COMMANDS
from archsim.memory.dram.trace import ReplayedTrace, replay
from tests.tools.dram_commands import named, violations

CONFIGS = json.loads((Path(__file__).parents[2] / "studies/validation/dram/configs.json").read_text())["configs"]
BYTES = {"DDR4": 64, "LPDDR5": 32, "HBM2": 32}
REFERENCES = {name: read(name, config, BYTES[config["standard"]])[0] for name, config in CONFIGS.items()}


def found_by_name() -> dict[str, DramChannel]:
    """A usual channel of every standard at every speed."""
    found = {}
    for name in catalogue.names():
        width_bits, capacity_bytes = catalogue.usual(name)
        for speed in catalogue.speeds_mts(name):
            found[f"{name}-{speed}"] = catalogue.dram(name, speed, width_bits, 1, capacity_bytes).device
    return found


DEVICES = REFERENCES | found_by_name()
pytestmark = pytest.mark.slow  # compiles the controller
ONE = np.zeros(1, np.int64)


def cycles_between(device: DramChannel, before: str, after: str, *levels: str) -> int:
    """The longest constraint between two commands at the given levels."""
    return max(
        constraint.cycles
        for constraint in device.constraints
        if before in constraint.before and after in constraint.after and constraint.level in levels
        if constraint.window == 1 and not constraint.siblings
    )


def served(
    device: DramChannel, policy: ControllerPolicy, *requests: tuple[int, int, int], mapping: str = "RoBaRaCoCh"
) -> ReplayedTrace:
    """Requests (cycle, burst, write) with all their commands."""
    table = np.array(requests, np.int64)
    bursts = table[:, 1] * device.burst_bytes
    return replay(device, by_name(mapping, device), policy, table[:, 0], bursts, table[:, 2], log=True)


def at(result: ReplayedTrace, device: DramChannel, *names: str) -> list[int]:
    assert result.commands is not None
    return [cycle for cycle, name, _, _ in named(device, result.commands[0]) if name in names]


@st.composite
def traffic(draw: st.DrawFn) -> tuple[Any, ...]:
    """A device, perhaps with more ranks, a policy, a map, and requests that keep to few rows, or do not."""
    device = DEVICES[draw(st.sampled_from(sorted(DEVICES)))]
    if device.protocol != "dual":
        device = replace(device, ranks=draw(st.sampled_from([1, 2, 4])))
    policy = ControllerPolicy(
        read_queue=draw(st.sampled_from([1, 8, 32, 128])),
        write_queue=draw(st.sampled_from([1, 8, 32])),
        rows=draw(st.sampled_from(["open", "closed", "timeout"])),
        row_timeout_ps=draw(st.sampled_from([1, 20_000, 100_000])),
        refresh=draw(st.sampled_from(["all_bank", "none", *(["per_bank"] if device.bank_refresh_cycles else [])])),
    )
    mapping = by_name(draw(st.sampled_from(["RoBaRaCoCh", "MOP4CLXOR"])), device)
    seed, count, space = draw(st.integers(0, 2**32)), 400, draw(st.sampled_from([256, 1 << 12, 1 << 22]))
    random = np.random.default_rng(seed)
    arrivals = np.cumsum(random.integers(0, draw(st.sampled_from([1, 6, 60])), count))
    return device, policy, mapping, arrivals, random.integers(0, space, count) * device.burst_bytes, seed


@given(traffic(), st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_no_constraint_is_violated(drawn: tuple[Any, ...], share: float) -> None:
    """Law 26: all pairs of commands keep every constraint, accesses find their rows, requests are served once."""
    device, policy, mapping, arrivals, addresses, seed = drawn
    writes = (np.random.default_rng(seed + 1).random(arrivals.size) < share).astype(np.int64)
    result = replay(device, mapping, policy, arrivals, addresses, writes, log=True)
    assert result.commands is not None
    assert violations(device, named(device, result.commands[0])) == []
    assert (result.accepted >= arrivals).all() and (result.ended >= result.accepted).all()
    issued = result.issued[0]
    column = sum(int(issued[COMMANDS[name]]) for name in ("RD", "WR", "RDA", "WRA"))
    assert column == int(result.hits[0] + result.misses[0] + result.conflicts[0]) <= arrivals.size
    if policy.rows == "closed":
        assert int(issued[COMMANDS["RDA"]] + issued[COMMANDS["WRA"]]) > 0


@pytest.mark.parametrize("name", DEVICES)
def test_refreshes(name: str) -> None:
    """Law 22: within one of T / tREFI for each rank, and streaming at most at peak (1 - tRFC / tREFI)."""
    device = DEVICES[name]
    arrivals, addresses, writes = stream("seq_rd", 30_000, device.burst_bytes, 0, 1)
    result = replay(device, by_name("RoBaRaCoCh", device), ControllerPolicy(), arrivals, addresses, writes)
    due = result.cycles / device.refresh_cycles
    assert abs(result.issued[0][COMMANDS["REFab"]] / device.ranks - due) <= 1
    blocked = cycles_between(device, "REFab", "ACT1" if device.protocol == "split" else "ACT", "rank")
    parallel = device.ranks if device.protocol == "dual" else 1
    least = 30_000 * device.burst_cycles / parallel
    assert result.cycles >= least / (1 - blocked / device.refresh_cycles) - device.refresh_cycles


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("first", [0, 1])
def test_turn_around(name: str, first: int) -> None:
    """Law 23: a read and a write of one row follow each other after the longest constraint between the two."""
    device = DEVICES[name]
    rows = 8 * device.columns
    result = served(device, ControllerPolicy(refresh="none"), (0, 0, first), (rows, 1, 1 - first))
    names = ("WR", "RD") if first else ("RD", "WR")
    (before,), (after,) = at(result, device, names[0]), at(result, device, names[1])
    apart = cycles_between(device, *names, "rank", "bankgroup", "channel")
    result = served(device, ControllerPolicy(refresh="none"), (0, 0, first), (before, 1, 1 - first))
    (before,), (after,) = at(result, device, names[0]), at(result, device, names[1])
    waits_for_clock = device.clock_linger and before + apart >= before + device.burst_cycles + device.clock_linger + (
        device.write_latency if first else device.read_latency
    )
    assert after - before == apart + (1 if waits_for_clock else 0)


@pytest.mark.parametrize("name", [name for name in DEVICES if DEVICES[name].protocol != "dual"])
def test_bank_groups(name: str) -> None:
    """Law 24: hits in one bank group come every tCCD_L, hits that alternate between groups every tCCD_S."""
    device = DEVICES[name]
    group = device.columns * device.ranks
    policy = ControllerPolicy(refresh="none")
    for step, levels in ((0, ("bankgroup", "rank", "channel")), (group, ("rank", "channel"))):
        columns = [i // 2 + (i % 2) * step for i in range(30)] if step else list(range(30))
        requests = [(0, column, 0) for column in columns]
        cycles = at(served(device, policy, *requests), device, "RD")[10:22]  # both rows are open
        assert set(np.diff(cycles)) == {cycles_between(device, "RD", "RD", *levels)}


@pytest.mark.parametrize("name", DEVICES)
def test_unloaded_latency(name: str) -> None:
    """A read of a closed bank ends 1 + tRCD + CL + burst after its acceptance, a CAS later where the clock stands."""
    device = DEVICES[name]
    result = served(device, ControllerPolicy(), (7, 3, 0))
    opening = cycles_between(device, "ACT1" if device.protocol == "split" else "ACT", "RD", "bank")
    clock = 1 if device.clock_linger else 0
    assert result.ended[0] - result.accepted[0] == 1 + opening + clock + device.read_latency + device.burst_cycles


def test_forwarding_and_merging() -> None:
    """A read of a queued write is served from it one cycle later; a second write of the same burst joins the first."""
    device = DEVICES["ram_ddr4_2400_1r_roco"]
    result = served(device, ControllerPolicy(), (0, 5, 1), (0, 5, 1), (0, 5, 0))
    assert result.ended[1] == result.accepted[1] and result.ended[2] == result.accepted[2] + 1
    assert int(result.issued[0][COMMANDS["WR"]]) == 1 and int(result.issued[0][COMMANDS["RD"]]) == 0


def test_channels_do_not_touch_each_other() -> None:
    """Below saturation, two channels serve what each would serve alone, at the same cycles."""
    device = DEVICES["ram_ddr4_2400_1r_mop4"]
    mapping, policy = by_name("MOP4CLXOR", device), ControllerPolicy()
    arrivals, addresses, writes = stream("rand_mix", 3000, 64, 40, 1)
    both = replay(device, mapping, policy, arrivals, addresses, writes, channels=2)
    for channel in (0, 1):
        mine = addresses // 64 % 2 == channel
        alone = replay(device, mapping, policy, arrivals[mine], addresses[mine] // 128 * 64, writes[mine])
        assert (both.ended[mine] == alone.ended).all() and both.hits[channel] == alone.hits[0]
