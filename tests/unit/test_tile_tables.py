"""Tables over the tiles of a dim: what is said of all of them at once is what each of them says."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.lab.run.job import Job, load_chip, prepare
from mapper.cost.tile_classes import tile_classes
from mapper.given.priced import CELL, price
from mapper.layers import Layers
from mapper.lower.frame import Frame
from mapper.lower.tile_moves import tiles, totals
from mapper.options import resolve_dtypes
from mapper.problem.core_partition import of_core
from mapper.problem.cuts import Cut
from mapper.problem.geometry import Component, ranges, sums
from mapper.search import random as drawn
from mapper.search.exhaustive import search

NAMES = ("x", "y", "z")
EXTENTS = st.fixed_dictionaries({name: st.integers(1, 12) for name in NAMES})
QUICK = settings(max_examples=80, deadline=None, derandomize=True)


@QUICK
@given(EXTENTS, st.integers(1, 3), st.integers(0, 2), st.booleans(), st.booleans(), st.data())
def test_sums_over_tiles_are_those_of_their_ranges(
    dims: dict[str, int], step: int, border: int, padded: bool, slides: bool, data: st.DataObject
) -> None:
    """Of a window of taps ``y`` over positions ``x``, with a border or none, in strips or none."""
    length = step * (dims["x"] - 1) + dims["y"] - 2 * border
    part = Component(0, (("x", step), ("y", 1)), 1, -border, max(1, length) if padded else None)
    tile = data.draw(st.integers(1, dims["x"]))
    strip = tile * data.draw(st.integers(1, 3)) if slides else 0
    filled, touched = ranges(part, "x", tile, dims, strip > 0, strip)
    assert sums(part, "x", tile, dims, strip) == (filled.sum(), touched.sum(), touched[0])
    filled, touched = ranges(part, None, 0, dims, False)
    assert sums(part, None, 0, dims) == (filled.sum(), touched.sum(), touched[0])


@QUICK
@given(EXTENTS, st.booleans(), st.data())
def test_classes_are_all_tiles_of_a_cut(dims: dict[str, int], apart: bool, data: st.DataObject) -> None:
    cuts = [Cut({name: data.draw(st.integers(1, dims[name])) for name in NAMES}, ()) for _ in range(3)]
    found = tile_classes(cuts, dims, NAMES, apart=apart)
    for number, cut in enumerate(cuts):
        along = [[min(cut.tiles[n], dims[n] - at) for at in range(0, dims[n], cut.tiles[n])] for n in NAMES]
        every = [each if apart else (prod(each), 1, 1) for each in product(*along)]
        counted = {
            tuple(found.sizes[value]): found.counts[number, value] for value in found.counts[number].nonzero()[0]
        }
        assert counted == Counter(every)
        assert tuple(found.sizes[found.first[number]]) == every[0]
        assert tuple(found.sizes[found.last[number]]) == every[-1]


@pytest.fixture(scope="module")
def layers() -> Layers:
    job = Job("hand_tracking", "edge_npu")
    architecture = load_chip(job)
    asked = prepare(job, architecture)
    dtypes = resolve_dtypes(architecture, asked.options.dtypes or {})
    return Layers(asked.workload, architecture, dtypes, asked.options)


def test_totals_are_those_of_all_tiles(layers: Layers) -> None:
    for problem in layers.map().problems:
        if problem is None:
            continue
        mapping = drawn.search(problem, layers.chip, layers.dtypes, "latency", seed="1").mapping
        frame = Frame(problem, of_core(problem, mapping), {})
        for name, (depth, sliding) in frame.keeps.items():
            plan = problem.operand(name)
            every = list(tiles(frame, plan, depth, frame.loops[depth - 1].dim if sliding else None))
            found = totals(frame, plan, depth, sliding)
            assert found.filled == sum(prod(filled) * times for filled, _, times in every)
            assert found.touched == sum(prod(touched) * times for _, touched, times in every)
            assert found.tiles == sum(times for *_, times in every)
            assert found.first == prod(every[0][1])


def test_a_chosen_cell_costs_what_its_mapping_is_priced_at(layers: Layers) -> None:
    """The figures of one cell, which are numbers, against those of the LoopTree that it is."""
    for problem in layers.map().problems:
        if problem is None:
            continue
        choice = search(problem, layers.chip, layers.dtypes, "latency")
        costs = price(problem, choice.mapping, layers.chip, layers.dtypes)
        assert choice.mapping.bound_cycles == int(costs.bound[CELL])
        assert choice.mapping.expected_cycles == int(costs.cycles[CELL])
        assert np.isclose(choice.energy_pj, costs.energy_pj[CELL], rtol=1e-12)
