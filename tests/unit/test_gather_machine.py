"""Gathers and scatters in the machine: how long they take, what they move and count, caches in front of the DRAM."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import ProgramError
from archsim.ir.activity import Activity
from archsim.ir.asm.parser import parse_program
from archsim.ir.check.program import check
from archsim.ir.indices import Indices
from archsim.ir.streams import entries
from archsim.system import simulate
from tests.unit.fixtures_check import chip as golden_chip
from tests.unit.fixtures_gather import CACHE, chip, gather, scatter

ROW_CYCLES = 4  # 32 bytes at 8 bytes a cycle


def counts(activity: Activity, part: str) -> dict[str, int]:
    return {action: count for (_, found, action), count in activity.counts.items() if found == part}


def one(rows: str, dma: str, latency: str = "0 ns", op: str = "") -> Activity:
    """One gather of the rows of a trace."""
    number = rows.count(",") + 1
    text = f"""
program one on golden
layer l
tensor t in dram at 0 bytes 3200 dtype int8 role tables shape [100, 32] preloaded
tensor e in l1 at 0 bytes {32 * number} dtype int8 role inputs shape [{number}, 32]
queue load engine load unit dma:
    GATHER l.gather [r={number}, c=32] index trace({rows}) rows 100 row_bytes 32 at r src t{{c:1}} dst e{{r:32, c:1}}
"""
    return simulate(parse_program(text), chip(dma=dma, dram__latency=latency))


@given(
    rows=st.integers(1, 12),
    setup=st.integers(0, 20),
    row_setup=st.integers(0, 12),
    latency=st.integers(0, 30),
    outstanding=st.integers(1, 13),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_rows_are_issued_and_retired_in_order(
    rows: int, setup: int, row_setup: int, latency: int, outstanding: int
) -> None:
    """Row n starts a descriptor after row n - 1, once row n - outstanding has ended; the memory takes 4 cycles each."""
    dma = f"{{setup: {setup} cycles, row_setup: {row_setup} cycles, outstanding: {outstanding}}}"
    activity = one(", ".join(str(7 * row) for row in range(rows)), dma, f"{latency} ns")
    now, free, ends = setup, 0, []
    for row in range(rows):
        now += row_setup
        if row >= outstanding:
            now = max(now, ends[row - outstanding])
        free = max(now, free) + ROW_CYCLES
        ends.append(free + latency)
    stream = setup + rows * max(ROW_CYCLES, row_setup)
    (record,) = activity.records["load"]
    assert record.end_ps == 1000 * max(ends[-1], stream)
    assert record.phases[0] == ("dram", 1000 * ends[-1])


def test_rows_that_do_not_fill_or_meet_bursts_pay_for_them() -> None:
    """Rows of 40 bytes, 48 apart, on bursts of 64: one or two bursts each, wherever they lie."""
    rows = entries(Indices("uniform", 3), 60, np.arange(40))
    text = """
program ragged on golden
layer l
tensor t in dram at 64 bytes 2880 dtype int8 role tables shape [60, 40] strides [48, 1] preloaded
tensor e in l1 at 0 bytes 1600 dtype int8 role inputs shape [40, 40]
queue load engine load unit dma:
    GATHER l.gather [r=40, c=40] index uniform(seed=3) rows 60 row_bytes 48 at r src t{c:1} dst e{r:40, c:1}
"""
    base = replace(golden_chip(), memories=(_ddr4(), *golden_chip().memories[1:]))
    activity = simulate(parse_program(text), base)
    first = 64 + 48 * rows
    bursts = int(((first + 39) // 64 - first // 64 + 1).sum())
    assert counts(activity, "dram")["pin_read_bytes"] == 64 * bursts > 40 * 64
    assert counts(activity, "dram")["read_bytes"] == 40 * 40
    assert counts(activity, "l1") == {"write_bytes": 1600, "write_accesses": 40 * 40 // 8}


def _ddr4() -> Any:
    fields = {"standard": "ddr4", "speed_mts": 2400, "width_bits": 64, "channels": 2}
    return replace(golden_chip().memories[0], capacity_bytes=2**30, bytes_per_cycle=None, **fields)


def test_a_gather_moves_its_rows_and_a_scatter_too() -> None:
    activity = simulate(gather(), chip())
    assert counts(activity, "dram") == {
        **{"read_bytes": 1280, "pin_read_bytes": 1280, "write_bytes": 1280, "pin_write_bytes": 1280}
    }
    assert counts(activity, "l1")["write_bytes"] == counts(activity, "l1")["read_bytes"] == 1280
    again = simulate(scatter("uniform(seed=2)"), chip())
    assert counts(again, "dram") == counts(activity, "dram")
    assert [record.op for record in again.records["store"]] == ["SCATTER"] * 5


def test_a_combining_scatter_reads_what_it_adds_to() -> None:
    plain, adding = (simulate(scatter("uniform(seed=2)", how), chip()) for how in ("", "combine add"))
    assert counts(adding, "dram")["read_bytes"] == counts(plain, "dram")["read_bytes"] + 1280
    assert counts(adding, "dram")["write_bytes"] == counts(plain, "dram")["write_bytes"]
    assert adding.total_ps > plain.total_ps
    assert (counts(plain, "dma"), counts(adding, "dma")) == ({}, {"combine.int8": 1280})


def test_a_table_on_the_chip_is_read_through_its_ports() -> None:
    text = """
program inside on golden
layer l
tensor t in l1 at 0 bytes 3200 dtype int8 role tables shape [100, 32] preloaded
tensor e in l1 at 4096 bytes 320 dtype int8 role inputs shape [10, 32]
queue load engine load unit dma:
    GATHER l.gather [r=10, c=32] index uniform(seed=1) rows 100 row_bytes 32 at r src t{c:1} dst e{r:32, c:1}
"""
    activity = simulate(parse_program(text), chip())
    assert counts(activity, "l1") == {
        **{"read_bytes": 320, "read_accesses": 40, "write_bytes": 320, "write_accesses": 40}
    }
    assert activity.total_ps == 1000 * 320 // 32
    assert activity.records["load"][0].phases == (("noc", activity.total_ps),)


# caches --------------------------------------------------------------------------------------------------------------


class Reference:
    """Least recently used lines by hand."""

    def __init__(self, sets: int, ways: int) -> None:
        self.sets: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(sets)]
        self.ways = ways

    def access(self, line: int, allocate: bool = True) -> bool:
        held = self.sets[line % len(self.sets)]
        if line in held:
            held.move_to_end(line)
            return True
        if allocate:
            held[line] = None
            if len(held) > self.ways:
                held.popitem(last=False)
        return False


def rows_of(seed: int, rows: int) -> list[int]:
    return entries(Indices("uniform", seed), rows, np.arange(40)).tolist()


def test_hits_do_not_go_to_the_dram() -> None:
    activity = simulate(gather(), chip(CACHE))
    lru = Reference(16, 2)
    misses = sum(not lru.access(row) for row in rows_of(1, 100))
    stats = activity.caches["rows"]
    assert (stats.hits, stats.misses) == (40 - misses, misses)
    assert 0 < misses < 40
    assert counts(activity, "dram")["read_bytes"] == counts(activity, "dram")["pin_read_bytes"] == 32 * misses
    assert counts(activity, "rows") == {
        "lookups": 40,
        **{"read_bytes": 32 * (40 - misses), "read_accesses": 4 * (40 - misses)},
        **{"write_bytes": 32 * misses, "write_accesses": 4 * misses},
    }


def test_a_row_over_two_lines_asks_for_both() -> None:
    """Lines of 64 bytes hold two rows; rows 48 apart lie over two lines, and neighbouring misses are one transfer."""
    cache = CACHE.replace("line: 32 B", "line: 64 B")
    program = parse_program(
        """
program ragged on golden
layer l
tensor t in dram at 32 bytes 2880 dtype int8 role tables shape [60, 40] strides [48, 1] preloaded
tensor e in l1 at 0 bytes 160 dtype int8 role inputs shape [4, 40]
queue load engine load unit dma:
    GATHER l.gather [r=4, c=40] index trace(0, 1, 0, 2) rows 60 row_bytes 48 at r src t{c:1} dst e{r:40, c:1}
"""
    )
    activity = simulate(program, chip(cache))
    # row 0: bytes 32-71, lines 0 and 1; row 1: 80-119, line 1; row 2: 128-167, line 2
    assert activity.caches["rows"].misses == 3 and activity.caches["rows"].hits == 3
    assert counts(activity, "dram")["read_bytes"] == 3 * 64
    assert counts(activity, "rows")["read_bytes"] == 40 + 40
    assert counts(activity, "rows")["read_accesses"] == 5 + 4 + 1


def test_a_scatter_writes_through_and_brings_nothing_in() -> None:
    activity = simulate(scatter("trace(" + ", ".join(map(str, range(40))) + ")"), chip(CACHE))
    stats = activity.caches["rows"]
    assert (stats.write_hits, stats.write_misses) == (0, 40)  # only rows of t were gathered
    assert counts(activity, "dram")["write_bytes"] == 1280
    again = simulate(scatter("trace(" + ", ".join(map(str, range(40))) + ")", "combine add"), chip(CACHE))
    assert again.caches["rows"].write_hits == 40  # each row was read, and stays, before it is written
    assert counts(again, "rows")["lookups"] == 40 + 40 + 40


def test_a_move_drops_the_lines_that_it_writes() -> None:
    text = """
program dropped on golden
layer l
tensor t in dram at 0 bytes 3200 dtype int8 role tables shape [100, 32] preloaded
tensor e in l1 at 0 bytes 128 dtype int8 role inputs shape [4, 32]
semaphore a
semaphore b
queue load engine load unit dma:
    GATHER l.first [r=4, c=32] index trace(0, 1, 2, 3) rows 100 row_bytes 32 at r src t{c:1} dst e{r:32, c:1} signal a
    GATHER l.second [r=4, c=32] index trace(0, 1, 2, 3) rows 100 row_bytes 32 at r wait b src t{c:1} dst e{r:32, c:1}
queue store engine store unit dma:
    MOVE l.write [c=40] wait a src e{c:1} dst t{c:1}+24 signal b
"""
    program = parse_program(text)
    check(program, chip(CACHE))
    assert simulate(program, chip(CACHE)).caches["rows"].hits == 2  # the move wrote rows 0 and 1


def test_a_role_that_the_cache_does_not_keep_passes_it_by() -> None:
    activity = simulate(gather(), chip(CACHE.replace("[tables]", "[kv]")))
    assert activity.caches["rows"].hits + activity.caches["rows"].misses == 0
    assert counts(activity, "dram")["read_bytes"] == 1280


def test_what_the_tags_take_and_what_hits_spare() -> None:
    """Forty times one row: a cache that answers at once spares the DRAM all but one; a slow one delays each command."""
    hot = gather(f"trace({', '.join(['7'] * 40)})")
    none, quick, slow = (
        [
            record.end_ps - record.start_ps
            for record in simulate(hot, chip(cache, dram__latency="40 ns")).records["load"]
        ]
        for cache in ("", CACHE.replace("5 cycles", "0 cycles"), CACHE.replace("5 cycles", "50 cycles"))
    )
    assert quick[0] == 1000 * max(40 + 4, 7 * 4)  # one line from the DRAM; the other rows from the cache meanwhile
    assert none == [1000 * (40 + 8 * 4)] * 5 and quick[1:] == [1000 * 8 * 4] * 4
    assert slow == [time_ps + 50_000 for time_ps in quick]


def test_only_the_table_lies_in_the_dram() -> None:
    text = """
program outside on golden
layer l
tensor t in dram at 0 bytes 3200 dtype int8 role tables shape [100, 32] preloaded
tensor y in dram at 4096 bytes 64 dtype int8 role outputs shape [2, 32]
queue load engine load unit dma:
    GATHER l.gather [r=2, c=32] index uniform(seed=1) rows 100 row_bytes 32 at r src t{c:1} dst y{r:32, c:1}
"""
    with pytest.raises(ProgramError, match="operand 'dst' lies in DRAM; of a GATHER only the table may"):
        simulate(parse_program(text), chip())


def test_several_channels_run_several_queues() -> None:
    """Two load queues of one core move side by side; a chip with one load engine refuses the second."""
    text = """
program two on golden
layer l
tensor t in dram at 0 bytes 3200 dtype int8 role tables shape [100, 32] preloaded
tensor e in l1 at 0 bytes 640 dtype int8 role inputs shape [20, 32]
queue core[0].load engine load unit dma:
    GATHER l.first [r=10, c=32] index uniform(seed=1) rows 100 row_bytes 32 at r src t{c:1} dst e{r:32, c:1}
queue core[0].load1 engine load unit dma:
    GATHER l.second [r=10, c=32] index uniform(seed=2) rows 100 row_bytes 32 at r src t{c:1} dst e{r:32, c:1}+320
"""
    program = parse_program(text)
    two = chip(dma="{channels: 2, row_setup: 20 cycles}")
    check(program, two)
    activity = simulate(program, two)
    assert activity.records["core[0].load"][0].start_ps == activity.records["core[0].load1"][0].start_ps == 0
    idle = simulate(gather(), chip(dma="{channels: 3}")).records
    assert [name for name in idle if "load" in name] == ["load", "core[0].load", "core[0].load1"]
    with pytest.raises(ProgramError, match="'dma' has 1 load engine"):
        check(program, chip())


def test_a_run_of_a_move_costs_its_descriptor() -> None:
    text = """
program runs on golden
layer l
tensor t in dram at 0 bytes 3200 dtype int8 role inputs shape [100, 32] preloaded
tensor e in l1 at 0 bytes 640 dtype int8 role inputs shape [20, 32]
queue load engine load unit dma:
    MOVE l.rows [r=10, c=16] src t{r:32, c:1} dst e{r:16, c:1}
    MOVE l.block [c=160] src t{c:1} dst e{c:1}
"""
    rows, block = simulate(parse_program(text), chip(dma="{setup: 3 cycles, run_setup: 5 cycles}")).records["load"]
    assert rows.end_ps - rows.start_ps == 1000 * (3 + 10 * 5 + 160 // 8)
    assert block.end_ps - block.start_ps == 1000 * (3 + 5 + 160 // 8)
