"""Which rows of a table are looked up: a stream of row numbers, drawn from a distribution or stated one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Distribution = Literal["uniform", "zipf", "trace"]
DISTRIBUTIONS: tuple[str, ...] = get_args(Distribution)


@dataclass(frozen=True, slots=True)
class Indices:
    """An endless stream of row numbers of a table with a known number of rows (``archsim.ir.streams`` makes them).

    uniform: every row alike. zipf: row r, counted from 0, with a probability in proportion to
    1 / (r + 1) ** ``exponent``, so that the table is sorted by popularity. trace: entry n is ``trace[n]``; the stream
    ends with it. ``seed`` of the first two.
    """

    kind: Distribution
    seed: int = 0
    exponent: float = 0.0
    trace: tuple[int, ...] = ()
