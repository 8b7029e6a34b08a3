"""What a chip draws beside its actions, by what it does: nothing, wait with a kernel on it, or work.

A chip of an idle class draws, with no kernel on it,

    density of the class x die area x (share x f x (V / Vn)^2 + (1 - share) x (V / Vn)^2 or 3)

f in GHz is the clock that the arrays sustain: a share of it is clock trees, the rest leaks, with the square of the
voltage in logic and its cube in SRAM. It stands in the place of what the table says of leakage, and covers pads and
on-package memory too. While a kernel is on the chip, some classes draw more, for clocks that are gated otherwise:
density x die area x f x (V / Vn)^2. Both are spread over the parts by area; what a part states itself holds, and is
taken out of the rest. A chip without a class draws what its parts leak.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from typing import TYPE_CHECKING

from archsim.base.errors import ConfigError
from archsim.energy.chip_tables import PartTable
from archsim.energy.structures import cited
from archsim.energy.technology import TableFigures
from archsim.spec.architecture import Architecture
from archsim.spec.part import SourcedNumber

if TYPE_CHECKING:
    from archsim.spec import schema_tables as st

LOGIC_LEAKS, CELLS_LEAK = 2, 3  # power of the voltage with which they leak
_CELLS = ("sram", "cache")
_HIGH_NM, _LOW_NM = 45, 7


@dataclass(frozen=True, slots=True)
class PowerStates:
    """The power table. ``idle``, ``waiting``: idle class -> W/mm2 at 1 GHz and the nominal supply; ``wires``,
    ``memories``: pJ a MAC at 45 and at 7 nm; ``band``: idle class -> factor within which watts are known; ``cases``:
    idle class -> by how many points."""

    idle: Mapping[str, SourcedNumber]
    clock_share: SourcedNumber
    waiting: Mapping[str, SourcedNumber]
    delivery: SourcedNumber
    wires: tuple[SourcedNumber, SourcedNumber]
    memories: tuple[SourcedNumber, SourcedNumber]
    band: Mapping[str, SourcedNumber]
    cases: Mapping[str, int]

    def idle_scale(self, clock_ghz: float, volts: float, power: int = LOGIC_LEAKS) -> float:
        """Idle power relative to that at 1 GHz and the nominal supply; ``volts``: supply by the nominal one; ``power``:
        of the voltage in what leaks."""
        share = self.clock_share.value
        return float(share * clock_ghz * volts**2 + (1 - share) * volts**power)

    def beside_mac_pj(self, node_nm: float) -> float:
        """Operand wires and memories of a MAC, where no machine counts them."""
        return sum(_law(high.value, low.value, node_nm) for high, low in (self.wires, self.memories))


def _law(high: float, low: float, node_nm: float) -> float:
    """The power law of the node through figures at 45 and at 7 nm."""
    return float(low * (node_nm / _LOW_NM) ** (log(high / low) / log(_HIGH_NM / _LOW_NM)))


def load_states() -> PowerStates:
    """The table ``states`` of configs/power; raises ConfigError where a file of that name is wrong."""
    from archsim.spec import table_files

    return read_states(table_files.find("power", "states", "power table"))


def read_states(path: Path) -> PowerStates:
    """The table of a file; raises ConfigError with file:line:column and key path."""
    from archsim.spec import schema_tables, table_files

    table = table_files.load(path, schema_tables.PowerTable)
    figure = TableFigures(table.sources)

    def both(at: st.AtNodes) -> tuple[SourcedNumber, SourcedNumber]:
        return figure.of(at.at_45nm), figure.of(at.at_7nm)

    return PowerStates(
        {name: figure.of(density) for name, density in table.idle_w_per_mm2.items()},
        figure.of(table.clock_share),
        {name: figure.of(density) for name, density in table.waiting_w_per_mm2.items()},
        figure.of(table.delivery),
        both(table.operand_wires_pj),
        both(table.operand_memories_pj),
        {name: figure.of(band.factor) for name, band in table.band.items()},
        {name: band.cases.value for name, band in table.band.items()},
    )


def with_states(
    architecture: Architecture, parts: Mapping[str, PartTable], die_mm2: float, nominal_v: float
) -> dict[str, PartTable]:
    """The parts with what they draw by the chip's idle class, or by the power that its file states of it as a whole."""
    states = load_states()
    density, whole = states.idle.get(architecture.idle_class), architecture.power.idle_w
    if density is None and whole is None:
        return dict(parts)
    sustained_hz = max((array.clock_hz for array in architecture.arrays), default=architecture.clock_hz)
    volts, clock_ghz = architecture.voltage_v / nominal_v, sustained_hz / 1e9
    own = {part.name for part in architecture.parts() if part.leakage_w is not None}
    free = {name: table for name, table in parts.items() if table.scope == "chip" and name not in own}
    power = {name: CELLS_LEAK if table.kind in _CELLS else LOGIC_LEAKS for name, table in free.items()}
    area = _by_area(free)
    if whole is not None:
        idle, source = {name: whole.value * share for name, share in area.items()}, whole.source
    else:
        assert density is not None
        idle = {
            name: density.value * die_mm2 * share * states.idle_scale(clock_ghz, volts, power[name])
            for name, share in area.items()
        }
        source = cited({f"idle class {architecture.idle_class}": density.source, "clock": states.clock_share.source})
    left = _left(architecture, parts, own, sum(idle.values()))
    more = states.waiting.get(architecture.idle_class)
    waiting = more.value * die_mm2 * clock_ghz * volts**2 if more is not None else 0.0
    return {
        name: _drawing(table, idle[name] * left, waiting * area[name], source) if name in free else table
        for name, table in parts.items()
    }


def _left(architecture: Architecture, parts: Mapping[str, PartTable], own: set[str], idle_w: float) -> float:
    """Share of the idle power that parts which state no leakage draw; raises ConfigError where the parts that do draw
    more than the chip."""
    stated = sum(parts[name].leakage_w for name in own if parts[name].scope == "chip")
    whole = architecture.power.idle_w
    if whole is not None and stated > whole.value:
        raise ConfigError(
            f"power.idle: found {whole.value:g} W of the chip, and {stated:g} W of `leakage` of its parts; allowed as "
            "much as the parts or more"
        )
    return max(0.0, 1 - stated / idle_w) if idle_w else 1.0


def _by_area(parts: Mapping[str, PartTable]) -> dict[str, float]:
    """Share of each part of the area of all; the same for each where none has one."""
    whole = sum(table.area_mm2 for table in parts.values())
    return {name: table.area_mm2 / whole if whole else 1 / len(parts) for name, table in parts.items()}


def _drawing(table: PartTable, idle_w: float, waiting_w: float, source: str) -> PartTable:
    sources = {**table.sources, "leakage": f"{source}; by area"}
    return replace(table, leakage_w=idle_w, waiting_w=waiting_w, sources=sources)
