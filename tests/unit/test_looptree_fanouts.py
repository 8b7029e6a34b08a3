"""Fan-outs in the searches of LoopTrees: uneven parts, orders, idle instances, rounds; what is proven and what not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from archsim.base.errors import MappingError
from mapper.looptree.conventions import ACCELFORGE, ARCHSIM
from mapper.looptree.einsum import gemm
from mapper.looptree.hierarchy import READ, WRITE, Action, Axis, Compute, Hierarchy, Memory
from mapper.looptree.nest import Nest
from mapper.looptree.search import optimal
from mapper.looptree.search.found import Budget, Found
from mapper.looptree.search.objective import ENERGY, Objective, better
from mapper.looptree.search.space import Factors, Space, check
from mapper.looptree.text import parse
from tests.oracles.brute_force import exhaustive
from tests.tools.looptree_cases import cases

ALL = frozenset("IWO")
MUST = {"most_used": True}
BOTH = pytest.mark.parametrize("search", [optimal.search, exhaustive.search], ids=["optimal", "exhaustive"])


def problem(seed: int, number: int, **axes: Any) -> tuple[Space, Objective]:
    """A random problem with its fan-outs changed."""
    space, objective = next(islice(cases(seed, number + 1), number, None))
    parts = tuple(replace(part, **axes) if isinstance(part, Axis) else part for part in space.hierarchy.parts)
    return replace(space, hierarchy=Hierarchy("random", parts, space.hierarchy.compute)), objective


def chain(*axes: Axis, bits: float | None = None, keep: str = "") -> Hierarchy:
    """A main memory, fan-outs, a buffer."""
    main, buffer = ({action: Action(cost, 1e9) for action in (READ, WRITE)} for cost in (40.0, 1.0))
    parts = (
        Memory("Main", None, ALL, frozenset(), main),
        *axes,
        Memory("Buffer", bits, frozenset(keep), ALL, buffer),
    )
    return Hierarchy("chain", parts, Compute("MAC", Action(1.0, 1e9, 0)))


def must_use(*names: str, fanout: int = 4) -> tuple[Axis, ...]:
    """Fan-outs that must be used as far as can be."""
    return tuple(Axis(name, fanout, ALL, most_used=True) for name in names)


def three_and_one(factors: Factors) -> tuple[Space, Objective]:
    """Sums of four products, best spread to three in two rounds: below a loop that leaves their tile as it is."""
    space, objective = problem(9101, 126)
    return replace(space, einsum=gemm(2, 4, 3), factors=factors), objective


def figures(found: Found) -> tuple[float, float]:
    """Energy and latency."""
    return found.cost.energy_j, found.cost.latency_s


ALIKE = {"may_reuse": ALL, "must_reuse": frozenset[str](), "most_used": False}
CASES = {
    "any, both used: six as 5 + 1, the five in three": problem(8, 30),
    "any, both used: the same of three dims": problem(101, 304),
    "spatial, both used: whole rounds": problem(31, 331, **MUST),
    "spatial: three as two twos": problem(41, 427, **ALIKE),
    "equals but for rounding: less energy": problem(31, 272, **MUST),
    "any: four as 3 + 1 on three": three_and_one("any"),
    "spatial: four as 3 + 1 on three": three_and_one("spatial"),
}


# Energy and latency that the enumeration of every LoopTree found, where it takes longer than a minute.
ENUMERATED = {"any, both used: the same of three dims": (37919.10754284437, 396.0)}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_better_than_what_is_proven(name: str) -> None:
    space, objective = CASES[name]
    found = optimal.search(space, objective)
    truth = ENUMERATED.get(name) or figures(exhaustive.search(space, objective))
    mine, others = objective.key(*figures(found)), objective.key(*truth)
    assert not better(others, mine)
    assert not better(mine, others)
    assert found.proven
    assert found.doubt == ""
    check(found.nest, space)


@BOTH
@pytest.mark.parametrize("factors", ["divisors", "spatial", "any"])
def test_two_fan_outs_that_cannot_both_be_used(search: Callable[..., Found], factors: Factors) -> None:
    """Four values for two fan-outs of four: the least use of one has to go, however little room there is."""
    space = Space(gemm(4, 1, 1), chain(*must_use("rows", "columns"), bits=4, keep="I"), factors=factors)
    with pytest.raises(MappingError) as raised:
        search(space, ENERGY)
    assert str(raised.value) == (
        "no LoopTree of 'gemm' fits 'chain': fan-out 'rows' cannot be used as far as it must beside the others; "
        "ease its least use"
    )


@BOTH
def test_three_fan_outs_of_which_one_can_be_used(search: Callable[..., Found]) -> None:
    space = Space(gemm(4, 1, 1), chain(*must_use("a", "b", "c")))
    with pytest.raises(MappingError, match="fan-outs 'a', 'b', 'c' cannot all be used as far as each alone can be"):
        search(space, ENERGY)


def test_a_fan_out_beside_a_memory_that_is_too_small() -> None:
    """Both fan-outs can be used: it is the memory that is named."""
    axes = must_use("rows", "columns", fanout=2)
    with pytest.raises(MappingError, match="memory 'Buffer' has 4 bits and needs 16"):
        optimal.search(Space(gemm(4, 1, 1), chain(*axes, bits=4, keep="I")), ENERGY)


@pytest.mark.parametrize(("extent", "dims"), [(64, ""), (65, "m (65)")])
def test_any_tiles_are_proven_up_to_64(extent: int, dims: str) -> None:
    """Beyond, equal parts are tried alone: the bound is that of the templates, and the reason says so."""
    hierarchy = chain(Axis("lanes", 4, ALL), bits=256, keep="IWO")
    found = optimal.search(Space(gemm(extent, 3, 5), hierarchy, ARCHSIM, "any"), ENERGY)
    assert found.proven is not bool(dims)
    assert 0 < found.bound <= found.value
    reason = f"of dims larger than 64 equal parts and what fan-outs take were tried, not every tile: {dims}"
    assert found.doubt == (reason if dims else "")


def test_what_a_budget_ends_is_not_proven() -> None:
    """A tile stays over a loop far above it, which a search that ends at once has not tried."""
    space, objective = problem(31, 377, **MUST)
    found = optimal.search(space, objective)
    assert found.proven
    ended = optimal.search(space, objective, Budget(evaluations=0))
    assert not ended.proven
    assert ended.bound <= found.value < ended.value
    assert ended.doubt == ""


@pytest.mark.parametrize("convention", [ARCHSIM, ACCELFORGE], ids=lambda convention: convention.name)
def test_rounds_of_a_fan_out(convention: Any) -> None:
    """Ten values on four lanes are three rounds: tiles of four, of twelve clamped; not five lots of two."""
    space = Space(gemm(10, 1, 1), chain(Axis("lanes", 4, ALL)), convention, "spatial")
    top = "[I in Main] [W in Main] [O in Main]"
    whole = f"{top} T-m in [0..3) shape=4 S-lanes-m in [0..4) shape=1"
    check(Nest(space.einsum, parse(whole)), space)
    for tiles in ("T-m in [0..2) shape=5 S-lanes-m in [0..3) shape=2 T-m in [0..2) shape=1", "T-m in [0..2) shape=8"):
        rest = "" if tiles.endswith("=1") else " S-lanes-m in [0..4) shape=2 T-m in [0..2) shape=1"
        with pytest.raises(MappingError, match="rounds of . instances to divide"):
            check(Nest(space.einsum, parse(f"{top} {tiles}{rest}")), space)


@pytest.mark.parametrize("number", [51, 165])
def test_spreads_over_two_fan_outs_that_one_order_or_whole_rounds_decide(number: int) -> None:
    space, objective = next(islice(cases(3001, number + 1), number, None))
    mine, truth = optimal.search(space, objective), exhaustive.search(space, objective)
    check(mine.nest, space)
    assert mine.value <= truth.value * (1 + 1e-9)
    assert mine.proven
