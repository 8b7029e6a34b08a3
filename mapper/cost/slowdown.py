"""What collisions stretch the figures of a mapping by: how many times as long as without them its commands take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mapper.cost.grid import Reals


@dataclass(frozen=True)
class Slowdown:
    """How many times as long as without collisions: what the array does, what the vector unit does, and the on-chip
    streams of the moves of plans, by their names; and their bytes on the pins of DRAM, against those at the peak. Of a
    cell, or the pins of each of several cells."""

    array: float = 1.0
    vector: float = 1.0
    moves: Mapping[str, float] = field(default_factory=dict)
    pins: Mapping[str, float | Reals] = field(default_factory=dict)

    @property
    def is_none(self) -> bool:
        """Whether nothing collides."""
        return max(self.array, self.vector, *self.moves.values(), *self.pins.values(), 1.0) == 1.0


NONE = Slowdown()
