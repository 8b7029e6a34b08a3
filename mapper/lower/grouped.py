"""The members of a group lowered as one: rings of their windows, what fills their padding, the order of passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from archsim.ir.program import EngineKind, Ring
from mapper.allocate.rings import Slot
from mapper.groups.plan import GroupPlan
from mapper.groups.windows import MAKER, WindowPlan
from mapper.lower.fences import Span
from mapper.lower.item import Item, Lane
from mapper.lower.passes import MadeWindow, ReadWindow
from mapper.lower.program import MAKING, LoweredGroup, LoweredLayer, Passes
from mapper.lower.window_padding import WindowPadding
from mapper.problem.element_scales import Numbers
from mapper.problem.operands import OUT


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
    read: dict[tuple[str, Lane], tuple[ReadWindow, ...]] = {}
    rings = []
    for window in plan.windows:
        for engine in dict.fromkeys(each.engine for each in window.readers):
            for layer, found in _read(window, engine):
                read[layer, (engine, 0)] = (*read.get((layer, (engine, 0)), ()), found)
        rings.append(_ring(window, slots[window.name], numbers[window.name], by_name, queues))
    ahead = {member.layer: member.ahead for member in plan.group.members}
    frame = members[-1].frame
    assert frame is not None
    trips = tuple(frame.trips(at) for at in range(len(plan.group.loops)))
    spans = {slot.operand: Span(slot.memory, slot.address, slot.address + slot.size_bytes) for slot in slots.values()}
    return LoweredGroup(
        tuple(padded), Passes(plan.group.name, ahead, trips, made, read, plan.begins > 1), tuple(rings), spans
    )


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


def _read(window: WindowPlan, engine: EngineKind) -> Iterator[tuple[str, ReadWindow]]:
    """A window as the members read it whose commands one queue runs, in order."""
    lags = {each.layer: each.lag for each in window.readers if each.engine == engine}
    step = window.step_bytes if window.sliding >= 0 else 0
    tokens, own = engine in window.queues, engine == MAKER
    for at, layer in enumerate(lags):
        later = tuple(lags.values())[at + 1 :]
        yield layer, ReadWindow(window.name, tokens, own, not at, lags[layer], later, window.trips[-1], step)


def _ring(
    window: WindowPlan,
    slot: Slot,
    numbers: Numbers,
    members: Mapping[str, LoweredLayer],
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
        queues[MAKING][0],
        tuple(queues[engine, 0][0] for engine in window.queues),
        window.retain,
        scale,
        zero,
        maker.problem.layer.is_ragged,
        slot.span,
    )
