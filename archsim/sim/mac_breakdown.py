"""Where the chip's MAC slots went: cycles_total x peak, split into what was used and every reason why not.

Per array, in cycles of **its own clock** (boundaries on its own edges), with p = its peak MACs per cycle:

    useful = MACs done; a busy cycle at a dtype pair offers s <= p slots: dtype_loss = busy (p - s),
    edge_underfill = busy s - useful; every other cause = its cycles x p (weight loading, fill and drain too).

Peak counts in reference cycles: P = sum over arrays of p x own clock / reference clock, an exact fraction,
and the chip's slots are cycles_total x P. ``idle`` is what remains of them, so it takes up the part of a
cycle by which the clocks' grids differ; with one clock nothing remains and idle is the idle time. Where
fractions are left (a peak or a clock ratio that is not whole) they go to whole slots by largest remainder,
and the total is rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archsim.base.errors import SimulationError
from archsim.ir.activity import Activity
from archsim.ir.causes import CAUSES
from archsim.ir.records import Records
from archsim.sim.attribution import AttributionCube, boundaries
from archsim.sim.holders import core_and_kind
from archsim.spec.architecture import Architecture, Array


def peak_macs_per_cycle(architecture: Architecture) -> Fraction:
    """MACs per **reference** cycle of all arrays at their best dtype rates."""
    slots = (
        a.peak_macs_per_cycle * a.copies * Fraction(a.clock_hz, architecture.clock_hz) for a in architecture.arrays
    )
    return sum(slots, Fraction(0))


def peak_of_formats(activity: Activity, architecture: Architecture, dtypes: Mapping[str, str]) -> Fraction:
    """MACs per **reference** cycle of all arrays at the formats used: of each array the best rate that any of its
    MATMULs had; of one that ran none its rate for the run's formats by role, or its best."""
    offered: dict[str, Fraction] = {}
    for unit, array in array_units(activity, architecture).items():
        slots = int(activity.records[unit].columns().slots_per_cycle.max(initial=0))
        offered[array.name] = max(offered.get(array.name, Fraction(0)), Fraction(slots))
    return _peak(architecture, dtypes, offered)


def peak_of_dtypes(architecture: Architecture, dtypes: Mapping[str, str]) -> Fraction:
    """MACs per reference cycle of all arrays at formats by role, at their best rates where they have none for them."""
    return _peak(architecture, dtypes, {})


def _peak(architecture: Architecture, dtypes: Mapping[str, str], offered: Mapping[str, Fraction]) -> Fraction:
    """``offered``: MACs per own cycle of the arrays of which they are known."""
    total = Fraction(0)
    for array in architecture.arrays:
        best = array.peak_macs_per_cycle
        rate = array.rates.get((dtypes.get("inputs", ""), dtypes.get("weights", "")))
        slots = offered.get(array.name) or (best if rate is None else array.rows * array.cols * rate)
        total += min(slots, best) * array.copies * Fraction(array.clock_hz, architecture.clock_hz)
    return total


def array_units(activity: Activity, architecture: Architecture) -> dict[str, Array]:
    """The units that are arrays, with the part they are instances of.

    A unit is called by its part's name, or ``array``: of a core with several arrays the first that is not
    called by its own name. Raises SimulationError for a unit that runs MATMULs and is none of them.
    """
    named = {array.name: array for array in architecture.arrays}
    found: dict[str, Array] = {}
    for unit, records in activity.records.items():
        core, kind = core_and_kind(unit)
        unnamed = [array for name, array in named.items() if f"{core}.{name}" not in activity.records]
        part = unnamed[0] if kind == "array" and unnamed else named.get(kind)
        if part is not None:
            found[unit] = part
        elif any(text.op == "MATMUL" for text in records.texts):
            raise SimulationError(f"unit '{unit}' runs MATMULs but is none of the arrays: {', '.join(named)}")
    return found


def mac_breakdown(activity: Activity, architecture: Architecture, cube: AttributionCube) -> dict[str, int]:
    """MAC slots by cause, in the order of the table; sums to ceil(cycles_total x peak MACs per cycle), exactly."""
    total = cube.cycles_total * peak_macs_per_cycle(architecture)
    shares = dict.fromkeys(CAUSES.slots, Fraction(0))
    for unit, array in array_units(activity, architecture).items():
        for key, slots in _unit_slots(activity.records[unit], array, cube, unit):
            shares[key] += slots
    shares["idle"] = total - sum(shares.values())
    if shares["idle"] < 0:  # clock grids differ by a part of a cycle and there is no idle time to take it from
        largest = max((key for key in CAUSES.slots if key not in ("useful", "idle")), key=lambda key: shares[key])
        shares[largest] += shares["idle"]
        shares["idle"] = Fraction(0)
    return whole(shares, ceil(total))


def whole(shares: Mapping[str, Fraction], total: int) -> dict[str, int]:
    """Shares as integers that sum to ``total``: floors, the rest to the largest remainders, first come first."""
    floors = {key: floor(share) for key, share in shares.items()}
    rest = total - sum(floors.values())
    order = sorted(shares, key=lambda key: floors[key] - shares[key])
    for key in order[:rest]:
        floors[key] += 1
    return floors


def _unit_slots(records: Records, array: Array, cube: AttributionCube, unit: str) -> Iterator[tuple[str, Fraction]]:
    peak = array.peak_macs_per_cycle
    lost: dict[str, int] = {}
    for state, cycles in cube.cycles(unit, array.clock_hz).items():
        lost[state.cause] = lost.get(state.cause, 0) + cycles
    for cause, cycles in lost.items():
        if cause not in ("busy", "idle"):
            yield cause, cycles * peak
    columns, busy = records.columns(), _busy_cycles(records, array.clock_hz)
    matmul = np.array([text.op == "MATMUL" for text in records.texts], dtype=np.bool_)[columns.text]
    for slots in dict.fromkeys(columns.slots_per_cycle[matmul].tolist()):
        done = matmul & (columns.slots_per_cycle == slots)
        cycles, macs = int(busy[done].sum()), int(columns.macs[done].sum())
        offered = min(Fraction(slots), peak)
        yield "useful", Fraction(macs)
        yield "edge_underfill", cycles * offered - macs
        yield "dtype_loss", cycles * (peak - offered)


def _busy_cycles(records: Records, clock_hz: int) -> NDArray[Any]:
    """Of each command the cycles in which MACs run: those of none of the phases that are charged to a cause."""
    stretches = records.stretches()
    other = [number for number, name in enumerate(records.names) if name in CAUSES.engines]
    cycles = boundaries(stretches.end_ps, clock_hz) - boundaries(stretches.start_ps, clock_hz)
    busy = np.zeros(len(records), dtype=cycles.dtype)
    np.add.at(busy, stretches.record, np.where(np.isin(stretches.phase, other), 0, cycles))
    return busy
