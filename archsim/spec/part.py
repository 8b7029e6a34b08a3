"""What all parts of a resolved chip share, and numbers with their sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from archsim.base import units
from archsim.spec import value_domains as d
from archsim.spec.keys import Key, KeyOrder, StatedSection, TableOf

STATUSES = ("measured", "derived", "claimed", "estimated")  # how sure a figure of a table is, the surest first
INTERFACE = " interface"  # of a DRAM part, which is all of it that is on the die
SEQUENCERS, FILL = "fixed-function control", "fill"  # what is on the die beside the parts
WHOLE = "all"  # of a floorplan: the whole die
STRUCTURES = ("local", "shared", "register_file", "cache")  # what stands around the macros of a memory
IDLE_CLASSES = ("always_on", "gpu", "gated")  # of chips, which stop clocks and supplies alike when nothing runs
IDLE_CLASS_OF = {"datacenter": "always_on", "gpu": "gpu", "block": "gated", "edge": "gated"}  # unless stated
CLASSES = ("datacenter", "gpu", "block", "edge")  # of chips, whose dies are filled alike


@dataclass(frozen=True, slots=True)
class SourcedNumber:
    """A number of a chip file with where it comes from (``source``; 'estimated: ...' when not published)."""

    value: float
    source: str


def sourced(name: str, domain: d.Domain, says: str, **options: Any) -> Key:
    """A number that is kept with its source."""

    def read(found: float | None, stated: StatedSection) -> SourcedNumber | None:
        return None if found is None else SourcedNumber(found, stated.source(name))

    def write(kept: SourcedNumber | None, _part: Any) -> float | None:
        return None if kept is None else kept.value

    return Key(name, domain, says, read=read, write=write, **options)


def _energies(found: Mapping[str, float], stated: StatedSection) -> dict[str, SourcedNumber]:
    return {action: SourcedNumber(found[action], stated.source(f"energy.{action}")) for action in sorted(found)}


def _joules(kept: Mapping[str, SourcedNumber], _part: Any) -> dict[str, float] | None:
    return {action: number.value for action, number in kept.items()} or None


def named(says: str = "unique name; key paths of options begin with it") -> Key:
    """The name of a part."""
    return Key("name", d.name(), says, order=KeyOrder.NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What all parts share: the keys of each, and what follows from where it stands.

    ``kind``: of the section; ``scope``: chip | dram | host; ``copies``: instances on the chip, the product of the nodes
    of the networks above it.
    """

    name: Annotated[str, named()]
    kind: str
    clock_hz: Annotated[
        int,
        Key(
            "clock",
            d.whole(units.FREQUENCY, "1 kHz", "100 GHz"),
            "clock of this part and of the parts below it; the chip's unless stated",
            default=None,
            read=lambda _, stated: stated.clock_hz,
            order=KeyOrder.CLOCK,
        ),
    ]
    sync_stages: Annotated[
        int,
        Key(
            "sync_stages",
            d.count(0, 16),
            "receiver edges that a crossing into another clock takes beyond the first",
            default=2,
            order=KeyOrder.CLOCK,
        ),
    ]
    scope: str
    energy_pj: Annotated[
        Mapping[str, SourcedNumber],
        Key(
            "energy",
            TableOf(d.name(), d.real(units.ENERGY, "0 pJ", "1 uJ")),
            "action to energy, in place of the technology table: sram `read`, `write` (a word), dram "
            "`read`, `write` (a bit), noc `router`, `link` (a flit), array `mac`, `register_read`, `register_write`, "
            "`wire` (an element; of one operand `register_read_weights`, `_inputs`, `_partials`), vector `lane_op`, "
            "...",
            default={},
            read=_energies,
            write=_joules,
            order=KeyOrder.PRICE,
        ),
    ]
    area_mm2: Annotated[
        SourcedNumber | None,
        sourced(
            "area",
            d.real(units.AREA, "0 mm2", "10000 mm2"),
            "area; overrides the technology table",
            default=None,
            order=KeyOrder.PRICE,
        ),
    ]
    leakage_w: Annotated[
        SourcedNumber | None,
        sourced(
            "leakage",
            d.real(units.POWER, "0 W", "1000 W"),
            "static power; overrides the technology table",
            default=None,
            order=KeyOrder.PRICE,
        ),
    ]
    on_die: Annotated[
        Fraction | None,
        Key(
            "on_die",
            d.ratio("1/1024", "1048576"),
            "instances on the die where there are more than those in use (spare cores, a sixth HBM interface; 6/5 of a "
            "memory that uses 40 MiB of 48): they count in its area",
            order=KeyOrder.PRICE,
        ),
    ] = None
    idle_w: Annotated[
        SourcedNumber | None,
        sourced(
            "idle",
            d.real(units.POWER, "0 W", "1000 W"),
            "power between the runs of a scenario (self-refresh, gated supply); the static one if absent",
            default=None,
            order=KeyOrder.PRICE,
        ),
    ]
    copies: int
