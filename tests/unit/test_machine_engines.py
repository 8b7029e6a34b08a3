"""Array, vector unit and host: durations, phases, streams and counts of single commands; the names of units."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from archsim.base.errors import ConfigError, ProgramError
from archsim.facts.vector_cost import vector_cycles
from archsim.ir.activity import Activity
from archsim.ir.program import Affine, Command, CommandLoop, Extent, LoopEdge, ProgramNode, Queue, Region, Semaphore
from archsim.spec.architecture import Architecture
from archsim.spec.by_name import ByName
from archsim.system import simulate
from tests.laws.builders import (
    ARRAY,
    LOAD,
    STORE,
    VECTOR,
    chip,
    constant_dram,
    host,
    matmul,
    move,
    program,
    queue,
    scratchpad,
    tensor,
    tokens,
    vector,
)

TENSORS = (tensor("a", "l1"), tensor("b", "l1", base=2**20), tensor("s", "acc"), tensor("x", "din"))
MEMORIES = [constant_dram("din"), scratchpad("l1", 64, word_bytes=8), scratchpad("acc", 128, word_bytes=4)]


def run(name: str, *body: ProgramNode, architecture: Architecture | None = None) -> Activity:
    return simulate(program(queue(name, *body), tensors=TENSORS), architecture or chip(MEMORIES))


def counts(activity: Activity, part: str) -> dict[str, int]:
    return {action: count for (_, found, action), count in activity.counts.items() if found == part}


def test_matmul_streams_are_charged_to_the_memories_of_the_operands() -> None:
    """Output-stationary 4x4, M = N = 8, K = 3: a and b read twice, sums written once at their width."""
    activity = run(ARRAY, matmul("mm", "a", "b", "s", (8, 8, 3), fresh=()))
    assert counts(activity, "l1") == {"read_bytes": 96, "read_accesses": 12}
    assert counts(activity, "acc") == {"write_bytes": 256, "write_accesses": 64}
    inside = counts(activity, "mxu")
    assert inside["mac"] == 192 and inside["register_read.a"] == 192
    record = activity.records[ARRAY][0]
    assert (record.end_ps, record.macs, record.slots_per_cycle) == (4 * (3 + 4 + 4 - 2) * 1000, 192, 16)


def test_accumulation_reads_the_sums_and_bias_is_read_once() -> None:
    """Every k step but the fresh one adds to the sums; the fresh one reads the bias."""
    bias = Region("bias", "b", 4, (("n", 4),))
    plain = matmul("mm", "a", "b", "s", (4, 4, 3), fresh=(LoopEdge("first", "i"),))
    command = replace(plain, reads=(*plain.reads, bias))
    activity = run(ARRAY, CommandLoop("i", 3, (command,)))
    assert counts(activity, "acc") == {
        "read_bytes": 2 * 64,
        "read_accesses": 2 * 16,
        "write_bytes": 3 * 64,
        "write_accesses": 3 * 16,
    }
    assert counts(activity, "l1")["read_bytes"] == 3 * 24 + 16


def test_an_array_on_a_narrow_port_is_stretched_at_its_end() -> None:
    """24 bytes of a and b in 9 cycles through 2 bytes per cycle take 12; dtypes at half rate have half the slots."""
    memories = [constant_dram("din"), scratchpad("l1", 2), scratchpad("acc")]
    record = run(ARRAY, matmul("mm", "a", "b", "s", (4, 4, 3)), architecture=chip(memories)).records[ARRAY][0]
    assert record.phases == (
        ("fill_drain", 3_000),
        ("busy", 6_000),
        ("fill_drain", 9_000),
        ("sram_port", 12_000),
    )
    half = matmul("mm", "a", "b", "s", (4, 4, 3), dtypes=("bf16", "bf16"))
    record = run(ARRAY, half).records[ARRAY][0]
    assert record.slots_per_cycle == 8 and record.end_ps == (2 * 3 + 6) * 1000


def test_an_empty_tile_takes_its_startup_only() -> None:
    """Limits that leave nothing of a tile leave no work, no traffic."""
    nothing = (Extent("m", 4, (Affine(0),)), Extent("n", 4), Extent("k", 4))
    activity = run(
        ARRAY,
        matmul("mm", "a", "b", "s", (4, 4, 4), extents=nothing),
        architecture=chip(MEMORIES, array={"startup_cycles": 5}),
    )
    assert activity.total_ps == 5_000
    assert activity.counts == {}


def test_vector_cycles_by_formula() -> None:
    """startup + ceil(elements / lanes) x (passes + slow), rounded up once; streams and slow functions counted."""
    assert vector_cycles(100, 8, 3 + Fraction(7, 2), 10) == 10 + 13 * 13 // 2 + 1
    assert vector_cycles(0, 8, Fraction(3), 10) == 10
    command = vector(
        "softmax", "a", "b", 100, passes=3, slow=("exp", "exp"), extents=(Extent("x", 100), Extent("y", 2))
    )
    activity = run(VECTOR, command, architecture=chip(MEMORIES, vector={"lanes": {"int8": 8}, "startup_cycles": 4}))
    assert activity.total_ps == (4 + 25 * 10) * 1000
    assert counts(activity, "vpu") == {"lane_ops": 600, "exp": 400}
    shared = {"lanes": {"int8": 8}, "startup_cycles": 4, "share": ByName(Fraction(1), {"relu": Fraction(1, 4)})}
    slower = run(VECTOR, command, architecture=chip(MEMORIES, vector=shared))
    assert slower.total_ps == (4 + 4 * 25 * 10) * 1000 and counts(slower, "vpu") == counts(activity, "vpu")
    assert counts(activity, "l1") == {"read_bytes": 100, "read_accesses": 13, "write_bytes": 100, "write_accesses": 13}


def test_what_an_engine_cannot_run() -> None:
    """Errors name the command, the queue and what there is."""
    with pytest.raises(ConfigError, match="no rate for int8 inputs x fp32 weights; it has: bf16xbf16, int8xint8"):
        run(ARRAY, matmul("mm", "a", "b", "s", (4, 4, 4), dtypes=("int8", "fp32")))
    with pytest.raises(ProgramError, match="mm of core.*MATMUL needs two dtypes"):
        run(ARRAY, matmul("mm", "a", "b", "s", (4, 4, 4), dtypes=()))
    with pytest.raises(ProgramError, match="MATMUL needs a nest"):
        run(ARRAY, matmul("mm", "a", "b", "s", (4, 4, 4), nest=None))
    with pytest.raises(ProgramError, match="MATMUL has no operand 'acc'"):
        run(ARRAY, matmul("mm", "a", "b", "s", (4, 4, 4), writes=()))
    with pytest.raises(ProgramError, match="operand 'a': 'din' is not an on-chip memory; on chip are: l1, acc"):
        run(ARRAY, matmul("mm", "x", "b", "s", (4, 4, 4)))
    with pytest.raises(ConfigError, match="no lanes for fp32"):
        run(VECTOR, vector("v", "a", "b", 4, dtypes=("fp32",)))
    with pytest.raises(ConfigError, match="no rate for function 'sqrt'"):
        run(VECTOR, vector("v", "a", "b", 4, slow=("sqrt",)))
    with pytest.raises(ProgramError, match="VECTOR needs one dtype"):
        run(VECTOR, vector("v", "a", "b", 4, dtypes=()))
    with pytest.raises(ProgramError, match="'relu' states no passes: nothing is free"):
        run(VECTOR, vector("v", "a", "b", 4, passes=0))
    with pytest.raises(ProgramError, match="the host cannot run MOVE"):
        run("host", move("m", "a", "b", 4), architecture=chip(MEMORIES, host=host(1000)))
    with pytest.raises(ProgramError, match="queue 'host': chip 'testchip' has no host"):
        run("host", Command("k", "HOST", "one"))
    with pytest.raises(ProgramError, match="no array unit 'mxx'.*did you mean 'mxu'"):
        simulate(program(Queue(ARRAY, "array", "mxx", ())), chip())


def test_setup_reads_its_bytes_as_fast_as_the_port_goes() -> None:
    """A weight shift of 640 bytes from l1 at 64 bytes per cycle; its time is launch."""
    setup = Command("shift", "SETUP", "one", nbytes=640)
    memories = [constant_dram("din"), scratchpad("acc", keeps=("partials",)), scratchpad("l1", 64)]
    for name in (ARRAY, VECTOR, LOAD):
        activity = run(name, setup, Command("none", "SETUP", "one"), architecture=chip(memories))
        assert [record.phases for record in activity.records[name]] == [(("launch", 10_000),), ()]
        assert counts(activity, "l1") == {"read_bytes": 640, "read_accesses": 640}


def test_the_host_launches_then_moves_and_computes() -> None:
    """A fallback takes launch + bytes / link + flops / rate; the launch of the next one is hidden behind it."""
    fallback = Command("softmax", "HOST", "one", flops=3_000, nbytes=2_000)
    architecture = chip(host=host(4_000_000, depth=2))
    activity = run(
        "host", fallback, Command("k", "HOST", "one"), Command("s", "SYNC", "one"), architecture=architecture
    )
    assert [record.end_ps for record in activity.records["host"]] == [9_000_000, 9_000_000, 9_000_000]
    assert [record.phases for record in activity.records["host"]] == [(("launch", 9_000_000),), (), ()]
    assert counts(activity, "cpu") == {"launches": 2, "flops": 3_000, "link_bytes": 2_000}
    halves = run("host", *[replace(fallback, flops=0)] * 2, architecture=architecture)
    assert [record.end_ps for record in halves.records["host"]] == [6_000_000, 8_000_000]


def test_host_records_do_not_overlap_and_wait_for_tokens() -> None:
    """Launches under way together are shown one after the other; a token that holds one back is critical."""
    kernel = Command("k", "HOST", "one")
    load = move("load", "x", "a", 5_000, signals=tokens("go"))
    text = program(
        queue("host", kernel, kernel, replace(kernel, waits=tokens("go"))),
        queue(LOAD, load),
        tensors=TENSORS,
        semaphores=(Semaphore("go"),),
    )
    records = simulate(text, chip(MEMORIES, host=host(2_000_000, depth=3, issue_ps=500_000))).records["host"]
    assert [(r.head_ps, r.start_ps, r.end_ps) for r in records] == [
        (0, 0, 2_000_000),
        (2_000_000, 2_000_000, 2_500_000),
        (2_500_000, 5_000_000, 7_000_000),
    ]
    assert [r.critical for r in records] == [None, None, (LOAD, 0)]


def test_every_engine_of_the_chip_is_a_unit() -> None:
    """Used queues in the Program's order, then the idle engines; copies and second parts have their own names."""
    text = program(queue(STORE, move("store", "a", "x", 4)), tensors=TENSORS)
    base = chip(MEMORIES, host=host(1000))
    assert list(simulate(text, base).records) == [STORE, LOAD, ARRAY, VECTOR, "host"]
    two = replace(base, arrays=(*base.arrays, replace(base.arrays[0], name="small")), host=None)
    assert list(simulate(text, two).records) == [STORE, LOAD, ARRAY, "core[0].small", VECTOR]
    copies = replace(base, vectors=(replace(base.vectors[0], copies=2),))
    assert list(simulate(text, copies).records)[3:5] == [VECTOR, "core[1].vector"]
    assert list(simulate(text, chip(MEMORIES, dma={"merged": True})).records) == [STORE, ARRAY, VECTOR]


def test_an_empty_program() -> None:
    activity = simulate(program(), chip())
    assert activity.total_ps == 0 and activity.counts == {}
    assert set(activity.records) == {LOAD, STORE, ARRAY, VECTOR}


def test_layers_of_equal_commands_are_charged_each_for_its_own() -> None:
    """They share their plans, not their counts: twice as often run is twice as much, on every engine."""
    commands = {
        ARRAY: matmul("mm", "a", "b", "s", (8, 8, 3), fresh=()),
        VECTOR: vector("v", "a", "b", 20),
        LOAD: move("ld", "x", "a", 48),
    }
    for name, command in commands.items():
        again = CommandLoop("i", 2, (replace(command, layer="two"),))
        activity = run(name, command, again)
        one = {key[1:]: count for key, count in activity.counts.items() if key[0] == "one"}
        two = {key[1:]: count for key, count in activity.counts.items() if key[0] == "two"}
        assert any(part == "l1" for part, _ in one)
        own = {key: count for key, count in one.items() if key[0] != "din"}  # a dram has its own account
        assert {key: two[key] for key in own} == {key: 2 * count for key, count in own.items()}
