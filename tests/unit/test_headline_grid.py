"""Figures at the head of a report keep their names and numbers however narrow the terminal is."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from archsim.report.run.terminal import FiguresGrid

FIGURES = [
    ("average power", "13.33 mW", "frames and rest, lower bound"),
    ("misses", "0", "of 90 frames in 1 s, all streams"),
    ("longest response", "2.514 ms", "release to result"),
    ("least slack", "14.15 ms", "before a deadline"),
]


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_nothing_is_cut_and_figures_stand_below_one_another_where_room_is_short(width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    console.print(FiguresGrid(FIGURES))
    text = console.file.getvalue()
    for name, value, remark in FIGURES:
        assert name in text and value in text and remark in text
    assert len(text.splitlines()) == (4 if width < 120 else 2)
