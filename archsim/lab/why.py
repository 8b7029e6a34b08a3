"""What would help: each resource of the chip enlarged alone (``lab.enlarged``), the model mapped and simulated again.

Gains are in cycles of the chip as it is, so that a faster clock compares; area and power are differences to the chip as
it is. The supply voltage stays what it is, though a faster clock may need more of it: that variant says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from archsim.errors import ArchsimError
from archsim.ir.result import Result
from archsim.lab.enlarged import Variant, variants
from archsim.progress import each
from archsim.report.details import WhyRow
from archsim.spec.architecture import Architecture


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A variant's outcome; figures are None where it failed (``reason``) or a part has no sourced area.

    ``cycles_total``: its latency in cycles of the base chip; ``gain_cycles`` > 0 is faster.
    """

    variant: Variant
    cycles_total: int | None
    gain_cycles: int | None
    gain_percent: float | None
    area_mm2: float | None
    power_mw: float | None
    reason: str = ""

    def to_json(self) -> WhyRow:
        """A row of ``details.why``."""
        return {
            "name": self.variant.name,
            "keys": {key: str(value) for key, value in self.variant.keys.items()},
            "cycles_total": self.cycles_total,
            "gain_cycles": self.gain_cycles,
            "gain_percent": self.gain_percent,
            "area_mm2": self.area_mm2,
            "power_mw": self.power_mw,
            "reason": self.reason,
            "remark": self.variant.remark,
        }


def why(
    base: Result, architecture: Architecture, simulate: Callable[[Architecture, str], Result]
) -> tuple[WhatIf, ...]:
    """Simulate every variant; ``simulate`` maps and runs the same model on a chip (and is told why)."""
    asked = tuple(variants(architecture))
    named = each(asked, "what would help", "changes", lambda variant: variant.name)
    return tuple(_try(base, architecture, variant, simulate) for variant in named)


def _try(
    base: Result,
    architecture: Architecture,
    variant: Variant,
    simulate: Callable[[Architecture, str], Result],
) -> WhatIf:
    from archsim.spec.load import replace

    try:
        found = simulate(replace(architecture, variant.keys), variant.name)
    except ArchsimError as error:
        return WhatIf(variant, None, None, None, None, None, str(error).partition("\n")[0])
    return _compare(base, variant, found)


def _compare(base: Result, variant: Variant, found: Result) -> WhatIf:
    base_hz, found_hz = int(base.architecture["clock_hz"]), int(found.architecture["clock_hz"])
    cycles = -(-found.cycles_total * base_hz // found_hz)
    gain = base.cycles_total - cycles
    no_area = base.area_mm2 is None or found.area_mm2 is None
    area = None if no_area else (found.area_mm2 or 0.0) - (base.area_mm2 or 0.0)
    power = 1e3 * (found.power_avg_w - base.power_avg_w)
    return WhatIf(variant, cycles, gain, 100 * gain / max(base.cycles_total, 1), area, power)
