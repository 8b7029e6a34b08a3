"""What a layer declares: its rings with their writers and readers, and blocks that one queue alone uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from archsim.ir.program import Ring, Tensor
from archsim.spec.network import instance
from mapper.channels import load_channel, store_channel
from mapper.lower.fences import Span
from mapper.lower.frame import Frame
from mapper.lower.instance import Cores
from mapper.lower.item import Lane, unit_engine
from mapper.numbers import Numbers
from mapper.operands import ACC, OUT, OperandPlan
from mapper.rings import Slot


def layer_spans(frame: Frame, slots: Mapping[str, Slot]) -> dict[str, Span]:
    """Where a layer's rings and blocks lie, by their names in its commands; those of all cores together."""
    return {
        frame.ring(name): Span(slot.memory, slot.address, slot.address + slot.size_bytes)
        for name, slot in slots.items()
    }


def layer_rings(
    frame: Frame, slots: Mapping[str, Slot], queues: Mapping[Lane, str], numbers: Mapping[str, Numbers]
) -> Iterator[Ring]:
    """Ring declarations; ``queues``: lane -> queue name; ``numbers``: of each operand's elements."""
    cores = _cores(frame)
    for operand, slot in slots.items():
        if operand == ACC and unit_engine(frame.problem) == "vector":
            continue
        plan = frame.problem.operand(operand)
        writer, reader = _ends(frame, plan)
        retain = frame.halo(operand)[1] if frame.keeps[operand][1] else 0
        role = {OUT: "outputs", ACC: "partials"}.get(plan.operand, plan.role)
        for made in _instances(frame, cores, plan, slot):
            yield Ring(
                made.name,
                made.memory,
                made.address,
                slot.slot_bytes,
                slot.slots,
                role,
                plan.dtype,
                queues[writer].replace("core[0]", f"core[{made.writer}]"),
                (queues[reader].replace("core[0]", f"core[{made.reader}]"),),
                retain,
                *numbers[operand],
            )


class Instance(NamedTuple):
    """A ring or block of one core, or of a group that shares it; ``writer``, ``reader``: the cores whose queues do."""

    name: str
    memory: str
    address: int
    writer: int
    reader: int


def _cores(frame: Frame) -> Cores | None:
    """The cores of a layer that is spread over them; None on a chip of one core."""
    return Cores(frame) if frame.problem.spread is not None else None


def _instances(frame: Frame, cores: Cores | None, plan: OperandPlan, slot: Slot) -> Iterator[Instance]:
    """One on a chip of one core; else one for each core, or in a shared memory for each tile that differs."""
    if cores is None:
        yield Instance(frame.ring(plan.name), slot.memory, slot.address, 0, 0)
        return
    spread = cores.spread
    for core in range(spread.cores):
        name, leader = cores.name(frame.ring(plan.name), core), cores.leader(plan, core)
        if slot.memory not in spread.shared:
            yield Instance(name, instance(slot.memory, core), slot.address, leader, core)
        elif leader == core:
            yield Instance(name, slot.memory, slot.copy(cores.group(plan, core)), core, core)


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
        for made in _instances(frame, _cores(frame), plan, slot):
            yield Tensor(
                made.name,
                made.memory,
                made.address,
                slot.slot_bytes,
                plan.dtype,
                "partials",
                (slot.slot_bytes // plan.element_bytes,),
                (plan.element_bytes,),
                scale=numbers[ACC][0],
            )
