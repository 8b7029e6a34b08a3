"""The attribution cube: units x layers x causes (x operands) in cycles, and its marginals.

A pure pass over an Activity's records (``blame`` says who is charged). Cycles are differences of interval
**boundaries** brought to the clock's grid by ``to_cycles``, never rounded durations: so every row of a unit
sums to the same total, exactly, in any clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archsim.ir.activity import Activity, to_cycles
from archsim.ir.causes import CAUSES
from archsim.ir.timeline import Timeline, UnitState
from archsim.sim.blame import timelines

StateCycles = Mapping[UnitState, int]
_PS = 10**12


@dataclass(frozen=True, slots=True)
class AttributionCube:
    """``rows``: unit -> (layer, cause, operand) -> reference-clock cycles; each row sums to ``cycles_total``.

    ``timelines`` are the same in picoseconds, segment by segment.
    """

    clock_hz: int
    total_ps: int
    cycles_total: int
    rows: Mapping[str, StateCycles]
    timelines: Mapping[str, Timeline]

    def time_breakdown(self) -> dict[str, dict[str, int]]:
        """Unit -> cause -> cycles, all causes in their order; every row sums to ``cycles_total``."""
        found = {}
        for unit, row in self.rows.items():
            causes = dict.fromkeys(CAUSES.time, 0)
            for state, cycles in row.items():
                causes[state.cause] += cycles
            found[unit] = causes
        return found

    def by_layer(self, unit: str) -> dict[str, dict[str, int]]:
        """Layer -> cause -> cycles of one unit; layer '' holds the time after its work."""
        found: dict[str, dict[str, int]] = {}
        for state, cycles in self.rows[unit].items():
            causes = found.setdefault(state.layer, {})
            causes[state.cause] = causes.get(state.cause, 0) + cycles
        return found

    def stalls(self, units: Iterable[str]) -> dict[str, dict[str, int]]:
        """Layer -> 'cause.operand' -> cycles over ``units``: stalls, launch and imbalance, in the order of time."""
        sums: dict[str, dict[UnitState, int]] = {}
        for unit in units:
            for state, cycles in self.rows[unit].items():
                if cycles and state.cause in CAUSES.of_arrays:
                    layer = sums.setdefault(state.layer, {})
                    layer[state] = layer.get(state, 0) + cycles
        return {
            layer: {_key(state): found[state] for state in sorted(found, key=_order)} for layer, found in sums.items()
        }

    def cycles(self, unit: str, clock_hz: int) -> StateCycles:
        """The row of ``unit`` in cycles of any clock."""
        if clock_hz == self.clock_hz:
            return self.rows[unit]
        return _row(self.timelines[unit], self.total_ps, clock_hz)


def attribute(activity: Activity) -> AttributionCube:
    """The cube of an Activity; raises SimulationError when its waits depend on each other."""
    found = timelines(activity)
    rows = {unit: _row(timeline, activity.total_ps, activity.clock_hz) for unit, timeline in found.items()}
    cycles_total = to_cycles(activity.total_ps, activity.clock_hz)
    return AttributionCube(activity.clock_hz, activity.total_ps, cycles_total, rows, found)


def _row(timeline: Timeline, total_ps: int, clock_hz: int) -> dict[UnitState, int]:
    if not timeline.states:
        return {}
    edges = boundaries(np.append(timeline.start_ps[1:], total_ps), clock_hz)
    cycles = np.zeros(len(timeline.states), dtype=edges.dtype)
    np.add.at(cycles, timeline.state, np.diff(edges, prepend=0))
    return dict(zip(timeline.states, cycles.tolist(), strict=True))


def boundaries(times_ps: NDArray[np.int64], hz: int) -> NDArray[Any]:
    """``to_cycles`` of each time; Python's integers where 64 bits do not hold the products."""
    common = gcd(hz, _PS)
    fits = int(times_ps.max(initial=0)) * (hz // common) <= np.iinfo(np.int64).max
    found: NDArray[Any] = -(-times_ps.astype(np.int64 if fits else object) * (hz // common) // (_PS // common))
    return found


def _key(state: UnitState) -> str:
    return f"{state.cause}.{state.operand}" if state.operand else state.cause


def _order(state: UnitState) -> tuple[int, str]:
    return CAUSES.time.index(state.cause), state.operand
