"""What each instant of a unit is charged to, in picoseconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class State(NamedTuple):
    """What an instant of a unit is charged to. ``operand``: tensor role of the stall, '' where none."""

    layer: str
    cause: str
    operand: str


@dataclass(slots=True)
class Timeline:
    """A unit's states over [0, total): ``states[i]`` holds from ``starts_ps[i]`` to the next start."""

    starts_ps: list[int]
    states: list[State]

    def segments(self, total_ps: int) -> Iterator[tuple[int, int, State]]:
        """(start_ps, end_ps, state), in order, without gap."""
        ends_ps = [*self.starts_ps, total_ps][1:]
        yield from zip(self.starts_ps, ends_ps, self.states, strict=True)
