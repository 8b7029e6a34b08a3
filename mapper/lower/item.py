"""One command of a layer, with the queue and the loops that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from archsim.ir.program import Command, EngineKind
from mapper.problem.problem import Problem

Lane = tuple[EngineKind, int]  # engine and channel: what has a queue


@dataclass(frozen=True, slots=True)
class Item:
    """One command of a layer: its engine, the number of loops above it, whether it follows the deeper loops.

    ``touches``: (object, is_write) for tensors and rings, for the ordering of layers; ``channel``: of the DMA;
    ``operand``: the plan whose tiles it moves, where one core may do so for several. ``fetch``: which of the moves that
    add up partial sums (``mapper.lower.partials``), None of all others.
    """

    engine: EngineKind
    depth: int
    command: Command
    touches: tuple[tuple[str, bool], ...]
    after: bool = False
    channel: int = 0
    operand: str = ""
    fetch: int | None = None

    @property
    def lane(self) -> Lane:
        """The queue that it belongs to."""
        return self.engine, self.channel


def unit_engine(problem: Problem) -> EngineKind:
    """The engine that reads a layer's rings: array or vector unit, the store engine for a copy."""
    if problem.engine == "copy":
        return "store"
    return "array" if problem.engine == "array" else "vector"
