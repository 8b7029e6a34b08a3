"""Pipeline laws: exact lengths of load-compute-store pipelines on constant-rate memories, and of launch queues.

L, C, S = cycles to load, compute and store a tile; n tiles; a cycle is 1000 ps.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import ProgramError, SimulationError
from archsim.ir.activity import Activity
from archsim.ir.check.program import check
from archsim.ir.functions import Function
from archsim.ir.program import Command, CommandLoop, LoopEdge, Program, Semaphore
from archsim.spec.by_name import ByName
from archsim.system import Machine, simulate
from tests.laws.builders import (
    ARRAY,
    CYCLE,
    GHZ,
    LOAD,
    STORE,
    VECTOR,
    chip,
    constant_dram,
    host,
    matmul,
    move,
    pipeline,
    program,
    queue,
    ring,
    scratchpad,
    tensor,
    tokens,
    vector,
)

EXACT = settings(max_examples=50, deadline=None, derandomize=True)
tiles = st.integers(1, 12)
cycles = st.integers(1, 40)


def length(text: Program, chip_rate: int = 1) -> int:
    """Cycles that a pipeline takes on the plain chip."""
    memories = [constant_dram("din", chip_rate), constant_dram("dout", chip_rate), scratchpad()]
    total_ps = simulate(text, chip(memories)).total_ps
    assert total_ps % CYCLE == 0
    return total_ps // CYCLE


@EXACT
@given(tiles, cycles, cycles, cycles)
def test_law_1_two_slots_and_private_ports(n: int, load: int, compute: int, store: int) -> None:
    """Law 1: T = L + C + S + (n - 1) max(L, C, S)."""
    expected = load + compute + store + (n - 1) * max(load, compute, store)
    assert length(pipeline(n, load, compute, store)) == expected


@EXACT
@given(tiles, cycles, cycles, cycles)
def test_law_2_one_input_slot(n: int, load: int, compute: int, store: int) -> None:
    """Law 2: input ring 1, output ring 2: T = n(L + C) + S + (n - 1) max(0, S - L - C)."""
    expected = n * (load + compute) + store + (n - 1) * max(0, store - load - compute)
    assert length(pipeline(n, load, compute, store, slots_in=1)) == expected


@EXACT
@given(tiles, cycles, cycles, cycles, st.integers(1, 3), st.integers(1, 3))
def test_law_3_more_slots(n: int, load: int, compute: int, store: int, slots_in: int, slots_out: int) -> None:
    """Law 3: more slots are never slower; beyond 2 nothing changes when L, C, S are constant."""
    few = length(pipeline(n, load, compute, store, slots_in=slots_in, slots_out=slots_out))
    assert length(pipeline(n, load, compute, store, slots_in=slots_in + 1, slots_out=slots_out)) <= few
    assert length(pipeline(n, load, compute, store, slots_in=slots_in, slots_out=slots_out + 1)) <= few
    two = length(pipeline(n, load, compute, store))
    assert length(pipeline(n, load, compute, store, slots_in=2 + slots_in, slots_out=2 + slots_out)) == two


@EXACT
@given(tiles, cycles, cycles, cycles)
def test_law_4_one_dram_port_for_both(n: int, load: int, compute: int, store: int) -> None:
    """Law 4: n(L + S) <= T <= n(L + C + S)."""
    text = pipeline(n, load, compute, store, out="din")
    assert n * (load + store) <= length(text) <= n * (load + compute + store)


def credit_cycle(tiles: int) -> Program:
    """One in-order DMA queue for loads and stores, each store two tiles behind, one slot each way."""
    load = move("load", "x", "in", 8, waits=tokens("in.free"), signals=tokens("in.full"))
    store = move("store", "out", "y", 8, waits=tokens("out.full"), signals=tokens("out.free"))
    compute = vector(
        "compute", "in", "out", 8, waits=tokens("in.full", "out.free"), signals=tokens("in.free", "out.full")
    )
    return program(
        queue(LOAD, load, load, CommandLoop("i", tiles - 2, (load, store)), store, store),
        queue(VECTOR, CommandLoop("j", tiles, (compute,))),
        tensors=(tensor("x", "din"), tensor("y", "dout", base=2**20)),
        rings=(ring("in", 1, LOAD, VECTOR), ring("out", 1, VECTOR, LOAD, base=2**16)),
    )


def test_law_5_the_checker_refuses_a_credit_cycle() -> None:
    """Law 5: ProgramError before time 0 that names who waits for what."""
    with pytest.raises(ProgramError, match=r"(?s)core\[0\]\.load.*core\[0\]\.vector"):
        check(credit_cycle(4), chip(dma={"merged": True}))


def test_law_6_a_credit_cycle_at_run_time() -> None:
    """Law 6: with the checker bypassed the machine stops and names the circle of waits."""
    with pytest.raises(SimulationError) as caught:
        simulate(credit_cycle(4), chip(dma={"merged": True}))
    message = str(caught.value)
    assert "2 of 2 queues are blocked" in message
    assert "core[0].load: load[i=0] (command 2) waits for in.free (0 of 1)" in message
    assert "core[0].vector: compute[j=1] (command 1) waits for out.free (0 of 1)" in message
    assert "core[0].load: store[i=0] (command 3)" in message
    assert "wait cycle: core[0].load -> core[0].vector -> core[0].load" in message


def two_layers(tiles: int, load: int, compute: int, slots: int) -> Program:
    """Two layers whose weights go through one ring; the loads of the second run ahead as far as slots allow."""
    fill = {"waits": tokens("w.free"), "signals": tokens("w.full")}
    use = {"waits": tokens("w.full"), "signals": tokens("w.free"), "writes": ()}
    return program(
        queue(
            LOAD,
            CommandLoop("i", tiles, (move("load1", "x", "w", load, **fill),)),
            CommandLoop("j", tiles, (move("load2", "x", "w", load, layer="two", **fill),)),
        ),
        queue(
            VECTOR,
            CommandLoop("k", tiles, (vector("use1", "w", "", compute, **use),)),
            CommandLoop("l", tiles, (vector("use2", "w", "", compute, layer="two", **use),)),
        ),
        tensors=(tensor("x", "din"),),
        rings=(ring("w", slots, LOAD, VECTOR),),
        layers=("one", "two"),
    )


@EXACT
@given(st.integers(1, 5), cycles, cycles, st.integers(1, 3))
def test_law_7_prefetch_waits_for_its_slot(n: int, load: int, compute: int, slots: int) -> None:
    """Law 7: no move starts before the last reader of its slot signalled; never more than ``slots`` are held."""
    activity = simulate(two_layers(n, load, compute, slots), chip())
    moves, uses = activity.records[LOAD], activity.records[VECTOR]
    for number in range(slots, 2 * n):
        assert moves[number].start_ps >= uses[number - slots].end_ps
    changes = sorted([(r.start_ps, 1) for r in moves] + [(r.end_ps, -1) for r in uses])
    held = 0
    for _, change in changes:  # a slot is given back before it is taken at the same instant
        held += change
        assert 0 <= held <= slots


def saturated(tiles: int, load: int, compute: int, ahead: bool) -> Program:
    """Two layers of equal tiles; the second also needs weights, moved first thing (``ahead``) or in their turn."""
    fill = {"waits": tokens("in.free"), "signals": tokens("in.full")}
    weights = move("load_w", "x", "w", load, layer="two", waits=tokens("w.free"), signals=tokens("w.full"))
    first = CommandLoop("i", tiles, (move("load1", "x", "in", load, **fill),))
    second = CommandLoop("j", tiles, (move("load2", "x", "in", load, layer="two", **fill),))
    use = {"signals": tokens("in.free"), "writes": ()}
    with_weights = tokens("in.full", ("w.full", LoopEdge("first", "l")))
    return program(
        queue(LOAD, *((weights, first, second) if ahead else (first, weights, second))),
        queue(
            VECTOR,
            CommandLoop("k", tiles, (vector("use1", "in", "", compute, waits=tokens("in.full"), **use),)),
            CommandLoop("l", tiles, (vector("use2", "in", "", compute, layer="two", waits=with_weights, **use),)),
        ),
        tensors=(tensor("x", "din"),),
        rings=(ring("in", 2, LOAD, VECTOR), ring("w", 1, LOAD, VECTOR, base=2**16)),
        layers=("one", "two"),
    )


@EXACT
@given(tiles, cycles, st.data())
def test_law_8_prefetch_on_a_saturated_memory(n: int, load: int, data: st.DataObject) -> None:
    """Law 8: with the memory always busy, prefetch changes T by 0."""
    compute = data.draw(st.integers(1, load))
    with_prefetch = length(saturated(n, load, compute, ahead=True))
    assert with_prefetch == length(saturated(n, load, compute, ahead=False)) == (2 * n + 1) * load + compute


@EXACT
@given(cycles, cycles, cycles, st.integers(1, 3), st.integers(1, 3))
def test_law_9_a_steady_interval(load: int, compute: int, store: int, slots_in: int, slots_out: int) -> None:
    """Law 9: T(1) = L + C + S, and T(n) - T(n - 1) is constant from some n on."""
    times = [length(pipeline(n, load, compute, store, slots_in=slots_in, slots_out=slots_out)) for n in range(1, 14)]
    assert times[0] == load + compute + store
    steps = [later - earlier for earlier, later in zip(times, times[1:], strict=False)]
    assert len(set(steps[6:])) == 1


def launches(count: int, **host_fields: int) -> Activity:
    """``count`` empty kernels."""
    kernel = Command("kernel", "HOST", "one")
    return simulate(program(queue("host", CommandLoop("i", count, (kernel,)))), chip(host=host(**host_fields)))


@EXACT
@given(st.integers(1, 9), st.integers(1, 50), st.integers(1, 4), st.data())
def test_law_10_launches(n: int, launch: int, depth: int, data: st.DataObject) -> None:
    """Law 10: n empty kernels: depth 1: n launches; depth >= 2 and issue i <= launch: launch + (n - 1) i.

    At depth 2 or more the queue also takes ``depth`` intervals to come round: i is taken >= launch / depth.
    """
    launch_ps = launch * CYCLE
    alone = launches(n, launch_ps=launch_ps, depth=1, issue_ps=data.draw(st.integers(0, launch)) * CYCLE)
    assert alone.total_ps == n * launch_ps
    if depth >= 2:
        issue_ps = data.draw(st.integers(-(-launch // depth), launch)) * CYCLE
        overlapped = launches(n, launch_ps=launch_ps, depth=depth, issue_ps=issue_ps)
        assert overlapped.total_ps == launch_ps + (n - 1) * issue_ps


def kernels(count: int, work: int) -> Program:
    """``count`` kernels of so many cycles of the vector unit, each launched when the one before has ended."""
    go = Command("launch", "HOST", "_host", waits=tokens("done"), signals=tokens("go"))
    first = Command("launch", "HOST", "_host", signals=tokens("go"))
    kernel = vector("work", "t", "t", work, waits=tokens("go"), signals=tokens("done"))
    end = Command("end", "SYNC", "_host", waits=tokens("done"))
    return program(
        queue("host", first, *[go] * (count - 1), end),
        queue(VECTOR, CommandLoop("i", count, (kernel,))),
        tensors=(tensor("t", "l1"),),
        semaphores=(Semaphore("go"), Semaphore("done")),
    )


@EXACT
@given(st.integers(1, 6), st.integers(1, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_law_59_kernels(n: int, work: int, launch: int, issue: int, floor: int) -> None:
    """Law 59: n kernels of work w, per: kernel, any depth of n or more: launch + (n-1) max(issue, floor + w) + w."""
    timed = {"launch_ps": launch * CYCLE, "issue_ps": issue * CYCLE, "floor_ps": floor * CYCLE}
    machine = chip(host=host(**timed, depth=n + 1, per="kernel"))
    found = simulate(kernels(n, work), machine).total_ps
    assert found == (launch + (n - 1) * max(issue, floor + work) + work) * CYCLE


@EXACT
@given(st.integers(2, 5), st.integers(1, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_law_59_a_program_again_and_again(runs: int, work: int, launch: int, issue: int, floor: int) -> None:
    """Law 59: a Program of one kernel, run again and again, has the period max(issue, floor + w), whoever launches
    the kernels; with one launch under way at a time it is w + max(launch, floor)."""
    timed = {"launch_ps": launch * CYCLE, "issue_ps": issue * CYCLE, "floor_ps": floor * CYCLE}
    periods: dict[int, list[int]] = {1: [], 2 * runs: []}
    for depth, found in periods.items():
        machine = Machine(kernels(1, work), chip(host=host(**timed, depth=depth, per="kernel")), trace=False)
        starts: list[int] = []

        def begins(now_ps: int, _: object, starts: list[int] = starts) -> bool:
            starts.append(now_ps)
            return len(starts) <= runs

        machine.repeat(begins)
        found += [end - start for start, end in zip(starts, starts[1:], strict=False)]
    assert periods[2 * runs] == [(launch + work) * CYCLE, *[max(issue, floor + work) * CYCLE] * (runs - 1)]
    assert periods[1] == [(launch + work) * CYCLE, *[max(issue, work + max(launch, floor)) * CYCLE] * (runs - 1)]


def test_law_59_kernels_of_several_operators() -> None:
    """Law 59: each kernel has the times of its operator: launches of 3, then issues of 50 and 7, floors of 1 and 9."""
    times = {
        "issue": ByName(0, {"Softmax": 50 * CYCLE, "Gelu": 7 * CYCLE}),
        "floor": ByName(1 * CYCLE, {"Gelu": 9 * CYCLE}),
    }
    machine = chip(host=host(3 * CYCLE, depth=8, per="kernel", by_operator=times))
    steps = []
    for number, operator in enumerate(("Gemm", "Softmax", "Gelu")):
        waits = tokens("done") if number else ()
        does = (Function(operator),)
        steps.append(Command("launch", "HOST", "_host", waits=waits, signals=tokens("go"), functions=does))
    kernel = vector("work", "t", "t", 10, waits=tokens("go"), signals=tokens("done"))
    text = program(
        queue("host", *steps, Command("end", "SYNC", "_host", waits=tokens("done"))),
        queue(VECTOR, CommandLoop("i", 3, (kernel,))),
        tensors=(tensor("t", "l1"),),
        semaphores=(Semaphore("go"), Semaphore("done")),
    )
    softmax = 50 + 3  # later than the end of the first one and the floor, 13 + 1
    gelu = max(50 + 7 + 3, softmax + 10 + 9)
    assert simulate(text, machine).total_ps == (gelu + 10) * CYCLE


def test_a_matmul_pipeline_is_as_long_as_its_folds() -> None:
    """Law 1 with an array: C is load + startup + fill + stream + drain of the dataflow's formula."""
    text = program(
        queue(
            LOAD,
            CommandLoop("i", 3, (move("load", "x", "in", 64, waits=tokens("in.free"), signals=tokens("in.full")),)),
        ),
        queue(
            ARRAY,
            CommandLoop(
                "j",
                3,
                (
                    matmul(
                        "mm",
                        "in",
                        "in",
                        "acc",
                        (4, 4, 16),
                        waits=tokens("in.full", "acc.free"),
                        signals=tokens("in.free", "acc.full"),
                    ),
                ),
            ),
        ),
        queue(
            STORE,
            CommandLoop("k", 3, (move("store", "acc", "y", 16, waits=tokens("acc.full"), signals=tokens("acc.free")),)),
        ),
        tensors=(tensor("x", "din"), tensor("y", "dout")),
        rings=(ring("in", 2, LOAD, ARRAY), ring("acc", 2, ARRAY, STORE, base=2**16)),
    )
    fold = 16 + 4 + 4 - 2
    activity = simulate(text, chip(array={"startup_cycles": 3}))
    assert activity.total_ps == (64 + (fold + 3) + 16 + 2 * 64) * CYCLE
    record = activity.records[ARRAY][0]
    assert record.phases == (("fill_drain", 70_000), ("busy", 86_000), ("fill_drain", 89_000))
    assert (record.macs, record.slots_per_cycle) == (256, 16)
    assert activity.clock_hz == GHZ
