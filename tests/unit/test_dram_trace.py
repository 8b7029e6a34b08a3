"""Address maps, and what a trace must not be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import ConfigError
from archsim.facts.dram.address import by_name
from archsim.facts.dram.device import ControllerPolicy, DramChannel, TimingConstraint
from archsim.memory.dram.address_images import images
from archsim.memory.dram.compiled.records import BANK_BITS, CHUNK_BITS, COLUMN_BITS
from archsim.memory.dram.trace import ReplayedTrace, replay

DEVICE = DramChannel(
    standard="test",
    clock_hz=10**9,
    ranks=2,
    groups=4,
    banks=4,
    columns=128,
    burst_bytes=64,
    protocol="single",
    read_latency=16,
    write_latency=12,
    burst_cycles=4,
    refresh_cycles=0,
    constraints=(),
)


TABLES = {name: images(DEVICE, by_name(name, DEVICE)) for name in ("RoBaRaCoCh", "MOP4CLXOR")}


def located(name: str, burst: int) -> tuple[int, int, int]:
    """Bank, column, row from the kernel's images."""
    table, image = TABLES[name], 0
    for chunk in range(len(table)):
        image ^= int(table[chunk, (burst >> (CHUNK_BITS * chunk)) & ((1 << CHUNK_BITS) - 1)])
    return image & 0xFFF, (image >> BANK_BITS) & 0xFFFF, image >> (BANK_BITS + COLUMN_BITS)


def test_ro_ba_ra_co_ch() -> None:
    burst = (77 << 12) | (3 << 10) | (2 << 8) | (1 << 7) | 99
    assert located("RoBaRaCoCh", burst) == ((1 * 4 + 2) * 4 + 3, 99, 77)


def test_mop4clxor() -> None:
    """Two column bits, rank, bank group, bank, five column bits, row; column bits XORed into all of them in turn."""
    low, rank, group, bank, high, row = 0b10, 1, 2, 3, 0b10110, 77
    burst = low | rank << 2 | group << 3 | bank << 5 | high << 7 | row << 12
    column = low | high << 2
    expected = ((rank ^ (column & 1)) * 4 + (group ^ (column >> 1 & 3))) * 4 + (bank ^ (column >> 3 & 3))
    assert located("MOP4CLXOR", burst) == (expected, column, row ^ (column >> 5))


@given(st.sampled_from(["RoBaRaCoCh", "MOP4CLXOR"]), st.integers(0, 2**20 - 64))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_no_two_bursts_share_a_place(name: str, first: int) -> None:
    assert len({located(name, burst) for burst in range(first, first + 64)}) == 64


def test_what_cannot_be() -> None:
    from archsim.memory.dram.device_records import rules

    with pytest.raises(ConfigError, match="no address map 'RoBaRaCoC'.*RoBaRaCoCh"):
        by_name("RoBaRaCoC", DEVICE)
    with pytest.raises(ConfigError, match="banks: found 3; allowed powers of two"):
        replace(DEVICE, banks=3)
    with pytest.raises(ConfigError, match="at most 256 banks, queues of 128"):
        rules(DEVICE, ControllerPolicy(read_queue=129), by_name("RoBaRaCoCh", DEVICE))
    odd = TimingConstraint(level="bank", before=("ACT",), after=("READ",), cycles=3)
    with pytest.raises(ConfigError, match="unknown command 'READ'"):
        rules(replace(DEVICE, constraints=(odd,)), ControllerPolicy(), by_name("RoBaRaCoCh", DEVICE))
    mapping = by_name("RoBaRaCoCh", DEVICE)
    for arrivals, addresses, said in (
        ([5, 4], [0, 0], "request 1 arrives at cycle 4, before the one ahead of it"),
        ([-1, 4], [0, 0], "request 0: cycle -1; allowed 0 to"),
        ([0, 4], [0, -64], "request 1: burst number -1; allowed 0 to"),
        ([0, 4], [0, 1 << 50], "request 1: burst number .*; allowed 0 to"),
    ):
        with pytest.raises(ConfigError, match=said):
            replay(DEVICE, mapping, ControllerPolicy(), np.array(arrivals), np.array(addresses), np.zeros(2, np.int64))
    for requests in (0, -1, 1 << 33, 2.5, "8"):
        with pytest.raises(ConfigError, match="requests a cycle: found .*; allowed whole numbers 1 to"):
            served([0], 2, requests)  # type: ignore[arg-type]


def served(bursts: list[int], channels: int, requests_per_cycle: int | None, queue: int = 32) -> ReplayedTrace:
    """Reads of these bursts, all there at cycle 0."""
    addresses, zeros = np.array(bursts, np.int64) * 64, np.zeros(len(bursts), np.int64)
    policy = ControllerPolicy(read_queue=queue, write_queue=queue)
    mapping = by_name("RoBaRaCoCh", DEVICE)
    return replay(DEVICE, mapping, policy, zeros, addresses, zeros, channels, requests_per_cycle=requests_per_cycle)


@pytest.mark.parametrize("channels", [1, 4])
@pytest.mark.parametrize("requests", [1, 3, 8, 16, None])
def test_so_many_requests_enter_in_a_cycle(channels: int, requests: int | None) -> None:
    """In their order, over all channels; eight for each channel unless told. Queues of 128 take 128 at once."""
    found = served(list(range(100)), channels, requests, queue=128).accepted
    assert found.tolist() == [n // (requests or 8 * channels) for n in range(100)]


def test_a_full_queue_stops_the_stream_on_every_channel() -> None:
    """Head of line: what goes to the idle channel waits behind what its neighbour has no room for."""
    bursts = [2 * n for n in range(6)] + [1]  # channel 0 six times, then channel 1
    found = served(bursts, 2, 16, queue=4).accepted.tolist()
    assert found[:4] == [0] * 4 and found == sorted(found) and found[6] >= found[5] > 0
    assert served([*bursts[:4], 1], 2, 16, queue=4).accepted.tolist() == [0] * 5
