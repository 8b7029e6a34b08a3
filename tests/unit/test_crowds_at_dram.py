"""What streams of several cores leave of DRAM: at any places, and where all meet in one bank at every instant."""

from __future__ import annotations

import pytest

import archsim
from archsim.facts.dram.bit_order import mapped
from archsim.lab.run.offchip import device_of, outer_rates
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.interface import Transfer
from archsim.memory.policy import policy_of
from mapper.cost.chip_rates import Outer

SIZE = 1 << 20
RUN = 8192.0  # of a contiguous stream, as measured
NEAR = 0.12  # of the exact time: what a table of a few places knows of one


@pytest.fixture(scope="module")
def hbm() -> Outer:
    """The HBM of tpu_v4i."""
    return outer_rates(archsim.load_chip("tpu_v4i"))["hbm"]


def test_streams_in_one_bank_are_slower_than_streams_anywhere(hbm: Outer) -> None:
    """The more of them, the slower, where others gain or lose little; one alone does not know where others would be."""
    period = hbm.period_bytes
    anywhere = [float(hbm.share(n, RUN)) for n in (1, 2, 4)]
    aligned = [float(hbm.share(n, RUN, 28 * period)) for n in (1, 2, 4)]
    assert aligned[0] == anywhere[0]
    assert aligned[1] < 0.85 * anywhere[1]
    assert aligned[2] < 0.6 * aligned[1]


def test_what_is_no_period_apart_is_anywhere(hbm: Outer) -> None:
    """So is what nobody says."""
    assert hbm.share(2, RUN, hbm.period_bytes + hbm.burst_bytes) == hbm.share(2, RUN) == hbm.share(2, RUN, 0)


def test_one_stream_at_a_time_where_several_would_meet(hbm: Outer) -> None:
    """Small tiles wait for their first beat, so more of them are under way."""
    assert hbm.streams(SIZE, RUN, hbm.period_bytes) == 1
    assert hbm.streams(64, RUN) > 1


@pytest.mark.parametrize("streams", [1, 2, 4])
def test_shares_of_one_bank_are_those_of_the_exact_model(hbm: Outer, streams: int) -> None:
    """Contiguous streams of 1 MiB tiles, so far apart as four parts of a layer of 14336 x 4096 weights are."""
    part = next(part for part in archsim.load_chip("tpu_v4i").memories if part.name == "hbm")
    dram = device_of(part)
    address_map, interleave = mapped(part.control.address_map, dram)
    model = DramController(
        dram, policy_of(part.control), address_map, interleave_bytes=interleave * dram.device.burst_bytes
    )
    apart = 3584 * 4096
    moved = [Transfer(i, False, i % streams * apart + i // streams * SIZE, SIZE) for i in range(4 * streams)]
    end_ps = model.in_turns(moved, streams)
    share = len(moved) * SIZE / dram.peak_bytes_per_s * 1e12 / end_ps
    assert float(hbm.share(streams, RUN, apart)) == pytest.approx(share, rel=NEAR)
