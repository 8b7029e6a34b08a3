"""Energy of a run: every counted action once, and what time alone costs.

    dynamic(layer, part, action) = count x energy of one action
    static(part) = leakage x latency + waiting surplus x time with a kernel on the chip

in integer zeptojoules, so that marginals by part and by layer are exact. Static energy belongs to the layer
``_static``, work of no layer to ``_host``. The scopes chip, dram and host say where it is spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from archsim.base.errors import SimulationError
from archsim.energy.chip_tables import ChipTables
from archsim.energy.exact_sums import joules, total_joules
from archsim.ir.activity import CountKey
from archsim.ir.result_parts import StateEnergies
from archsim.spec.architecture import Architecture

HOST = "_host"
STATIC = "_static"
CHIP = "chip"


@dataclass(frozen=True, slots=True)
class Energy:
    """``dynamic_zj``: (layer, part, action) -> zJ; ``static_zj``: part -> zJ of time alone, of which ``waiting_zj`` is
    what is drawn more while a kernel is on the chip; ``scopes``: part -> chip | dram | host.

    ``leakage_nw``, ``waiting_nw``: part -> nW; ``latency_ps`` of the run, of which a kernel is on the chip for the last
    ``kernel_ps``. Parts are in the chip's order.
    """

    dynamic_zj: Mapping[CountKey, int]
    static_zj: Mapping[str, int]
    waiting_zj: Mapping[str, int]
    leakage_nw: Mapping[str, int]
    waiting_nw: Mapping[str, int]
    scopes: Mapping[str, str]
    latency_ps: int
    kernel_ps: int

    @property
    def total_zj(self) -> int:
        """Everything."""
        return sum(self.dynamic_zj.values()) + sum(self.static_zj.values())

    def by_state_j(self) -> StateEnergies:
        """``idle_j``, ``waiting_j``, ``actions_j``: joules that sum to ``total_j`` exactly, in any order."""
        waiting = sum(self.waiting_zj.values())
        static = sum(self.static_zj.values())
        states = {"idle": static - waiting, "waiting": waiting, "actions": sum(self.dynamic_zj.values())}
        found = joules(self.total_zj, states)
        return {"idle_j": found["idle"], "waiting_j": found["waiting"], "actions_j": found["actions"]}

    def by_part_zj(self) -> dict[str, int]:
        """Part -> dynamic and static energy."""
        sums = dict(self.static_zj)
        for (_, part, _), energy_zj in self.dynamic_zj.items():
            sums[part] += energy_zj
        return sums

    def by_layer_zj(self) -> dict[str, int]:
        """Layer -> dynamic energy; all static energy under ``_static``."""
        sums: dict[str, int] = {}
        for (layer, _, _), energy_zj in self.dynamic_zj.items():
            sums[layer] = sums.get(layer, 0) + energy_zj
        sums[STATIC] = sums.get(STATIC, 0) + sum(self.static_zj.values())
        return sums

    @property
    def total_j(self) -> float:
        """Everything, in joules."""
        return total_joules(self.total_zj)

    @property
    def chip_j(self) -> float:
        """What the parts of scope chip spend, in joules."""
        parts = self.by_part_j()
        return sum(energy for part, energy in parts.items() if self.scopes[part] == CHIP)

    def by_part_j(self) -> dict[str, float]:
        """Part -> joules; sums to ``total_j`` exactly, in any order."""
        return joules(self.total_zj, self.by_part_zj())

    def by_layer_j(self) -> dict[str, float]:
        """Layer -> joules; sums to ``total_j`` exactly, in any order."""
        return joules(self.total_zj, self.by_layer_zj())


class Counted(Protocol):
    """What is priced: an Activity, or what a model expects of one."""

    @property
    def counts(self) -> Mapping[CountKey, int]:
        """(layer, part, action) -> how often."""

    @property
    def total_ps(self) -> int:
        """How long it takes."""

    @property
    def kernel_ps(self) -> int:
        """For how long, up to its end, a kernel is on the chip."""


def account(activity: Counted, architecture: Architecture, tables: ChipTables) -> Energy:
    """Price every count of ``activity``; raises SimulationError for an action without a price: nothing is free."""
    missing = [part.name for part in architecture.parts() if part.name not in tables.parts]
    if missing:
        raise SimulationError(f"energy tables of another chip: no part {', '.join(missing)}")
    dynamic: dict[CountKey, int] = {}
    for (layer, part, action), count in sorted(activity.counts.items()):
        key = (layer or HOST, part, action)
        dynamic[key] = dynamic.get(key, 0) + count * tables.charge_zj(part, action, layer)
    leakage = {name: table.leakage_nw for name, table in tables.parts.items()}
    more = {name: table.waiting_nw for name, table in tables.parts.items()}
    waiting = {name: nanowatts * activity.kernel_ps for name, nanowatts in more.items()}
    return Energy(
        dynamic,
        {name: nanowatts * activity.total_ps + waiting[name] for name, nanowatts in leakage.items()},
        waiting,
        leakage,
        more,
        {name: table.scope for name, table in tables.parts.items()},
        activity.total_ps,
        activity.kernel_ps,
    )
