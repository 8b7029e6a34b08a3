"""Laws of filter taps that are cut: what the grid says of a cell is what its LoopTree moves, and the machine counts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from archsim.ir.mapping import LayerMapping, Loop
from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture
from mapper.compile import Options, compile_model
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import TAPS, Cells, Flow, Grid, build_grid
from mapper.given.priced import price
from mapper.options import Given
from mapper.problem.problem import Problem, build
from mapper.search.space import ORDERS, depth_choices, tree
from tests.tools.agreement import assert_agreement
from tests.tools.layers import Net, small_chip

STAGES = ((), (("l2", 1 << 16, ("inputs", "weights", "outputs")),))


def convolution(seed: int) -> tuple[Net, Workload]:
    """One with a border or none, at stride 1 to 3."""
    pick = random.Random(seed)
    net = Net(np.random.default_rng(seed))
    size = pick.randrange(5, 12)
    x = net.source("x", (1, size, size + 1, pick.randrange(1, 9)))
    kernel = pick.randrange(2, 4)
    pads = tuple(pick.randrange(2) for _ in range(4))
    net.conv(x, "y", pick.randrange(2, 11), kernel, pick.randrange(1, 4), pads)  # type: ignore[arg-type]
    return net, net.done("y")


def cells(
    workload: Workload, chip: Architecture, seed: int, number: int
) -> Iterator[tuple[Problem, LayerMapping, dict[str, Flow]]]:
    """Some cells of the grid that cuts filter taps, each with its LoopTree and what the grid says of its operands."""
    pick = random.Random(seed)
    capacity = {memory.name: memory.capacity_bytes for memory in chip.memories}
    problem = build(workload.layers[0], workload, chip, chip.dtypes, capacity, {}, "array")
    grid = build_grid(problem, chip, variant=TAPS)
    for _ in range(number):
        order = pick.choice(ORDERS)
        kept = pick.choice(list(depth_choices(grid, order)))
        yield problem, *_cell(problem, grid, order, kept, pick.randrange(grid.size))


def _cell(
    problem: Problem, grid: Grid, order: tuple[str, ...], kept: dict[str, int], number: int
) -> tuple[LayerMapping, dict[str, Flow]]:
    index = tuple(int(at) for at in np.unravel_index(number, grid.shape))
    nodes = tree(grid, index, order, kept)
    mapping = LayerMapping(problem.layer.name, problem.unit, "matmul", nodes, (), 0, 1, 1, "")
    at = Cells(np.array([number]), grid.shape)
    return mapping, {plan.name: grid.traffic(plan, order, kept[plan.name]).at(at) for plan in problem.operands}


@pytest.mark.parametrize("seed", range(24))
def test_law_38_a_cell_moves_what_its_loop_tree_does(seed: int) -> None:
    """Every figure of every operand, whether a window of taps is whole below its Keep or one of them."""
    _, workload = convolution(seed)
    chip = small_chip(1 << 17, 1 << 15, stages=STAGES[seed % 2])
    costs = ChipCosts(chip, {}, {})
    for problem, mapping, said in cells(workload, chip, seed, 12):
        stated = price(problem, mapping, costs, chip.dtypes).flows
        for name, flow in said.items():
            assert flow == stated[name], (name, mapping.nodes)


@pytest.mark.parametrize("seed", range(12))
def test_law_38_such_a_loop_tree_runs_as_it_was_counted(seed: int) -> None:
    """The machine's counts are the compiler's, and the numbers those of the model."""
    net, workload = convolution(seed)
    chip = small_chip(1 << 17, 1 << 15, stages=STAGES[seed % 2])
    for _, mapping, _ in cells(workload, chip, seed, 2):
        taps = [node for node in mapping.nodes if isinstance(node, Loop) and node.dim in ("r", "s")]
        assert taps
        stated = Given({mapping.layer: replace(mapping, resident=())})
        assert_agreement(net, workload, chip, compile_model(workload, chip, Options(given=stated)), seed)
