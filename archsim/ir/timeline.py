"""What each instant of a unit is charged to, in picoseconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from archsim.base.arrays import AnyArray, IntArray


class UnitState(NamedTuple):
    """What an instant of a unit is charged to. ``operand``: tensor role of the stall, '' where none."""

    layer: str
    cause: str
    operand: str


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """A unit's states over [0, total): ``states[state[i]]`` holds from ``start_ps[i]`` to the next start.

    ``states`` are in the order in which they come first.
    """

    start_ps: IntArray
    state: AnyArray
    states: Sequence[UnitState]

    def segments(self, total_ps: int) -> Iterator[tuple[int, int, UnitState]]:
        """(start_ps, end_ps, state), in order, without gap."""
        starts_ps = self.start_ps.tolist()
        states = map(self.states.__getitem__, self.state.tolist())
        yield from zip(starts_ps, [*starts_ps, total_ps][1:], states, strict=True)
