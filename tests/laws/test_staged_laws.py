"""Chips with memories between DRAM and the one that feeds the units: random networks, chips and mappings."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from archsim.base.errors import MappingError
from archsim.facts.dataflows import catalogue
from archsim.ir.mapping import Keep, LayerMapping, Loop
from archsim.ir.workload import Workload
from archsim.lab.run.offchip import outer_rates
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from mapper.compile import Compiled, Options, compile_model
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import build_grid
from mapper.cost.grid_cost import held_bytes
from mapper.options import Given
from mapper.problem.problem import build
from mapper.search.exhaustive import search
from mapper.search.space import ORDERS, depth_choices
from mapper.search.table_cache import Tables
from mapper.search.ties import BAND
from tests.tools.agreement import assert_agreement_if_it_fits
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
NAMES = catalogue.names()


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


@pytest.mark.parametrize("seed", range(90))
def test_law_38_counts_agree_over_several_levels(seed: int) -> None:
    """Law 38: the mapper's counts are the machine's, and the Program computes the model, whatever the levels."""
    net, workload = random_net(seed)
    chip = chip_of(seed)
    assert_agreement_if_it_fits(net, workload, chip, lambda: options_of(seed), seed)


@pytest.mark.parametrize("seed", range(40))
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


@pytest.mark.parametrize("seed", range(20))
def test_law_38_the_bound_holds_with_descriptors_of_runs(seed: int) -> None:
    """Law 38: moves between memories on chip have no runs in DRAM, so the bound charges none of their descriptors."""
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 8 + seed % 9, 9, 3))
    net.conv(x, "y", 7, 1 + seed % 3, 1, (0, 0, 0, 0))
    plain = chip_of(seed)
    chip = replace(plain, dma=replace(plain.dma, setup_cycles=3, run_setup_cycles=50))
    compiled = compile_model(net.done("y"), chip, options_of(seed))
    assert compiled.mapping.layers[0].bound_cycles * 1000 <= simulate(compiled.program, chip).total_ps


@pytest.mark.parametrize("latency", [10, 60])
@pytest.mark.parametrize("seed", range(6))
def test_law_38_the_bound_holds_where_dram_answers_late_and_memories_are_slow(seed: int, latency: int) -> None:
    """Law 38: a move's stream on chip runs while DRAM is waited for, so the bound counts the longer of the two."""
    net = Net(np.random.default_rng(seed))
    net.gemm("y", 2 + seed, 9 + seed * 3, 20)
    plain = small_chip(1 << 11, 1 << 10, dram_rate=Fraction(64), word=1, banks=1, channels=1 + seed % 2)
    drams = [replace(m, latency_cycles=latency) if m.kind == "dram" else m for m in plain.memories]
    chip = replace(plain, memories=tuple(drams))
    compiled = compile_model(net.done("y"), chip, replace(options_of(seed), outer=outer_rates(chip)))
    assert compiled.mapping.layers[0].bound_cycles * 1000 <= simulate(compiled.program, chip).total_ps


@pytest.mark.parametrize("slots", [2, 3])
@pytest.mark.parametrize("seed", range(30))
def test_no_legal_cell_is_left_out_before_it_is_costed(seed: int, slots: int) -> None:
    """Of an operand that is brought once one slot is held, which may be less than the slots of its smallest tiles."""
    net = Net(np.random.default_rng(seed))
    net.gemm("y", 2 + seed % 7 * 5, 3 + seed % 11, 5 + seed % 13 * 4)
    stages = (("l2", 1 << 8, ALL),) if seed % 3 == 0 else ()
    chip = small_chip(96 + seed % 5 * 64, 1 << 8, word=1, slots=dict.fromkeys(ALL, slots), stages=stages)
    capacity = {memory.name: memory.capacity_bytes for memory in chip.memories}
    problem = build(net.done("y").layers[0], net.done("y"), chip, chip.dtypes, capacity, {}, "array")
    grid = build_grid(problem, chip)
    found = Tables(grid).feasible(tuple(ORDERS))
    for order in ORDERS:
        for kept in depth_choices(grid, order):
            moved = {plan.name: grid.traffic(plan, order, kept[plan.name]) for plan in problem.operands}
            fits = np.ones(grid.shape, dtype=bool)
            for level, need in held_bytes(problem, moved).items():
                fits &= need <= capacity[level]
            assert not (fits & ~found).any()


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
    """Law 47: a larger memory further out never raises the analytic latency, nor the energy at fixed energies, by more
    than what counts as alike."""
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
            assert found <= best * (1 + BAND)
            best = min(best, found)


def figure(workload: Workload, chip: Architecture, objective: str) -> float:
    """The search's own figure of the best mapping, infinite where none fits; bytes moved stand for energy."""
    costs = ChipCosts(chip, {}, {("dram", way): 100.0 for way in ("read", "write")} | {("l2", "read"): 3.0})
    capacity = {memory.name: memory.capacity_bytes for memory in chip.memories}
    problem = build(workload.layers[0], workload, chip, chip.dtypes, capacity, {}, "array")
    try:
        found = search(problem, costs, chip.dtypes, objective)
    except MappingError:
        return float("inf")
    return float(found.mapping.expected_cycles) if objective == "latency" else found.energy_pj
