"""Who may hold units up and who waits, by number; and what a wait of one for the other is charged to.

A *holder* is a unit that runs commands of one op, layer and role in one phase; a *waiter* a unit whose commands of one
layer and op wait. The rules are those of ``blame``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from archsim.base.arrays import AnyArray, IntArray, narrow
from archsim.ir.causes import CAUSES
from archsim.ir.records import CommandStretches, RecordColumns, Records
from archsim.ir.timeline import Timeline, UnitState

MOVES = ("MOVE", "GATHER", "SCATTER")
NOBODY = 0  # the holder where no command is to blame
IDLE = UnitState("", "idle", "")
_BY_WAITER = -1  # in place of a cause


class _Holder(NamedTuple):
    """Numbers and flags of a holder. ``works``: what the unit itself is charged; ``cause`` of all waits for it, or
    _BY_WAITER; ``stretch``: the cause of a stretch that those who wait for it share, 0 where it is not stretched."""

    core: int
    kind: int
    layer: int
    role: int
    works: int
    cause: int
    stretch: int
    array: int


class _Waiter(NamedTuple):
    """Numbers of a waiter; ``array``: whether it waits to run on an array."""

    core: int
    kind: int
    layer: int
    array: int


class Holders:
    """All holders and waiters so far, and the states that their stretches are charged to.

    Causes have numbers here: their places among the causes of time.
    """

    def __init__(self) -> None:
        self._names: dict[str, int] = {"": 0}
        self._causes = CAUSES.time
        self._number = {cause: number for number, cause in enumerate(self._causes)}
        self._waits = np.array([cause in CAUSES.waits for cause in self._causes])
        self._holders = [_Holder(0, 0, 0, 0, 0, self._number["stall_dependency"], 0, 0)]
        self._waiters = [_Waiter(0, 0, 0, 0)]  # 0: who works
        self._states: dict[int, UnitState] = {}
        self._of_work: dict[tuple[str, str], tuple[int, int, int, int]] = {}  # by op and phase
        self._tables: tuple[IntArray, IntArray] | None = None

    def unit(self, records: Records, stretches: CommandStretches, columns: RecordColumns) -> tuple[IntArray, IntArray]:
        """The holder of each stretch of a unit, and the waiter of each command; numbers them anew."""
        core, kind = map(self._name, core_and_kind(records.unit))
        kinds: dict[tuple[str, str, str], int] = {}
        waits: dict[tuple[str, str], int] = {}
        of_text, waiter_of_text = [], []
        for _, op, layer, role in records.texts:
            of_text.append(kinds.setdefault((op, layer, role), len(kinds)))
            if (layer, op) not in waits:
                waits[layer, op] = len(self._waiters)
                self._waiters.append(_Waiter(core, kind, self._name(layer), op == "MATMUL"))
            waiter_of_text.append(waits[layer, op])
        text_kind = np.array(of_text, dtype=np.int64)[columns.text]
        names, listed = records.names, list(kinds)
        keys, work = np.unique(text_kind[stretches.record] * len(names) + stretches.phase, return_inverse=True)
        first = len(self._holders)
        for key in keys.tolist():
            at, phase = divmod(key, len(names))
            op, layer, role = listed[at]
            self._holders.append(self._holder(core, kind, op, layer, role, names[phase]))
        self._tables = None
        return work + first, np.array(waiter_of_text, dtype=np.int64)[columns.text]

    def timeline(
        self, starts_ps: IntArray, holder: AnyArray, waiter: AnyArray, states: Sequence[UnitState]
    ) -> Timeline:
        """The timeline of stretches of a unit, each from a start on: what is charged to its waiters for holders, or
        (waiter 0) the holder's work; then of ``states``, one a stretch."""
        least = int(waiter.min(where=waiter > 0, initial=len(self._waiters)))
        local = np.where(waiter > 0, waiter - (least - 1), 0)
        width = int(local.max(initial=0)) + 1
        pairs = holder.astype(np.int64) * width + local
        found, which = np.unique(pairs, return_inverse=True)  # a table of all pairs would be far larger than these
        local = found % width
        codes = self._codes(found // width, np.where(local > 0, local + (least - 1), 0))
        after = np.arange(len(found), len(found) + len(states))
        return self._timeline(
            starts_ps,
            np.concatenate((codes, np.array([self._code_of(state) for state in states], dtype=np.int64))),
            np.concatenate((which, after)),
        )

    def _codes(self, holder: AnyArray, waiter: AnyArray) -> IntArray:
        """What waits of waiters for holders are charged to, or (waiter 0) the holder's work."""
        if self._tables is None:
            self._tables = np.array(self._holders).T, np.array(self._waiters).T
        core, kind, layer, role, works, cause, stretch, array = self._tables[0][:, holder]
        own_core, own_kind, own_layer, own_array = self._tables[1][:, waiter]
        near, same, number = core == own_core, layer == own_layer, self._number
        found = np.where((array > own_array) & near & same, number["stall_compute"], number["stall_dependency"])
        found = np.where(stretch > 0, stretch, found)
        found = np.where(same & ~near & (kind == own_kind), number["imbalance"], found)
        found = np.where(cause == _BY_WAITER, found, cause)
        found = np.where(waiter == 0, works, found)
        return self._code(np.where(waiter == 0, layer, own_layer), found, np.where(self._waits[found], role, 0))

    def _code_of(self, state: UnitState) -> int:
        layer, cause, operand = state
        return int(
            self._code(np.array(self._name(layer)), np.array(self._number[cause]), np.array(self._name(operand)))
        )

    def _timeline(self, starts_ps: IntArray, codes: IntArray, which: AnyArray) -> Timeline:
        """Of stretches that are each charged to one of ``codes``, every one of which there is."""
        first = np.zeros(len(codes), dtype=np.int64)
        first[which[::-1]] = np.arange(len(which) - 1, -1, -1)  # of several the one that is written last stays
        found, own = np.unique(codes, return_inverse=True)
        begins = np.full(len(found), len(which), dtype=np.int64)
        np.minimum.at(begins, own, first)
        order, names = np.argsort(begins), list(self._names)
        number = narrow(np.argsort(order))
        return Timeline(starts_ps, number[own][which], [self._state(code, names) for code in found[order].tolist()])

    def _holder(self, core: int, kind: int, op: str, layer: str, role: str, phase: str) -> _Holder:
        work = self._of_work.get((op, phase))
        if work is None:
            work = self._works(op, phase), self._cause(op, phase), self._stretch(phase), int(op == "MATMUL")
            self._of_work[op, phase] = work
        return _Holder(core, kind, self._name(layer), self._name(role), *work)

    def _works(self, op: str, phase: str) -> int:
        """What a unit that works is charged."""
        if op in ("MATMUL", "VECTOR") and phase in CAUSES.engines:
            return self._number[CAUSES.engines[phase]]
        return self._number["launch" if op == "SETUP" else "busy"]

    def _cause(self, op: str, phase: str) -> int:
        """What waits for such a command are for, whoever waits; _BY_WAITER where that is not so."""
        if op in ("HOST", "SETUP"):
            return self._number["launch"]
        if op in MOVES:
            return self._number[CAUSES.engines.get(phase, "stall_dependency")]
        return _BY_WAITER if op in ("MATMUL", "VECTOR") else self._number["stall_dependency"]

    def _stretch(self, phase: str) -> int:
        """The wait that a phase is, which stretches its command; 0 for another phase."""
        key = CAUSES.engines.get(phase, "")
        return self._number[key] if key in CAUSES.waits else 0

    def _name(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def _code(self, layer: IntArray, cause: IntArray, operand: IntArray) -> IntArray:
        found: IntArray = (layer << 32 | operand << 8) | cause
        return found

    def _state(self, code: int, names: Sequence[str]) -> UnitState:
        found = self._states.get(code)
        if found is None:
            found = UnitState(names[code >> 32], self._causes[code & 0xFF], names[code >> 8 & 0xFFFFFF])
            self._states[code] = found
        return found


def core_and_kind(unit: str) -> tuple[str, str]:
    """('core[3]', 'load') of ``core[3].load``; units outside cores have core ''."""
    core, _, kind = unit.rpartition(".")
    return core, kind
