"""Which points of the grid a sweep runs: all of them, or so many drawn at random or spread evenly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from archsim.errors import NotBuiltError
from archsim.lab.sweep.form import Search, Sweep
from archsim.lab.sweep.points import Grid, Point

LATER = ("nsga2", "tpe")


def check_method(search: Search) -> None:
    """Raises NotBuiltError for methods of later versions."""
    if search.method in LATER:
        allowed = ", ".join(_METHODS)
        raise NotBuiltError(f"search.method: {search.method} is not built yet in this version; allowed {allowed}")


def chosen(sweep: Sweep) -> list[Point]:
    """The points, in the order of the grid; no more than it has, each once; the same for the same seed."""
    grid = Grid(sweep)
    return [grid.point(number) for number in sorted(_METHODS[sweep.search.method](grid, sweep.search))]


def _all(grid: Grid, _: Search) -> list[int]:
    return list(range(len(grid)))


def _random(grid: Grid, search: Search) -> list[int]:
    """Without repetition."""
    drawn = np.random.default_rng(search.seed).choice(len(grid), min(search.trials, len(grid)), replace=False)
    return [int(number) for number in drawn]


def _qmc(grid: Grid, search: Search) -> list[int]:
    """The first points of a scrambled Sobol sequence over the axes that are not the same point again."""
    wanted = min(search.trials, len(grid))
    found: dict[int, None] = {}
    for choices in _sobol(grid.shape, search.seed):
        found[grid.at(choices).number] = None
        if len(found) == wanted:
            break
    return list(found)


def _sobol(shape: tuple[int, ...], seed: int) -> Iterator[list[int]]:
    """Choices without end, 64 at a time."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(len(shape), scramble=True, rng=seed)
    while True:
        for place in sequence.random(64):
            yield [int(part * size) for part, size in zip(place.tolist(), shape, strict=True)]


_METHODS: Mapping[str, Callable[[Grid, Search], list[int]]] = {"grid": _all, "random": _random, "qmc": _qmc}
