"""Laws of filter taps that are cut: what the grid says of a cell is what its LoopTree moves, and the machine counts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from archsim.base.errors import MappingError
from archsim.ir.mapping import LayerMapping, Loop
from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture
from mapper.compile import Options, compile_model
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import TAPS, Cells, Flow, Grid, build_grid
from mapper.given.priced import price
from mapper.options import Given
from mapper.problem.constraints import FREE, Rules
from mapper.problem.problem import Problem, build
from mapper.search.space import ORDERS, STRIPED, Order, depth_choices, tree
from mapper.search.ties import BAND
from tests.tools.agreement import assert_agreement
from tests.tools.layers import Net, small_chip

STAGES = (("l2", 1 << 16, ("inputs", "weights", "outputs")),)
VARIANTS: dict[str, tuple[Order, ...]] = {"": ORDERS, **STRIPED, TAPS: ORDERS}


class Found(NamedTuple):
    """A cell of a grid: its LoopTree, and what the grid says of each operand."""

    mapping: LayerMapping
    flows: dict[str, Flow]


def convolution(seed: int) -> tuple[Net, Workload]:
    """One in groups or not, dilated or not, with a border or none, at stride 1 to 3."""
    pick = random.Random(seed)
    net = Net(np.random.default_rng(seed))
    size, groups, dilation = pick.randrange(5, 12), pick.choice((1, 1, 2)), pick.choice((1, 1, 2))
    x = net.source("x", (1, size, size + 1, groups * pick.randrange(1, 5)))
    pads = tuple(pick.randrange(2) for _ in range(4))
    kernel, stride = pick.randrange(2, 4), pick.randrange(1, 4)
    net.conv(x, "y", groups * pick.randrange(1, 6), kernel, stride, pads, groups=groups, dilation=dilation)  # type: ignore[arg-type]
    return net, net.done("y")


def chip_of(seed: int) -> Architecture:
    return small_chip(1 << 17, 1 << 15, stages=STAGES if seed % 2 else ())


def problem_of(workload: Workload, chip: Architecture) -> Problem:
    capacity = {memory.name: memory.capacity_bytes for memory in chip.memories}
    return build(workload.layers[0], workload, chip, chip.dtypes, capacity, {}, "array")


def cells(problem: Problem, grid: Grid, variant: str, pick: random.Random, number: int) -> Iterator[Found]:
    """Some of a grid."""
    for _ in range(number):
        order = pick.choice(VARIANTS[variant])
        kept = pick.choice(list(depth_choices(grid, order)))
        at = Cells(np.array([pick.randrange(grid.size)]), grid.shape)
        nodes = tree(grid, tuple(int(place[0]) for place in at.places), order, kept)
        mapping = LayerMapping(problem.layer.name, problem.unit, "matmul", nodes, (), 0, 1, 1, "")
        yield Found(mapping, {p.name: grid.traffic(p, order, kept[p.name]).at(at) for p in problem.operands})


@pytest.mark.parametrize("seed", range(40))
def test_a_cell_moves_what_its_loop_tree_does(seed: int) -> None:
    """Law 38: every figure of every operand, whether a window of taps is whole below its Keep or not, in every grid of
    a layer, whatever tiles of taps are stated, and whatever other grids have been asked."""
    pick = random.Random(seed)
    _, workload = convolution(seed)
    chip = chip_of(seed)
    problem, costs = problem_of(workload, chip), ChipCosts(chip, {}, {})
    stated = {tap: pick.randrange(1, problem.dims[tap] + 1) for tap in sorted(problem.taps) if pick.random() < 0.4}
    rules = Rules(tiles=stated) if stated else FREE
    plain = build_grid(problem, chip, rules)
    for variant in VARIANTS:
        grid = build_grid(problem, chip, rules, variant, plain)
        for mapping, flows in cells(problem, grid, variant, pick, 5) if grid.size else ():
            found = price(problem, mapping, costs, chip.dtypes).flows
            assert flows == found, (variant, stated, mapping.nodes)


@pytest.mark.parametrize("seed", range(12))
def test_such_a_loop_tree_runs_as_it_was_counted(seed: int) -> None:
    """Law 38: the machine's counts are the compiler's, and the numbers those of the model."""
    net, workload = convolution(seed)
    chip = chip_of(seed)
    problem = problem_of(workload, chip)
    grid = build_grid(problem, chip, variant=TAPS)
    for mapping, _ in cells(problem, grid, TAPS, random.Random(seed), 2):
        assert any(isinstance(node, Loop) and node.dim in problem.taps for node in mapping.nodes)
        options = Options(given=Given({mapping.layer: mapping}))
        assert_agreement(net, workload, chip, compile_model(workload, chip, options), seed)


@pytest.mark.parametrize("seed", range(8))
def test_more_room_is_never_worse(seed: int) -> None:
    """Law 62: taps that are cut where there is little room may be cut where there is more."""
    pick = random.Random(seed)
    net = Net(np.random.default_rng(seed))
    size, channels = pick.randrange(6, 12), pick.choice((4, 8, 16))
    x, filters = net.source("x", (1, size, size, channels)), pick.choice((4, 8, 16))
    net.conv(x, "y", filters, pick.randrange(3, 6), 1, (1, 1, 1, 1))
    workload, best = net.done("y"), 0
    for room in range(64, 1600, 128):
        try:
            compiled = compile_model(workload, small_chip(room, 1 << 11, banks=1, rows=4, cols=4))
        except MappingError:
            assert not best
            continue
        cycles = compiled.mapping.layers[0].expected_cycles
        assert not best or cycles <= best * (1 + BAND)
        best = min(best or cycles, cycles)


def test_channels_of_a_group_are_cut_as_others_are() -> None:
    """They share an axis with the groups, which stand apart on it: no window moves there."""
    for groups, each in ((2, 8), (8, 2)):
        net = Net(np.random.default_rng(0))
        net.conv(net.source("x", (1, 8, 8, groups * each)), "y", groups * 4, 3, 1, (1, 1, 1, 1), groups=groups)
        problem = problem_of(net.done("y"), small_chip())
        assert "c" not in problem.whole and "g" not in problem.whole
        assert problem.taps == {"r", "s"}
