"""What would help: each resource of the chip enlarged alone (``lab.what_if.variants``), the model mapped and simulated
again.

Gains are in cycles of the chip as it is, so that a faster clock compares; area and power are differences to the chip as
it is, and absent where nothing models them (``lab.what_if.change_cost``). The supply voltage stays what it is, though a
faster clock may need more of it: that variant says so.

The search is not perfect: on a larger chip it may choose a worse mapping than the chip as it is has. Where the new
mapping comes out worse, the mapping of the chip as it is is simulated on the larger one as well, if it is valid there,
and the better of the two is the row's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from archsim.base.errors import ArchsimError
from archsim.base.progress import each
from archsim.ir.result import Result
from archsim.lab.what_if.change_cost import UnknownCost, unknown
from archsim.lab.what_if.variants import ChipVariant, variants
from archsim.report.run.details import WhyRow
from archsim.spec.architecture import Architecture
from archsim.spec.load import replace as changed

NEW, KEPT = "new", "kept"
SimulateVariant = Callable[[Architecture, str], Result]
SimulateKept = Callable[[Architecture], Result | None]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A variant's outcome; figures are None where it failed (``reason``) and where nothing models them (``remark``).

    ``cycles_total``: its latency in cycles of the base chip; ``gain_cycles`` > 0 is faster. ``mapping``: whose it is,
    new or kept from the base chip.
    """

    variant: ChipVariant
    cycles_total: int | None
    gain_cycles: int | None
    gain_percent: float | None
    area_mm2: float | None
    power_mw: float | None
    reason: str = ""
    mapping: str = NEW
    remark: str = ""

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
            "mapping": self.mapping,
            "reason": self.reason,
            "remark": "; ".join(text for text in (self.variant.remark, self.remark) if text),
        }


def no_mapping(_: Architecture) -> None:
    """A ``SimulateKept`` where there is no mapping to keep."""


def why(
    base: Result,
    architecture: Architecture,
    simulate: SimulateVariant,
    keep: SimulateKept = no_mapping,
    objective: str = "latency",
) -> tuple[WhatIf, ...]:
    """Simulate every variant; ``simulate`` maps and runs the same model on a chip (and is told why).

    ``keep`` runs it there with the mapping of ``base``, None where that is not valid; it is asked where the new mapping
    is worse than ``base`` in ``objective``.
    """
    asked = tuple(variants(architecture))
    named = each(asked, "what would help", "changes", lambda variant: variant.name)
    trying = _Trying(base, architecture, simulate, keep, objective)
    return tuple(trying.outcome(variant) for variant in named)


@dataclass(frozen=True, slots=True)
class _Trying:
    """What every variant is tried with; see ``why``."""

    base: Result
    architecture: Architecture
    simulate: SimulateVariant
    keep: SimulateKept
    objective: str

    def outcome(self, variant: ChipVariant) -> WhatIf:
        """The better of the new mapping and, where that is worse than none, of the one that is kept."""
        try:
            chip = changed(self.architecture, variant.keys)
            found = self.simulate(chip, variant.name)
        except ArchsimError as error:
            return WhatIf(variant, None, None, None, None, None, str(error).partition("\n")[0])
        cost = unknown(self.architecture, chip, variant.keys)
        new = _compare(self.base, variant, found, cost)
        if self._worth(found) <= self._worth(self.base):
            return new
        kept = self.keep(chip)
        if kept is None or self._worth(kept) >= self._worth(found):
            return new
        lost = f"the mapping is kept; what the search chose for this chip takes {new.cycles_total:,} cycles"
        row = _compare(self.base, variant, kept, cost)
        return replace(row, mapping=KEPT, remark="; ".join(text for text in (lost, row.remark) if text))

    def _worth(self, result: Result) -> tuple[float, float]:
        """What the objective makes of a result, the least first; of another clock too, so in seconds."""
        first = {"energy": result.energy_j, "edp": result.edp_js}.get(self.objective, result.latency_s)
        return first, result.latency_s


def _compare(base: Result, variant: ChipVariant, found: Result, cost: UnknownCost) -> WhatIf:
    base_hz, found_hz = int(base.architecture["clock_hz"]), int(found.architecture["clock_hz"])
    cycles = -(-found.cycles_total * base_hz // found_hz)
    gain = base.cycles_total - cycles
    no_area = cost.area or base.area_mm2 is None or found.area_mm2 is None
    area = None if no_area else (found.area_mm2 or 0.0) - (base.area_mm2 or 0.0)
    power = None if cost.power else 1e3 * (found.power_avg_w - base.power_avg_w)
    percent = 100 * gain / max(base.cycles_total, 1)
    return WhatIf(variant, cycles, gain, percent, area, power, remark=cost.said)
