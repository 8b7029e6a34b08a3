"""Whose turn it is at DRAM: of the cores that each stage a tile of their own, only so many read at a time.

Streams beyond those that DRAM serves best close each other's rows. So the cores that bring an operand's different tiles
into a memory that all share stand in rows, as many rows as streams, and each hands its turn to the next one in its row
when its tile is there; the last hands it to the first for its next tile, which takes it at the end too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archsim.ir.program import Semaphore
from mapper.crowd import in_turns
from mapper.lower.frame import Frame
from mapper.operands import OperandPlan


def takes_turns(frame: Frame, plan: OperandPlan, leaders: Sequence[int]) -> bool:
    """Whether the ``leaders``, those cores that load different tiles of an operand, do it in turns."""
    return in_turns(frame.problem, plan) and 0 < frame.streams.get(plan.home, 0) < len(leaders)


def turn(frame: Frame, plan: OperandPlan, core: int) -> str:
    """The semaphore that says that it is a core's turn."""
    return f"{frame.ring(plan.name)}[{core}].turn"


def following(frame: Frame, plan: OperandPlan, leaders: Sequence[int], core: int) -> int:
    """The core whose turn it is after a core's."""
    streams = frame.streams[plan.home]
    at = leaders.index(core)
    return leaders[at + streams] if at + streams < len(leaders) else leaders[at % streams]


def semaphores(frame: Frame, plan: OperandPlan, leaders: Sequence[int]) -> Iterator[Semaphore]:
    """Turns of an operand; the first of each row has one at the start."""
    for at, core in enumerate(leaders):
        yield Semaphore(turn(frame, plan, core), int(at < frame.streams[plan.home]))
