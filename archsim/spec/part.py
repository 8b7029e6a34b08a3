"""What all parts of a resolved chip share, and numbers with their sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourcedNumber:
    """A number of a chip file with where it comes from (``source``; 'estimated: ...' when not published)."""

    value: float
    source: str


@dataclass(frozen=True, slots=True)
class Part:
    """What all parts share. ``path`` is the key path in the chip file, e.g. ``l1``; ``name`` is unique."""

    name: str
    kind: str
    clock_hz: int
    sync_stages: int
    scope: str  # chip | dram | host
    energy_pj: Mapping[str, SourcedNumber]  # action -> pJ, overrides of the technology table
    area_mm2: SourcedNumber | None  # override
    leakage_w: SourcedNumber | None  # override
    idle_w: SourcedNumber | None  # between runs, in place of the leakage
    copies: int  # instances on the chip (product of the fan-outs above it)
