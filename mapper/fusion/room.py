"""The room in memories that windows and held tiles leave, and the part of it that the tiles of each member have.

No member has more than its whole pass would take; what those that want little leave is shared by the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from archsim.base.errors import MappingError
from mapper.problem.geometry import components, slot_padding, slot_sizes
from mapper.problem.problem import Problem
from mapper.problem.strides import block_bytes

Bytes = Mapping[str, int]  # by memory


def left(free: Bytes, taken: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Bytes that are ``free`` but for those ``taken`` in some memories; raises MappingError where there are none."""
    room = dict(free)
    for memory, size in taken:
        room[memory] -= size
    for name, size in room.items():
        if size <= 0:
            raise MappingError(f"windows and what is held over passes leave no room in '{name}'")
    return room


def shares(room: Bytes, passes: Sequence[Problem]) -> list[dict[str, int]]:
    """What each of the ``passes`` may fill with tiles: of each memory its part of the ``room``."""
    wants = [_wanted(each) for each in passes]
    found: list[dict[str, int]] = [{} for _ in passes]
    for name, size in room.items():
        rest = size
        using = sorted((wants[at][name], at) for at in range(len(passes)) if wants[at].get(name))
        for number, (want, at) in enumerate(using):
            found[at][name] = min(want, rest // (len(using) - number))
            rest -= found[at][name]
    return found


def _wanted(problem: Problem) -> dict[str, int]:
    """Bytes that a whole pass takes with all slots, by memory."""
    found: dict[str, int] = {}
    for plan in problem.operands:
        if plan.buffered and not plan.resident:
            parts = components(plan.axes, plan.shape, problem.layer.dims)
            padded = slot_padding(parts, problem.layer.dims, plan.element_bytes, plan.pad_bytes)
            size = plan.slots * block_bytes(slot_sizes(parts, problem.dims), plan.element_bytes, padded)
            found[plan.level] = found.get(plan.level, 0) + size
    return found
