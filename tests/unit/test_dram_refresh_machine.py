"""Refreshes of the machine's memory that nobody waits for: left out, and with no effect."""

from __future__ import annotations

import numpy as np
import pytest

from archsim.facts.dram.device import ControllerPolicy
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.interface import Transfer, TransferCompletion
from tests.laws.test_dram_laws import memory

pytestmark = pytest.mark.slow  # compiles the controller


@pytest.mark.parametrize("rows", ["open", "closed"])
@pytest.mark.parametrize("refresh", ["all_bank", "per_bank"])
@pytest.mark.parametrize(("standard", "speed"), [("ddr5", 5600), ("hbm3", 6400), ("lpddr5", 6400), ("gddr6", 14000)])
def test_refreshes_that_are_left_out_change_nothing(standard: str, speed: int, refresh: str, rows: str) -> None:
    """Transfers long after one another: the same with a log, for which every refresh is performed."""
    part = memory(standard, speed, 2)
    policy = ControllerPolicy(refresh=refresh, rows=rows)  # type: ignore[arg-type]
    found = []
    for log in (False, True):
        model, rng, done, now = DramController(part, policy, log=log), np.random.default_rng(3), [], 0
        for number in range(200):
            now += int(rng.integers(0, 100_000_000))
            done += _until(model, now)
            model.submit(now, [Transfer(number, number % 3 == 0, int(rng.integers(0, 1 << 24)), 100)])
        found.append((done + _until(model, now + 10**9), model.stats))
    assert found[0] == found[1]


def _until(model: DramController, time_ps: int) -> list[TransferCompletion]:
    found: list[TransferCompletion] = []
    while ended := model.advance(time_ps):
        found += ended
    return found
