"""The members of a group lowered as one: rings of their windows, what fills their padding, the order of passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from archsim.ir.program import Ring
from mapper.allocate.rings import Slot
from mapper.groups.plan import GroupPlan
from mapper.groups.ties import refuse
from mapper.groups.windows import WindowPlan
from mapper.lower.fences import Span
from mapper.lower.item import Item, Lane, unit_engine
from mapper.lower.passes import MadeWindow
from mapper.lower.program import MAKER, LoweredGroup, LoweredLayer, Passes
from mapper.lower.window_padding import WindowPadding
from mapper.problem.element_scales import Numbers
from mapper.problem.operands import ADDEND, OUT


def grouped(
    plan: GroupPlan,
    members: Sequence[LoweredLayer],
    slots: Mapping[str, Slot],
    numbers: Mapping[str, Numbers],
    queues: Mapping[Lane, Sequence[str]],
) -> LoweredGroup:
    """The group; ``slots``: of its windows, ``numbers``: scale and zero of what lies there, by the windows' names."""
    by_name = {member.name: member for member in members}
    padding = {window.name: _padding(window, by_name[window.maker]) for window in plan.windows}
    padded = [
        replace(member, items=[*_fills(plan, member, padding), *member.items]) if member.frame is not None else member
        for member in members
    ]
    made = {
        name: tuple(_made(window, padding[window.name]) for window in plan.windows if window.maker == name)
        for name in by_name
    }
    read: dict[tuple[str, Lane], tuple[str, ...]] = {}
    rings = []
    for window in plan.windows:
        lanes = list(_readers(plan, window, by_name))
        for reader, lane in lanes:
            read[reader, lane] = (*read.get((reader, lane), ()), window.name)
        rings.append(_ring(window, slots[window.name], numbers[window.name], by_name, lanes, queues))
    ahead = {member.layer: member.ahead for member in plan.group.members}
    frame = members[-1].frame
    assert frame is not None
    trips = tuple(frame.trips(at) for at in range(len(plan.group.loops)))
    spans = {slot.operand: Span(slot.memory, slot.address, slot.address + slot.size_bytes) for slot in slots.values()}
    return LoweredGroup(tuple(padded), Passes(plan.group.name, ahead, trips, made, read), tuple(rings), spans)


def _padding(window: WindowPlan, maker: LoweredLayer) -> WindowPadding:
    assert maker.frame is not None
    dtype = maker.frame.problem.operand(OUT).dtype
    return WindowPadding(window, maker.name, maker.frame.vars[: window.loops], dtype)


def _fills(plan: GroupPlan, member: LoweredLayer, padding: Mapping[str, WindowPadding]) -> Iterator[Item]:
    for window in plan.windows:
        if window.maker == member.name:
            yield from padding[window.name].items()


def _made(window: WindowPlan, padding: WindowPadding) -> MadeWindow:
    step = window.step_bytes if window.sliding >= 0 else 0
    return MadeWindow(window.name, window.retain > 0, window.trips[-1], window.lead, step, padding.ending())


def _readers(plan: GroupPlan, window: WindowPlan, members: Mapping[str, LoweredLayer]) -> Iterator[tuple[str, Lane]]:
    """The members and lanes whose commands read a window; raises GroupError for two of one lane."""
    seen: dict[Lane, str] = {}
    for reader, operand in window.readers:
        frame = members[reader].frame
        assert frame is not None
        lane: Lane = ("vector", 0) if operand == ADDEND else (unit_engine(frame.problem), 0)
        if lane in seen:
            refuse(
                plan.group,
                f"'{seen[lane]}' and '{reader}' read '{window.tensor.name}' on one engine, which is not built yet",
            )
        slack = plan.ahead(window.maker) - plan.ahead(reader) - window.lead
        if lane == MAKER and slack:
            refuse(
                plan.group,
                f"'{window.maker}' is ahead of '{reader}' by {slack} passes more than it needs; both work on "
                f"'{window.tensor.name}' with one engine, one behind the other",
            )
        seen[lane] = reader
        yield reader, lane


def _ring(
    window: WindowPlan,
    slot: Slot,
    numbers: Numbers,
    members: Mapping[str, LoweredLayer],
    lanes: Sequence[tuple[str, Lane]],
    queues: Mapping[Lane, Sequence[str]],
) -> Ring:
    maker = members[window.maker].frame
    assert maker is not None
    scale, zero = numbers
    return Ring(
        window.name,
        slot.memory,
        slot.address,
        slot.slot_bytes,
        slot.slots,
        "inputs",
        maker.problem.operand(OUT).dtype,
        queues[MAKER][0],
        tuple(queues[lane][0] for _, lane in lanes),
        window.retain,
        scale,
        zero,
        maker.problem.layer.is_ragged,
        slot.span,
    )
