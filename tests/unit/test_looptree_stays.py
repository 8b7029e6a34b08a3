"""Orders of loops above tiles that stay: what is tried, what bounds it, what it costs."""

from __future__ import annotations

import numpy as np
import pytest

from mapper.looptree.conventions import ARCHSIM
from mapper.looptree.einsum import convolution, gemm
from mapper.looptree.hierarchy import READ, WRITE, Action, Axis, Compute, Hierarchy, Memory
from mapper.looptree.search import optimal
from mapper.looptree.search.branch.axes import joined
from mapper.looptree.search.branch.bounds import LowerBounds
from mapper.looptree.search.branch.join import Results
from mapper.looptree.search.branch.part import Part
from mapper.looptree.search.branch.problem import problem_of
from mapper.looptree.search.branch.stays import border, hopeful, staying
from mapper.looptree.search.branch.templates import Template, outlines
from mapper.looptree.search.branch.windows import reach, reaching, with_windows
from mapper.looptree.search.objective import EDP, ENERGY, LATENCY, SAME, Objective
from mapper.looptree.search.space import Space
from mapper.looptree.text import write

ALL = frozenset("IWO")


def hierarchy(*inner: Memory | Axis) -> Hierarchy:
    main = Memory("Main", None, ALL, frozenset(), costs(40.0))
    return Hierarchy("stays", (main, *inner), Compute("MAC", Action(1.0, 1e9, 0)))


def costs(energy: float) -> dict[str, Action]:
    return {name: Action(energy, 1e9) for name in (READ, WRITE)}


def lanes(reuse: str = "IWO") -> Axis:
    return Axis("lanes", 2, frozenset(reuse))


def buffer(name: str, bits: float | None, keep: str) -> Memory:
    return Memory(name, bits, frozenset(keep), frozenset(), costs(1.0))


def leaves(space: Space) -> list[Template]:
    chosen = [one for outline in outlines(space) for one in with_windows(space, reaching(space, outline))]
    return [one for each in chosen for one in staying(space, each)]


def test_a_weight_that_stays_over_the_only_loop() -> None:
    """Weights lie below the fan-out over k: each lane reads its 4 values once for all 8 rows, not once a row."""
    space = Space(gemm(8, 2, 4), hierarchy(lanes(), buffer("Registers", 64, "W")), tile_slots=1)
    found = optimal.search(space, ENERGY)
    assert found.proven
    assert found.cost.actions["Main", "W", READ] == 8 * 8, write(found.nest)


def test_the_border_of_a_tile() -> None:
    """The fan-out below which it lies; in order also another memory's tiles above it; none where it can move up."""
    inner = (buffer("Buffer", 64, "I"), buffer("Near", 64, "W"), lanes(), buffer("Far", 64, "O"))
    for in_order, borders in ((False, [-1, -1, 2]), (True, [-1, 1, 2])):
        space = Space(gemm(2, 2, 2), hierarchy(*inner), in_order=in_order)
        (outline,) = (o for o in outlines(space) if [tile.operand for tile in o.tiles] == ["I", "W", "O"])
        assert [border(space, outline, i) for i in range(3)] == borders


@pytest.mark.parametrize(("in_order", "tiles"), [(False, 0), (True, 1)])
def test_how_far_a_window_reaches(in_order: bool, tiles: int) -> None:
    """Over tiles of other memories in order, to the next fan-out; over none that could as well lie above it."""
    inner = (buffer("Buffer", 64, "I"), buffer("Near", 64, "W"), lanes(), buffer("Far", 64, "O"))
    einsum = convolution(dict.fromkeys("nmcqs", 1) | {"p": 3, "r": 2})
    space = Space(einsum, hierarchy(*inner), in_order=in_order)
    (outline,) = (o for o in outlines(space) if [tile.operand for tile in o.tiles] == ["I", "W", "O"])
    assert [reach(space, outline, i) for i in range(3)] == [tiles, 0, 0]


def test_loops_that_are_tried() -> None:
    """Above weights alone below a fan-out: k and n, which change them; all other loops are as good below."""
    space = Space(gemm(2, 2, 2), hierarchy(lanes(), buffer("Registers", 64, "W")))
    assert [[slot.temporal for slot in one.slots] for one in leaves(space)] == [[("k", "n"), ("m",)]]


def test_no_template_costs_less_than_all_its_tiles_stay() -> None:
    """A tile stays over no more loops in any template than in its outline, and over none that indexes it."""
    space = Space(gemm(4, 4, 4), hierarchy(buffer("Buffer", 512, "IO"), lanes(), buffer("Registers", 64, "IW")))
    relevant = {operand.name: operand.dims for operand in space.einsum.operands}
    stayed = 0
    for outline in outlines(space):
        (chosen,) = with_windows(space, reaching(space, outline))
        for one in staying(space, chosen):
            for i, tile in enumerate(one.tiles):
                assert all(slot <= border(space, outline, i) for slot, _ in tile.still)
                assert not relevant[tile.operand] & {dim for _, dim in tile.still}
                stayed += bool(tile.still)
        assert all(
            tile.still for tile in hopeful(space, chosen).tiles if tile.memory == "Registers" and tile.operand == "W"
        )
    assert stayed > 10


@pytest.mark.parametrize("objective", [LATENCY, ENERGY, EDP], ids=lambda objective: objective.name)
@pytest.mark.parametrize("in_order", [False, True])
def test_an_outline_bounds_what_may_stay(objective: Objective, in_order: bool) -> None:
    """The best of all orders of loops is that of no outline beaten: none of their bounds lies above it."""
    inner = (buffer("Buffer", 400, "IO"), lanes("IW"), buffer("Registers", 64, "W"), buffer("Near", 48, "I"))
    space, pairs = joined(Space(gemm(4, 3, 4), hierarchy(*inner), in_order=in_order))
    compiled = optimal.plan_of(space, stays=True)
    problem = problem_of(space, compiled, pairs, objective)
    whole = Part(space, compiled, problem, {})
    bounds = LowerBounds(*whole.in_words)
    best, bound = np.inf, np.inf
    for t in range(len(compiled.templates)):
        choices = bounds.of_choices(t, np.full(3, np.inf))
        refined = choices.copy()
        whole.solve(t, refined, results(len(compiled.groups)), lambda: False, refined=True)
        bound = min(bound, float(refined[:, 0].min()))
        part = Part(space, optimal.plan_of(space, (t, 0), stays=True), problem, {})
        one = results(len(compiled.groups))
        for number in range(len(part.plan.templates)):
            part.solve(number, choices, one, lambda: False, refined=False)
        best = min(best, float(one.best[0]))
    assert bound <= best * (1 + SAME)
    assert best == pytest.approx(
        optimal.search(Space(gemm(4, 3, 4), hierarchy(*inner), ARCHSIM, in_order=in_order), objective).value
    )


def results(groups: int) -> Results:
    """Nothing found yet, and no limit."""
    return Results(np.full(3, np.inf), np.full(1 + 2 * groups, -1, np.int64), np.zeros(2, np.int64), 1 << 62)
