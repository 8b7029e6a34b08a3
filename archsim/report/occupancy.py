"""How full each memory's rings are over time, from the Program's tokens and the times of its commands.

A slot of a ring is held from the start of the command that takes its ``free`` token to the end of the command
that gives it back; with several readers, to the last of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archsim.ir.activity import Activity
from archsim.ir.program import Program, Ring
from archsim.ir.unroll import unroll

Levels = dict[str, list[tuple[int, int]]]  # memory -> (time_ps, bytes held from then on), in time order


def occupancy(program: Program, activity: Activity) -> Levels:
    """Bytes held by rings, per memory, whenever that changes."""
    rings = {f"{ring.name}.free": ring for ring in program.rings}
    changes: dict[str, list[tuple[int, int]]] = {ring.memory: [] for ring in program.rings}
    returned: dict[str, dict[str, list[int]]] = {ring.name: {} for ring in program.rings}
    for queue in program.queues:
        records = activity.records.get(queue.name, ())
        for record, step in zip(records, unroll(queue), strict=False):
            for ring, slots in _tokens(step.waits, rings):
                changes[ring.memory].append((record.start_ps, slots * ring.slot_bytes))
            for ring, slots in _tokens(step.signals, rings):
                returned[ring.name].setdefault(queue.name, []).extend([record.end_ps] * slots)
    for ring in program.rings:
        changes[ring.memory] += [(time, -ring.slot_bytes) for time in _released(ring, returned[ring.name])]
    return {memory: _running(rows) for memory, rows in sorted(changes.items())}


def _tokens(tokens: tuple[tuple[str, int], ...], rings: Mapping[str, Ring]) -> Iterator[tuple[Ring, int]]:
    for name, n in tokens:
        if name in rings:
            yield rings[name], n


def _released(ring: Ring, by_reader: Mapping[str, list[int]]) -> list[int]:
    """Times at which a slot is free again: the last of its readers' signals, slot by slot."""
    readers = [by_reader.get(reader, []) for reader in ring.readers] or [*by_reader.values()]
    return [max(times) for times in zip(*readers, strict=False)]


def _running(changes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    levels: list[tuple[int, int]] = []
    held = 0
    for time, change in sorted(changes):
        held += change
        if levels and levels[-1][0] == time:
            levels[-1] = (time, held)
        else:
            levels.append((time, held))
    return levels
