"""Figures at the head of a report keep their names and numbers however narrow the terminal is."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from archsim.report.terminal import figures_grid

FIGURES = [
    ("average power", "13.33 mW", "frames and rest, lower bound"),
    ("misses", "0", "of 90 frames in 1 s, all streams"),
    ("longest response", "2.514 ms", "release to result"),
    ("least slack", "14.15 ms", "before a deadline"),
]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_remarks_alone_are_cut(width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    console.print(figures_grid(FIGURES))
    text = console.file.getvalue()
    assert all(name in text and value in text for name, value, _ in FIGURES)
