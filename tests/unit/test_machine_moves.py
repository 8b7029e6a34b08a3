"""MOVE commands: what they read and write, where, and how long they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from archsim.base.errors import NotBuiltError, ProgramError
from archsim.ir.activity import Activity
from archsim.ir.program import Affine, Clip, Command, CommandLoop, Extent, Region
from archsim.ir.rows import Bandwidth
from archsim.memory import offchip
from archsim.memory.dram.interface import Transfer
from archsim.system import simulate
from tests.laws.builders import (
    LOAD,
    STORE,
    VECTOR,
    chip,
    constant_dram,
    flat,
    move,
    program,
    queue,
    ring,
    scratchpad,
    tensor,
    tokens,
    vector,
)
from tests.oracles.constant_rate import ConstantRateOracle

TENSORS = (
    tensor("x", "din", base=512),
    tensor("y", "dout", base=4096),
    tensor("t", "l1"),
    tensor("u", "l1", base=2**20),
)


def run(*commands: Command, memories: Sequence[object] | None = None, **chip_fields: object) -> Activity:
    """One load queue."""
    return simulate(program(queue(LOAD, *commands), tensors=TENSORS), chip(memories, **chip_fields))  # type: ignore[arg-type]


def counts(activity: Activity, part: str) -> dict[str, int]:
    return {action: count for (_, found, action), count in activity.counts.items() if found == part}


@pytest.fixture
def transfers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Transfer]]:
    """Everything handed to constant-rate memories: (time, transfer)."""
    seen: list[tuple[int, Transfer]] = []

    class Recording(ConstantRateOracle):
        def submit(self, at_ps: int, batch: Sequence[Transfer]) -> None:
            seen.extend((at_ps, transfer) for transfer in batch)
            super().submit(at_ps, batch)

    monkeypatch.setattr(offchip, "ConstantRateMemory", Recording)
    return seen


def window(start: int, offset: int) -> Command:
    """Rows start .. start + 3 of an image of 6 rows of 5 columns of 2 channels; columns -1 .. 5."""
    clips = (Clip("h", Affine(start), 6), Clip("w", Affine(-1), 5))
    source = Region("src", "x", 1, (("h", 10), ("w", 2), ("c", 1)), Affine(offset), clips)
    target = Region("dst", "t", 1, (("h", 14), ("w", 2), ("c", 1)))
    extents = (Extent("h", 4), Extent("w", 7), Extent("c", 2))
    return Command("load", "MOVE", "one", extents=extents, reads=(source,), writes=(target,))


def test_clipped_source_and_filled_destination(transfers: list[tuple[int, Transfer]]) -> None:
    """Only indices inside the tensor are read; the whole destination is written."""
    activity = run(window(-1, -12))
    assert transfers == [(0, Transfer(0, False, 512, 30, (), ()))]
    assert counts(activity, "din") == {"read_bytes": 30, "pin_read_bytes": 30}
    assert counts(activity, "l1") == {"write_bytes": 56, "write_accesses": 56}
    assert activity.total_ps == 30_000


def test_a_move_outside_the_tensor_only_writes(transfers: list[tuple[int, Transfer]]) -> None:
    """Fully clipped: zero-filled on chip, no source traffic; the time is the port's."""
    activity = run(window(6, 48), memories=[constant_dram("din"), constant_dram("dout"), scratchpad("l1", 8)])
    assert transfers == []
    assert counts(activity, "din") == {}
    assert counts(activity, "l1") == {"write_bytes": 56, "write_accesses": 56}
    assert activity.records[LOAD][0].phases == (("sram_port", 7_000),)


def test_strided_runs_go_to_dram_as_they_are(transfers: list[tuple[int, Transfer]]) -> None:
    """Address = base + offset + first index; runs and outer loops by the footprint rule; words rounded per run."""
    source = Region("src", "x", 1, (("a", 100), ("b", 10), ("c", 1)), Affine(7, (("i", 1000),)))
    target = Region("dst", "t", 1, (("a", 18), ("b", 6), ("c", 1)))
    extents = (Extent("a", 2), Extent("b", 3), Extent("c", 5))
    command = Command("load", "MOVE", "one", extents=extents, reads=(source,), writes=(target,))
    memories = [constant_dram("din"), constant_dram("dout"), scratchpad("l1", 64, word_bytes=4)]
    activity = run(CommandLoop("i", 2, (command,)), memories=memories)  # type: ignore[arg-type]
    assert [t for _, t in transfers] == [
        Transfer(0, False, 519, 5, (2, 3), (100, 10)),
        Transfer(1, False, 1519, 5, (2, 3), (100, 10)),
    ]
    assert [at for at, _ in transfers] == [0, 30_000]
    assert counts(activity, "l1") == {"write_bytes": 60, "write_accesses": 2 * 6 * 2}


def test_multicast_reads_once(transfers: list[tuple[int, Transfer]]) -> None:
    """One read, a write for each destination."""
    activity = run(move("load", "x", "t", 10, writes=(flat("dst", "t"), flat("dst", "u"))))
    assert [transfer.run_bytes for _, transfer in transfers] == [10]
    assert counts(activity, "l1")["write_bytes"] == 20


def test_combine_reads_its_destination() -> None:
    """A reduction on chip reads what it adds to; onto DRAM it is not built."""
    activity = run(move("reduce", "x", "t", 10, combine="add"))
    assert counts(activity, "l1") == {"read_bytes": 10, "read_accesses": 10, "write_bytes": 10, "write_accesses": 10}
    assert counts(activity, "dma") == {"combine.int8": 10}
    assert not counts(run(move("load", "x", "t", 10)), "dma")
    with pytest.raises(NotBuiltError, match=r"reduce.*combine 'add' onto DRAM"):
        run(move("reduce", "t", "y", 10, combine="add"))


def test_no_path_from_dram_to_dram() -> None:
    with pytest.raises(ProgramError, match=r"copy\[i=0\] of core\[0\].load: a move from DRAM to DRAM"):
        run(CommandLoop("i", 1, (move("copy", "x", "y", 4),)))  # type: ignore[arg-type]


def test_unknown_stores_and_ops_are_named() -> None:
    with pytest.raises(ProgramError, match=r"unknown tensor or ring 'tt' \(did you mean 't'\?\)"):
        run(move("load", "x", "tt", 4))
    with pytest.raises(ProgramError, match=r"use: queue 'core\[0\].load' cannot run VECTOR; it runs MOVE"):
        run(vector("use", "t", "t", 4))


def test_a_move_without_source_fills() -> None:
    """It only writes."""
    activity = run(move("clear", "", "t", 40, reads=()), memories=[constant_dram("din"), scratchpad("l1", 8)])
    assert counts(activity, "l1") == {"write_bytes": 40, "write_accesses": 40}
    assert activity.total_ps == 5_000


def test_a_narrow_port_outlasts_the_memory() -> None:
    """The move ends with the slower of DRAM and port; the part after the last beat is sram_port."""
    memories = [constant_dram("din", 4), constant_dram("dout"), scratchpad("l1", 2)]
    record = run(move("load", "x", "t", 20), memories=memories).records[LOAD][0]
    assert record.phases == (("dram", 5_000), ("sram_port", 10_000))
    record = run(move("store", "t", "y", 20), memories=memories).records[LOAD][0]
    assert record.phases == (("dram", 20_000),)


def test_setup_latency_and_odd_rates_end_on_edges(transfers: list[tuple[int, Transfer]]) -> None:
    """The descriptor costs setup cycles before the transfer; the end is the first edge after the last beat."""
    memories = [constant_dram("din", Fraction(3, 2), latency_cycles=4), constant_dram("dout"), scratchpad()]
    activity = run(move("load", "x", "t", 10), memories=memories, dma={"setup_cycles": 5})
    assert [at for at, _ in transfers] == [5_000]
    record = activity.records[LOAD][0]
    assert (record.start_ps, record.end_ps) == (0, 16_000)  # 5 + 6 2/3 + 4 = 15 2/3
    assert record.phases == (("dram", 16_000),)


def test_infinite_memory_takes_the_time_of_the_port() -> None:
    memories = [constant_dram("din", None), constant_dram("dout", None), scratchpad("l1", 8)]
    activity = run(
        move("load", "x", "t", 64),
        move("nothing", "x", "t", 1, extents=(Extent("x", 1, (Affine(0),)),)),
        memories=memories,
    )
    assert [record.end_ps for record in activity.records[LOAD]] == [8_000, 8_000]
    assert activity.dram["din"].peak_bytes_per_s == 0


def test_slots_of_a_ring_in_dram_follow_one_another(transfers: list[tuple[int, Transfer]]) -> None:
    """A spilled ring: writer and reader address the slot whose token they took last."""
    spill = ring("spill", 2, STORE, LOAD, size=64, base=4096, memory="dout")
    text = program(
        queue(
            STORE,
            CommandLoop(
                "i", 3, (move("out", "t", "spill", 8, waits=tokens("spill.free"), signals=tokens("spill.full")),)
            ),
        ),
        queue(
            LOAD,
            CommandLoop(
                "j", 3, (move("back", "spill", "u", 8, waits=tokens("spill.full"), signals=tokens("spill.free")),)
            ),
        ),
        tensors=TENSORS,
        rings=(spill,),
    )
    simulate(text, chip())
    assert [t.address for _, t in transfers if t.write] == [4096, 4160, 4096]
    assert [t.address for _, t in transfers if not t.write] == [4096, 4160, 4096]
    with pytest.raises(ProgramError, match="ring 'spill' in dout cannot retain"):
        simulate(replace(text, rings=(replace(spill, retain=8),)), chip())
    early = replace(text, queues=(queue(LOAD, move("back", "spill", "u", 8)), queue(STORE)))
    with pytest.raises(ProgramError, match="uses ring 'spill' before it has taken a slot"):
        simulate(early, chip())


def test_transfers_of_one_instant_go_in_order_of_queue_and_command(transfers: list[tuple[int, Transfer]]) -> None:
    """Two engines submit at time 0 to one memory: the first queue of the Program is first."""
    for first, second in ((LOAD, STORE), (STORE, LOAD)):
        transfers.clear()
        pair = {LOAD: queue(LOAD, move("load", "x", "t", 8)), STORE: queue(STORE, move("store", "u", "x", 24))}
        activity = simulate(program(pair[first], pair[second], tensors=TENSORS), chip())
        sizes = {LOAD: 8, STORE: 24}
        assert [transfer.run_bytes for _, transfer in transfers] == [sizes[first], sizes[second]]
        assert activity.records[second][0].end_ps == 32_000


def test_bandwidth_trace() -> None:
    """Bytes by memory, direction and command; none when not asked for."""
    text = program(queue(LOAD, move("load", "x", "t", 10)), queue(VECTOR, vector("use", "t", "t", 4)), tensors=TENSORS)
    memories = [constant_dram("din"), constant_dram("dout"), scratchpad("l1", 5)]
    assert tuple(simulate(text, chip(memories)).bandwidth) == (
        Bandwidth("din", 0, 10_000, 10, False, pin_bytes=10),
        Bandwidth("l1", 0, 4_000, 4, False),
        Bandwidth("l1", 0, 4_000, 4, True),
        Bandwidth("l1", 0, 10_000, 10, True),
    )
    quiet = simulate(text, chip(memories), trace_bandwidth=False)
    assert not len(quiet.bandwidth) and quiet.counts == simulate(text, chip(memories)).counts


def test_counts_of_equal_commands_add_up_by_layer() -> None:
    """Bills are charged to the layer of the command, once per run."""
    loads = CommandLoop("i", 3, (move("load", "x", "t", 10),))
    activity = run(loads, move("other", "x", "t", 5, layer="two"))  # type: ignore[arg-type]
    assert activity.counts["one", "din", "read_bytes"] == 30
    assert activity.counts["two", "l1", "write_bytes"] == 5
    assert activity.dram["din"].useful_read_bytes == 35
