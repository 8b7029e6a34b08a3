"""What the arrays' own time in each layer consists of, beside waiting: useful work and why the rest of it was none."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from archsim.ir.activity import Activity
from archsim.sim.attribution import Cube
from archsim.spec.architecture import Array

OWN = ("weight_load", "fill_drain")


def array_time(activity: Activity, cube: Cube, arrays: Mapping[str, Array]) -> dict[str, dict[str, int]]:
    """Layer -> cause -> cycles, summed over ``arrays`` (unit -> the part that it is).

    ``compute``: the time that the layer's MACs take at the pace of the formats used; ``edge_underfill``: the rest of
    the busy time; ``weight_load`` and ``fill_drain`` as in the time breakdown.
    """
    found: dict[str, dict[str, int]] = {}
    for unit, array in arrays.items():
        useful = _useful_cycles(activity, unit, array)
        for layer, causes in cube.by_layer(unit).items():
            busy = causes.get("busy", 0)
            compute = min(busy, round(useful.get(layer, Fraction(0))))
            own = {"compute": compute, "edge_underfill": busy - compute, **{key: causes.get(key, 0) for key in OWN}}
            sums = found.setdefault(layer, dict.fromkeys(own, 0))
            for cause, cycles in own.items():
                sums[cause] += cycles
    return found


def _useful_cycles(activity: Activity, unit: str, array: Array) -> dict[str, Fraction]:
    """Layer -> reference cycles that its MACs on ``unit`` take where no PE is without work."""
    records = activity.records[unit]
    columns = records.columns()
    pace = Fraction(activity.clock_hz, array.clock_hz)
    found: dict[str, Fraction] = {}
    for slots in np.unique(columns.slots_per_cycle).tolist():
        macs = np.zeros(len(records.texts), dtype=np.int64)
        np.add.at(macs, columns.text, np.where(columns.slots_per_cycle == slots, columns.macs, 0))
        for text, done in zip(records.texts, macs.tolist(), strict=True):
            if done and slots:
                found[text.layer] = found.get(text.layer, Fraction(0)) + Fraction(done, slots) * pace
    return found
