"""Many streams at a time: fast DRAM against the exact one, what mappings are ranked by, ports of shared memories."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from archsim.facts.dram import catalogue
from archsim.facts.dram.address import DEFAULT, by_name
from archsim.facts.dram.device import ControllerPolicy
from archsim.facts.noc.port_turns import turn
from archsim.lab.run.offchip import outer_rates
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.fast_model import FastDram
from archsim.memory.dram.interface import DramModel, Transfer
from archsim.spec.load import load
from mapper.cost.dram_contention import SHARPNESS, together

PART = catalogue.dram("lpddr5", 6400, 16, 16, 64 << 30)
SIZE, TOTAL = 1 << 18, 1 << 24


def share(model: DramModel, streams: int) -> float:
    """Of the pins, with ``streams`` contiguous ones of transfers that follow each other."""
    rng = Random(3)
    at = [rng.randrange(1 << 15) * 65536 for _ in range(streams)]
    left, number, now = TOTAL // SIZE, 0, 0
    of: dict[int, int] = {}

    def following(stream: int) -> Transfer:
        nonlocal left, number
        left, number = left - 1, number + 1
        of[number - 1] = stream
        at[stream] += SIZE
        return Transfer(number - 1, False, at[stream] - SIZE, SIZE)

    model.submit(0, [following(stream) for stream in range(streams)])
    while model.next_event_ps() is not None:
        ended = model.advance(10**13)
        now = ended[0].time_ps
        model.submit(now, [following(of[done.id]) for done in ended[:left]])
    return TOTAL / (now * 1e-12 * PART.peak_bytes_per_s)


@pytest.mark.parametrize("streams", [1, 2, 8, 16, 32, 64])
def test_the_fast_model_follows_crowds_of_streams(streams: int) -> None:
    """Within 12 % of the exact one, and never above what refreshes leave of the pins."""
    mapping, policy, burst = by_name(DEFAULT, PART.device), ControllerPolicy(), PART.device.burst_bytes
    exact = share(DramController(PART, policy, mapping, interleave_bytes=burst), streams)
    fast = share(FastDram(PART, policy, mapping, interleave_bytes=burst), streams)
    assert fast == pytest.approx(exact, rel=0.12) and fast < 0.91


def test_shares_fall_with_streams_and_short_runs() -> None:
    """Of a chip with many cores alone; two streams leave most of LPDDR5, since their turns fill the read queue."""
    assert not outer_rates(load("edge_npu"))["dram"].shares
    known = outer_rates(load("mtia_v2i"))["lpddr"]
    assert known.streams() == 2
    assert 2 <= known.streams(1 << 20) <= 4 < known.streams(2 << 10) <= 64  # small tiles wait, each for its first beat
    table = {streams: dict(of_runs) for streams, of_runs in known.shares}
    assert all(0 < found <= 1 for of_runs in table.values() for found in of_runs.values())
    longest = max(table[2])
    assert table[64][longest] < 0.9 * table[2][longest] and table[1][128] < 0.2 < table[64][128]


def test_resources_hold_one_another_up() -> None:
    """About the largest; two equal ones take 2 ** (1 / SHARPNESS) times as long, the order does not matter."""
    assert float(together([np.asarray(100.0), np.asarray(20.0)])) == pytest.approx(100, rel=1e-3)
    assert float(together([np.asarray(100.0)] * 2)) == pytest.approx(100 * 2 ** (1 / SHARPNESS))
    assert float(together([np.asarray(0.0)])) == 0


@pytest.mark.parametrize("ports", [16, 5, 3, 1])
@pytest.mark.parametrize("stride", [1, 2, 4, 8, 16, 32, 64, 256])
def test_rows_at_any_power_of_two_use_most_ports(ports: int, stride: int) -> None:
    """256 rows that are so many messages apart meet no port with more than three times its part of them."""
    used = [turn(row * stride, ports) for row in range(256)]
    assert set(used) <= set(range(ports))
    assert max(map(used.count, set(used))) <= 3 * 256 / ports
