"""Values and keys that all parts share, as canonical text states them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from archsim.base import units
from archsim.spec.part import Part

Section = dict[str, Any]


def common(part: Part, above_hz: int) -> Section:
    """Keys that parts begin with; a clock where it is not the one above."""
    section: Section = {"name": part.name}
    if part.clock_hz != above_hz:
        section["clock"] = units.exact(part.clock_hz, units.FREQUENCY)
    section["sync_stages"] = part.sync_stages
    return section


def overrides(part: Part) -> Section:
    """Energies, area and powers that the file states itself."""
    section: Section = {}
    if part.energy_pj:
        section["energy"] = {action: f"{real(item.value)} pJ" for action, item in part.energy_pj.items()}
    if part.area_mm2 is not None:
        section["area"] = f"{real(part.area_mm2.value)} mm2"
    if part.leakage_w is not None:
        section["leakage"] = f"{real(part.leakage_w.value)} W"
    if part.idle_w is not None:
        section["idle"] = f"{real(part.idle_w.value)} W"
    return section


def one_or_each(values: dict[str, int], everything: tuple[str, ...]) -> int | dict[str, int]:
    """One number when it holds for all of ``everything``, else a number for each."""
    if set(values) == set(everything) and len(set(values.values())) == 1:
        return next(iter(values.values()))
    return values


def pair(inputs: str, weights: str) -> str:
    """Of dtypes."""
    return inputs if inputs == weights else f"{inputs}x{weights}"


def ratio(value: Fraction) -> int | str:
    """An exact number."""
    return value.numerator if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def cycles(count: int) -> str:
    """A number of cycles."""
    return f"{count} cycles"


def real(value: float) -> str:
    """A float, exactly."""
    return units.rational(Fraction(repr(value)))
