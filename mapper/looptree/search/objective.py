"""What a search minimises: energy and delay, each to a power, and what decides between equals."""

from __future__ import annotations

from dataclasses import dataclass

from archsim.base.errors import ConfigError

SAME = 1e-12  # relative difference of figures that are equal but for rounding


@dataclass(frozen=True)
class Objective:
    """Minimise ``energy ** energy_power * latency ** delay_power``; then latency, then energy."""

    name: str
    energy_power: float
    delay_power: float

    def key(self, energy_j: float, latency_s: float) -> tuple[float, float, float]:
        """Compared in order; smaller is better."""
        return energy_j**self.energy_power * latency_s**self.delay_power, latency_s, energy_j


LATENCY, ENERGY, EDP = Objective("latency", 0, 1), Objective("energy", 1, 0), Objective("edp", 1, 1)
OBJECTIVES = {objective.name: objective for objective in (LATENCY, ENERGY, EDP)}


def weighted(energy_power: float, delay_power: float) -> Objective:
    """Weights such as (1, 2): energy times delay squared. Raises ConfigError when one is negative or none counts."""
    if min(energy_power, delay_power) < 0 or energy_power + delay_power <= 0:
        raise ConfigError(f"objective: weights {energy_power}, {delay_power}; none may be negative and one must count")
    return Objective(f"energy^{energy_power:g} delay^{delay_power:g}", energy_power, delay_power)


def better(first: tuple[float, ...], second: tuple[float, ...]) -> bool:
    """Whether the first key is smaller, figures that differ by rounding alone being equal."""
    for one, other in zip(first, second, strict=True):
        if abs(one - other) > SAME * min(abs(one), abs(other)):
            return one < other
    return False
