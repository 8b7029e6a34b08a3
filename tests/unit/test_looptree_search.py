"""Searches of LoopTrees: sampled points are legal, budgets, sizes, reasons, odd extents; the text of LoopTrees."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from archsim.base.errors import ConfigError, MappingError
from archsim.ir.mapping import Keep, MapNode
from mapper.looptree.conventions import ACCELFORGE, ARCHSIM
from mapper.looptree.cost import evaluate
from mapper.looptree.einsum import Einsum, convolution, gemm
from mapper.looptree.hierarchy import READ, WRITE, Action, Axis, Compute, Hierarchy, Memory
from mapper.looptree.search import optimal
from mapper.looptree.search.found import Budget, Found
from mapper.looptree.search.objective import EDP, ENERGY, LATENCY, SAME
from mapper.looptree.search.space import Space, check
from mapper.looptree.text import parse, write
from tests.oracles.brute_force import exhaustive
from tests.oracles.sampling import annealing, genetic
from tests.oracles.sampling import random as drawing
from tests.oracles.sampling.grown import fitting
from tests.oracles.sampling.point import Points
from tests.tools.looptree_cases import FACTORS, cases
from tests.tools.looptree_trees import tree

ALL = frozenset("IWO")
SEARCHES: list[Callable[..., Found]] = [drawing.search, annealing.search, genetic.search]
NAMES = ["random", "annealing", "genetic"]
sampled = pytest.mark.parametrize("search", SEARCHES, ids=NAMES)


def two_levels(bits: float | None, keep: str = "", may_keep: str = "", axes: tuple[Axis, ...] = ()) -> Hierarchy:
    main, buffer = ({action: Action(cost, 1e9) for action in (READ, WRITE)} for cost in (40.0, 1.0))
    inner = Memory("Buffer", bits, frozenset(keep), frozenset(may_keep), buffer)
    parts = (Memory("Main", None, ALL, frozenset(), main), *axes, inner)
    return Hierarchy("two", parts, Compute("MAC", Action(1.0, 1e9, 0)))


SPACE = Space(gemm(8, 12, 6), two_levels(256, may_keep="IWO", axes=(Axis("lanes", 4, ALL),)))


@sampled
@pytest.mark.parametrize("seed", range(2))
def test_a_sampled_search_finds_the_optimum_of_a_small_space(search: Callable[..., Found], seed: int) -> None:
    space = Space(gemm(2, 3, 2), two_levels(96, may_keep="IWO"))
    found = search(space, EDP, Budget(evaluations=1500), seed)
    assert found.value == pytest.approx(optimal.search(space, EDP).value, rel=SAME)
    assert not found.proven
    assert found.bound == 0
    assert found.size == optimal.search(space, EDP).size


@sampled
def test_seeds_and_budgets(search: Callable[..., Found]) -> None:
    """The same seed finds the same, any other seed something as legal; no more is evaluated than may be."""
    first, again, other = (search(SPACE, EDP, Budget(evaluations=150), seed) for seed in (3, 3, 4))
    assert (first.nest, first.value, first.evaluated) == (again.nest, again.value, again.evaluated)
    assert first.evaluated == 150
    check(other.nest, SPACE)
    assert optimal.search(SPACE, EDP).value * (1 - SAME) <= min(first.value, other.value)
    assert evaluate(first.nest, SPACE.hierarchy, SPACE.convention) == first.cost


def test_more_draws_are_never_worse() -> None:
    values = [drawing.search(SPACE, EDP, Budget(evaluations=count)).value for count in (1, 10, 100, 400)]
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]


@sampled
def test_no_budget_at_all(search: Callable[..., Found]) -> None:
    """With nothing to spend there is a legal LoopTree still; without a limit there would be no end."""
    check(search(SPACE, EDP, Budget(evaluations=0)).nest, SPACE)
    check(search(SPACE, EDP, Budget(seconds=0.0)).nest, SPACE)
    with pytest.raises(ConfigError, match="needs a budget of evaluations or seconds"):
        search(SPACE, EDP, Budget())


@sampled
def test_the_reason_when_nothing_fits(search: Callable[..., Found]) -> None:
    with pytest.raises(MappingError, match="memory 'Buffer' has 4 bits and needs 48"):
        search(Space(gemm(2, 2, 2), two_levels(4, keep="IWO")), ENERGY, Budget(evaluations=120))


@pytest.mark.slow
@sampled
def test_sampled_searches_on_random_problems(search: Callable[..., Found]) -> None:
    """They find something where something is; it is legal and not better than the optimum."""
    fits = 0
    for space, objective in cases(11, 30):
        try:
            best = optimal.search(space, objective)
        except MappingError:
            with pytest.raises(MappingError):
                search(space, objective, Budget(evaluations=20))
            continue
        found = search(space, objective, Budget(evaluations=60))
        check(found.nest, space)
        assert found.value >= best.value * (1 - SAME)
        fits += 1
    assert fits >= 20


@pytest.mark.parametrize("factors", FACTORS)
def test_points_are_made_to_fit(factors: str) -> None:
    """Drawn, stepped and crossed points are legal once fitted: where tiles are too large they shrink."""
    points = 0
    for number, (case, _) in enumerate(cases(5, 40)):
        parts = tuple(replace(p, most_used=False) if isinstance(p, Axis) else p for p in case.hierarchy.parts)
        space = replace(case, factors=factors, hierarchy=Hierarchy("eased", parts, case.hierarchy.compute))
        made = Points(space, number)
        if made.fit(made.least()) is None:
            with pytest.raises(MappingError):
                optimal.search(space, ENERGY)
            continue
        one, other = made.draw(), made.draw()
        for point in (one, made.neighbour(one), made.cross(one, other), *(made.neighbour(other) for _ in range(8))):
            fitted = made.fit(point)
            assert fitted is not None
            check(fitted[1], space)
            evaluate(fitted[1], space.hierarchy, space.convention)
            assert made.fit(fitted[0]) == fitted
            points += 1
    assert points > 200


@pytest.mark.parametrize(
    ("factors", "above", "wish", "left", "tile"),
    [
        ("divisors", 12, 7, 1, 6),
        ("divisors", 12, 5, 2, 4),
        ("divisors", 12, 1, 4, 4),
        ("spatial", 12, 7, 1, 6),
        ("spatial", 12, 11, 4, 4),
        ("spatial", 15, 11, 4, 8),
        ("any", 12, 7, 1, 7),
        ("any", 12, 7, 3, 6),
        ("any", 12, 99, 5, 12),
    ],
)
def test_a_wish_becomes_a_tile(factors: str, above: int, wish: int, left: int, tile: int) -> None:
    assert fitting(factors, above, wish, left) == tile  # type: ignore[arg-type]


@pytest.mark.parametrize("evaluations", [0, 1, 30])
def test_a_budget_of_the_branch_and_bound(evaluations: int) -> None:
    """What it returns is legal; its bound is below it and below the optimum."""
    gaps = 0
    for space, objective in cases(8, 25):
        try:
            best = optimal.search(space, objective)
        except MappingError:
            continue
        found = optimal.search(space, objective, Budget(evaluations=evaluations))
        check(found.nest, space)
        assert found.bound <= found.value
        assert found.bound <= best.value * (1 + SAME) <= found.value * (1 + 2 * SAME)
        gaps += not found.proven
    assert gaps or evaluations


@pytest.mark.parametrize("extents", [(4, 2, 2), (8, 4, 2), (6, 5, 3), (16, 1, 9), (36, 7, 24)])
@pytest.mark.parametrize("convention", [ARCHSIM, ACCELFORGE], ids=lambda convention: convention.name)
def test_size(extents: tuple[int, int, int], convention: object) -> None:
    """Inputs and weights in a buffer, outputs not: K above both costs nothing, and the inner tile needs no more than
    one value. With I outside what counts is the tile of M, with W outside that of N: as many as they have divisors."""
    m, k, n = extents
    space = Space(gemm(m, k, n), two_levels(None, keep="IW"), convention)  # type: ignore[arg-type]
    divisors = [sum(extent % tile == 0 for tile in range(1, extent + 1)) for extent in (m, n)]
    assert optimal.search(space, EDP).size == sum(divisors)


@pytest.mark.parametrize(("convention", "bits"), [(ARCHSIM, 48), (ACCELFORGE, 24)], ids=["archsim", "accelforge"])
@pytest.mark.parametrize("short", [1, 20])
def test_a_memory_that_is_too_small(convention: object, bits: int, short: int) -> None:
    """The size that the message names fits; a bit less does not, and names the same size."""
    space = Space(gemm(2, 2, 2), two_levels(bits - short, keep="IWO"), convention)  # type: ignore[arg-type]
    with pytest.raises(MappingError) as raised:
        optimal.search(space, ENERGY)
    assert str(raised.value) == (
        f"no LoopTree of 'gemm' fits 'two': memory 'Buffer' has {bits - short} bits and needs {bits}, "
        f"of which operand 'W' takes {bits // 3}"
    )
    optimal.search(replace(space, hierarchy=two_levels(bits, keep="IWO")), ENERGY)


def test_fan_outs_that_cannot_both_be_used() -> None:
    """Four values of M for two fan-outs of four, each to be used as far as it can be."""

    def space(*must: bool) -> Space:
        axes = tuple(
            Axis(name, 4, ALL, frozenset(), most) for name, most in zip(("rows", "columns"), must, strict=True)
        )
        return Space(gemm(4, 1, 1), two_levels(None, axes=axes))

    with pytest.raises(MappingError) as raised:
        optimal.search(space(True, True), ENERGY)
    assert str(raised.value) == (
        "no LoopTree of 'gemm' fits 'two': fan-out 'rows' cannot be used as far as it must beside the others; "
        "ease its least use"
    )
    for must in ((False, True), (True, False)):
        assert optimal.search(space(*must), ENERGY).cost.instances["MAC"] == 4


def test_two_limits_at_once() -> None:
    first = two_levels(8, keep="IWO")
    second = replace(first.memories[1], name="Registers", size_bits=4)
    hierarchy = Hierarchy("three", (*first.parts, second), first.compute)
    with pytest.raises(MappingError) as raised:
        optimal.search(Space(gemm(2, 2, 2), hierarchy), ENERGY)
    assert str(raised.value) == (
        "no LoopTree of 'gemm' fits 'three': more than one of its limits stands against it (memories Buffer, Registers)"
    )


def shape(**extents: int) -> dict[str, int]:
    return dict.fromkeys("nmcpqrs", 1) | extents


ODD = {
    "one point": gemm(1, 1, 1),
    "a convolution of one point": convolution(shape()),
    "extents of 1": gemm(1, 6, 1),
    "stride beyond the kernel": convolution(shape(p=4, r=2, c=2), 3),
    "dilation": convolution(shape(p=4, r=3, m=2), 1, 2),
    "dilation and stride": convolution(shape(p=3, r=2, m=2), 2, 3),
    "a batch": convolution(shape(n=3, m=2, p=2, r=2)),
}


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("einsum", ODD.values(), ids=list(ODD))
def test_odd_extents(einsum: Einsum, factors: str) -> None:
    """Searches agree on the optimum and find a legal LoopTree of every odd einsum."""
    axes = (Axis("lanes", 2, ALL),)
    space = Space(einsum, two_levels(192, keep="O", may_keep="I", axes=axes), factors=factors)  # type: ignore[arg-type]
    for objective in (LATENCY, EDP):
        best = optimal.search(space, objective)
        check(best.nest, space)
        assert best.value == pytest.approx(exhaustive.search(space, objective).value, rel=SAME)
        for search in SEARCHES:
            found = search(space, objective, Budget(evaluations=40))
            check(found.nest, space)
            assert found.value >= best.value * (1 - SAME)


def test_text_of_random_trees() -> None:
    """What is written reads as the same nodes; slots are not in the text."""
    slides = 0
    generator = random.Random(7)
    for _ in range(200):
        nest, _, _ = tree(generator, ARCHSIM)
        assert parse(write(nest)) == tuple(_one_slot(node) for node in nest.nodes)
        slides += any(isinstance(node, Keep) and node.reserve_at > at for at, node in enumerate(nest.nodes))
    assert slides > 20


def test_text_of_legal_trees() -> None:
    legal = 0
    for number, (space, _) in enumerate(cases(21, 40)):
        points = Points(space, number)
        for _ in range(5):
            fitted = points.fit(points.draw())
            if fitted is not None:
                assert parse(write(fitted[1]), space.slots) == fitted[1].nodes
                legal += 1
    assert legal > 100


def _one_slot(node: MapNode) -> MapNode:
    return replace(node, slots=1) if isinstance(node, Keep) else node


@pytest.mark.parametrize("m", [5, 7])
def test_a_dim_on_two_fan_outs_with_instances_to_spare(m: int) -> None:
    """Five values are two threes on two fan-outs, though these have six instances."""
    one = {name: Action(1.0, 8.0, 0) for name in (READ, WRITE)}
    main, buffer = (Memory(name, None, ALL, frozenset(), one) for name in ("Main", "Buffer"))
    parts = (main, Axis("rows", 2, ALL), buffer, Axis("lanes", 4, ALL))
    hierarchy = Hierarchy("spare", parts, Compute("MAC", Action(1.0, 4.0, 0)))
    space = Space(gemm(m, 2, 1), hierarchy, factors="spatial", in_order=True)
    found = optimal.search(space, LATENCY)
    assert found.value == pytest.approx(exhaustive.search(space, LATENCY).value, rel=SAME)
    assert found.proven
