"""Unordered queues in one tensor: a race exactly where their bytes meet, however strided, judged whole or in pairs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import ProgramError
from archsim.ir.asm.parser import parse_program
from archsim.ir.check.hazards import bytes
from archsim.ir.check.program import check
from tests.unit.fixtures_check import chip

SIZE = 96
QUEUES = ("load", "store", "vector")
HEAD = f"""
program p on golden
layer l
tensor x in l1 at 0 bytes {SIZE} dtype int8 role inputs shape [{SIZE}] preloaded
tensor y in l1 at 1024 bytes {SIZE} dtype int8 role inputs shape [{SIZE}] preloaded
tensor z in l1 at 2048 bytes 4096 dtype int8 role inputs shape [4096]
"""


@dataclass(frozen=True)
class Part:
    """``rows`` runs of ``run`` bytes, ``stride`` apart, from byte ``offset`` of y, by one queue."""

    queue: str
    writes: bool
    rows: int
    stride: int
    run: int
    offset: int

    @property
    def touched(self) -> np.ndarray:
        """Which bytes of y it touches."""
        bytes_ = np.zeros(SIZE, dtype=bool)
        for row in range(self.rows):
            bytes_[self.offset + row * self.stride :][: self.run] = True
        return bytes_

    def text(self, number: int) -> str:
        """The command; what it reads of y goes to a place of its own."""
        place, mine = f"y{{i:{self.stride}, j:1}}+{self.offset}", f"z{{i:16, j:1}}+{256 * number}"
        source, target = ("x{i:16, j:1}", place) if self.writes else (place, mine)
        head = f"l.c{number} [i={self.rows}, j={self.run}]"
        if self.queue == "vector":
            return f"VECTOR {head} function relu passes 1 dtypes int8 in0 {source} out {target}"
        return f"MOVE {head} src {source} dst {target}"


@st.composite
def parts(draw: st.DrawFn) -> Part:
    rows, run, grain = draw(st.integers(1, 4)), draw(st.integers(1, 6)), draw(st.sampled_from((1, 1, 4)))
    stride = draw(st.integers(0, (SIZE - run) // max(rows - 1, 1) // grain // 2))
    room = SIZE - run * grain - (rows - 1) * stride * grain
    offset = draw(st.integers(0, room // grain)) if room >= 0 else 0
    run = run * grain if room >= 0 else run
    return Part(draw(st.sampled_from(QUEUES)), draw(st.booleans()), rows, stride * grain, run, offset * grain)


def program(chosen: list[Part]) -> str:
    text = HEAD
    for name, unit in zip(QUEUES, ("dma", "dma", "vpu"), strict=True):
        text += f"queue {name} engine {name} unit {unit}:\n"
        text += "".join(f"    {part.text(n)}\n" for n, part in enumerate(chosen) if part.queue == name)
    return text


def verdict(chosen: list[Part]) -> str:
    try:
        check(parse_program(program(chosen)), chip())
    except ProgramError as error:
        return str(error)
    return ""


@settings(deadline=None)
@given(st.lists(parts(), min_size=2, max_size=6))
def test_a_race_exactly_where_bytes_meet(chosen: list[Part]) -> None:
    races = any(
        one.queue != two.queue and (one.writes or two.writes) and (one.touched & two.touched).any()
        for one, two in combinations(chosen, 2)
    )
    assert verdict(chosen).startswith("race: ") == races
    assert races or not verdict(chosen)


@settings(deadline=None)
@given(st.lists(parts(), min_size=2, max_size=6))
def test_painting_changes_no_message(chosen: list[Part]) -> None:
    """Tensors too large to paint are judged pair by pair, with the same outcome."""
    painted = verdict(chosen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bytes, "MOST_GRAINS", -1)
        assert verdict(chosen) == painted


def test_interleaved_columns_are_cleared_without_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [Part(queue, True, 4, 24, 8, 8 * number) for number, queue in enumerate(QUEUES)]
    monkeypatch.setattr("archsim.ir.check.hazards.hazards.check_race", None)
    assert not verdict(columns)
