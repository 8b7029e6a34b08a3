"""What every action of a chip costs: integer zeptojoules (1e-21 J) per action, leakage in nanowatts, area.

1 nW over 1 ps is 1 zJ: dynamic and static energy are integers, and their sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from archsim.errors import SimulationError
from archsim.spec.architecture import Sourced

ZJ_PER_PJ = 10**9
ZJ_PER_J = 10**21
NW_PER_W = 10**9


@dataclass(frozen=True, slots=True)
class Charge:
    """Energy of one counted action."""

    energy_zj: int
    source: str


@dataclass(frozen=True, slots=True)
class PartTable:
    """One part of the chip, all its instances together for ``leakage`` (W) and ``area`` (mm2).

    ``kind``: dram | sram | registers | array | vector | dma | host. ``charges``: action as counted by the machine -> energy of one; ``rest``: any other action (slow functions of
    a vector unit), None where there is none. ``scope``: chip | dram | host.
    """

    name: str
    kind: str
    scope: str
    charges: Mapping[str, Charge]
    leakage: Sourced
    area: Sourced
    rest: Charge | None = None

    @property
    def leakage_nw(self) -> int:
        """Static power in whole nanowatts."""
        return round(self.leakage.value * NW_PER_W)


@dataclass(frozen=True, slots=True)
class Tables:
    """Every part of one chip, outermost first."""

    technology: str
    parts: Mapping[str, PartTable]

    def charge(self, part: str, action: str) -> Charge:
        """Energy of ``action`` of ``part``; raises SimulationError when none is known: nothing is free."""
        table = self.parts.get(part)
        if table is None:
            raise SimulationError(f"actions of unknown part '{part}'; the chip has: {', '.join(self.parts)}")
        found = table.charges.get(action, table.rest)
        if found is None:
            raise SimulationError(f"part '{part}' has no energy for action '{action}'; it has: {', '.join(table.charges)}")
        return found

    def pj(self, part: str, action: str) -> float:
        """Energy of one action in pJ."""
        return self.charge(part, action).energy_zj / ZJ_PER_PJ

    def area_breakdown_mm2(self) -> dict[str, float]:
        """Part -> mm2 on the chip. Of a DRAM the interface counts; the host is no part of the chip."""
        names = {"dram": "{} interface"}
        return {
            names.get(table.scope, "{}").format(name): table.area.value
            for name, table in self.parts.items()
            if table.scope != "host"
        }

    def sources(self) -> dict[str, str]:
        """Key path of every figure -> where it comes from."""
        found: dict[str, str] = {}
        for name, table in self.parts.items():
            found |= {f"{name}.energy.{action}": charge.source for action, charge in table.charges.items()}
            found[f"{name}.leakage"] = table.leakage.source
            found[f"{name}.area"] = table.area.source
        return found
