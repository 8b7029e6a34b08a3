"""Laws of the branch and bound where a tile that nothing changes is not fetched again: the order of loops counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import MappingError
from archsim.ir.mapping import Keep
from mapper.looptree.conventions import ZIGZAG
from mapper.looptree.search import optimal
from mapper.looptree.search.objective import ENERGY, LATENCY, SAME, Objective, better
from mapper.looptree.search.space import Space, check
from tests.oracles.brute_force import exhaustive
from tests.tools.looptree_cases import cases, window_cases

MENDED = ((3001, 138), (3001, 164), (3001, 262), (3001, 332), (1002, 255), (1002, 289), (1002, 302), (1002, 696))
CASES = {f"{seed}-{number}": list(cases(seed, number + 1))[number] for seed, number in MENDED}
FRESH = [one for one in cases(8001, 120) if one[0].convention.name == "archsim"]
WINDOWS = list(window_cases(1, 48))
FAR = ((2, 52), (3, 83))


def is_exhaustive(space: Space, objective: Objective) -> None:
    """What is found is in the space, proven, and by objective, latency and energy equal to the enumeration's."""
    try:
        truth = exhaustive.search(space, objective)
    except MappingError:
        with pytest.raises(MappingError):
            optimal.search(space, objective)
        return
    found = optimal.search(space, objective)
    check(found.nest, space)
    mine, others = (objective.key(each.cost.energy_j, each.cost.latency_s) for each in (found, truth))
    assert not better(others, mine), (mine, others)
    assert not better(mine, others), "the exhaustive search missed a LoopTree"
    assert found.proven
    assert found.bound == found.value
    assert found.doubt == ""


@pytest.mark.parametrize(("space", "objective"), CASES.values(), ids=list(CASES))
def test_tiles_that_stay_are_counted(space: Space, objective: Objective) -> None:
    """The best of each has a tile that stays over loops above which it cannot be moved, some for the tie alone."""
    is_exhaustive(space, objective)


@settings(max_examples=16, deadline=None, derandomize=True)
@given(case=st.sampled_from(FRESH))
def test_the_order_of_loops(case: tuple[Space, Objective]) -> None:
    """The optimum of random products and images is that of the enumeration, which tries every order of loops."""
    is_exhaustive(*case)


@settings(max_examples=14, deadline=None, derandomize=True)
@given(case=st.sampled_from(WINDOWS))
def test_windows_below_other_tiles(case: tuple[Space, Objective]) -> None:
    """Tiles of two memories may slide over the same loop, and over one below tiles of other memories."""
    is_exhaustive(*case)


@pytest.mark.parametrize(("seed", "number"), FAR)
def test_a_window_that_is_far(seed: int, number: int) -> None:
    """The best slides over a loop with another tile between, which could not lie above it."""
    space, objective = list(window_cases(seed, number + 1))[number]
    is_exhaustive(space, objective)
    nodes = optimal.search(space, objective).nest.nodes
    assert any(isinstance(node, Keep) and node.reserve_at > at + 2 for at, node in enumerate(nodes))


@settings(max_examples=10, deadline=None, derandomize=True)
@given(case=st.sampled_from(FRESH))
def test_instances_that_share_work_evenly(case: tuple[Space, Objective]) -> None:
    """The same where work is spread evenly over instances."""
    space, objective = case
    is_exhaustive(replace(space, convention=replace(ZIGZAG, slots=space.slots)), objective)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(case=st.sampled_from(FRESH))
def test_what_stays_costs_no_more(case: tuple[Space, Objective]) -> None:
    """A space in which every iteration is billed has no better optimum."""
    space, _ = case
    for objective in (LATENCY, ENERGY):
        try:
            found = optimal.search(space, objective)
        except MappingError:
            return
        billed = optimal.search(replace(space, convention=replace(space.convention, bill_all=True)), objective)
        assert found.value <= billed.value * (1 + SAME)
