"""Turns at DRAM: cores that stage tiles of their own in a memory that all share read so many at a time."""

from __future__ import annotations

import numpy as np
import pytest

from archsim.ir.activity import Activity
from archsim.ir.workload import Workload
from archsim.system import simulate
from mapper.compile import Options, compile_model
from mapper.cost.chip_rates import Outer
from mapper.problem.core_partition import spread_of
from tests.laws.test_cores_laws import networked
from tests.tools.agreement import assert_agreement
from tests.tools.layers import Net, small_chip

ALL = ("inputs", "weights", "outputs")
STREAMS = 2


def outer(streams: int = STREAMS) -> dict[str, Outer]:
    """A DRAM that gives most to so many streams."""
    runs = (8, 4096)
    shares = tuple((n, tuple((run, 0.9 if n == streams else 0.5) for run in runs)) for n in (1, 2, 4, 8))
    return {"dram": Outer(8e9, shares=shares)}


def most_at_once(activity: Activity, *names: str) -> int:
    """Commands of some names that are under way together at most."""
    events = [
        (at, step)
        for records in activity.records.values()
        for record in records
        if record.name in names
        for at, step in ((record.start_ps, 1), (record.end_ps, -1))
    ]
    most = now = 0
    for _, step in sorted(events):
        now += step
        most = max(most, now)
    return most


def product_of(seed: int) -> tuple[Net, Workload]:
    """A matrix product of random extents."""
    rng = np.random.default_rng(seed)
    net = Net(rng)
    return net, net.done(net.gemm("y", *(int(n) for n in rng.integers(5, 40, 3))))


@pytest.mark.parametrize("seed", range(24))
def test_programs_with_turns_compute_the_model(seed: int) -> None:
    """Programs with turns are accepted, counted alike and right in numbers, whatever the order of their commands."""
    net, workload = product_of(seed)
    chip = networked(small_chip(1 << 11, 1 << 10, stages=(("l2", 1 << 13, ALL),)), "mesh", (2 + seed % 2, 2))
    compiled = compile_model(workload, chip, Options(outer=outer(), random=f"{seed}" if seed % 2 else ""))
    assert_agreement(net, workload, chip, compiled, seed)


@pytest.mark.parametrize("streams", [2, 4])
def test_no_more_cores_stage_at_once_than_dram_serves_best(streams: int) -> None:
    """Each operand's loads from DRAM keep to the turns; without them all cores read at once.

    The product's k is short, so that no cores add partial sums up: those that do load without turns.
    """
    net = Net(np.random.default_rng(7))
    workload = net.done(net.gemm("y", 64, 64, 8))
    chip = networked(small_chip(1 << 10, 1 << 10, stages=(("l2", 1 << 13, ALL),)), "mesh", (4, 4))
    found: dict[bool, int] = {}
    for turns in (True, False):
        options = Options(outer=outer(streams) if turns else {"dram": Outer(8e9)})
        compiled = compile_model(workload, chip, options)
        activity = simulate(compiled.program, chip)
        names = {record.name for records in activity.records.values() for record in records}
        staged = [name for name in names if name.endswith("@l2") and ".load_" in name]
        found[turns] = max(most_at_once(activity, name) for name in staged)
    assert found[True] == streams < found[False]


@pytest.mark.parametrize("seed", range(4))
def test_layers_hand_their_turns_on(seed: int) -> None:
    """Weights of a later layer are staged as those of the one before end, no more at a time over both than of one."""
    net = Net(np.random.default_rng(seed))
    workload = net.done(net.gemm("one", 64, 96, 8), net.gemm("two", 64, 128, 8))
    chip = networked(small_chip(1 << 10, 1 << 10, stages=(("l2", 1 << 13, ALL),)), "mesh", (4, 4))
    compiled = compile_model(workload, chip, Options(outer=outer()))
    assert_agreement(net, workload, chip, compiled, seed)
    activity = simulate(compiled.program, chip)
    assert most_at_once(activity, "gemm_one.load_b@l2", "gemm_two.load_b@l2") == STREAMS


@pytest.mark.parametrize("tile", [16, 32, 64])
def test_parts_of_cores_are_as_far_apart_as_they_are_large(tile: int) -> None:
    """In bytes of the tensor: of a product's b, whose rows lie one behind the other, so many rows; what all cores have
    is nowhere else."""
    net = Net(np.random.default_rng(1))
    workload = net.done(net.gemm("y", 64, 64, 8))
    chip = networked(small_chip(1 << 10, 1 << 10, stages=(("l2", 1 << 13, ALL),)), "mesh", (4, 4))
    frame = compile_model(workload, chip, Options(outer=outer())).frames[0]
    assert frame is not None
    problem = frame.problem.of_core(spread_of(frame.problem, chip, [("n", tile)]))
    found = {plan.operand: problem.apart_bytes(plan) for plan in problem.loads if not plan.beyond}
    assert found == {"a": 0, "b": tile * 8 * problem.operand("b").element_bytes if tile < 64 else 0}


def test_turns_are_declared_where_there_are_more_cores_than_streams() -> None:
    """A chip of which nothing is known of the DRAM has none."""
    _, workload = product_of(3)
    chip = networked(small_chip(1 << 11, 1 << 10, stages=(("l2", 1 << 13, ALL),)), "mesh", (3, 2))
    plain = compile_model(workload, chip, Options()).program
    assert not any(semaphore.name.endswith(".turn") for semaphore in plain.semaphores)
    crowded = compile_model(workload, chip, Options(outer=outer())).program
    turns = [semaphore.initial for semaphore in crowded.semaphores if semaphore.name.endswith(".turn")]
    assert len(turns) > sum(turns) >= STREAMS
