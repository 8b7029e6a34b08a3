"""Chips with memories between DRAM and the one that feeds the units: random networks, chips and mappings."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from archsim.errors import MappingError
from archsim.ir.check.program import check
from archsim.ir.mapping import Keep, LayerMapping, Loop
from archsim.ir.workload import Workload
from archsim.pe.dataflows import catalog
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from mapper.compile import Compiled, Options, compile_model
from mapper.costs import ChipCosts
from mapper.execute.run import Executor
from mapper.options import Given
from mapper.problem import build
from mapper.search.exhaustive import search
from tests.tools.counts import compiler_counts, machine_counts
from tests.tools.layers import Net, random_net, small_chip

ALL = ("inputs", "weights", "outputs")
STAGES = (
    (("l2", 1 << 13, ALL),),
    (("l2", 1 << 12, ALL),),
    (("l2", 1 << 12, ("weights",)),),
    (("l2", 1 << 13, ("inputs", "outputs")),),
    (("l2", 1 << 12, ("inputs",)),),
    (("l3", 1 << 14, ALL), ("l2", 1 << 12, ALL)),
    (("l3", 1 << 13, ("weights", "outputs")), ("l2", 1 << 12, ("inputs", "weights"))),
)
NAMES = catalog.names()


def chip_of(seed: int, rate: Fraction | None = Fraction(8)) -> Architecture:
    return small_chip(
        (1 << 11, 1 << 10, 1 << 12)[seed % 3],
        1 << 10,
        dataflow=NAMES[seed % len(NAMES)],
        dram_rate=rate,
        stages=STAGES[seed % len(STAGES)],
        channels=1 + seed // 7 % 2,
    )


def options_of(seed: int) -> Options:
    """Searched mappings by turns with random ones."""
    return Options(objective=("latency", "energy", "edp")[seed % 3], random=f"{seed}" if seed % 2 else "")


def staged(compiled: Compiled) -> int:
    """Tiles kept in memories that feed no unit."""
    nodes = (node for layer in compiled.mapping.layers for node in layer.nodes)
    return sum(isinstance(node, Keep) and node.level in ("l2", "l3") for node in nodes)


def striped(layer: LayerMapping) -> bool:
    """Whether a dim has two loops."""
    dims = [node.dim for node in layer.nodes if isinstance(node, Loop)]
    return len(dims) > len(set(dims))


def computes(net: Net, workload: Workload, compiled: Compiled, seed: int) -> bool:
    """Whether the Program's outputs are the network's, on its own addresses."""
    executor = Executor(compiled.program, numbers="float64", seed=seed)
    for tensor in compiled.program.tensors:
        if tensor.preloaded:
            executor.fill(tensor.name, net.values[tensor.name])
    executor.run()
    outputs = [name for name, tensor in workload.tensors.items() if tensor.kind == "output"]
    return all(np.array_equal(executor.values(name), net.values[name]) for name in outputs)


@pytest.mark.parametrize("seed", range(140))
def test_law_38_counts_agree_over_several_levels(seed: int) -> None:
    """Law 38: the mapper's counts are the machine's, and the Program computes the model, whatever the levels."""
    net, workload = random_net(seed)
    chip = chip_of(seed)
    try:
        compiled = compile_model(workload, chip, options_of(seed))
    except MappingError as error:
        assert "would do" in str(error)
        return
    check(compiled.program, chip)
    activity = simulate(compiled.program, chip)
    assert compiler_counts(compiled, workload, chip) == machine_counts(activity, chip)
    assert computes(net, workload, compiled, seed) and computes(net, workload, compiled, seed + 1000)


@pytest.mark.parametrize("seed", range(60))
def test_law_38_the_bound_holds_over_several_levels(seed: int) -> None:
    """Law 38: the analytic latency of a layer alone never exceeds the simulated one, whatever the levels."""
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 6 + seed % 9, 8, 1 + seed % 11))
    net.conv(x, "y", 4 + seed % 13, 1 + seed % 3, 1 + seed % 2, (seed % 2, 0, 1, 0))
    workload = net.done("y")
    for rate in (Fraction(1), Fraction(8), None):
        chip = chip_of(seed, rate)
        compiled = compile_model(workload, chip, options_of(seed))
        assert compiled.mapping.layers[0].bound_cycles * 1000 <= simulate(compiled.program, chip).total_ps


@pytest.mark.parametrize("seed", range(40))
def test_stated_mappings_give_the_same_program_over_several_levels(seed: int) -> None:
    _, workload = random_net(seed)
    chip = chip_of(seed)
    try:
        compiled = compile_model(workload, chip, options_of(seed))
    except MappingError:
        return
    stated = Given(
        {layer.layer: layer for layer in compiled.mapping.layers},
        {place.tensor: place for place in compiled.mapping.placements},
    )
    again = compile_model(workload, chip, replace(options_of(seed), random="", given=stated))
    assert again.program == compiled.program
    assert [layer.bound_cycles for layer in again.mapping.layers] == [
        layer.bound_cycles for layer in compiled.mapping.layers
    ]


def test_most_random_chips_stage_tiles_and_some_in_strips() -> None:
    found = strips = 0
    for seed in range(28):
        _, workload = random_net(seed)
        with suppress(MappingError):
            compiled = compile_model(workload, chip_of(seed), options_of(seed))
            found += staged(compiled)
            strips += sum(striped(layer) for layer in compiled.mapping.layers)
    assert found > 100
    assert strips > 5


@pytest.mark.parametrize("seed", range(24))
def test_law_47_a_larger_stage_is_never_worse(seed: int) -> None:
    """Law 47: a larger memory further out never raises the analytic latency, nor the energy at fixed energies."""
    net = Net(np.random.default_rng(seed))
    if seed % 2:
        net.gemm("y", 8 + seed, 12 + seed % 7, 40 + seed)
    else:
        x = net.source("x", (1, 9 + seed % 4, 8, 6 + seed % 5))
        net.conv(x, "y", 8 + seed % 9, 3, 1, (1, 1, 1, 1))
    workload = net.done("y")
    for objective in ("latency", "energy"):
        best = float("inf")
        for size in (1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 14):
            chip = small_chip(1 << 9, 1 << 9, dram_rate=Fraction(1), stages=(("l2", size, ALL),))
            found = figure(workload, chip, objective)
            assert found <= best
            best = found


def figure(workload: Workload, chip: Architecture, objective: str) -> float:
    """The search's own figure of the best mapping, infinite where none fits; bytes moved stand for energy."""
    costs = ChipCosts(chip, {}, {("dram", way): 100.0 for way in ("read", "write")} | {("l2", "read"): 3.0})
    capacity = {memory.name: memory.capacity_bytes for memory in chip.memories}
    problem = build(workload.layers[0], workload, chip, chip.dtypes, capacity, {}, "array")
    try:
        found = search(problem, costs, chip.dtypes, objective)
    except MappingError:
        return float("inf")
    return float(found.cycles) if objective == "latency" else found.energy_pj
