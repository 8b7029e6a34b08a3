"""What a layer declares: its rings with their writers and readers, and blocks that one queue alone uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archsim.ir.program import Ring, Tensor
from mapper.channels import load_channel, store_channel
from mapper.lower.frame import Frame
from mapper.lower.item import Lane, unit_engine
from mapper.numbers import Numbers
from mapper.operands import ACC, OUT, OperandPlan
from mapper.rings import Slot


def layer_rings(
    frame: Frame, slots: Mapping[str, Slot], queues: Mapping[Lane, str], numbers: Mapping[str, Numbers]
) -> Iterator[Ring]:
    """Ring declarations; ``queues``: lane -> queue name; ``numbers``: of each operand's elements."""
    for operand, slot in slots.items():
        if operand == ACC and unit_engine(frame.problem) == "vector":
            continue
        plan = frame.problem.operand(operand)
        writer, reader = _ends(frame, plan)
        retain = frame.halo(operand)[1] if frame.keeps[operand][1] else 0
        role = {OUT: "outputs", ACC: "partials"}.get(plan.operand, plan.role)
        yield Ring(
            frame.ring(operand),
            slot.memory,
            slot.address,
            slot.slot_bytes,
            slot.slots,
            role,
            plan.dtype,
            queues[writer],
            (queues[reader],),
            retain,
            *numbers[operand],
        )


def _ends(frame: Frame, plan: OperandPlan) -> tuple[Lane, Lane]:
    """The lanes that write and read an operand's ring."""
    problem, unit = frame.problem, unit_engine(frame.problem)
    stored: Lane = ("store", store_channel(frame.number, plan, frame.channels))
    if plan.name == ACC:
        return (unit, 0), ("vector", 0)
    inner = next((other for other in problem.operands if other.beyond == plan.name), None)
    if plan.operand == OUT:
        within: Lane = ("vector", 0)
        if inner is not None:
            within = ("store", store_channel(frame.number, inner, frame.channels))
        return within, stored
    reader: Lane = stored if unit == "store" else (unit, 0)
    if inner is not None:
        reader = ("load", load_channel(problem, inner, frame.channels))
    return ("load", load_channel(problem, plan, frame.channels)), reader


def scratch(frame: Frame, slots: Mapping[str, Slot], numbers: Mapping[str, Numbers]) -> Iterator[Tensor]:
    """Blocks that one queue alone uses: the accumulators of a matmul on the vector unit."""
    if ACC in slots and unit_engine(frame.problem) == "vector":
        slot, plan = slots[ACC], frame.problem.operand(ACC)
        yield Tensor(
            frame.ring(ACC),
            slot.memory,
            slot.address,
            slot.slot_bytes,
            plan.dtype,
            "partials",
            (slot.slot_bytes // plan.element_bytes,),
            (plan.element_bytes,),
            scale=numbers[ACC][0],
        )
