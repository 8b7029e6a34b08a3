"""Contiguous runs of padded inputs: what lies inside the padded axis is known, and DRAM moves whole bursts of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from archsim.ir.mapping import Keep, LayerMapping, Loop
from mapper.cost.chip_rates import ChipCosts, Outer
from mapper.cost.grid import build_grid
from mapper.given.priced import price
from mapper.layers import Layers
from mapper.options import Options, resolve_dtypes
from mapper.problem.operands import ACC, OUT
from mapper.problem.problem import Problem
from tests.tools.layers import Net, small_chip

BURST = 32
CHANNELS = 16
ORDER = ("B", "N", "M", "K")  # of loops, outermost first
DTYPES = resolve_dtypes(small_chip(), {})


def problem(pad: int) -> tuple[Problem, ChipCosts]:
    """A 3x3 convolution of 16 channels, channels innermost, on a chip whose DRAM moves bursts of 32 bytes."""
    net = Net(np.random.default_rng(1))
    x = net.source("x", (1, 9, 9, CHANNELS))
    layers = Layers(net.done(net.conv(x, "y", 8, 3, 1, (pad,) * 4)), small_chip(), DTYPES, Options())
    chip = replace(layers.chip, outer={"dram": Outer(8e9, burst_bytes=BURST)})
    return layers.problem(0, layers.residency(frozenset()), "array"), chip


def mapping(found: Problem, channels: int) -> LayerMapping:
    """All rows at once, the channels in tiles."""
    whole = [Keep(name, level, 1, 0) for name, level in ((OUT, "l1"), ("bias", "l1"), (ACC, "acc"))]
    nodes = [*whole, Loop("c", channels), Keep("a", "l1", 2, 0), Keep("b", "l1", 2, 0)]
    placed = (replace(node, reserve_at=at) if isinstance(node, Keep) else node for at, node in enumerate(nodes))
    return LayerMapping("conv_y", found.unit, "matmul", tuple(placed), (), 0, 1, 1, "")


@pytest.mark.parametrize("channels", [1, 2, 5, 8])
def test_cut_channels_of_a_padded_input_are_runs_of_whole_bursts(channels: int) -> None:
    """As those of an input without padding, whose runs were always known."""
    padded, chip = problem(1)
    for found in (padded, problem(0)[0]):
        costs = price(found, mapping(found, channels), chip, DTYPES)
        flow = costs.flows["a"]
        assert flow.run.item() == channels
        assert costs._bursts["a"].touched.item() == pytest.approx(flow.touched.item() * BURST / channels)


def test_whole_channels_of_a_padded_row_are_a_run_that_padding_may_cut() -> None:
    found, chip = problem(1)
    costs = price(found, mapping(found, CHANNELS), chip, DTYPES)
    assert costs.flows["a"].run.item() == 0
    assert costs._bursts["a"].touched.item() == costs.flows["a"].touched.item()


def test_the_search_ranks_by_the_runs_of_stated_mappings() -> None:
    """Of every cell of the grid, on both sides of the padding."""
    for pad in (0, 1):
        found, chip = problem(pad)
        grid = build_grid(found, chip.architecture)
        run = grid.traffic(found.operand("a"), ORDER, len(ORDER)).run
        tiles = [cut.tiles["c"] for cut in grid.cuts["K"]]
        assert CHANNELS in tiles and min(tiles) < CHANNELS
        for at, tile in enumerate(tiles):
            if tile < CHANNELS:
                assert (run[..., at] == tile).all()
            else:
                assert ((run[..., at] == 0) == bool(pad)).all()
