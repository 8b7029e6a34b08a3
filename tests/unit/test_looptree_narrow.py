"""Ranges of tiles bound every tiling within them; tables of what they leave are enough for the optimum."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import MappingError
from archsim.base.jit import entry
from mapper.looptree.conventions import ACCELFORGE
from mapper.looptree.einsum import gemm
from mapper.looptree.hierarchy import READ, WRITE, Action, Axis, Compute, Hierarchy, Memory
from mapper.looptree.search import optimal
from mapper.looptree.search.branch import bounds, least, part, rows, tables
from mapper.looptree.search.branch import narrow as narrowing
from mapper.looptree.search.branch import ranges as bounding
from mapper.looptree.search.branch import tilings as tiling
from mapper.looptree.search.branch.costing import COUNT, LARGEST, SUM
from mapper.looptree.search.branch.plan import FACTOR, MOST_DIMS, MOST_LOOPS, MOVING, NO_LOOP, PLAIN, TEMPORAL
from mapper.looptree.search.branch.tilings import ANY
from mapper.looptree.search.branch.whole import ALL_BELOW, FREE_BELOW, every_up_to, partial_dims
from mapper.looptree.search.objective import SAME, Objective
from mapper.looptree.search.space import Space
from tests.oracles.brute_force import exhaustive
from tests.tools.looptree_cases import cases

ALL = frozenset("IWO")
combine, fill_parts, set_parts = entry(least.combine), entry(least.fill_parts), entry(least.set_parts)
ranges, tighten = entry(bounding.ranges), entry(bounding.tighten)
tile_sizes, tilings, footprint = entry(tiling.tile_sizes), tiling.Tiler().tilings, entry(tiling.footprint)
sort_by = entry(rows.sort_by)
# By number, extents and objective: the best of a problem whose enumeration takes over a minute, found by it.
ENUMERATED = {(8, "{'m': 4, 'k': 4, 'n': 3}", "edp"): 34485.5318692573}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from((TEMPORAL, MOVING, 0, 1)), min_size=1, max_size=4), st.integers(2, 14), st.data())
def test_ranges_bound_the_tilings_within(kinds: list[int], extent: int, data: st.DataObject) -> None:
    """What a dim contributes is at least its bound over any ranges that hold its tiles, and equal to that over one."""
    loops = np.full((MOST_DIMS, MOST_LOOPS), NO_LOOP, np.int64)
    loops[0, : len(kinds)] = kinds
    shares = np.ones((MOST_DIMS, 2), np.int64)
    shares[0] = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    found = tilings(loops[0], extent, shares[0], ANY)
    factors, limits = factors_of(kinds), np.full(3 * len(kinds), np.inf)
    whole = np.empty((2, MOST_LOOPS), np.int64)
    some = ranges(factors, limits, len(factors), 0, loops[0], extent, shares[0], ANY, whole)
    assert some or len(found) == 0
    if len(found) == 0:
        return
    tiles = found[data.draw(st.integers(0, len(found) - 1))]
    assert (whole[0, : len(kinds)] <= tiles).all() and (tiles <= whole[1, : len(kinds)]).all()
    figures = [figure_of(tiles, extent, factor) for factor in factors]
    for slack in (data.draw(st.integers(1, extent)), 0):
        held = np.ones((2, MOST_LOOPS), np.int64)
        held[0, : len(kinds)] = np.maximum(1, tiles - slack)
        held[1, : len(kinds)] = np.minimum(extent, tiles + slack)
        assert tighten(loops[0], extent, shares[0], ANY, held)
        assert (held[0, : len(kinds)] <= tiles).all() and (tiles <= held[1, : len(kinds)]).all()
        least = bounds_of(factors, loops, extent, shares, held)
        assert (least <= figures).all()
        assert slack or (least == figures).all()


def factors_of(kinds: list[int]) -> np.ndarray:
    """Of each place how many tiles, their sizes over what axes spread, and the largest; of counts loops collapse."""
    axes = sum(1 << i for i, kind in enumerate(kinds) if kind >= 0)
    rows = []
    for place in range(1, len(kinds) + 1):
        above = (1 << place) - 1
        rows += [(COUNT, place, 0), (SUM, place, axes & above), (LARGEST, place, 0)]
    found = np.zeros((len(rows), FACTOR), np.int64)
    found[:, 0] = PLAIN
    found[:, 1:4] = rows
    return found


def figure_of(tiles: np.ndarray, extent: int, factor: np.ndarray) -> int:
    """A figure of a tiling, counted tile by tile."""
    sizes, counts = np.empty(MOST_LOOPS + 1, np.int64), np.empty(MOST_LOOPS + 1, np.int64)
    many = tile_sizes(tiles, extent, factor[1:5], int(factor[2]), sizes, counts)
    if factor[1] == LARGEST:
        return int(sizes[:many].max())
    return int((counts[:many] * (1 if factor[1] == COUNT else sizes[:many])).sum())


def bounds_of(factors: np.ndarray, loops: np.ndarray, extent: int, shares: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The least that tilings within ranges contribute to every column of a group of one dim."""
    parts, found = least.parts_of(len(factors)), np.empty(len(factors))
    set_parts(parts, factors, len(factors))
    for d, most in enumerate((extent, 1)):
        fill_parts(parts, factors, len(factors), d, loops[d], most, shares[d], ANY, held)
    combine(parts, factors, len(factors), loops, shares, True, found)
    return found


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 7), st.integers(0, 7), st.booleans())
def test_a_footprint_is_the_values_that_tiles_touch(first: int, second: int, far: int, near: int, spans: bool) -> None:
    """Counted one by one; what spans is from the first value to the last."""
    seen = {i * far + j * near for i in range(first) for j in range(second if near else 1)}
    known = max(seen) + 1 if spans or near == 0 else len(seen)
    assert footprint(first, second, far, near, spans) == known


@given(st.lists(st.sampled_from((0.5, 1.0, 2.0, 3.0, np.inf)), max_size=40), st.randoms(use_true_random=False))
def test_numbers_are_sorted_by_their_keys_and_equal_ones_left_as_they_come(keys: list[float], random: Random) -> None:
    order = [*range(len(keys))]
    random.shuffle(order)
    found = np.array(order, np.int64)
    sort_by(np.array(keys), found, np.empty_like(found))
    assert found.tolist() == sorted(order, key=lambda number: keys[number])


@pytest.mark.parametrize("room", [1, 3])
def test_tilings_and_narrowed_ones_take_more_room_where_they_need_it(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever room they begin with, the same are found."""
    loops, shares = np.full(MOST_LOOPS, NO_LOOP, np.int64), np.ones(1, np.int64)
    loops[:3] = TEMPORAL
    usual = tilings(loops, 12, shares, ANY)
    spaces = [(space, objective) for space, objective in islice(cases(5, 200), 40) if space.factors == "any"][:4]
    searched = [optimal.search(space, objective) for space, objective in spaces]
    for module in (tiling, narrowing, bounds):
        monkeypatch.setattr(module, "_FIRST_ROOM", room)
    monkeypatch.setattr(part, "FEW", 0)
    narrowed = [optimal.search(space, objective) for space, objective in spaces]
    monkeypatch.setattr(tables, "_FIRST_TILINGS", room)
    monkeypatch.setattr(tables, "_FIRST_ROWS", room)
    assert (tilings(loops, 12, shares, ANY) == usual).all() and len(usual) > 3
    again = [optimal.search(space, objective) for space, objective in spaces]
    assert [found.value for found in again] == [found.value for found in narrowed]
    assert [found.evaluated for found in again] == [found.evaluated for found in narrowed]
    for found, before in zip(again, searched, strict=True):
        assert found.value == pytest.approx(before.value, rel=SAME)


@pytest.fixture(scope="module")
def enumerated() -> list[tuple[Space, Objective, float]]:
    """Random problems, each with the best value that the enumeration of every LoopTree finds."""
    found = []
    for number, (space, objective) in enumerate(islice((one for one in cases(5, 200) if one[0].factors == "any"), 16)):
        with suppress(MappingError):
            known = ENUMERATED.get((number, str(space.einsum.extents), objective.name))
            truth = known or exhaustive.search(space, objective).value
            found.append((space, objective, truth))
    assert len(found) > 4
    return found


@pytest.mark.slow
@pytest.mark.parametrize("halves", [2, 1 << 10])
def test_narrowed_tables_hold_the_optimum(
    halves: int, enumerated: list[tuple[Space, Objective, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no table shared, and choices left for later, the optimum is that of the enumeration."""
    monkeypatch.setattr(part, "FEW", 0)
    monkeypatch.setattr(part, "HALVES", halves)
    for space, objective, truth in enumerated:
        found = optimal.search(space, objective)
        assert found.value == pytest.approx(truth, rel=SAME)
        assert found.proven


@pytest.mark.parametrize(("axes", "most"), [("", ALL_BELOW), ("X", ALL_BELOW), ("XY", FREE_BELOW)])
def test_what_is_tried_whole(axes: str, most: int) -> None:
    """Fan-outs side by side that spread one dim to memories lower the extent up to which every tiling is tried."""
    actions = {action: Action(1.0, 1e9) for action in (READ, WRITE)}
    fans = tuple(Axis(name, 3, ALL) for name in axes)
    parts = (Memory("Main", None, ALL, frozenset(), actions), *fans, Memory("Inner", 64, ALL, frozenset(), actions))
    hierarchy = Hierarchy("one", parts, Compute("MAC", Action(1.0, 1e9, 0)))
    space = Space(gemm(most, most + 1, 2), hierarchy, ACCELFORGE, "any")
    assert every_up_to(space) == most
    assert partial_dims(space) == (list(space.einsum.extents)[1],)


def test_a_choice_without_use_for_one_template_is_left_to_the_others() -> None:
    """The templates of an outline share its choices; the third and fourth have better tilings here, the first none."""
    space, objective = next(islice(cases(9001, 274), 273, None))
    assert space.factors == "any" and space.in_order
    found, truth = optimal.search(space, objective), exhaustive.search(space, objective)
    assert found.proven and found.value == pytest.approx(truth.value, rel=1e-9)
