"""Outlines bound the templates that differ in windows; the rows of a table and the order in which they are halved."""

from __future__ import annotations

import numpy as np
import pytest

from archsim.base.jit import entry
from mapper.looptree.conventions import ACCELFORGE, ARCHSIM, Convention
from mapper.looptree.einsum import Einsum, convolution
from mapper.looptree.hierarchy import READ, WRITE, Action, Axis, Compute, Hierarchy, Memory
from mapper.looptree.search import optimal
from mapper.looptree.search.branch import front
from mapper.looptree.search.branch.axes import joined
from mapper.looptree.search.branch.bounds import LowerBounds
from mapper.looptree.search.branch.join import Results
from mapper.looptree.search.branch.part import Part
from mapper.looptree.search.branch.problem import problem_of
from mapper.looptree.search.branch.templates import outlines, templates
from mapper.looptree.search.objective import EDP, ENERGY, LATENCY, SAME, Objective
from mapper.looptree.search.space import Space, check
from tests.oracles.brute_force import exhaustive

ALL = frozenset("IWO")
SHAPES = {
    "square": {"p": 3, "q": 3, "r": 2, "s": 2},
    "oblong": {"p": 4, "q": 2, "r": 2, "s": 3},
    "a row": {"c": 2, "p": 4, "r": 3},
}


def image(stride: int = 1, **extents: int) -> Einsum:
    return convolution(dict.fromkeys("nmcpqrs", 1) | extents, stride)


def hierarchy(bits: float, *axes: Axis) -> Hierarchy:
    """A window of inputs and one value of the others fit into the buffer, whole rows of windows hardly."""
    main, inner = ({action: Action(cost, 1e9) for action in (READ, WRITE)} for cost in (40.0, 1.0))
    parts = (
        Memory("Main", None, ALL, frozenset(), main),
        *axes,
        Memory("Buffer", bits, frozenset("I"), frozenset("O"), inner),
    )
    return Hierarchy("windows", parts, Compute("MAC", Action(1.0, 1e9, 0)))


@pytest.mark.parametrize("objective", [LATENCY, ENERGY, EDP], ids=lambda objective: objective.name)
@pytest.mark.parametrize("convention", [ARCHSIM, ACCELFORGE], ids=lambda convention: convention.name)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_an_outline_bounds_its_templates(shape: dict[str, int], convention: Convention, objective: Objective) -> None:
    """No template is better than its outline under any spread."""
    axes = (Axis("lanes", 2, ALL),)
    space, pairs = joined(Space(image(**shape), hierarchy(100, *axes), convention))
    compiled = optimal.plan_of(space)
    problem = problem_of(space, compiled, pairs, objective)
    whole = Part(space, compiled, problem, {})
    below = LowerBounds(*whole.in_words)
    compared = 0
    for t in range(len(compiled.templates)):
        assert compiled.templates[t].is_outline
        choices = below.of_choices(t, np.full(3, np.inf))
        bounds = choices.copy()
        whole.solve(t, bounds, results(len(compiled.groups)), lambda: False, refined=True)
        part = Part(space, optimal.plan_of(space, (t,)), problem, {})
        for number in range(len(part.plan.templates)):
            for i in range(len(choices)):
                one = results(len(compiled.groups))
                part.solve(number, choices[i : i + 1], one, lambda: False, refined=False)
                assert bounds[i, 0] <= one.best[0] * (1 + SAME)
                compared += bool(one.best[0] < np.inf)
    assert compared > 10


def results(groups: int) -> Results:
    """Nothing found yet, and no limit."""
    return Results(np.full(3, np.inf), np.full(1 + 2 * groups, -1, np.int64), np.zeros(2, np.int64), 1 << 62)


@pytest.mark.parametrize("bits", [64, 90, 150])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_windows_of_two_dims(shape: dict[str, int], bits: int) -> None:
    """The optimum of images whose windows slide either way is that of the enumeration."""
    space = Space(image(**shape), hierarchy(bits), ACCELFORGE)
    found, truth = optimal.search(space, EDP), exhaustive.search(space, EDP)
    check(found.nest, space)
    assert found.value == pytest.approx(truth.value, rel=SAME)
    assert found.proven


def test_templates_of_an_outline() -> None:
    """A window of n dims slides over one of them, over more than one place but for the first: n templates."""
    space = Space(image(**SHAPES["square"]), hierarchy(100))
    for outline in outlines(space):
        dims = [tile.slides for tile in outline.tiles if tile.slides]
        assert dims == [("p", "q", "r", "s")]
        slides = [next(tile for tile in one.tiles if tile.slides) for one in templates(space, outline)]
        assert [(tile.slides, tile.must_slide) for tile in slides] == [
            (("p",), False),
            (("q",), True),
            (("r",), True),
            (("s",), True),
        ]


@pytest.mark.parametrize("seed", range(8))
def test_the_rows_that_are_kept(seed: int) -> None:
    """Each row is one of those given, none is beaten, and each that is left out is."""
    generator = np.random.default_rng(seed)
    rows = generator.integers(1, 6, (4 + 8 * seed, 3 + seed % 2)).astype(float)
    numbered = np.hstack((rows, np.arange(len(rows), dtype=float)[:, None]))
    count, columns = rows.shape
    found, best = np.ascontiguousarray(numbered.T), np.empty((columns + 1, count))
    many = entry(front.best_rows)(found, columns, columns + 1, count, front.front_of(count, columns), best)
    kept = best[:, :many].T
    assert (rows[kept[:, -1].astype(int)] == kept[:, :-1]).all()
    beaten = [(kept[:, :-1] <= row).all(axis=1) for row in kept[:, :-1]]
    assert np.array(beaten).sum() == len(kept)
    assert all((kept[:, :-1] <= row).all(axis=1).any() for row in rows)
