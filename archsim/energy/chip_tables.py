"""What every action of a chip costs: integer zeptojoules (1e-21 J) per action, leakage in nanowatts, area.

1 nW over 1 ps is 1 zJ: dynamic and static energy are integers, and their sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from archsim.base.errors import SimulationError
from archsim.spec.part import INTERFACE, SourcedNumber

ZJ_PER_PJ = 10**9
ZJ_PER_J = 10**21
NW_PER_W = 10**9


@dataclass(frozen=True, slots=True)
class PartTable:
    """One part of the chip; all its instances together in ``leakage_w``, ``waiting_w``, ``idle_w`` and ``area_mm2``.

    ``leakage_w``: drawn whatever the chip does; ``waiting_w``: more, while a kernel is on it.

    ``kind``: dram | cache | sram | registers | noc | array | vector | dma | control | host; ``scope``: chip | dram |
    host.
    ``charges``: action as counted by the machine -> zJ of one; ``rest``: of any other action (functions of a
    vector unit), None where there is none. ``sources``: 'energy.NAME', 'leakage', 'area' -> where the figure
    comes from.
    """

    name: str
    kind: str
    scope: str
    charges: Mapping[str, int]
    leakage_w: float
    area_mm2: float
    sources: Mapping[str, str]
    rest: int | None = None
    idle_w: float | None = None  # between runs, where that is not the leakage
    waiting_w: float = 0.0

    @property
    def idle_nw(self) -> int:
        """Power between runs in whole nanowatts."""
        return self.leakage_nw if self.idle_w is None else round(self.idle_w * NW_PER_W)

    @property
    def waiting_nw(self) -> int:
        """Power beyond the static one while a kernel is on the chip, in whole nanowatts."""
        return round(self.waiting_w * NW_PER_W)

    @property
    def leakage_nw(self) -> int:
        """Static power in whole nanowatts."""
        return round(self.leakage_w * NW_PER_W)


def area_breakdown(parts: Mapping[str, PartTable], beside: Mapping[str, SourcedNumber]) -> dict[str, float]:
    """Part -> mm2 on the die. Of a DRAM the interface counts; the host is not on it. Then what is no part."""
    areas = {
        f"{name}{INTERFACE}" if table.scope == "dram" else name: table.area_mm2
        for name, table in parts.items()
        if table.scope != "host"
    }
    return areas | {name: area.value for name, area in beside.items()}


@dataclass(frozen=True, slots=True)
class ChipTables:
    """Every part of one chip, outermost first.

    ``pairs``: of number formats by name, such as ``bf16xbf16``, in which an array computes some layers and which are
    not the run's -> the arrays at these; ``layers``: such a layer -> its pair's name. ``beside``: what is on the die
    and is no part, such as links, by a name with a blank -> mm2.
    """

    technology: str
    parts: Mapping[str, PartTable]
    pairs: Mapping[str, Mapping[str, PartTable]] = field(default_factory=dict)
    layers: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, SourcedNumber] = field(default_factory=dict)

    def charge_zj(self, part: str, action: str, layer: str = "") -> int:
        """Energy of one ``action`` of ``part`` in a layer; raises SimulationError when none is known: nothing is
        free."""
        own = self.pairs.get(self.layers.get(layer, ""), {})
        table = own.get(part) or self.parts.get(part)
        if table is None:
            raise SimulationError(f"actions of unknown part '{part}'; the chip has: {', '.join(self.parts)}")
        found = table.charges.get(action, table.rest)
        if found is None:
            have = ", ".join(table.charges)
            raise SimulationError(f"part '{part}' has no energy for action '{action}'; it has: {have}")
        return found

    def pj(self, part: str, action: str, layer: str = "") -> float:
        """Energy of one action in pJ."""
        return self.charge_zj(part, action, layer) / ZJ_PER_PJ

    def area_breakdown_mm2(self) -> dict[str, float]:
        """Part -> mm2 on the die, as ``area_breakdown``."""
        return area_breakdown(self.parts, self.beside)

    def sources(self) -> dict[str, str]:
        """Key path of every figure ('l1.energy.read', 'l1.area'), with a pair's name behind those that are of one
        ('mxu.energy.mac bf16xbf16') -> where it comes from."""
        found = {f"{name}.{key}": text for name, table in self.parts.items() for key, text in table.sources.items()}
        found |= {f"{name}.area": area.source for name, area in self.beside.items()}
        for pair, tables in self.pairs.items():
            for name, table in tables.items():
                energies = {key: text for key, text in table.sources.items() if key.startswith("energy.")}
                found |= {f"{name}.{key} {pair}": text for key, text in energies.items()}
        return found
