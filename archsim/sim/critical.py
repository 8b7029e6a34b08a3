"""The critical path: which commands the run's length consists of, and what bound each layer.

From the command that ended last, walk back: to the command whose signal met the last wait, or, where nothing
was waited for, to the one before in the same queue. What lies between a command and its predecessor's end (a
clock crossing) is ``dependency``. The segments tile [0, total) without gap; time after the last command is
the host's.

    command            cause on the path
    load, store        dram, noc, sram_port: its phases, as the table of causes has them (``ir.causes``)
    array              weight_load, fill_drain: its phases; of what is left compute, the time that its MACs take at
                       the pace of the formats used, and edge_underfill, the rest; sram_port where stretched
    vector             compute; sram_port where stretched
    host, SETUP        launch

So a layer is bound by compute only where useful work is the largest share of it.
Fewer cycles on the path is what a layer's optimisation can gain at most, before another path becomes
critical.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from archsim.base.arrays import AnyArray, IntArray, narrow
from archsim.ir.activity import Activity
from archsim.ir.causes import CAUSES
from archsim.ir.records import CommandStretches, Records
from archsim.sim.attribution import boundaries

HOST = "_host"
_PS = 10**12
_NO_END = 1 << 61  # ps


class PathCharge(NamedTuple):
    """What a segment is charged to, and the unit that ran ('' in gaps)."""

    layer: str
    cause: str
    unit: str


@dataclass(frozen=True, slots=True)
class PathSegment:
    """[start_ps, end_ps) of the path: ``layer`` and ``cause`` that it is charged to, ``unit`` that ran ('' in gaps)."""

    start_ps: int
    end_ps: int
    layer: str
    cause: str
    unit: str


@dataclass(frozen=True, slots=True, eq=False)
class CriticalPath(Sequence[PathSegment]):
    """Segments in order of time, as columns of shape (segments,). ``charge``: number in ``charges``."""

    start_ps: IntArray
    end_ps: IntArray
    charge: IntArray
    charges: Sequence[PathCharge]

    def __len__(self) -> int:
        return len(self.charge)

    @overload
    def __getitem__(self, index: int) -> PathSegment: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PathSegment, ...]: ...
    def __getitem__(self, index: int | slice) -> PathSegment | tuple[PathSegment, ...]:
        at = range(len(self))[index]
        return self._segment(at) if isinstance(at, int) else tuple(map(self._segment, at))

    def _segment(self, at: int) -> PathSegment:
        return PathSegment(int(self.start_ps[at]), int(self.end_ps[at]), *self.charges[int(self.charge[at])])


def critical_path(activity: Activity, clocks_hz: Mapping[str, int] | None = None) -> CriticalPath:
    """The critical path, which tiles [0, total) without gap.

    ``clocks_hz``: the clock of each unit that is an array, the chip's where it is not said.
    """
    found = _Segments()
    units = [records for records in activity.records.values() if len(records)]
    if units:
        _commands(found, units, activity.clock_hz, clocks_hz or {})
    last_ps = max((int(records.columns().end_ps[-1]) for records in units), default=0)
    found.add(np.array([last_ps]), np.array([activity.total_ps]), np.array([found.number(HOST, "launch", "")]))
    return found.path()


def critical_cycles(path: CriticalPath, clock_hz: int) -> dict[str, dict[str, int]]:
    """Layer -> cause -> cycles on the path; sums to the run's cycles, exactly (boundaries are rounded)."""
    edges = boundaries(path.end_ps, clock_hz) - boundaries(path.start_ps, clock_hz)
    cycles = np.zeros(len(path.charges), dtype=edges.dtype)
    np.add.at(cycles, path.charge, edges)
    used, first = np.unique(path.charge, return_index=True)
    found: dict[str, dict[str, int]] = {}
    for number in used[np.argsort(first)].tolist():
        layer, cause, _ = path.charges[number]
        causes = found.setdefault(layer, {})
        causes[cause] = causes.get(cause, 0) + int(cycles[number])
    return found


def bound_by(critical: Mapping[str, int], shares: Mapping[str, int]) -> str:
    """What bounds a layer: the largest cause of its critical cycles, else of its arrays' time, else compute.

    ``shares``: of its arrays' time 'cause.operand' -> cycles of stalls, and those of causes by their names. Ties go to
    the first of ``CAUSES.bounds``.
    """
    if any(critical.values()):
        return max(CAUSES.bounds, key=lambda cause: critical.get(cause, 0))
    sums = dict.fromkeys(CAUSES.bounds, 0)
    for key, cycles in shares.items():
        word = key.partition(".")[0]
        sums[CAUSES.bound_of.get(word, word)] += cycles
    return max(CAUSES.bounds, key=lambda cause: sums[cause])


class _Segments:
    """Segments as they are found, in any order."""

    def __init__(self) -> None:
        self._parts: list[tuple[IntArray, IntArray, IntArray]] = []
        self._numbers: dict[PathCharge, int] = {}

    def number(self, layer: str, cause: str, unit: str) -> int:
        """The number of what is charged; time of no layer is the host's."""
        return self._numbers.setdefault(PathCharge(layer or HOST, cause, unit), len(self._numbers))

    def add(self, start_ps: IntArray, end_ps: IntArray, charge: IntArray) -> None:
        """Take segments, empty ones left out."""
        some = end_ps > start_ps
        self._parts.append((start_ps[some], end_ps[some], charge[some]))

    def path(self) -> CriticalPath:
        """All of them in order of time."""
        start_ps, end_ps, charge = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.argsort(start_ps, kind="stable")
        return CriticalPath(start_ps[order], end_ps[order], charge[order], list(self._numbers))


def _commands(found: _Segments, units: Sequence[Records], chip_hz: int, clocks_hz: Mapping[str, int]) -> None:
    """Add what the commands on the path did, and the gaps before them."""
    base = np.cumsum([0, *map(len, units)])[:-1]
    path = _walk(units, base)
    of_unit = np.searchsorted(base, path, "right") - 1
    start_ps, end_ps, layer = (np.zeros(len(path), dtype=np.int64) for _ in range(3))
    for number in np.unique(of_unit).tolist():
        records, own = units[number], of_unit == number
        commands, columns = path[own] - base[number], records.columns()
        start_ps[own], end_ps[own] = columns.start_ps[commands], columns.end_ps[commands]
        gaps = np.array([found.number(text.layer, "dependency", "") for text in records.texts])
        layer[own] = gaps[columns.text[commands]]
        _phases(found, records, records.stretches(commands), clocks_hz.get(records.unit, chip_hz))
    found.add(np.concatenate(([0], end_ps))[:-1], start_ps, layer)


def _walk(units: Sequence[Records], base: IntArray) -> IntArray:
    """The commands on the path in order of time, numbered through all units."""
    before = narrow(np.concatenate(list(_predecessors(units, base)))).data
    ends = [int(records.columns().end_ps[-1]) for records in units]
    last = ends.index(max(ends))  # of several units that end last the first
    at = int(base[last]) + len(units[last]) - 1
    backwards = []
    while at >= 0:
        backwards.append(at)
        at = before[at]
    return np.array(backwards[::-1], dtype=np.int64)


def _predecessors(units: Sequence[Records], base: IntArray) -> Iterator[IntArray]:
    """Of each unit's commands that whose signal met the last wait, or the one before; -1 for none."""
    first = {records.unit: at for records, at in zip(units, base.tolist(), strict=True)}
    for records, own in zip(units, base.tolist(), strict=True):
        columns = records.columns()
        critical, queue = columns.critical_unit, np.arange(own - 1, own - 1 + len(records))
        queue[0] = -1
        of_names = np.array([first.get(name, 0) for name in records.names])
        yield np.where(critical < 0, queue, of_names[critical] + columns.critical_index)


def _phases(found: _Segments, records: Records, stretches: CommandStretches, own_hz: int) -> None:
    """Add what commands of a unit did; of what arrays compute, what their MACs need is useful."""
    text, names = records.columns().text[stretches.record], len(records.names)
    keys, key = np.unique(text * names + stretches.phase, return_inverse=True)
    whole, rest = [], []
    for number in keys.tolist():
        what, phase = records.texts[number // names], records.names[number % names]
        cause = _cause(what.op, phase)
        whole.append(found.number(what.layer, cause, records.unit))
        rest.append(found.number(what.layer, "edge_underfill", records.unit) if cause == "compute" else -1)
    useful_ps = np.minimum(stretches.end_ps, stretches.start_ps + _useful_ps(records, stretches.record, own_hz))
    charge, left = np.array(whole, dtype=np.int64)[key], np.array(rest, dtype=np.int64)[key]
    useful_ps = np.where(left < 0, stretches.end_ps, useful_ps)
    found.add(stretches.start_ps, useful_ps, charge)
    found.add(useful_ps, stretches.end_ps, left)


def _useful_ps(records: Records, commands: AnyArray, own_hz: int) -> IntArray:
    """The time that the MACs of commands take; no end where they run on no array."""
    packed = records.packed()
    of_kind = [
        min(macs * _PS // (slots * own_hz), _NO_END) if slots else _NO_END
        for macs, slots in zip(packed.macs.tolist(), packed.slots_per_cycle.tolist(), strict=True)
    ]
    return np.array(of_kind, dtype=np.int64)[packed.kind[commands]]


def _cause(op: str, phase: str) -> str:
    if op in ("HOST", "SETUP"):
        return "launch"
    if phase in CAUSES.on_path:
        return CAUSES.on_path[phase]
    return "compute" if op in ("MATMUL", "VECTOR") else "dependency"
