"""Factors that the array does not read as they are stored: VECTOR commands behind their moves make tiles that it does.

Each runs once for each tile that comes in, below the same loops: it takes the tile, with its scales where it has some,
and fills a slot of the ring that the array reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from archsim.ir.functions import Function
from archsim.ir.program import Command, Token
from mapper.lower.frame import Frame
from mapper.lower.item import Item
from mapper.lower.moves import part_extents
from mapper.problem.conversion import CONVERT
from mapper.problem.operands import OperandPlan


def conversions(frame: Frame) -> Iterator[Item]:
    """All of a layer."""
    for plan in frame.problem.made:
        yield _conversion(frame, plan)


def _conversion(frame: Frame, plan: OperandPlan) -> Item:
    depth, _ = frame.keeps[plan.name]
    sources = [frame.problem.operand(name) for name in plan.made_of]
    rings, made = [frame.ring(source.name) for source in sources], frame.ring(plan.name)
    command = Command(
        name=f"{frame.name}.convert_{plan.name}",
        op="VECTOR",
        layer=frame.name,
        role=plan.role,
        waits=(*(Token(f"{ring}.full") for ring in rings), Token(f"{made}.free")),
        signals=(*(Token(f"{ring}.free") for ring in rings), Token(f"{made}.full")),
        extents=part_extents(frame, plan, depth, 0),
        reads=tuple(frame.slot_region(source, f"in{at}", depth) for at, source in enumerate(sources)),
        writes=(frame.slot_region(plan, "out", depth),),
        dtypes=(plan.dtype,),
        functions=(Function(CONVERT, parameters=(("format", plan.stored),)),),
        passes=plan.passes,
    )
    return Item("vector", depth, command, (*((ring, False) for ring in rings), (made, True)))
