"""The DRAM controller at its interface: one transfer at a time, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from archsim.base.errors import ConfigError, SimulationError
from archsim.base.jit import entry, njit
from archsim.facts.dram import catalogue
from archsim.facts.dram.address import by_name
from archsim.facts.dram.device import ControllerPolicy, RowPolicy
from archsim.memory.dram.compiled import intake, serve
from archsim.memory.dram.compiled.records import ASKERS, FEED, NONE, TRANSFER
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.fast_model import FastDram
from archsim.memory.dram.interface import Transfer, TransferCompletion

MIB, GIB = 1 << 20, 1 << 30
FAR_PS = 10**15


def ddr4(channels: int = 1, name: str = "RoBaRaCoCh", turn_bursts: int = 16, **options: Any) -> DramController:
    """DDR4-2400 without refresh: 64 B bursts of 4 cycles, 8 KiB rows, 16 banks; 16-16-16, CWL 12, tRAS 39."""
    part = catalogue.dram("ddr4", 2400, 64, channels, channels * 8 * GIB)
    return DramController(
        part, ControllerPolicy(refresh="none", turn_bursts=turn_bursts), by_name(name, part.device), **options
    )


def cycle_ps(cycle: int) -> int:
    return cycle * 10**12 // 1_200_000_000


def cycles(time_ps: int) -> int:
    return -(-time_ps * 1_200_000_000 // 10**12)


def drain(dram: DramController) -> list[TransferCompletion]:
    completions = []
    while dram.next_event_ps() is not None:
        completions += dram.advance(FAR_PS)
    return completions


def one_by_one(dram: DramController, transfers: list[Transfer]) -> list[tuple[int, int]]:
    """First beat and end of each transfer in cycles after it became visible, each alone in the memory."""
    found, at_ps = [], 0
    for transfer in transfers:
        visible = cycles(at_ps + 1)
        dram.submit(at_ps, [transfer])
        (completion,) = dram.advance(at_ps + 10**9)
        found.append((cycles(completion.first_beat_ps) - visible, cycles(completion.time_ps) - visible))
        at_ps = completion.time_ps + cycle_ps(1000)
        assert dram.advance(at_ps) == []
    return found


def read(number: int, address: int, run_bytes: int = 64, *loops: tuple[int, int]) -> Transfer:
    extents = tuple(extent for extent, _ in loops)
    return Transfer(number, False, address, run_bytes, extents, tuple(stride for _, stride in loops))


def test_closed_row_open_row_conflict() -> None:
    dram = ddr4()
    row_of_same_bank = 16 * 8192
    found = one_by_one(dram, [read(0, 0), read(1, 64), read(2, row_of_same_bank), read(3, 8192)])
    assert found == [(33, 37), (17, 21), (49, 53), (33, 37)]
    stats = dram.stats
    assert (stats.row_hits, stats.row_misses, stats.row_conflicts, stats.activates) == (1, 2, 1, 3)
    assert (stats.reads, stats.read_bytes, stats.useful_read_bytes, stats.writes) == (4, 256, 256, 0)
    assert stats.busy_ps == (cycle_ps(16),)
    assert stats.refreshes == 0


def test_write_ends_with_its_last_beat() -> None:
    dram = ddr4()
    write = Transfer(0, True, 0, 128)
    assert one_by_one(dram, [write, replace(write, address=256)]) == [(29, 39), (13, 23)]


def test_empty_transfers_end_at_the_next_edge() -> None:
    dram = ddr4(4)
    dram.submit(0, [read(0, 0, 0), read(1, 0, 64, (0, 64)), read(2, 128, 64, (3, 0), (0, 1))])
    completions = dram.advance(FAR_PS)
    assert [(c.id, c.time_ps, c.first_beat_ps, c.pin_bytes) for c in completions] == [
        (n, 833, 833, 0) for n in range(3)
    ]
    dram.submit(833, [read(3, 0, 0)])
    assert [c.time_ps for c in dram.advance(FAR_PS)] == [1666]
    assert dram.next_event_ps() is None


def test_visible_at_the_first_edge_strictly_after() -> None:
    ends = []
    for at_ps in (0, 832, 833, 834, 1666):
        dram = ddr4()
        dram.submit(at_ps, [read(0, 0)])
        ends += [cycles(c.time_ps) for c in drain(dram)]
    assert ends == [38, 38, 39, 39, 40]


def test_stream_keeps_the_data_bus_busy() -> None:
    """1 MiB over 128 rows, bank groups in turn: every activate hides behind data: first latency + 4 cycles a burst."""
    dram = ddr4(name="RoRaBaCoBg")
    dram.submit(0, [read(0, 0, MIB)])
    (completion,) = drain(dram)
    assert cycles(completion.time_ps) == 1 + 33 + 4 * MIB // 64
    assert (completion.row_misses, completion.row_conflicts, completion.activates) == (16, 112, 128)


def test_stream_within_a_bank_group_is_held_up() -> None:
    """A row of 128 bursts in one bank: tCCD_L, 6 cycles, from command to command."""
    dram = ddr4()
    dram.submit(0, [read(0, 0, 8192)])
    (completion,) = drain(dram)
    assert cycles(completion.time_ps) == 1 + 33 + 4 + 6 * 127


def test_channels_take_the_lowest_bits_above_the_burst() -> None:
    dram = ddr4(4)
    dram.submit(0, [read(0, 64, 64 * 5)])
    drain(dram)
    assert dram.stats.busy_ps == tuple(cycle_ps(4 * n) for n in (1, 2, 1, 1))
    coarse = ddr4(4, interleave_bytes=256)
    coarse.submit(0, [read(0, 64, 64 * 5)])
    drain(coarse)
    assert coarse.stats.busy_ps == tuple(cycle_ps(4 * n) for n in (3, 2, 0, 0))


def test_transfers_take_turns() -> None:
    """Two streams that start together: the shorter one waits for the longer one's turns, not for its end."""
    ends = []
    for turn in (1, 16, 64):
        dram = ddr4(name="RoRaBaCoBg", turn_bursts=turn)
        dram.submit(0, [read(0, 0, 64 * 64), read(1, 4 * 8192, 64 * 20)])
        (second, first) = sorted(drain(dram), key=lambda completion: -completion.id)
        ends.append(cycles(second.time_ps))
        assert cycles(max(first.time_ps, second.time_ps)) == 1 + 33 + 4 * 84
    assert ends == sorted(ends) and len(set(ends)) == 3


def test_equal_ends_come_together_in_order_of_submission() -> None:
    dram = ddr4(2)
    dram.submit(0, [read(7, 64), read(3, 0), read(9, 0, 0)])
    assert [c.id for c in dram.advance(FAR_PS)] == [9]
    assert [c.id for c in dram.advance(FAR_PS)] == [7, 3]


def test_more_transfers_than_slots() -> None:
    dram = ddr4(3)
    for n in range(50):
        dram.submit(n, [read(10 * n + k, 4096 * n + 64 * k) for k in range(10)])
    completions = drain(dram)
    assert sorted(c.id for c in completions) == list(range(500))
    assert dram.stats.reads == 500


def test_unaligned_runs_pay_for_every_burst_they_touch() -> None:
    dram = ddr4(2)
    dram.submit(0, [read(0, 60, 8), read(1, 30, 32, (4, 32)), read(2, 0, 16, (4, 128))])
    by_id = {c.id: c for c in drain(dram)}
    assert {n: (c.useful_bytes, c.pin_bytes) for n, c in by_id.items()} == {0: (8, 128), 1: (128, 192), 2: (64, 256)}
    assert sum(c.pin_bytes for c in by_id.values()) == dram.stats.read_bytes


def test_six_levels_of_region() -> None:
    """Five loops around a run: bursts and ends equal those of the same bursts asked for one run at a time."""
    loops = ((2, 1 << 20), (3, 1 << 17), (2, 8192), (3, 1024), (2, 192))
    dram = ddr4()
    dram.submit(0, [read(0, 0, 64, *loops)])
    (completion,) = drain(dram)
    single = ddr4()
    starts = [0]
    for extent, stride in loops:
        starts = [start + i * stride for start in starts for i in range(extent)]
    single.submit(0, [read(n, start) for n, start in enumerate(starts)])
    assert completion.pin_bytes == 64 * len(starts) == 64 * 72
    assert drain(single)[-1].time_ps == completion.time_ps


@pytest.mark.parametrize(
    ("transfer", "word"),
    [
        (read(0, 8 * GIB), "touches"),
        (read(0, 8 * GIB - 63), "touches"),
        (read(0, 64, 64, (3, -64)), "touches"),
        (Transfer(0, False, 0, -1), "malformed"),
        (Transfer(0, False, 0, 8, (2,), ()), "malformed"),
        (Transfer(0, False, 0, 8, (-2,), (8,)), "malformed"),
        (Transfer(0, False, 0, 8, (1,) * 6, (8,) * 6), "malformed"),
    ],
)
def test_malformed_transfers_are_refused(transfer: Transfer, word: str) -> None:
    with pytest.raises(SimulationError, match=word):
        ddr4().submit(0, [transfer])


def test_submits_ahead_of_time() -> None:
    dram = ddr4()
    dram.submit(0, [read(0, 0)])
    dram.submit(10**6, [read(1, 64)])
    assert dram.next_event_ps() == cycle_ps(1)
    assert [cycles(c.time_ps) for c in drain(dram)] == [38, 1201 + 21]
    dram.submit(10**7, [])
    with pytest.raises(SimulationError, match="reached 10000000 ps"):
        dram.submit(10**7 - 1, [])


def test_the_past_is_refused() -> None:
    dram = ddr4()
    assert dram.advance(1000) == []
    with pytest.raises(SimulationError, match="999 ps"):
        dram.submit(999, [read(0, 0)])
    with pytest.raises(SimulationError, match="already at 1000"):
        dram.advance(999)


@pytest.mark.parametrize("options", [{"interleave_bytes": 32}, {"interleave_bytes": 96}, {"turn_bursts": 0}])
def test_impossible_options(options: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="allowed"):
        ddr4(**options)


def test_writes_that_would_be_drained_forever_are_refused() -> None:
    part = catalogue.dram("ddr4", 2400, 64, 1, 8 * GIB)
    with pytest.raises(ConfigError, match="write_low above 0, got 0"):
        DramController(part, ControllerPolicy(write_low=0.0), by_name("RoBaRaCoCh", part.device))


def test_the_compiler_is_not_imported_with_the_module() -> None:
    code = "import sys, archsim.memory.dram.controller; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("rows", ["open", "closed", "timeout"])
def test_every_access_is_counted_whatever_closes_its_row(rows: RowPolicy) -> None:
    part = catalogue.dram("ddr4", 2400, 64, 1, 8 * GIB)
    dram = DramController(part, ControllerPolicy(refresh="none", rows=rows), by_name("RoBaRaCoCh", part.device))
    loads = [read(number, 8192 * number) for number in range(40)]
    dram.submit(0, [*loads, *(replace(load, id=99 + load.id, write=True) for load in loads[:10])])
    drain(dram)
    assert (dram.stats.reads, dram.stats.writes) == (40, 10)


def test_the_first_beat_of_the_fast_model_is_a_latency_after_the_request() -> None:
    """Of a long transfer that is alone: later than it was asked for, and long before its end."""
    part = catalogue.dram("ddr4", 2400, 64, 1, 8 * GIB)
    fast = FastDram(part, ControllerPolicy(refresh="none"), by_name("RoBaRaCoCh", part.device), interleave_bytes=64)
    at_ps = 10**9
    fast.submit(at_ps, [read(1, 0, 64 * 1024)])
    found: list[TransferCompletion] = []
    while not found:
        found += fast.advance(FAR_PS)
    assert at_ps + cycle_ps(30) < found[0].first_beat_ps < at_ps + cycle_ps(200) < found[0].time_ps


@entry
@njit
def _idle(feeds: Any) -> bool:
    found: bool = serve._is_idle(feeds[0])
    return found


@pytest.mark.parametrize("place", ["none", "reads", "writes", "pending", "parked"])
def test_a_channel_is_idle_when_no_ring_holds_a_transfer(place: str) -> None:
    feeds = np.zeros(1, FEED)
    for name in ("tails", "pending_head", "parked"):
        feeds[name] = NONE
    feeds["room_at"], feeds["room"] = NONE, NONE  # what stands beside the rings says nothing of them
    if place in ("reads", "writes"):
        feeds["tails"][0, ("reads", "writes").index(place)] = 3
    elif place != "none":
        feeds[{"pending": "pending_head", "parked": "parked"}[place]] = 3
    assert _idle(feeds) == (place == "none")


def test_a_burst_that_nobody_paces_may_be_taken_in_at_once() -> None:
    transfer = np.zeros(1, TRANSFER)[0]
    transfer["askers"] = np.full(ASKERS, NONE)
    assert entry(intake.offered)(np.zeros(8, np.int64), transfer, 0) == 0
