"""What DRAM makes of tiles, told of some mappings and believed of all that have the same tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from archsim.lab.run.job import Job, load_chip, prepare
from mapper.layers import Layers
from mapper.lower.collisions import Collisions
from mapper.options import resolve_dtypes
from mapper.problem.problem import Problem
from mapper.search import exhaustive
from mapper.search.patterns import TilePatterns
from mapper.search.ranking import ranked
from mapper.search.space import Settled, settled
from mapper.search.templates import Space, open_space
from mapper.search.ties import BAND

BAD_MAP = "column bank bankgroup row channel"  # every burst is in another row of one bank
TOLD = 40  # mappings that are worked out of each layer


@pytest.fixture(scope="module")
def layers() -> Layers:
    job = Job("eye_tracking", "edge_npu", values={"dram.address_map": BAD_MAP})
    architecture = load_chip(job)
    asked = prepare(job, architecture)
    return Layers(asked.workload, architecture, resolve_dtypes(architecture, {}), asked.options)


def _spaces(layers: Layers) -> list[tuple[Problem, Space]]:
    problems = [problem for problem in layers.map().problems if problem is not None and problem.engine == "array"]
    return [(problem, open_space(problem, layers.chip, layers.dtypes)) for problem in problems[:3]]


def test_what_is_known_of_tiles_is_never_more_than_what_a_mapping_takes(layers: Layers) -> None:
    for problem, space in _spaces(layers):
        found = [(template, cells) for template in space.templates() if (cells := space.legal(template)).size]
        costs = exhaustive._whole(space, found).costs(found)
        ranking = ranked(costs, "latency", found)
        patterns, collisions = TilePatterns(found, problem, layers.chip), Collisions(problem, layers.chip)
        before = patterns.cycles(costs)
        places = np.linspace(0, costs.cells.size - 1, TOLD).astype(int).tolist()
        made: dict[int, Settled] = {}
        for number, place in enumerate(places):
            template, cell_number = ranking.at(place)
            cell = template.cell(cell_number)
            made[place] = settled(cell, costs, place, collisions, 1, 1, "")
            if number % 2:  # the others have to hold as well
                patterns.learn(place, made[place].costs.slowdown)
        after = patterns.cycles(costs)
        assert np.all(after >= before) and np.count_nonzero(after > 2 * before) > TOLD / 2
        for place, each in made.items():
            assert after[place] <= each.mapping.expected_cycles


def test_tiles_of_one_number_are_slowed_alike(layers: Layers) -> None:
    for problem, space in _spaces(layers):
        found = [(template, cells) for template in space.templates() if (cells := space.legal(template)).size]
        whole = exhaustive._whole(space, found)
        ranking = whole.ranking(found, "latency")
        patterns = TilePatterns(found, problem, layers.chip)
        for name, tiles in patterns._tiles.items():
            number = int(np.bincount(tiles).argmax())
            places = np.flatnonzero(tiles == number)
            some = places[np.linspace(0, places.size - 1, TOLD).astype(int)].tolist()
            slower = [whole.settled(*ranking.at(place)).costs.slowdown.pins[name] for place in some]
            assert slower == pytest.approx([slower[0]] * len(slower), rel=1e-12)


def test_what_is_learned_does_not_depend_on_how_many_cells_are_held(
    layers: Layers, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, space = _spaces(layers)[0]
    at_once = exhaustive.best(space, "latency")
    learned, real = list[int](), exhaustive._learn

    def learn(cells: Any, ranking: Any, *rest: Any) -> None:
        learned.append(ranking.promised.cycles.size)
        real(cells, ranking, *rest)

    monkeypatch.setattr(exhaustive, "_learn", learn)
    monkeypatch.setattr(exhaustive, "AT_ONCE", 97)
    assert exhaustive.best(space, "latency") == at_once
    assert max(learned) > 2 * exhaustive.AT_ONCE


def test_a_search_that_learns_finds_what_one_finds_that_does_not(
    layers: Layers, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []

    def learn(*given: Any) -> None:
        counts[-1] = len(given[-1])
        real(*given)

    def unlearned(*given: Any) -> None:
        counts[-1] = len(given[-1])

    real = exhaustive._learn
    for _, space in _spaces(layers):
        chosen = []
        for each in (learn, unlearned):
            monkeypatch.setattr(exhaustive, "_learn", each)
            counts.append(0)
            chosen.append(exhaustive.best(space, "latency"))
        one, other = (choice.mapping.expected_cycles for choice in chosen)
        assert one == pytest.approx(other, rel=BAND)
    assert sum(counts[::2]) < sum(counts[1::2]) / 2
