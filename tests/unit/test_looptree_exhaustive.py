"""The exhaustive search against recorded optima, and its counts against those of counts.py, as integers."""

from __future__ import annotations

import json
import random

import pytest

from archsim.base.errors import MappingError
from archsim.lab.validate.suite import default_reference
from mapper.looptree.conventions import ACCELFORGE, CONVENTIONS
from mapper.looptree.cost import evaluate, held_bits
from mapper.looptree.counts import counts
from mapper.looptree.einsum import gemm
from mapper.looptree.hierarchy import READ, WRITE, Action, Compute, Hierarchy, Memory
from mapper.looptree.search.found import Budget
from mapper.looptree.search.objective import ENERGY
from mapper.looptree.search.space import Space, check
from tests.oracles.brute_force import exhaustive
from tests.oracles.brute_force.recount import recount
from tests.tools.looptree_cases import cases
from tests.tools.looptree_trees import tree

CASES = json.loads((default_reference("mapping") / "bruteforce_check.json").read_text())["cases"]
ALL = frozenset("IWO")


def two_levels(bits: float) -> Hierarchy:
    main, buffer = ({action: Action(cost, 1e9) for action in (READ, WRITE)} for cost in (40.0, 1.0))
    parts = (Memory("Main", None, ALL, frozenset(), main), Memory("Buffer", bits, frozenset(), ALL, buffer))
    return Hierarchy("two", parts, Compute("MAC", Action(1.0, 1e9, 0)))


@pytest.mark.parametrize("case", CASES[:3], ids=lambda case: f"{case['M']}x{case['K']}x{case['N']}")
def test_recorded_optima(case: dict[str, int]) -> None:
    space = Space(gemm(case["M"], case["K"], case["N"]), two_levels(case["glb_bits"]), ACCELFORGE)
    found = exhaustive.search(space, ENERGY)
    assert found.cost.energy_j == case["brute_energy"]
    assert found.proven
    assert 0 < found.evaluated <= found.size


def test_more_room_is_never_worse() -> None:
    """Law 47: more capacity is never worse, over every LoopTree of the space."""
    sizes = (24, 48, 64, 96, 200)
    best = [exhaustive.search(Space(gemm(4, 3, 4), two_levels(bits), ACCELFORGE), ENERGY).value for bits in sizes]
    assert best == sorted(best, reverse=True)
    assert best[0] > best[-1]


def test_a_budget_ends_it_without_a_proof() -> None:
    found = exhaustive.search(Space(gemm(8, 8, 8), two_levels(384), ACCELFORGE), ENERGY, Budget(evaluations=100))
    assert found.evaluated == 100
    assert not found.proven


def test_nothing_fits() -> None:
    parts = two_levels(4).parts
    must = Hierarchy("must", (parts[0], Memory("Buffer", 4, ALL, frozenset(), parts[1].actions)), two_levels(4).compute)
    with pytest.raises(MappingError, match="fits: 'Buffer' has 4 bits, a value of each operand .* takes 24"):
        exhaustive.search(Space(gemm(2, 2, 2), must, ACCELFORGE), ENERGY)


@pytest.mark.parametrize("convention", CONVENTIONS.values(), ids=list(CONVENTIONS))
@pytest.mark.parametrize("seed", range(4))
def test_two_counts_of_random_trees(convention, seed) -> None:  # type: ignore[no-untyped-def]
    """Inexact tiles, windows, several fan-outs, loops of one dim twice in a row: every count is the same integer."""
    generator = random.Random(seed)
    for _ in range(40):
        nest, hierarchy, slotted = tree(generator, convention)
        mine, theirs = recount(nest, Space(nest.einsum, hierarchy, slotted, "any")), evaluate(nest, hierarchy, slotted)
        assert mine.counts == mine.counts | counts(nest, hierarchy, slotted)
        if not slotted.fractional:
            assert mine.busiest == mine.busiest | counts(nest, hierarchy, slotted, busiest=True)
        assert mine.held_bits == held_bits(nest, hierarchy, slotted)
        assert mine.energy_j == pytest.approx(theirs.energy_j, rel=1e-12)
        assert mine.latency_s == pytest.approx(theirs.latency_s, rel=1e-12)


def test_what_is_found_costs_what_the_walk_said() -> None:
    """Random problems: the LoopTree returned is legal and both evaluations give it the same cost."""
    found = 0
    for space, objective in cases(3, 12):
        try:
            best = exhaustive.search(space, objective, Budget(evaluations=20_000))
        except MappingError:
            continue
        check(best.nest, space)
        again = recount(best.nest, space)
        assert again.energy_j == pytest.approx(best.cost.energy_j, rel=1e-12)
        assert again.latency_s == pytest.approx(best.cost.latency_s, rel=1e-12)
        found += 1
    assert found >= 8
