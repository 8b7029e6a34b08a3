"""Mutation tests: the checker catches every small mistake in the golden Program but those listed, each with a reason.

The reasons are proved: what is called harmless computes the same numbers in random interleavings, and what is called
wrong computes other numbers, which numerical execution catches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from archsim.errors import ProgramError
from archsim.ir.check.ownership import commands_of
from archsim.ir.check.program import check
from archsim.ir.program import Program
from mapper.execute.run import Executor
from tests.unit.fixtures_check import chip, golden, mutants

# Another order, place or number of slots that is as good as the first.
HARMLESS = {
    "swap conv1.load_b and conv1.load_w in load": "two loads that nobody needs in this order",
    "swap loop p and conv2.load_w in load": "the weights of conv2 may come before conv1's inputs",
    "swap conv1.load_top and conv1.load_x in load": "each trip of the loop runs only one of the two",
    "extent h unlimited of conv1.load_x": "rows below the image are clipped, and the slot has room for their fill",
    "slots=1 of conv1.x": "slower, not wrong",
    "slots=1 of conv1.y": "slower, not wrong",
    "slots=1 of conv2.x": "slower, not wrong",
    "slots=1 of conv2.y": "slower, not wrong",
    "slots=1 of conv1.acc": "slower, not wrong",
    "slots=1 of conv2.acc": "slower, not wrong",
    "slots=3 of conv2.y": "l1 has room behind it",
    "base=5856 of conv2.y": "l1 has room behind it",
    "base=64 of conv1.acc": "acc has room behind it, and conv2.acc waits for it anyway",
    "base=64 of conv2.acc": "acc has room behind it, and it waits for conv1.acc anyway",
    "base=4864 of y2": "dram has room behind it",
    "preloaded=True of y1": "what lies there at time 0 is overwritten before it is read",
    "preloaded=True of y2": "what lies there at time 0 is overwritten and never read",
}
# Tokens and bytes are in order, but the numbers are not those of the model: only execution can tell.
WRONG = {
    "shift src+1 of conv1.load_top": "reads other bytes of x, which hold data too",
    "stride h of src of conv1.load_top": "reads other bytes of x, which hold data too",
    "stride w of src of conv1.load_top": "reads other bytes of x, which hold data too",
    "stride c of src of conv1.load_top": "reads other bytes of x, which hold data too",
    "shift src-1 of conv1.load_x": "reads other bytes of x, which hold data too",
    "extent r-1 of conv1.mm": "adds up too little",
    "extent s-1 of conv1.mm": "adds up too little",
    "extent c-1 of conv1.mm": "adds up too little",
    "extent c-1 of conv2.mm": "adds up too little",
    "extent m-1 of conv2.store": "leaves holes in y2, which nobody reads in this Program",
    "extent k-1 of conv2.store": "leaves holes in y2, which nobody reads in this Program",
}
ALL = dict(mutants())


def caught(program: Program) -> bool:
    try:
        check(program, chip())
    except ProgramError:
        return True
    return False


@pytest.mark.slow
def test_survivors_are_exactly_those_listed() -> None:
    survivors = {name for name, program in ALL.items() if not caught(program)}
    assert survivors == HARMLESS.keys() | WRONG.keys()
    assert len(ALL) == len(list(mutants())) > 300
    assert len(survivors) < len(ALL) / 10


def test_every_dropped_token_is_caught() -> None:
    dropped = [name for name in ALL if name.startswith("drop ")]
    commands = [c for queue in golden().queues for c in commands_of(queue.body)]
    assert len(dropped) == sum(len(c.waits) + len(c.signals) for c in commands)
    assert all(caught(ALL[name]) for name in dropped)


def computed(program: Program, seed: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(7)
    executor = Executor(program, numbers="float64", seed=seed)
    for tensor in golden().tensors:
        if tensor.preloaded:
            executor.fill(tensor.name, random.integers(-8, 8, tensor.shape).astype(float))
    executor.run()
    return executor.values("y2")


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_mutants_compute_the_same(name: str) -> None:
    expected = computed(golden(), 0)
    for seed in range(3):
        assert np.array_equal(computed(ALL[name], seed), expected), HARMLESS[name]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_mutants_compute_something_else(name: str) -> None:
    try:
        assert not np.array_equal(computed(ALL[name], 0), computed(golden(), 0)), WRONG[name]
    except ProgramError as error:
        assert "nothing has written" in str(error)
