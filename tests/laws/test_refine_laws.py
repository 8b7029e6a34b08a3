"""Laws of mappings that the simulator ranks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from archsim.base.errors import SimulationError
from archsim.ir.mapping import Constraint
from archsim.ir.program import Program
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from mapper.compile import Options, compile_model
from mapper.layers import Layers
from mapper.options import Given, resolve_dtypes
from mapper.refine import PROVEN, ranked_by, refine
from mapper.search import exhaustive
from mapper.search.space import Choice
from mapper.search.templates import Space, open_space
from mapper.search.ties import BAND
from tests.tools.layers import Net, small_chip

ALL = 10**6


def space_of(seed: int, chip: Architecture) -> tuple[Layers, Space, Net]:
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 5 + seed % 4, 6, 1 + seed % 5))
    net.conv(x, "y", 3 + seed % 6, 1 + seed % 3, 1, (seed % 2,) * 4)
    workload = net.done("y")
    layers = Layers(workload, chip, resolve_dtypes(chip, {}), Options())
    problem = layers.problem(0, layers.residency(frozenset()), "array")
    return layers, open_space(problem, layers.chip, layers.dtypes), net


def cycles_on(chip: Architecture, tried: list[str] | None = None) -> object:
    def cycles(program: Program) -> int:
        if tried is not None:
            tried.append(program.layers[0])
        return -(-simulate(program, chip).total_ps // 1000)

    return cycles


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_candidates_come_in_order_and_cover_the_space(seed: int, objective: str) -> None:
    """Law 38: candidates are all distinct legal mappings, as they are expected to do; what a search returns is one that
    is alike to the first by rank, and no bound of the space is above what its mapping is expected to do."""
    _, space, _ = space_of(seed, small_chip(1 << 11, 1 << 10))
    found = list(exhaustive.candidates(space, objective))
    ranked = [ranked_by(objective, choice, choice.mapping.expected_cycles) for choice in found]
    assert ranked == sorted(ranked)
    assert len({choice.mapping.nodes for choice in found}) == len(found) > 10
    best = exhaustive.best(space, objective)
    assert ranked_by(objective, best, best.mapping.expected_cycles)[0] <= ranked[0][0] * (1 + BAND)
    bounds = exhaustive.least_figures(space, objective)
    assert {ranked_by(objective, choice, choice.mapping.bound_cycles) for choice in found} == set(bounds)
    assert min(bounds) <= ranked[0]


@pytest.mark.parametrize("seed", range(6))
def test_refining_stops_with_the_best_of_the_whole_space(seed: int) -> None:
    """Law 38: bounds are lower bounds, so the one that refining proves is the best of all mappings simulated."""
    chip = small_chip(1 << 11, 1 << 10, dram_rate=Fraction(2))
    layers, space, _ = space_of(seed, chip)
    tried: list[str] = []
    on_array = Given(constraints=(Constraint("*", units=("mxu",)),))
    options = Options(refine=ALL, simulate=cycles_on(chip, tried), given=on_array)  # type: ignore[arg-type]
    found = compile_model(layers.workload, chip, options).mapping.layers[0]
    assert found.proof.startswith(PROVEN) and found.simulated_cycles >= found.bound_cycles
    given = [choice.mapping for choice in exhaustive.candidates(space, "latency")][:: 1 + seed]
    alone = cycles_on(chip)
    for mapping in given:
        stated = replace(Options().given, layers={mapping.layer: mapping})
        program = compile_model(layers.workload, chip, Options(given=stated)).program
        assert alone(program) >= found.simulated_cycles  # type: ignore[operator]
    assert len(tried) < len(list(exhaustive.candidates(space, "latency")))


@pytest.mark.parametrize("most", [1, 2, 5])
def test_refining_simulates_no_more_than_it_may(most: int) -> None:
    """Law 46: more candidates never give a slower layer, and the analytic choice is always one of them."""
    chip = small_chip(1 << 11, 1 << 10, dram_rate=Fraction(2))
    layers, space, _ = space_of(3, chip)
    tried: list[str] = []
    options = Options(refine=most, simulate=cycles_on(chip, tried))  # type: ignore[arg-type]
    found = compile_model(layers.workload, chip, options).mapping.layers[0]
    plain = compile_model(layers.workload, chip, Options())
    assert len(tried) <= most
    assert found.simulated_cycles <= cycles_on(chip)(plain.program)  # type: ignore[operator]
    more = compile_model(layers.workload, chip, replace(options, refine=most + 3)).mapping.layers[0]
    assert more.simulated_cycles <= found.simulated_cycles


def test_a_gap_is_stated_and_a_broken_bound_is_told() -> None:
    """Law 38: what was not simulated is bounded; a simulation below its bound is a fault of ours."""
    _, space, _ = space_of(1, small_chip(1 << 11, 1 << 10))

    def choices() -> list[Choice]:
        return list(exhaustive.candidates(space, "latency"))

    first, *rest = choices()
    least = [ranked_by("latency", choice, choice.mapping.bound_cycles) for choice in (first, *rest)]
    slow = refine(first, iter(rest), least, lambda mapping: 10 * mapping.bound_cycles, 1, "latency")
    share = 100 * (1 - min(least[1:])[0] / (10 * first.mapping.bound_cycles))
    assert f"no other of this space can be better by more than {share:.2f} %; 1 simulated" in slow.proof
    with pytest.raises(SimulationError, match="below its analytic bound"):
        refine(first, iter(rest), least, lambda mapping: mapping.bound_cycles - 1, 3, "latency")
