"""What a cost means: the points in which published cost models differ, as data.

archsim: exact. accelforge, timeloop, zigzag: as those tools count, to compare with their results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mapper.looptree.einsum import Coordinate, span, touched


@dataclass(frozen=True)
class Convention:
    """``slots``: of every tile, in its memory's capacity (None: as each Keep says).

    ``drain_reads``: an output tile that goes to its parent is read. ``bill_all``: a tile is fetched in every iteration
    of every loop above it, also where it has not changed. ``footprint``: values along a coordinate that a tile holds
    and moves. ``fractional``: actions and compute are spread evenly over instances, else the busiest instance counts.
    Parts of actions count as such: what whole accesses a run of values takes depends on where it lies.
    """

    name: str
    slots: int | None
    drain_reads: bool
    bill_all: bool
    footprint: Callable[[Coordinate, dict[str, int]], int]
    fractional: bool


ARCHSIM = Convention("archsim", None, True, False, touched, False)
ACCELFORGE = Convention("accelforge", 1, True, True, span, True)
TIMELOOP = Convention("timeloop", 1, False, True, span, True)
ZIGZAG = Convention("zigzag", 1, True, False, touched, False)
CONVENTIONS = {convention.name: convention for convention in (ARCHSIM, ACCELFORGE, TIMELOOP, ZIGZAG)}
