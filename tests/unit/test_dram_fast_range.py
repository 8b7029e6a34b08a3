"""How far the fast DRAM model is off for a few moves that begin together: the ranges that docs/dram.md states."""

from __future__ import annotations

from random import Random

import pytest

from archsim.facts.dram import catalogue
from archsim.facts.dram.address import DEFAULT, by_name
from archsim.facts.dram.device import ControllerPolicy, DramMemory
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.fast_model import FastDram
from archsim.memory.dram.interface import DramModel, Transfer

MIB, SIZE = 1 << 20, 64 << 10
CHANNELS = 8


def part(name: str, speed: int) -> DramMemory:
    width, capacity = catalogue.usual(name)
    return catalogue.dram(name, speed, width, CHANNELS, CHANNELS * capacity)


def ended_ps(model: DramModel, moves: list[Transfer]) -> int:
    model.submit(0, moves)
    last = 0
    while model.next_event_ps() is not None:
        last = model.advance(10**15)[0].time_ps
    return last


def share(dram: DramMemory, moves: list[Transfer]) -> float:
    """The fast model's time of the exact one's."""
    fast = FastDram(dram, ControllerPolicy(), by_name(DEFAULT, dram.device), interleave_bytes=dram.device.burst_bytes)
    return ended_ps(fast, moves) / ended_ps(DramController(dram), moves)


@pytest.mark.parametrize(
    ("name", "speed", "least", "most"),
    [("ddr4", 3200, (0.78, 0.49), (0.83, 0.56)), ("hbm2", 2000, (0.34, 0.32), (0.40, 0.37))],
)
def test_moves_in_one_bank_are_too_fast_by_what_the_page_says(
    name: str, speed: int, least: tuple[float, float], most: tuple[float, float]
) -> None:
    dram = part(name, speed)
    found = [share(dram, [Transfer(n, write, n * 4 * MIB, SIZE) for n in range(4)]) for write in (False, True)]
    assert [low - 0.005 <= ratio <= high + 0.005 for low, ratio, high in zip(least, found, most, strict=True)] == [
        True,
        True,
    ], found


def test_moves_at_places_drawn_at_random_are_in_the_range_of_the_page() -> None:
    dram, found = part("ddr4", 3200), []
    for seed in range(6):
        rng = Random(seed)
        places = [rng.randrange(dram.capacity_bytes // SIZE - 1) * SIZE + rng.randrange(64) * 64 for _ in range(4)]
        found.append(share(dram, [Transfer(n, seed % 2 == 1, place, SIZE) for n, place in enumerate(places)]))
    assert min(found) >= 0.60 and max(found) <= 1.22, found
