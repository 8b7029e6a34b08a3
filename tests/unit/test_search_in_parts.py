"""Searches that hold the costs of few cells at a time, or leave out an engine, find what they would find anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from archsim.lab.run.job import Job, load_chip, prepare
from archsim.spec.architecture import Architecture
from mapper.cost.grid_cost import Costs
from mapper.given.priced import price
from mapper.layers import Layers
from mapper.options import Options, resolve_dtypes
from mapper.search import exhaustive
from mapper.search.outdone import outdone
from mapper.search.promising_spreads import spreads
from mapper.search.ranking import RANKED_BY, Found, ranked
from mapper.search.templates import Space, open_space
from mapper.search.ties import Alike
from tests.laws.test_cores_laws import networked
from tests.tools.layers import Net, small_chip

OBJECTIVES = ["latency", "energy", "edp"]
FEW = 32  # cells at once


def _space(seed: int, cores: int) -> Space:
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 5 + seed % 4, 6, 1 + seed % 5))
    net.conv(x, "y", 3 + seed % 6, 1 + seed % 3, 1, (seed % 2,) * 4)
    chip = small_chip(1 << 11, 1 << 10)
    architecture = networked(chip, "mesh", (cores, 1)) if cores > 1 else chip
    layers = _layers(net, architecture)
    problem, rules = next(iter(layers.searched(0, layers.residency(frozenset()))))
    return open_space(problem, layers.chip, layers.dtypes, rules)


def _layers(net: Net, architecture: Architecture) -> Layers:
    return Layers(net.done("y"), architecture, resolve_dtypes(architecture, {}), Options())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_best_does_not_depend_on_how_many_cells_are_held(
    seed: int, cores: int, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = _space(seed, cores)
    at_once = exhaustive.best(space, objective)
    held, real = list[int](), exhaustive._Cells.costs

    def noted(cells: exhaustive._Cells, found: Sequence[Found]) -> Costs:
        held.append(sum(numbers.size for _, numbers in found))
        return real(cells, found)

    monkeypatch.setattr(exhaustive._Cells, "costs", noted)
    monkeypatch.setattr(exhaustive, "AT_ONCE", FEW)
    assert exhaustive.best(space, objective) == at_once
    assert max(held) <= FEW < at_once.mapping.evaluated / 2


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("model", "chip"), [("eye_tracking", "edge_npu"), ("hand_tracking", "edge_npu")])
def test_engines_that_are_left_out_have_nothing_as_good(model: str, chip: str, objective: str) -> None:
    """No mapping in lanes is as good as the best on the array where lanes are left out; nor is every one left out."""
    job = Job(model, chip)
    architecture = load_chip(job)
    asked = prepare(job, architecture)
    layers = Layers(asked.workload, architecture, resolve_dtypes(architecture, {}), asked.options)
    residency, name, left_out = layers.residency(frozenset()), RANKED_BY[objective][0], list[bool]()
    for index, layer in enumerate(asked.workload.layers):
        if layer.kind != "matmul":
            continue
        on_array, in_lanes = (layers.problem(index, residency, engine) for engine in ("array", "vector"))
        best = exhaustive.search(on_array, layers.chip, layers.dtypes, objective).mapping
        others = [price(on_array, best, layers.chip, layers.dtypes)]
        left_out.append(outdone(in_lanes, layers.chip, objective, others))
        found = exhaustive.search(in_lanes, layers.chip, layers.dtypes, objective).mapping
        figures = ranked(price(in_lanes, found, layers.chip, layers.dtypes), objective).figure(name)
        if left_out[-1]:
            assert figures[0] > Alike(spread=False).most(name, float(ranked(others[0], objective).figure(name)[0]))
    assert any(left_out) and (objective == "energy" or not all(left_out))


def _cheap(costs: Costs) -> Costs:
    """As good as nothing."""
    free = replace(costs, done=replace(costs.done, array_total=np.zeros(1), vector_total=np.zeros(1)))
    vars(free)["cycles"] = np.ones(1)
    return free


@pytest.mark.parametrize("engine", ["array", "vector"])
def test_only_products_in_lanes_are_left_out(engine: str) -> None:
    """Whatever else was found: another engine's products, and what has lanes alone, are searched."""
    product, pool = Net(np.random.default_rng(0)), Net(np.random.default_rng(0))
    product.conv(product.source("x", (1, 8, 8, 4)), "y", 4, 3, 1, (1,) * 4)
    pool.pool(pool.source("x", (1, 8, 8, 4)), "y", 2, 2)
    left_out = []
    for net in (product, pool):
        layers = _layers(net, small_chip())
        problem = layers.problem(0, layers.residency(frozenset()), engine if net is product else "vector")
        best = exhaustive.search(problem, layers.chip, layers.dtypes, "latency").mapping
        others = [_cheap(price(problem, best, layers.chip, layers.dtypes))]
        left_out.append(outdone(problem, layers.chip, "latency", others))
    assert left_out == [engine == "vector", False]


@pytest.mark.parametrize("cores", [1, 2, 4])
@pytest.mark.parametrize("slower", [1, 2])
def test_no_mapping_in_lanes_takes_less_than_its_lanes(cores: int, slower: int) -> None:
    """On cores that have a part each, with a vector unit of another clock than the chip's."""
    net = Net(np.random.default_rng(1))
    net.conv(net.source("x", (1, 8, 8, 4)), "y", 8, 3, 1, (1,) * 4)
    chip = small_chip()
    (unit,) = chip.vectors
    chip = replace(chip, vectors=(replace(unit, clock_hz=unit.clock_hz // slower),))
    layers = _layers(net, networked(chip, "mesh", (cores, 1)) if cores > 1 else chip)
    problem = layers.problem(0, layers.residency(frozenset()), "vector")
    found = spreads(problem, layers.chip, layers.dtypes) if cores > 1 else [None]
    lanes = unit.lane_count("int8")
    for spread in found:
        part = problem.of_core(spread) if spread is not None else problem
        best = exhaustive.search(part, layers.chip, layers.dtypes, "latency").mapping
        least = problem.layer.points * slower / (lanes * (spread.cores if spread is not None else 1))
        assert least <= best.expected_cycles
        costs = price(part, best, layers.chip, layers.dtypes)
        for cycles, out in ((least / 2, True), (least, False)):
            others = replace(costs)
            vars(others)["cycles"] = np.array([cycles])
            assert outdone(part, layers.chip, "latency", [others]) is out
