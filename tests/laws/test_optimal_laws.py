"""Laws of the branch and bound over LoopTrees: it finds the optimum, and a larger space holds a smaller one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import MappingError
from mapper.looptree.hierarchy import Axis, Hierarchy, Memory
from mapper.looptree.search import optimal
from mapper.looptree.search.objective import EDP, ENERGY, LATENCY, SAME, Objective, better
from mapper.looptree.search.space import Space, check
from tests.oracles.brute_force import exhaustive
from tests.tools.looptree_cases import FACTORS, cases

SLICE = list(cases(0, 60))
SMALL = list(cases(47, 40))
LIMITED = [space for space, _ in SMALL if any(memory.size_bits is not None for memory in space.hierarchy.memories)]


def best(space: Space, objective: Objective) -> float:
    """Objective of the optimum; infinite when nothing fits."""
    try:
        found = optimal.search(space, objective)
    except MappingError:
        return float("inf")
    assert found.proven
    return found.value


def least_first(*values: float) -> bool:
    """Whether values do not fall, but for rounding."""
    return all(one <= other * (1 + SAME) for one, other in zip(values, values[1:], strict=False))


@pytest.mark.parametrize(("space", "objective"), SLICE)
def test_optimal_is_exhaustive(space: Space, objective: Objective) -> None:
    """Nothing in the space is better, equals are decided by latency, then energy; what is found is in the space."""
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


@pytest.mark.parametrize("objective", [LATENCY, ENERGY, EDP], ids=lambda objective: objective.name)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(case=st.integers(0, len(LIMITED) - 1), number=st.integers(0, 2), factor=st.integers(3, 9))
def test_law_47_more_room(objective: Objective, case: int, number: int, factor: int) -> None:
    """Law 47: more room in any memory is never worse in the optimum, of any factors, order and convention."""
    space = LIMITED[case]
    limited = [memory for memory in space.hierarchy.memories if memory.size_bits is not None]
    memory = limited[number % len(limited)]
    assert memory.size_bits is not None
    larger = replace(memory, size_bits=memory.size_bits * factor / 2)
    assert least_first(
        best(_with(space, replace(memory, size_bits=None)), objective),
        best(_with(space, larger), objective),
        best(space, objective),
    )


def _with(space: Space, memory: Memory) -> Space:
    parts = tuple(memory if part.name == memory.name else part for part in space.hierarchy.parts)
    return replace(space, hierarchy=Hierarchy(space.hierarchy.name, parts, space.hierarchy.compute))


@pytest.mark.parametrize(("space", "objective"), SMALL[:24])
def test_larger_spaces_are_no_worse(space: Space, objective: Objective) -> None:
    """Any tiles <= inexact tiles on fan-outs <= divisors; interleaved nodes <= nodes in order."""
    eased = tuple(replace(p, most_used=False) if isinstance(p, Axis) else p for p in space.hierarchy.parts)
    space = replace(space, hierarchy=Hierarchy("eased", eased, space.hierarchy.compute))
    assert least_first(*(best(replace(space, factors=factors), objective) for factors in reversed(FACTORS)))
    assert least_first(*(best(replace(space, in_order=in_order), objective) for in_order in (False, True)))


@pytest.mark.parametrize(("space", "_objective"), SMALL[:14])
def test_least_energy_of_the_fastest(space: Space, _objective: Objective) -> None:
    """The latency objective decides between equals by energy, the energy objective by latency."""
    try:
        fastest, leanest = (exhaustive.search(space, objective) for objective in (LATENCY, ENERGY))
    except MappingError:
        return
    fast, lean = (optimal.search(space, objective).cost for objective in (LATENCY, ENERGY))
    assert fast.latency_s == pytest.approx(fastest.cost.latency_s, rel=SAME)
    assert fast.energy_j == pytest.approx(fastest.cost.energy_j, rel=SAME)
    assert lean.energy_j == pytest.approx(leanest.cost.energy_j, rel=SAME)
    assert lean.latency_s == pytest.approx(leanest.cost.latency_s, rel=SAME)
