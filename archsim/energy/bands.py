"""On which side of the real chip an area and a power lie, and between which figures.

Where published dies of the chip's class were predicted without themselves in the fit, their mean error is the band.
"""

from __future__ import annotations

from archsim.energy.states import load_states
from archsim.energy.structures import load_structures
from archsim.ir.figure_table import AREA, POWER
from archsim.ir.result_parts import AreaBand, Bands, PowerBand
from archsim.spec.architecture import Architecture

ESTIMATE, LOWER = "estimate", "lower"


def sides(architecture: Architecture) -> dict[str, str]:
    """Of area and power: ``estimate`` where a class says what nobody counts, else a ``lower`` bound."""
    area = architecture.chip_class in load_structures().fill
    return {AREA: ESTIMATE if area else LOWER, POWER: ESTIMATE if _has_states(architecture) else LOWER}


def add_bands(bands: Bands, architecture: Architecture, area_mm2: float, power_w: float) -> Bands:
    """``bands`` with those of area and power, where they are known."""
    structures, found = load_structures(), bands.copy()
    if architecture.chip_class in structures.fill:
        factor = structures.band.value
        found["area_mm2"] = AreaBand(low=area_mm2 / factor, high=area_mm2 * factor, cases=structures.dies)
    if _has_states(architecture):
        states = load_states()
        factor = states.band.value
        found["power_avg_w"] = PowerBand(low=power_w / factor, high=power_w * factor, cases=states.cases)
    return found


def _has_states(architecture: Architecture) -> bool:
    return architecture.idle_class in load_states().idle
