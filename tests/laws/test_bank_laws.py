"""Bank conflicts in the machine: what a layout costs, that it is a stall of the port, whose ports contend."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archsim
from archsim.base.errors import MappingError
from archsim.facts.banks import banking, lost_cycles
from archsim.facts.dataflows import catalogue
from archsim.ir.asm.parser import parse_program
from archsim.ir.check.program import check
from archsim.ir.footprint import footprint
from archsim.ir.program import Affine, Command, Extent, Program, Region
from archsim.ir.unroll import unroll
from archsim.spec import load
from archsim.spec.architecture import Architecture
from archsim.spec.memories import PortSet
from archsim.system import simulate
from mapper.compile import Options, compile_model
from tests.laws.builders import (
    ARRAY,
    CYCLE,
    LOAD,
    STORE,
    VECTOR,
    chip,
    constant_dram,
    matmul,
    move,
    program,
    queue,
    ring,
    scratchpad,
    tensor,
    tokens,
    vector,
)
from tests.tools.counts import compiler_counts, machine_counts
from tests.tools.fuzz import run_case
from tests.tools.layers import Net, small_chip

EXACT = settings(max_examples=60, deadline=None, derandomize=True)
EXAMPLES = Path(__file__).resolve().parents[2] / "studies" / "layout"
BANKS, WORD = 8, 32
TENSORS = (tensor("tile", "l1"), tensor("far", "wide"), tensor("x", "din"))


def banked(**fields: Any) -> Architecture:
    """Eight banks of 32 B words beside a memory so wide that it never matters."""
    wide = scratchpad("wide", 2**16)
    return chip([constant_dram("din", 4), wide, scratchpad("l1", BANKS, word_bytes=WORD, **fields)])


def column(pitch: int, rows: int, *, name: str = "column", offset: int = 0, width: int = WORD) -> Command:
    """A MOVE of the first ``width`` bytes of each row of ``tile``."""
    strides = (("row", pitch), ("byte", 1))
    return Command(
        name,
        "MOVE",
        "one",
        extents=(Extent("row", rows), Extent("byte", width)),
        reads=(Region("src", "tile", 1, strides, Affine(offset)),),
        writes=(Region("dst", "far", 1, (("row", width), ("byte", 1))),),
    )


def cycles_of(command: Command, on: Architecture) -> int:
    activity = simulate(program(queue(LOAD, command), tensors=TENSORS), on)
    record = activity.records[LOAD][0]
    (step,) = unroll(queue(LOAD, command))
    l1 = on.memory("l1")
    rate = l1.bytes_per_cycle_of("dma", write=False)
    alone_ps = -(-footprint(command.reads[0], step).size_bytes // rate) * CYCLE
    conflicts = (("sram_port", record.end_ps),) if record.end_ps > alone_ps else ()
    assert record.phases == (("noc", alone_ps), *conflicts)
    return record.end_ps // CYCLE


@pytest.mark.parametrize(("pitch", "cycles"), [(256, 64), (256 + 32, 8), (256 + 64, 16), (512, 64), (256 + 128, 32)])
def test_a_column_costs_what_its_rows_share(pitch: int, cycles: int) -> None:
    """A word of each of 64 rows: in one bank where the pitch is banks x word, in all of them when padded by one."""
    assert cycles_of(column(pitch, 64), banked()) == cycles
    assert cycles_of(column(pitch, 64), banked(ports=PortSet(2, 1))) == cycles // 2


@EXACT
@given(st.integers(1, 2000), st.integers(1, 90), st.integers(1, 70), st.integers(1, 3))
def test_law_25_a_stream_loses_what_its_banks_say(pitch: int, rows: int, width: int, ports: int) -> None:
    """Law 25: alone on its port a move takes its bytes at the port's rate, and as sram_port what its banks lose."""
    pitch = max(pitch, width)
    on = banked(ports=PortSet(ports, 1))
    command = column(pitch, rows, width=width)
    (step,) = unroll(queue(LOAD, command))
    touched = footprint(command.reads[0], step)
    lost = lost_cycles(banking(on.memory("l1")), ports, touched.run_bytes, touched.outer, 0)
    assert cycles_of(command, on) == ceil(Fraction(rows * width, BANKS * WORD * ports) + lost)
    assert lost >= 0 and (touched.outer or not lost)


def test_conflicts_add_no_accesses() -> None:
    """The same bytes and words are counted whatever the pitch."""
    found = [
        simulate(program(queue(LOAD, column(pitch, 64)), tensors=TENSORS), banked()).counts for pitch in (256, 288)
    ]
    assert found[0] == found[1]


def test_a_slow_memory_hides_conflicts() -> None:
    """A move lasts as long as the slower of its two ends: what DRAM takes anyway is not lost twice."""
    strides = (("row", 256), ("byte", 1))
    into = Command(
        "load",
        "MOVE",
        "one",
        extents=(Extent("row", 64), Extent("byte", WORD)),
        reads=(Region("src", "x", 1, (("row", WORD), ("byte", 1))),),
        writes=(Region("dst", "tile", 1, strides),),
    )
    slow = simulate(program(queue(LOAD, into), tensors=TENSORS), banked()).records[LOAD][0]
    assert slow.phases == (("dram", 512 * CYCLE),)
    fast = replace(banked(), memories=(constant_dram("din", 2048), *banked().memories[1:]))
    record = simulate(program(queue(LOAD, into), tensors=TENSORS), fast).records[LOAD][0]
    assert record.phases == (("dram", CYCLE), ("sram_port", 64 * CYCLE))


def test_a_vector_command_waits_for_its_banks() -> None:
    """8 cycles of lanes, 64 of one bank: the stretch stands at its end."""
    on = banked()
    on = replace(on, vectors=(replace(on.vectors[0], lanes={"int8": 256}),))
    command = vector("use", "tile", "far", 1)
    reads = (Region("in0", "tile", 1, (("row", 256), ("byte", 1))),)
    writes = (Region("out", "far", 1, (("row", WORD), ("byte", 1))),)
    command = replace(command, extents=(Extent("row", 64), Extent("byte", WORD)), reads=reads, writes=writes)
    records = simulate(program(queue(VECTOR, command), tensors=TENSORS), on).records
    assert records[VECTOR][0].phases == (("busy", 8 * CYCLE), ("sram_port", 64 * CYCLE))


@pytest.mark.parametrize(("pitch", "stretched"), [(256, True), (288, False)])
def test_an_array_command_waits_for_its_banks(pitch: int, stretched: bool) -> None:
    """Each pass over an operand's tile loses its conflicts; fill, stream and drain stay as the dataflow has them."""
    plain = matmul("mm", "a", "b", "acc", (4, 64, 32))
    tensors = (tensor("a", "wide"), tensor("b", "l1"), tensor("acc", "wide", base=2**20, dtype="int32"))
    b = Region("b", "b", 1, (("n", pitch), ("k", 1)))
    command = replace(plain, reads=(plain.reads[0], b))
    on = banked()
    on = replace(on, arrays=(replace(on.arrays[0], rows=4, cols=64),))
    alone = simulate(program(queue(ARRAY, plain), tensors=tensors), on).records[ARRAY][0]
    record = simulate(program(queue(ARRAY, command), tensors=tensors), on).records[ARRAY][0]
    assert record.phases[: len(alone.phases)] == alone.phases
    natural = alone.end_ps // CYCLE
    passes = 1  # 4 rows of a fit the array: every weight crosses its edge once
    least = 64 * 32 // 256 + passes * ((64 if stretched else 8) - 8)
    assert record.end_ps // CYCLE == max(natural, least)


@pytest.mark.parametrize(("bank", "ends"), [(0, (128, 128)), (1, (64, 64)), (7, (64, 64)), (8, (128, 128))])
def test_law_25_columns_contend_where_they_share_a_bank(bank: int, ends: tuple[int, int]) -> None:
    """Law 25: two columns of one bank both take 2x while overlapped; of two banks they do not see one another."""
    second = column(256, 64, name="second", offset=bank * WORD)
    text = program(queue(LOAD, column(256, 64)), queue(STORE, second), tensors=TENSORS)
    records = simulate(text, banked()).records
    assert tuple(records[name][0].end_ps // CYCLE for name in (LOAD, STORE)) == ends


@pytest.mark.parametrize(("bank", "ends"), [(3, (128, 128)), (BANKS - 3, (64, 64))])
def test_a_bank_is_that_of_the_tensors_address_and_the_place_in_it(bank: int, ends: tuple[int, int]) -> None:
    """A column three words into one tensor, and one at the beginning of another tensor that lies in ``bank``."""
    other = tensor("other", "l1", 2**17, 2**20 + bank * WORD)
    second = column(256, 64, name="second")
    second = replace(second, reads=(replace(second.reads[0], store="other"),))
    first = column(256, 64, offset=3 * WORD)
    text = program(queue(LOAD, first), queue(STORE, second), tensors=(*TENSORS, other))
    records = simulate(text, banked()).records
    assert tuple(records[name][0].end_ps // CYCLE for name in (LOAD, STORE)) == ends


def test_a_contiguous_stream_meets_a_column_in_its_bank() -> None:
    """Both want all of bank 0 and get half of it; what the contiguous one leaves then is the column's."""
    rows = 512
    contiguous = move("row", "tile", "far", BANKS * WORD * rows // 4)
    text = program(queue(LOAD, column(256, rows)), queue(STORE, contiguous), tensors=TENSORS)
    records = simulate(text, banked()).records
    assert records[STORE][0].end_ps == 2 * (rows // 4) * CYCLE
    assert records[LOAD][0].end_ps == (rows + rows // 4) * CYCLE


def test_banks_that_a_conflict_leaves_idle_serve_others() -> None:
    """Three engines at three banks: nobody waits."""
    columns = [column(256, 64, name=f"c{bank}", offset=bank * WORD) for bank in (0, 3)]
    uses = replace(vector("use", "tile", "far", 64), reads=(Region("in0", "tile", 1, (("x", 256),), Affine(5 * WORD)),))
    text = program(queue(LOAD, columns[0]), queue(STORE, columns[1]), queue(VECTOR, uses), tensors=TENSORS)
    records = simulate(text, banked()).records
    assert [records[name][0].end_ps // CYCLE for name in (LOAD, STORE, VECTOR)] == [64, 64, 64]


@EXACT
@given(st.integers(1, 60), st.sampled_from(["common", "own"]))
def test_law_25_private_ports_do_not_contend(length: int, whose: str) -> None:
    """Law 25: a DMA write and a vector write take 2x on the common port, and their own time on private ones."""
    own = {"dma": PortSet(0, 1)} if whose == "own" else {}
    memory = scratchpad("l1", 1, private_ports=own)
    text = program(
        queue(LOAD, move("load", "far", "tile", length)),
        queue(VECTOR, vector("use", "far", "tile", length)),
        tensors=TENSORS,
    )
    records = simulate(text, chip([constant_dram("din"), scratchpad("wide"), memory])).records
    ends = [records[name][0].end_ps for name in (LOAD, VECTOR)]
    assert ends == [(1 if own else 2) * length * CYCLE] * 2


def test_a_direction_without_a_port_of_its_own_is_common() -> None:
    """Two private read ports: reads go twice as fast, writes as before."""
    memory = scratchpad("l1", 1, private_ports={"dma": PortSet(2, 0)})
    on = chip([constant_dram("din"), scratchpad("wide"), memory])
    out, back = move("out", "tile", "far", 10), move("back", "far", "tile", 10)
    activity = simulate(program(queue(LOAD, out, back), tensors=TENSORS), on)
    assert [record.end_ps for record in activity.records[LOAD]] == [5 * CYCLE, 15 * CYCLE]


@pytest.mark.parametrize(("retain", "ends"), [(0, [4, 6, 10]), (64, [4, 8, 12])])
def test_blocks_are_found_by_the_address_of_the_slot(retain: int, ends: list[int]) -> None:
    """Blocks of 4 words: 128 bytes lie in one bank or across two, as the slot begins; slots may keep a halo."""
    on = banked(interleave="block", block_bytes=4 * WORD)
    kept = ring("kept", 3, LOAD, STORE, size=192, retain=retain)
    taken = [
        move("fill", "far", "kept", 128, waits=tokens("kept.free"), retains=bool(number and retain))
        for number in range(3)
    ]
    activity = simulate(program(queue(LOAD, *taken), queue(STORE), tensors=TENSORS, rings=(kept,)), on)
    assert [record.end_ps // CYCLE for record in activity.records[LOAD]] == ends


def padded_chip(seed: int, memory: dict[str, Any]) -> Architecture:
    base = small_chip(1 << 13, 1 << 12, dataflow=catalogue.names()[seed % len(catalogue.names())], banks=8)
    return replace(base, memories=tuple(replace(m, **memory) if m.kind == "sram" else m for m in base.memories))


VARIANTS: dict[str, dict[str, Any]] = {
    "padded": {"padding_words": {"inputs": 1, "outputs": 1, "weights": 2, "partials": 1}},
    "blocks": {"interleave": "block", "block_bytes": 64},
    "xor": {"interleave": "xor"},
    "hashed": {"interleave": "hashed"},
    "private": {"private_ports": {"array": PortSet(2, 0), "dma": PortSet(0, 1)}},
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(8))
def test_law_38_holds_for_any_layout(seed: int, variant: str) -> None:
    """Law 38: with padding, interleaves and ports of engines' own, counts agree and the bound is one."""
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 6 + seed, 8, 1 + 2 * seed))
    net.conv(x, "y", 4 + seed, 1 + seed % 3, 1 + seed % 2, (seed % 2, 0, 1, 0))
    net.conv("y", "z", 8, 1, 1, (0, 0, 0, 0))
    on, workload = padded_chip(seed, VARIANTS[variant]), net.done("z")
    try:
        compiled = compile_model(workload, on, Options(objective=("latency", "energy")[seed % 2]))
    except MappingError:
        return
    check(compiled.program, on)
    activity = simulate(compiled.program, on)
    assert compiler_counts(compiled, workload, on) == machine_counts(activity, on)
    assert max(layer.bound_cycles for layer in compiled.mapping.layers) * CYCLE <= activity.total_ps


def test_a_chip_pads_the_rows_of_tiles() -> None:
    """Each role by its own words, behind the innermost axis, in the ring and in its size."""
    net = Net(np.random.default_rng(0))
    x = net.source("x", (1, 9, 9, 8))
    net.conv(x, "y", 8, 3, 1, (0, 0, 0, 0))
    workload = net.done("y")

    def inputs(memory: dict[str, Any]) -> tuple[int, dict[str, int]]:
        compiled = compile_model(workload, padded_chip(0, memory)).program
        (found,) = [item for item in compiled.rings if item.name.endswith("@a")]
        (load,) = [
            step.command
            for step in unroll(compiled.queues[0])
            if step.index < 9 and any(region.store == found.name for region in step.command.writes)
        ][:1]
        return found.slot_bytes, dict(load.writes[0].strides)

    dense, padded = inputs({}), inputs({"padding_words": {"inputs": 1}})
    assert dense == (9 * 9 * 8, {"p_r": 72, "q_s": 8, "c": 1})
    assert padded == (9 * 9 * (8 + 4), {"p_r": 108, "q_s": 12, "c": 1})


@pytest.mark.parametrize("case", [1256, 1358])
def test_a_window_slides_along_a_padded_row(case: int) -> None:
    """Where the row itself slides, what is kept is followed by the padding of the slot before."""
    assert not run_case(case).refused


def example(name: str) -> tuple[Program, Architecture]:
    text = (EXAMPLES / f"{name}.asm").read_text(encoding="utf-8")
    return parse_program(text, name), load.load("edge_npu")


def test_the_example_of_a_layout() -> None:
    """The same columns of the same tile: rows of 256 bytes in one bank, rows of 288 bytes in all of them."""
    ends, waits = {}, {}
    for name in ("rows_256", "rows_288"):
        text, on = example(name)
        check(text, on)
        activity = simulate(text, on)
        (record,) = activity.records["core[0].vector"]
        ends[name] = [(cause, end - record.start_ps) for cause, end in record.phases]
        waits[name] = archsim.run(EXAMPLES / f"{name}.asm", on="edge_npu").summary["time_breakdown"]["core[0].vector"]
    busy = (8 + 64 * 32 // 64) * CYCLE  # start-up and 64 lanes
    assert ends["rows_256"] == [("busy", busy), ("sram_port", 64 * CYCLE)]
    assert ends["rows_288"] == [("busy", busy)]
    assert [waits[name]["stall_sram_port"] for name in ends] == [24, 0]
    assert [waits[name]["busy"] for name in ends] == [40, 40]
