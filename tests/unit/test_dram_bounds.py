"""Before when no transfer of the exact DRAM ends: what the compiled code knows of shapes, and what it says of ends."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from archsim.base import served
from archsim.base.errors import SimulationError
from archsim.facts.dram import catalogue
from archsim.memory.dram.compiled import records as k
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.interface import Transfer
from archsim.memory.dram.region_records import shape_words

PART = catalogue.dram("lpddr5", 6400, 16, 4, 1 << 30)


def bursts(transfer: Transfer, size: int) -> set[int]:
    """All bursts that a region touches."""
    firsts = [transfer.address]
    for extent, stride in zip(transfer.extents, transfer.strides, strict=True):
        firsts = [first + i * stride for first in firsts for i in range(extent)]
    return {b for first in firsts for b in range(first // size, (first + transfer.run_bytes - 1) // size + 1)}


def region(rng: Random, number: int) -> Transfer:
    loops = [(rng.randint(1, 4), rng.choice([-1, 1]) * rng.randint(0, 500)) for _ in range(rng.randint(0, 3))]
    extents, strides = tuple(extent for extent, _ in loops), tuple(stride for _, stride in loops)
    return Transfer(number, rng.random() < 0.5, rng.randint(5000, 9000), rng.randint(1, 700), extents, strides)


def test_a_shape_needs_no_more_column_commands_than_it_has_bursts() -> None:
    rng = Random(5)
    for number in range(500):
        transfer = region(rng, number)
        fewest = int(shape_words(transfer, 32, ()).view(k.TRANSFER)["fewest"][0])
        assert 1 <= fewest <= len(bursts(transfer, 32))
    assert int(shape_words(Transfer(0, False, 0, 4096), 32, ()).view(k.TRANSFER)["fewest"][0]) == 128


def test_a_read_ends_no_sooner_than_its_bursts_on_all_channels_take() -> None:
    dram = DramController(PART)
    dram.submit(0, [Transfer(0, False, 0, 1 << 16)])
    assert dram.advance(10**5) == []
    bound = dram.next_event_ps()
    assert bound is not None and bound >= dram.least_ps(1 << 16, write=False)
    (done,) = dram.advance(10**12)
    assert done.time_ps >= bound


def test_bounds_hold_where_a_newcomer_fills_the_queue_of_writes() -> None:
    """Reads of one bank are served, writes to an open row wait; a large write has these drained, sooner than before."""
    part = catalogue.dram("lpddr5", 6400, 16, 1, 1 << 30)
    row = 1 << 27
    for seed in range(60):
        rng, dram, numbers = Random(seed), DramController(part), iter(range(1000))
        row_at = row + rng.randint(0, 15) * 2048
        dram.submit(0, [Transfer(next(numbers), True, row_at, 64)])
        while dram.next_event_ps() is not None:
            dram.advance(10**9)
        now = dram._now_ps + rng.randint(1, 50_000)
        dram.submit(now, [Transfer(next(numbers), False, number << 19, 64) for number in range(12)])
        now += rng.randint(1, 60_000)
        while dram.advance(now):
            pass
        waiting = [Transfer(next(numbers), True, row_at + 64 + 32 * n, 32) for n in range(rng.randint(18, 25))]
        dram.submit(now, waiting)
        for _ in range(rng.randint(1, 30)):
            now += rng.randint(1, 20_000)
            while dram.advance(now):
                pass
        dram.submit(now, [Transfer(next(numbers), True, 2 * row + rng.randint(0, 7) * 4096, 8192)])
        while (bound := dram.next_event_ps()) is not None:
            assert all(done.time_ps >= bound for done in dram.advance(10**12)), seed


def test_bounds_hold_where_writes_serve_reads() -> None:
    """A read of what is being written ends as soon as it is taken in."""
    for seed in range(40):
        rng, dram, now = Random(seed), DramController(PART), 0
        for number in range(12):
            now += rng.randint(0, 30_000)
            transfer = Transfer(number, rng.random() < 0.6, rng.randint(0, 4) * 512, rng.randint(1, 2048))
            while (bound := dram.next_event_ps()) is not None and bound < now:
                found = dram.advance(now)
                if not found:
                    break
                assert all(done.time_ps >= bound for done in found)
            dram.submit(max(now, dram._now_ps), [transfer])
        ended = 0
        while (bound := dram.next_event_ps()) is not None:
            found = dram.advance(10**12)
            assert found and all(done.time_ps >= bound for done in found)
            ended += len(found)
        assert dram.stats.useful_read_bytes + dram.stats.useful_write_bytes > 0 and ended


def test_transfers_of_layers_are_charged_and_traced_by_the_compiled_code() -> None:
    """As the completions say that Python gets; arrays grow while transfers are under way."""
    rng, plain, charged = Random(3), DramController(PART), DramController(PART)
    charged.is_traced = True
    charged.charge_to(2)
    transfers = [region(rng, number) for number in range(70)]
    plain.submit(0, transfers)
    rows = np.zeros((len(transfers), served.REQUEST_WIDTH), np.int64)
    for row, transfer in zip(rows, transfers, strict=True):
        row[served.TICKET :] = transfer.id, transfer.id % 2, charged.shape(transfer), transfer.address, served.NONE
    taken = 0
    while taken < len(rows):
        rest = rows[taken:]
        taken += charged._submit(charged._table.address, 0, rest.ctypes.data, len(rest))
        if taken < len(rows):
            charged.make_room()
    expected = np.zeros((2, 6), np.int64)
    moved = []
    while done := plain.advance(10**12):
        assert charged.advance(10**12) == done
        for each in done:
            expected[each.id % 2, int(each.write)] += each.pin_bytes
            counts = (each.row_hits, each.row_misses, each.row_conflicts, each.activates)
            expected[each.id % 2, 2:] += counts
            span = each.first_beat_ps, each.time_ps, each.useful_bytes, int(each.write)
            moved.append((*span, each.pin_bytes, *counts))
        if plain.next_event_ps() is None:
            break
    assert charged.charged.tolist() == expected.tolist()
    assert list(map(tuple, charged.moved.tolist())) == moved


def test_what_leaves_the_memory_is_refused_when_the_machine_asks_for_it() -> None:
    dram = DramController(PART)
    row = np.array([0, 0, 0, 0, 0, -1, dram.shape(Transfer(0, False, 0, 64)), (1 << 30) - 32, -1], np.int64)
    assert dram._submit(dram._table.address, 0, row.ctypes.data, 1) == 0
    with pytest.raises(SimulationError, match="leaves the memory"):
        dram.make_room()
