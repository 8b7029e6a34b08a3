"""The frame of commands at their first turn, where every loop stands at its start: whole tiles, at constant places."""

from __future__ import annotations

from collections.abc import Mapping

from archsim.ir.program import Extent
from mapper.lower.frame import Frame
from mapper.problem.bounded import Trims
from mapper.problem.geometry import Component


class FirstTurn(Frame):
    """A frame whose commands have the extents and regions of their first turn alone, at no loop indices."""

    def starts(self, steps: Mapping[str, int], high: int, low: int = 0) -> tuple[tuple[str, int], ...]:
        """Nothing moves on."""
        return ()

    @property
    def trims(self) -> Trims:
        """A whole tile: what bounds leave of the first one says nothing of the others."""
        return ()

    def part_extent(self, part: Component, depth: int, skip: int, trims: Trims) -> Extent:
        """Positions of a component (less ``skip`` kept ones) in a whole tile, the first of all."""
        return Extent(part.name, part.size(self.tiles(depth)) - skip)
