"""What stands on the die of a chip and is not timed: control, links, published blocks, and its power as a whole.

The annotations are the keys of chip files (``keys``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

from archsim.base import units
from archsim.spec import value_domains as d
from archsim.spec.dtypes import DTYPES
from archsim.spec.keys import Key, TableOf
from archsim.spec.part import Part, SourcedNumber, sourced


@dataclass(frozen=True, slots=True, kw_only=True)
class Control(Part):
    """Processors that issue the work of others: scalar cores, and the sub-cores of a GPU's core with the lanes to which
    each issues. They take area; what they spend on an instruction is not counted."""

    scalar_cores: Annotated[
        Fraction,
        Key("scalar_cores", d.ratio("0", "65536"), "cores, in fractions of one of 0.4 million gates where smaller"),
    ] = Fraction(0)
    subcores: Annotated[int, Key("subcores", d.count(0, 1024), "SIMT sub-cores: schedulers of warps")] = 0
    lanes: Annotated[
        int,
        Key(
            "lanes",
            d.count(1, 1024),
            "lanes to which a sub-core issues in a cycle",
            when=lambda control: control.subcores > 0,
        ),
    ] = 32
    units: Annotated[
        Mapping[str, int],
        Key(
            "units",
            TableOf(d.choice(*DTYPES, "fp64"), d.count(1, 2**20)),
            "multipliers with adders that stand by, by format: of formats in which nothing here computes (FP64)",
            default={},
        ),
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipLink:
    """A link of the chip to its host or to other chips. ``lanes``: of PCIe; of NVLink and Infinity Fabric links."""

    kind: Annotated[str, Key("kind", d.name("the name of one of `links` of the area table"), "pcie4, nvlink3, ...")]
    lanes: Annotated[
        int, Key("lanes", d.count(1, 4096), "lanes of the whole chip, or links where a kind has several lanes in one")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipPower:
    """Power of the chip as a whole, where it is known."""

    idle_w: Annotated[
        SourcedNumber | None,
        sourced(
            "idle",
            d.real(units.POWER, "0 W", "10000 W"),
            "of the whole chip with no kernel on it, in place of its idle class's density; spread over parts by area",
            default=None,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorplanBlock:
    """A block of a published floorplan, beside which reports print what the parts in it come to."""

    area_mm2: Annotated[float, Key("area", d.real(units.AREA, "0.001 mm2", "10000 mm2"), "published area of the block")]
    parts: Annotated[
        tuple[str, ...],
        Key(
            "parts",
            d.texts(least=1),
            "what stands in it, by names of the area breakdown: parts, `hbm interface` of a dram hbm, `link pcie4`, "
            "`fixed-function control`, `fill`; `all` for the whole die",
        ),
    ]
