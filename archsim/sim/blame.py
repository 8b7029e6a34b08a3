"""Who holds each unit up, instant by instant: the timelines that every attribution is a sum of.

A unit is BUSY (runs a command), WAIT (a command heads its queue and has not started; so from time 0) or DONE.

BUSY. Arrays: fill_drain, stall_sram_port (the command is stretched by shared ports), busy. Vector units:
stall_sram_port, busy. SETUP: launch. Everything else: busy.

WAIT. The command whose signal came last is blamed: the wait takes over that producer's own timeline of the
same instants, whose waits are resolved in the same way, so that every instant ends at a BUSY unit, the
*holder*:

    holder                                            cause of the wait
    load, store: its phase                            stall_dram, stall_noc (bytes on the network; a move between
                                                      places on chip, as long as it takes alone), stall_sram_port
    host, SETUP                                       launch
    array, vector: same kind and layer, another core  imbalance
    array, vector: stretched by ports                 stall_sram_port
    array of the waiter's core and layer              stall_compute (a waiting array: stall_dependency)
    vector, another array or layer                    stall_dependency

From the producer's end to the start (a clock crossing) its last holder stays to blame. A wait that no
producer explains is stall_dependency. The layer is that of the waiting command, the operand the role of the
holder's.

DONE. imbalance while the same kind of unit in another core still runs the layer that ran last, else idle.

A wait depends only on commands that happened before it, so commands are taken in that order, each once; the
stretch of the producer's timeline is found by bisection.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from archsim.errors import SimulationError
from archsim.ir.activity import Activity, Record
from archsim.ir.timeline import State, Timeline

MOVES = ("MOVE", "GATHER", "SCATTER")
MOVE_STALLS = {"dram": "stall_dram", "noc": "stall_noc", "sram_port": "stall_sram_port"}
_BUSY = {"fill_drain": "fill_drain", "sram_port": "stall_sram_port"}


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
    """A BUSY unit that others wait for: unit, the command's op, layer and role, its phase. One object for each.

    ``cause`` of all waits for it, '' where that depends on who waits.
    """

    unit: str
    op: str
    layer: str
    role: str
    phase: str
    cause: str


@dataclass(slots=True, eq=False)  # there are many, and frozen ones take twice as long to make
class Entry:
    """What a stretch of a unit's timeline says: who others would blame, and what the unit itself is charged.

    Nobody may change one.
    """

    holder: Holder
    state: State


NOBODY = Holder("", "", "", "", "", "stall_dependency")
IDLE = State("", "idle", "")


def timelines(activity: Activity) -> dict[str, Timeline]:
    """The timeline of every unit of ``activity``; raises SimulationError when waits depend on each other."""
    units = {name: _Unit(name) for name in activity.records}
    for name, records in activity.records.items():
        _run(units, activity.records, name, len(records))
    last_ends = _last_ends(activity.records)
    return {name: unit.close(activity, last_ends[unit.kind]) for name, unit in units.items()}


def core_and_kind(unit: str) -> tuple[str, str]:
    """('core[3]', 'load') of ``core[3].load``; units outside cores have core ''."""
    core, _, kind = unit.rpartition(".")
    return core, kind


def phases(record: Record) -> Iterator[tuple[int, int, str]]:
    """(start_ps, end_ps, phase) of a command, tiling [start, end); time without phase is '' at the end."""
    now = record.start_ps
    for phase, until in record.phases:
        if until > now:
            yield now, until, phase
            now = until
    if now < record.end_ps:
        yield now, record.end_ps, ""


def _run(units: dict[str, _Unit], records: Mapping[str, tuple[Record, ...]], name: str, count: int) -> None:
    """Resolve the first ``count`` commands of a unit, and before each one those that it depends on."""
    pending = [(name, count)]
    under_way: set[tuple[str, int]] = set()
    while pending:
        unit, need = pending[-1]
        done = units[unit].done
        if done >= need:
            pending.pop()
            continue
        record = records[unit][done]
        if record.critical is not None and units[record.critical[0]].done <= record.critical[1]:
            if (unit, done) in under_way:
                raise SimulationError(f"waits depend on each other around '{record.name}' of {unit}")
            under_way.add((unit, done))
            pending.append((record.critical[0], record.critical[1] + 1))
            continue
        units[unit].take(record, units, records)


class _Unit:
    """A timeline under construction. ``_starts[i]``: where ``_entries[i]`` begins; equal neighbours are merged."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.core, self.kind = core_and_kind(name)
        self.done = 0
        self._end_ps = 0
        self._layer = ""
        self._starts: list[int] = []
        self._entries: list[Entry] = []
        self._works: dict[tuple[str, str, str, str], Entry] = {}
        self._waits: dict[tuple[str, str], dict[Holder, Entry]] = {}

    def take(self, record: Record, units: Mapping[str, _Unit], records: Mapping[str, tuple[Record, ...]]) -> None:
        """Append the wait and the run of the next command."""
        if record.start_ps > self._end_ps:
            self._wait(record, units, records)
        for start, _, phase in phases(record):
            self._append(start, self._work(record, phase))
        self._end_ps, self._layer = record.end_ps, record.layer
        self.done += 1

    def _wait(self, record: Record, units: Mapping[str, _Unit], records: Mapping[str, tuple[Record, ...]]) -> None:
        """Append [end of the last command, start) of ``record`` as its critical producer's timeline says."""
        now, last = self._end_ps, NOBODY
        known = self._waits.setdefault((record.layer, record.op), {})
        if record.critical is not None:
            name, index = record.critical
            producer, unit = records[name][index], units[name]
            self._take_over(unit, now, min(producer.end_ps, record.start_ps), record, known)
            last = unit.last_holder(producer)
            now = max(now, producer.end_ps)
        if now < record.start_ps:
            self._append(now, known.get(last) or self._blame(last, record, known))

    def _take_over(self, unit: _Unit, start_ps: int, end_ps: int, record: Record, known: dict[Holder, Entry]) -> None:
        """Append who holds ``unit`` in [start_ps, end_ps), as what ``record`` waits for."""
        if start_ps >= end_ps:
            return
        starts, entries = unit._starts, unit._entries
        first = bisect_right(starts, start_ps) - 1
        own_starts, own = self._starts, self._entries
        last = own[-1] if own else None
        for at in range(first, bisect_left(starts, end_ps, first + 1)):
            holder = entries[at].holder
            entry = known.get(holder) or self._blame(holder, record, known)
            if entry is not last:
                own_starts.append(start_ps if at == first else starts[at])
                own.append(entry)
                last = entry

    def last_holder(self, record: Record) -> Holder:
        """The holder at the end of one of this unit's commands; NOBODY when it took no time."""
        last = ""
        for _, _, phase in phases(record):
            last = phase
        return self._work(record, last).holder if record.end_ps > record.start_ps else NOBODY

    def _work(self, record: Record, phase: str) -> Entry:
        key = (record.op, record.layer, record.role, phase)
        found = self._works.get(key)
        if found is None:
            holder = Holder(self.name, record.op, record.layer, record.role, phase, _cause(record.op, phase))
            found = self._works[key] = Entry(holder, _working(record, phase))
        return found

    def _blame(self, holder: Holder, record: Record, known: dict[Holder, Entry]) -> Entry:
        """What a wait of commands such as ``record`` for ``holder`` is; ``known``: those found before."""
        cause = holder.cause or _compute_cause(holder, self, record)
        operand = holder.role if cause.startswith("stall_") else ""
        found = known[holder] = Entry(holder, State(record.layer, cause, operand))
        return found

    def _append(self, start_ps: int, entry: Entry) -> None:
        if not self._entries or self._entries[-1] is not entry:
            self._starts.append(start_ps)
            self._entries.append(entry)

    def close(self, activity: Activity, last_ends: Sequence[tuple[int, str]]) -> Timeline:
        """Append what follows the last command and hand over the timeline: imbalance while others of its kind still run
        a layer, else idle."""
        now = self._end_ps
        for end_ps, layer in last_ends:
            if end_ps > now:
                self._append(now, Entry(NOBODY, State(layer, "imbalance", "")))
                now = end_ps
        if now < activity.total_ps:
            self._append(now, Entry(NOBODY, IDLE))
        return Timeline(self._starts, [entry.state for entry in self._entries])


def _working(record: Record, phase: str) -> State:
    if record.op in ("MATMUL", "VECTOR") and phase in _BUSY:
        return State(record.layer, _BUSY[phase], record.role if phase == "sram_port" else "")
    return State(record.layer, "launch" if record.op == "SETUP" else "busy", "")


def _last_ends(records: Mapping[str, tuple[Record, ...]]) -> dict[str, list[tuple[int, str]]]:
    """Kind -> when the last of its units ended each layer, and the layer, in the order of time."""
    found: dict[str, dict[str, int]] = {}
    for unit, queue in records.items():
        ends = found.setdefault(core_and_kind(unit)[1], {})
        for record in queue:
            ends[record.layer] = max(ends.get(record.layer, 0), record.end_ps)
    return {kind: sorted((end_ps, layer) for layer, end_ps in ends.items()) for kind, ends in found.items()}


def _cause(op: str, phase: str) -> str:
    """What waits for such a command are for, whoever waits; '' where that is not so."""
    if op in ("HOST", "SETUP"):
        return "launch"
    if op in MOVES:
        return MOVE_STALLS.get(phase, "stall_dependency")
    return "" if op in ("MATMUL", "VECTOR") else "stall_dependency"


def _compute_cause(holder: Holder, waiter: _Unit, record: Record) -> str:
    core, kind = core_and_kind(holder.unit)
    same_core, same_layer = core == waiter.core, holder.layer == record.layer
    if same_layer and not same_core and kind == waiter.kind:
        return "imbalance"
    if holder.phase == "sram_port":
        return "stall_sram_port"
    waits_for_array = holder.op == "MATMUL" and record.op != "MATMUL"
    return "stall_compute" if waits_for_array and same_core and same_layer else "stall_dependency"
