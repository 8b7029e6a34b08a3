"""What engines say of a command before it runs, as rows of the compiled machine's tables.

A core's own ports and memories have numbers below 0 in them, so that all cores that do alike share a plan.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from archsim.sim.arena import Arena
from archsim.sim.compiled import layout as k
from archsim.sim.compiled.exact import exact
from archsim.sim.given_up import UnsuitedError
from archsim.sim.planned_streams import PlannedStreams
from archsim.sim.protocols import CommandStreams, PlanFacts, StreamFacts
from archsim.sim.record_pages import QueueColumns
from archsim.spec.network import core_of, part_of

KINDS = {"array": k.ARRAY, "vector": k.VECTOR, "move": k.MOVE, "launch": k.LAUNCH}


class Instances(NamedTuple):
    """Numbers of ports or memories: shared ones, then a core's own ones, which all cores have alike."""

    shared: dict[tuple[str, str], int]
    own: dict[tuple[str, str], int]

    def number(self, part: str, way: str, core: int | None, here: int | None) -> int:
        """As a plan of core ``here`` says it."""
        if core is None:
            return _found(self.shared, (part, way), k.SHARED)
        own = _found(self.own, (part, way), k.OWN_MOST)
        return -own - 1 if core == here else k.SHARED + core * k.OWN_MOST + own


def _found(numbers: dict[tuple[str, str], int], key: tuple[str, str], most: int) -> int:
    number = numbers.setdefault(key, len(numbers))
    if number >= most:
        raise UnsuitedError(f"more than {most} ports or memories")
    return number


class PlanRows:
    """Rows of plans, their streams and what goes on the bandwidth trace, in ``arena``.

    ``facts_of``: of streams, those of them that are placed; ``trace``: whether there is a trace. Raises UnsuitedError
    for what has no room in the tables.
    """

    def __init__(self, arena: Arena, facts_of: Callable[[Any, bool], StreamFacts], trace: bool) -> None:
        self._memories = Instances({}, {})
        self._ports = Instances({}, {})
        self._arena, self._facts_of, self._trace = arena, facts_of, trace
        self._demands = array("q")  # plan, memory, whether it is written, bytes
        self._counts = dict.fromkeys(("STREAMS", "SHARES", "CONFLICTS", "LOADS"), 0)
        self._known_streams: dict[Any, int] = {}

    def row(self, plan: int, found: PlanFacts, core: int | None) -> list[int]:
        """The row of PLANS of a command; plans come in their order. ``core``: the one that was asked, None where the
        chip has one."""
        row = [0] * k.PLAN_WIDTH
        row[k.PLAN_KIND], row[k.STREAM] = KINDS[found.kind], k.NONE
        for place, end in enumerate(found.ends):
            row[k.END_1 + place] = end
        row[k.MACS], row[k.SLOTS_PER_CYCLE], row[k.SETUP] = found.macs, found.slots_per_cycle, found.setup
        row[k.OWN_CYCLES], row[k.LEGS], row[k.TRAVELS], row[k.READS] = found.own, found.legs, found.travels, found.reads
        row[k.OUTER] = k.SEVERAL if found.outer is None else found.outer
        if found.streams is not None:
            row[k.STREAM] = self.stream(self._facts_of(found.streams, False), core)
            self._trace_streams(plan, found.streams, core)
        return row

    def _trace_streams(self, plan: int, streams: CommandStreams, core: int | None) -> None:
        """Keep what goes on the bandwidth trace."""
        for demand in streams.demands if self._trace else ():
            if demand.size_bytes:
                memory = self._memories.number(part_of(demand.memory), "", core_of(demand.memory), core)
                self._demands.extend((plan, memory, int(demand.write), demand.size_bytes))

    def streams(self, queues: Sequence[tuple[int, QueueColumns]]) -> PlannedStreams:
        """What goes on the bandwidth trace of what ``queues`` have run, each with the number of its core."""
        demands = np.array(self._demands, dtype=np.int64).reshape(-1, 4)
        shared, own = ([part for part, _ in numbers] for numbers in self._memories)
        return PlannedStreams(queues, demands, shared, own)

    def _append(self, name: str, rows: list[Any]) -> tuple[int, int]:
        """Add rows to a table; the first, and the one after the last."""
        first = self._counts[name]
        self._counts[name] = last = first + len(rows)
        self._arena.room(name, last)
        if rows:
            self._arena.table(name)[first:last] = rows
        return first, last

    def stream(self, found: StreamFacts, core: int | None) -> int:
        """The number of the streams of a command."""
        ports = tuple([self._ports.number(share.memory, share.way, share.core, core) for share in found.shares])
        key = found.cycles, ports, tuple([share[3:] for share in found.shares])
        number = self._known_streams.get(key)
        if number is None:
            number = self._known_streams[key] = self._new_stream(found, ports)
        return number

    def _new_stream(self, found: StreamFacts, ports: tuple[int, ...]) -> int:
        arena = self._arena
        shares, turns = [], 0
        if len(found.shares) > int(arena.m[k.MOST_SHARES]):
            raise UnsuitedError(f"streams over {len(found.shares)} ports")
        for port, share in zip(ports, found.shares, strict=True):
            conflicts = []
            for conflict in share.conflicts:
                operand = k.NONE if conflict.operand is None else conflict.operand
                loads, _ = self._append("LOADS", [(load,) for load in conflict.loads])
                where = operand, conflict.shift, conflict.granule, conflict.period
                conflicts.append((*where, loads, len(conflict.loads)))
            turns += len(conflicts)
            first, last = self._append("CONFLICTS", conflicts)
            arena.room_for_numbers("CONFLICT", last)
            for number, conflict in enumerate(share.conflicts, first):
                arena.keep("CONFLICT", number, exact(conflict.unit))
            shares.append((port, first, last))
        if turns > int(arena.m[k.MOST_TURNS]):
            raise UnsuitedError(f"{turns} streams that collide in banks")
        first, last = self._append("SHARES", shares)
        arena.room_for_numbers("SHARE", 4 * last)
        for number, share in enumerate(found.shares, first):
            values = (exact(share.share), exact(1 / share.share), exact(share.even), (share.peak, 0.0, 0))
            for place, value in enumerate(values):
                arena.keep("SHARE", 4 * number + place, value)
        stream, _ = self._append("STREAMS", [(first, last, found.whole_cycles)])
        arena.room_for_numbers("STREAM", stream + 1)
        arena.keep("STREAM", stream, exact(found.cycles))
        return stream
