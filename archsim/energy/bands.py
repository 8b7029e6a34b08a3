"""On which side of the real chip an area and a power lie, and between which figures.

Where published dies of the chip's class were predicted without themselves in the fit, their mean error is the band.
Watts follow from the area, so a chip whose area is a lower bound has no band of its power either; nor has one of idle
class gpu in which nothing says to which units sub-cores issue.
"""

from __future__ import annotations

from archsim.energy.states import load_states
from archsim.energy.structures import load_structures
from archsim.ir.figure_table import AREA, POWER
from archsim.ir.result_parts import AreaBand, Bands, PowerBand
from archsim.spec.architecture import Architecture

ESTIMATE, LOWER = "estimate", "lower"
_GPU = "gpu"


def sides(architecture: Architecture) -> dict[str, str]:
    """Of area and power: ``estimate`` where a class says what nobody counts, else a ``lower`` bound."""
    known = {AREA: _is_filled(architecture), POWER: _has_states(architecture)}
    return {key: ESTIMATE if is_known else LOWER for key, is_known in known.items()}


def add_bands(bands: Bands, architecture: Architecture, area_mm2: float, power_w: float) -> Bands:
    """``bands`` with those of area and power, where they are known."""
    structures, states, found = load_structures(), load_states(), bands.copy()
    if _is_filled(architecture):
        name = architecture.chip_class
        factor = structures.band[name].value
        found["area_mm2"] = AreaBand(low=area_mm2 / factor, high=area_mm2 * factor, cases=structures.dies[name])
    if _has_states(architecture):
        name = architecture.idle_class
        factor = states.band[name].value
        found["power_avg_w"] = PowerBand(low=power_w / factor, high=power_w * factor, cases=states.cases[name])
    return found


def _is_filled(architecture: Architecture) -> bool:
    structures = load_structures()
    return architecture.chip_class in structures.fill and architecture.chip_class in structures.band


def _has_states(architecture: Architecture) -> bool:
    states, name = load_states(), architecture.idle_class
    issued = name != _GPU or any(control.subcores for control in architecture.controls)
    return _is_filled(architecture) and issued and name in states.idle and name in states.band
