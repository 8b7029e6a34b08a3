"""The open_row controller at its interface: one transfer at a time, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from archsim.errors import ConfigError, SimulationError
from archsim.memory.dram import catalogue
from archsim.memory.dram.controller import Completion, DramController, Transfer
from archsim.memory.dram.timing import DramTiming, edge_ps

MIB, GIB = 1 << 20, 1 << 30
FAR_PS = 10**15


def ddr4(channels: int = 1) -> DramTiming:
    """DDR4-2400 without refresh: 64 B bursts of 4 cycles, 8 KiB rows, 16 banks; 16-16-16, CWL 12, tRAS 39."""
    return replace(catalogue.timing("ddr4", 2400, 64, channels, 8 * GIB), t_refi_ps=0)


def cycle_ps(cycle: int) -> int:
    return edge_ps(cycle, 1_200_000_000)


def drain(dram: DramController) -> list[Completion]:
    completions = []
    while dram.next_event_ps() is not None:
        completions += dram.advance(FAR_PS)
    return completions


def one_by_one(dram: DramController, transfers: list[Transfer]) -> list[tuple[int, int]]:
    """First beat and end of each transfer in cycles after it became visible, each alone in the memory."""
    found, at_ps = [], 0
    for transfer in transfers:
        visible = dram.timing.cycles(at_ps + 1)
        dram.submit(at_ps, [transfer])
        (completion,) = dram.advance(at_ps + 10**9)
        beats = (completion.first_beat_ps, completion.time_ps)
        found.append(tuple(dram.timing.cycles(beat) - visible for beat in beats))
        at_ps = completion.time_ps + cycle_ps(1000)
        assert dram.advance(at_ps) == []
    return found


def read(number: int, address: int, run_bytes: int = 64, *loops: tuple[int, int]) -> Transfer:
    extents = tuple(extent for extent, _ in loops)
    return Transfer(number, False, address, run_bytes, extents, tuple(stride for _, stride in loops))


def test_closed_row_open_row_conflict() -> None:
    dram = DramController(ddr4())
    row_of_same_bank = 16 * 8192
    found = one_by_one(dram, [read(0, 0), read(1, 64), read(2, row_of_same_bank), read(3, 8192)])
    assert found == [(32, 36), (16, 20), (48, 52), (32, 36)]
    stats = dram.stats
    assert (stats.row_hits, stats.row_misses, stats.row_conflicts, stats.activates) == (1, 2, 1, 3)
    assert (stats.reads, stats.read_bytes, stats.useful_read_bytes, stats.writes) == (4, 256, 256, 0)
    assert stats.busy_ps == (cycle_ps(16),)
    assert stats.refreshes == 0


def test_write_ends_with_its_last_beat() -> None:
    dram = DramController(ddr4())
    write = Transfer(0, True, 0, 128)
    assert one_by_one(dram, [write, replace(write, address=256)]) == [(28, 36), (12, 20)]


def test_empty_transfers_end_at_the_next_edge() -> None:
    dram = DramController(ddr4(4))
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
        dram = DramController(ddr4())
        dram.submit(at_ps, [read(0, 0)])
        assert dram.next_event_ps() == cycle_ps(dram.timing.cycles(at_ps + 1))
        ends += [dram.timing.cycles(c.time_ps) for c in drain(dram)]
    assert ends == [37, 37, 38, 38, 39]


def test_stream_keeps_the_data_bus_busy() -> None:
    """1 MiB on one channel crosses 128 rows, and every activate hides behind data: first latency + 4 cycles a burst."""
    dram = DramController(ddr4())
    dram.submit(0, [read(0, 0, MIB)])
    (completion,) = drain(dram)
    assert dram.timing.cycles(completion.time_ps) == 1 + 32 + 4 * MIB // 64
    assert (completion.row_misses, completion.row_conflicts) == (16, 112)


def test_channels_take_the_lowest_bits_above_the_burst() -> None:
    dram = DramController(ddr4(4))
    dram.submit(0, [read(0, 64, 64 * 5)])
    drain(dram)
    assert dram.stats.busy_ps == tuple(cycle_ps(4 * n) for n in (1, 2, 1, 1))
    coarse = DramController(ddr4(4), interleave_bytes=256)
    coarse.submit(0, [read(0, 64, 64 * 5)])
    drain(coarse)
    assert coarse.stats.busy_ps == tuple(cycle_ps(4 * n) for n in (3, 2, 0, 0))


def test_transfers_take_turns_of_sixteen_bursts() -> None:
    """Two streams that start together: the second's first beat comes after 16 bursts of the first."""
    dram = DramController(ddr4())
    dram.submit(0, [read(0, 0, 64 * 64), read(1, 8192, 64 * 20)])
    second, first = drain(dram)
    assert [dram.timing.cycles(c.first_beat_ps) for c in (first, second)] == [33, 33 + 16 * 4]
    assert [dram.timing.cycles(c.time_ps) for c in (second, first)] == [33 + 52 * 4, 33 + 84 * 4]


def test_equal_ends_come_together_in_order_of_submission() -> None:
    dram = DramController(ddr4(2))
    dram.submit(0, [read(7, 64), read(3, 0), read(9, 0, 0)])
    assert [c.id for c in dram.advance(FAR_PS)] == [9]
    assert [c.id for c in dram.advance(FAR_PS)] == [7, 3]


def test_more_transfers_than_slots() -> None:
    dram = DramController(ddr4(3))
    for n in range(50):
        dram.submit(n, [read(10 * n + k, 4096 * n + 64 * k) for k in range(10)])
    completions = drain(dram)
    assert sorted(c.id for c in completions) == list(range(500))
    assert dram.stats.reads == 500


def test_unaligned_runs_pay_for_every_burst_they_touch() -> None:
    dram = DramController(ddr4(2))
    dram.submit(0, [read(0, 60, 8), read(1, 30, 32, (4, 32)), read(2, 0, 16, (4, 128))])
    by_id = {c.id: c for c in drain(dram)}
    assert {n: (c.useful_bytes, c.pin_bytes) for n, c in by_id.items()} == {0: (8, 128), 1: (128, 192), 2: (64, 256)}
    assert sum(c.pin_bytes for c in by_id.values()) == dram.stats.read_bytes


def test_six_levels_of_region() -> None:
    """Five loops around a run: bursts and ends equal those of the same bursts asked for one run at a time."""
    loops = ((2, 1 << 20), (3, 1 << 17), (2, 8192), (3, 1024), (2, 192))
    dram = DramController(ddr4())
    dram.submit(0, [read(0, 0, 64, *loops)])
    (completion,) = drain(dram)
    single = DramController(ddr4())
    starts = [0]
    for extent, stride in loops:
        starts = [start + i * stride for start in starts for i in range(extent)]
    single.submit(0, [read(n, start) for n, start in enumerate(starts)])
    assert completion.pin_bytes == 64 * len(starts) == single.timing.burst_bytes * 72
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
        DramController(ddr4()).submit(0, [transfer])


def test_submits_ahead_of_time() -> None:
    dram = DramController(ddr4())
    dram.submit(0, [read(0, 0)])
    dram.submit(10**6, [read(1, 64)])
    assert dram.next_event_ps() == cycle_ps(1)
    assert [dram.timing.cycles(c.time_ps) for c in drain(dram)] == [37, 1201 + 20]
    dram.submit(10**7, [])
    with pytest.raises(SimulationError, match="reached 10000000 ps"):
        dram.submit(10**7 - 1, [])


def test_the_past_is_refused() -> None:
    dram = DramController(ddr4())
    assert dram.advance(1000) == []
    with pytest.raises(SimulationError, match="999 ps"):
        dram.submit(999, [read(0, 0)])
    with pytest.raises(SimulationError, match="already at 1000"):
        dram.advance(999)


@pytest.mark.parametrize(
    "options", [{"interleave_bytes": 32}, {"interleave_bytes": 96}, {"window_bursts": 0}, {"turn_bursts": 0}]
)
def test_impossible_options(options: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="allowed"):
        DramController(ddr4(), **options)


def test_the_compiler_is_not_imported_with_the_module() -> None:
    code = "import sys, archsim.memory.dram.controller; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
