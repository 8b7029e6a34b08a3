"""What a die draws at an operating point, by the power and technology tables and a few numbers that are fitted.

MACs are priced with the registers of their PE, operand wires and memories, which a simulated chip counts one by one.
PEs of chips that never gate are systolic and hold three operands and the sum; others stand in trees of products. GPUs
deliver operands and instructions to each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import exp, log

from archsim.energy.states import PowerStates, load_states
from archsim.energy.structures import load_structures
from archsim.energy.technology import load_technology
from archsim.lab.validate.area.dies import Die
from archsim.lab.validate.area.inventory import width
from archsim.lab.validate.power.points import BUSY, IDLE, PublishedPoint

GPU, SYSTOLIC = "gpu", "always_on"
_OPERANDS = 3
_WAITING = [step / 100 for step in range(31)]
_DELIVERY = [1 + step / 20 for step in range(81)]


@dataclass(frozen=True, slots=True)
class FittedPower:
    """Idle and waiting densities by idle class (W/mm2 at 1 GHz), and the delivery factor of GPUs."""

    idle: Mapping[str, float]
    waiting: Mapping[str, float]
    delivery: float


@dataclass(frozen=True, slots=True)
class PowerModel:
    """The tables, and the dies by name."""

    states: PowerStates
    dies: Mapping[str, Die]

    def shipped(self) -> FittedPower:
        """The numbers of the package."""
        idle, waiting = (
            {name: one.value for name, one in of.items()} for of in (self.states.idle, self.states.waiting)
        )
        return FittedPower(idle, waiting, self.states.delivery.value)

    def parts(self, point: PublishedPoint, keys: FittedPower, area_mm2: float | None = None) -> dict[str, float]:
        """Watts by what draws them; ``area_mm2``: of the die, as published unless given."""
        area = area_mm2 or self.dies[point.die].die_mm2
        found = {"idle": keys.idle[point.idle_class] * area * self.states.idle_scale(point.clock_ghz, point.volts)}
        if point.state == IDLE:
            return found
        waiting = keys.waiting.get(point.idle_class, 0.0) * area * point.clock_ghz * point.volts**2
        delivery = keys.delivery if point.idle_class == GPU else 1.0
        systolic = point.idle_class == SYSTOLIC
        macs = (
            point.macs_per_s
            * mac_pj(self.dies[point.die].node_nm, point.dtype, systolic=systolic)
            * delivery
            * 1e-12
            * point.volts**2
        )
        return found | {"waiting": waiting, "MACs": macs, "DRAM": point.dram_w}

    def fit(self, points: Sequence[PublishedPoint], usual: FittedPower) -> FittedPower:
        """Densities that are right in the geometric mean of idle points, then waiting density and delivery of GPUs that
        make the mean error of their busy points least; ``usual`` where there are no points."""
        keys = replace(usual, idle={name: self._density(name, points, usual) for name in usual.idle})
        busy = [point for point in points if point.state == BUSY and point.idle_class == GPU]
        if not busy:
            return keys
        tried = (
            replace(keys, waiting={**usual.waiting, GPU: waiting}, delivery=delivery)
            for waiting in _WAITING
            for delivery in _DELIVERY
        )
        return min(tried, key=lambda one: self._error(busy, one))

    def _density(self, name: str, points: Sequence[PublishedPoint], usual: FittedPower) -> float:
        logs = [
            log(point.watts / (self.dies[point.die].die_mm2 * self.states.idle_scale(point.clock_ghz, point.volts)))
            for point in points
            if point.state == IDLE and point.idle_class == name
        ]
        return exp(sum(logs) / len(logs)) if logs else usual.idle[name]

    def _error(self, points: Sequence[PublishedPoint], keys: FittedPower) -> float:
        return sum(abs(log(point.watts / sum(self.parts(point, keys).values()))) for point in points)


def of(dies: Mapping[str, Die]) -> PowerModel:
    """The model of dies by the package's tables."""
    return PowerModel(load_states(), dies)


@cache
def mac_pj(node_nm: float, dtype: str, *, systolic: bool) -> float:
    """A MAC with its registers, operand wires and memories, at the nominal supply of a node."""
    table, sums = load_technology(f"{node_nm:g}nm"), "int32" if "int" in dtype else "fp32"
    bits = _OPERANDS * width(dtype) + width(sums) if systolic else load_structures().tree_register_bits.value
    unit = table.number_format(dtype).multiply_pj.value + table.number_format(sums).add_pj.value
    return float(unit + bits * table.register_pj_per_bit.value + load_states().beside_mac_pj(node_nm))
