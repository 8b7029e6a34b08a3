"""What a layer declares: its rings with their writers and readers, and blocks that one queue alone uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from archsim.ir.program import PlacedTensor, Ring, Semaphore
from archsim.spec.network import instance
from mapper.allocate.rings import Slot
from mapper.lower.fences import Span
from mapper.lower.frame import Frame
from mapper.lower.instance import Cores
from mapper.lower.item import Lane, unit_engine
from mapper.lower.partials import NOBODY, SUM, Adding
from mapper.problem.channels import load_channel, store_channel
from mapper.problem.element_scales import Numbers
from mapper.problem.operands import ACC, EPILOGUE, OUT, OperandPlan


def layer_spans(frame: Frame, slots: Mapping[str, Slot]) -> dict[str, Span]:
    """Where a layer's rings and blocks lie, by their names in its commands; those of all cores together."""
    return {
        frame.ring(name): Span(slot.memory, slot.address, slot.address + slot.size_bytes)
        for name, slot in slots.items()
    }


def layer_rings(
    frame: Frame,
    cores: Cores | None,
    slots: Mapping[str, Slot],
    queues: Mapping[Lane, Sequence[str]],
    numbers: Mapping[str, Numbers],
) -> Iterator[Ring]:
    """Ring declarations; ``cores``: over which the layer is spread; ``queues``: lane -> names of its queue
    by core; ``numbers``: of each operand's elements."""
    for operand, slot in slots.items():
        if operand == ACC and unit_engine(frame.problem) == "vector":
            continue
        plan = frame.problem.operand(operand)
        writer, reader = _ends(frame, plan)
        retain = frame.halo(operand)[1] if frame.keeps[operand][1] else 0
        role = {OUT: "outputs", ACC: "partials"}.get(plan.operand, plan.role)
        lanes = [(made, writer, reader) for made in _instances(frame, cores, plan, slot)]
        if operand == ACC and cores is not None and frame.problem.adders > 1:
            lanes = list(_added(frame, cores.adding, slot, lanes))
        scale, zero = numbers[operand]
        for made, wrote, read in lanes:
            yield Ring(
                made.name, made.memory, made.address, slot.slot_bytes, slot.slots, role, plan.dtype,
                queues[wrote][made.writer], _queues(queues[read], made.readers), retain, scale, zero,
                _is_ragged(frame, plan),
            )  # fmt: skip


def _is_ragged(frame: Frame, plan: OperandPlan) -> bool:
    """Whether tiles of an operand may hold elements that bounds leave unmade: results on their way, of which a larger
    tile is taken than those that filled it."""
    return frame.problem.layer.is_ragged and plan.operand in (OUT, ACC)


def _queues(of_cores: Sequence[str], readers: tuple[int, ...]) -> tuple[str, ...]:
    """The queues that read a ring, those of its readers."""
    return _alone(of_cores[readers[0]]) if len(readers) == 1 else tuple([of_cores[core] for core in readers])


@lru_cache(maxsize=4096)
def _alone(reader: str) -> tuple[str, ...]:
    """The readers of a ring that one queue reads: one object for equal ones."""
    return (reader,)


def layer_semaphores(cores: Cores | None) -> tuple[Semaphore, ...]:
    """Tokens of a layer beside those of its rings."""
    return tuple(cores.adding.semaphores()) if cores is not None else ()


class Instance(NamedTuple):
    """A ring or block of one core, or of a group that shares it; ``writer``, ``readers``: the cores whose queues do."""

    name: str
    memory: str
    address: int
    writer: int
    readers: tuple[int, ...]


def _instances(frame: Frame, cores: Cores | None, plan: OperandPlan, slot: Slot) -> Iterator[Instance]:
    """One on a chip of one core; else one for each core, or in a shared memory for each tile that differs."""
    if cores is None:
        yield Instance(frame.ring(plan.name), slot.memory, slot.address, 0, (0,))
        return
    spread, count = cores.spread, range(cores.spread.cores)
    named = [(core, cores.name(plan, core), cores.leader(plan, core)) for core in count if cores.has(plan, core)]
    if slot.memory in spread.shared:
        for core, name, leader in named:
            if leader == core:
                yield Instance(name, slot.memory, slot.copy(cores.group(plan, core)), core, cores.readers(plan, core))
        return
    memories = _instances_of(slot.memory, spread.cores)
    for core, name, leader in named:
        yield Instance(name, memories[core], slot.address, leader, (core,))


@lru_cache(maxsize=64)
def _instances_of(memory: str, cores: int) -> tuple[str, ...]:
    """What a memory is called on each core: one object for equal names."""
    return tuple([intern(instance(memory, core)) for core in range(cores)])


def _added(
    frame: Frame, adding: Adding, slot: Slot, lanes: list[tuple[Instance, Lane, Lane]]
) -> Iterator[tuple[Instance, Lane, Lane]]:
    """Accumulators that store engines take to add them up, and the sums of each core that others send to."""
    store: Lane = ("store", store_channel(frame.number, frame.problem.operand(OUT), frame.channels))
    for core, (made, writer, drain) in enumerate(lanes):
        yield made._replace(readers=(adding.reader(core),)), writer, store
        if adding.children[core]:
            parent = adding.parent[core]
            is_root = parent == NOBODY
            name = f"{frame.ring(SUM)}[{core}]"
            sums = Instance(name, made.memory, slot.copy(1), core, (core if is_root else parent,))
            yield sums, store, drain if is_root else store


def _ends(frame: Frame, plan: OperandPlan) -> tuple[Lane, Lane]:
    """The lanes that write and read an operand's ring."""
    problem, unit = frame.problem, unit_engine(frame.problem)
    stored: Lane = ("store", store_channel(frame.number, plan, frame.channels))
    if plan.name == ACC:
        return (unit, 0), ("vector", 0)
    if plan.made_of:
        return ("vector", 0), (unit, 0)
    inner = next((other for other in problem.operands if other.beyond == plan.name), None)
    if plan.operand == OUT:
        within: Lane = ("vector", 0)
        if inner is not None:
            within = ("store", store_channel(frame.number, inner, frame.channels))
        return within, stored
    reader: Lane = stored if unit == "store" else (unit, 0)
    if plan.name == EPILOGUE or any(plan.name in made.made_of for made in problem.made):
        reader = ("vector", 0)
    if inner is not None:
        reader = ("load", load_channel(problem, inner, frame.channels))
    return ("load", load_channel(problem, plan, frame.channels)), reader


def scratch(
    frame: Frame, cores: Cores | None, slots: Mapping[str, Slot], numbers: Mapping[str, Numbers]
) -> Iterator[PlacedTensor]:
    """Blocks that one queue alone uses: the accumulators of a matmul on the vector unit."""
    if ACC in slots and unit_engine(frame.problem) == "vector":
        slot, plan = slots[ACC], frame.problem.operand(ACC)
        for made in _instances(frame, cores, plan, slot):
            yield PlacedTensor(
                made.name,
                made.memory,
                made.address,
                slot.slot_bytes,
                plan.dtype,
                "partials",
                (slot.slot_bytes // plan.element_bytes,),
                (plan.element_bytes,),
                scale=numbers[ACC][0],
                ragged=_is_ragged(frame, plan),
            )
