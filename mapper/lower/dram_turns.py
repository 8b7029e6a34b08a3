"""Whose turn it is at DRAM: of the cores that each stage a tile of their own, only so many read at a time.

Streams beyond those that DRAM serves best close each other's rows, and most where all are in the same bank at every
instant; small tiles need more of them, since each waits for its first beat. So the cores that bring an operand's
different tiles into a memory that all share stand in rows, as many rows as streams, and each hands its turn to the next
one in its row when its tile is there; the last hands it to the first for its next tile, which takes it at the end too.
Then the row hands it on to those of the next layer: what is brought ahead does not stand in the way of what is needed
before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from archsim.ir.program import Semaphore, Token
from mapper.cost.dram_contention import in_turns
from mapper.lower.frame import Frame
from mapper.problem.geometry import slot_sizes
from mapper.problem.operands import OperandPlan


@dataclass(frozen=True)
class Turns:
    """Of the operand of a ``ring``: ``leaders``, the cores that load its tiles, ``streams`` of them at a time.
    ``follows``: another layer's come first, which hand their turns on."""

    ring: str
    leaders: Sequence[int]
    streams: int
    follows: bool = False

    def of(self, core: int) -> str:
        """The semaphore that says that it is a core's turn."""
        return f"{self.ring}[{core}].turn"

    def after(self, core: int) -> str:
        """The same of the core whose turn it is after a core's."""
        leaders, at = self.leaders, self.leaders.index(core)
        return self.of(leaders[at + self.streams] if at + self.streams < len(leaders) else leaders[at % self.streams])

    @property
    def first(self) -> Sequence[int]:
        """The first core of each row."""
        return self.leaders[: self.streams]

    def semaphores(self) -> Iterator[Semaphore]:
        """One for each core; the first of each row has a token at the start where no other layer hands it one."""
        for at, core in enumerate(self.leaders):
            yield Semaphore(self.of(core), int(at < self.streams and not self.follows))

    def handed(self, core: int, after: Turns) -> tuple[Token, ...]:
        """What the first core of a row hands to the rows of the turns ``after`` these."""
        rows = len(self.first)
        return tuple([Token(after.of(other)) for at, other in enumerate(after.first) if self.first[at % rows] == core])


def turns(frame: Frame, plan: OperandPlan, leaders: Sequence[int]) -> Turns | None:
    """How the ``leaders`` of an operand load in turns, all at once where DRAM serves them best so; None where it is not
    staged, or nothing is known of DRAM."""
    known = frame.outer.get(plan.home)
    if known is None or not in_turns(frame.problem, plan):
        return None
    sizes = slot_sizes(frame.parts[plan.name], frame.tiles(frame.keeps[plan.name][0]))
    apart = frame.problem.apart_bytes(plan)
    streams = known.streams(prod(sizes) * plan.element_bytes, _run_bytes(frame, plan, sizes), apart)
    return Turns(frame.ring(plan.name), leaders, min(streams, len(leaders))) if streams else None


def _run_bytes(frame: Frame, plan: OperandPlan, sizes: Sequence[int]) -> int:
    """Of a tile what lies side by side in its tensor."""
    run = plan.element_bytes
    for stride, size in sorted(zip(frame.far_strides(plan), sizes, strict=True)):
        if size > 1 and stride != run:
            break
        run *= size
    return run
