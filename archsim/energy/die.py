"""What is on a die beside its parts: links, control of fixed functions, and what nobody counts.

    fixed-function control = share of the datapath, where no SIMT sub-core issues to it
    fill                   = (factor of the chip's class - 1) x logic of cores and control

A class says how much the dies of such chips have beside the parts that are known; a chip without one has no fill, and
its area is a lower bound. The factors are of dies whose networks nobody counted, so a chip file that has networks comes
out a little too large: were they taken out of the fill, a larger network would cost nothing. A part whose area is
stated is not filled: what is measured is whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archsim.energy.chip_tables import PartTable
from archsim.energy.structures import DieArea, Structures, load_structures
from archsim.energy.technology import load_technology
from archsim.spec.architecture import Architecture
from archsim.spec.on_die import FloorplanBlock
from archsim.spec.part import FILL, SEQUENCERS, WHOLE, SourcedNumber

_DATAPATH = ("array", "vector")
_LOGIC = (*_DATAPATH, "control", "registers")


def beside(architecture: Architecture, parts: Mapping[str, PartTable]) -> dict[str, SourcedNumber]:
    """Name with a blank -> mm2; ``parts``: tables of the chip's parts.

    Raises ConfigError for a link that there is not.
    """
    structures = load_structures()
    die = DieArea(load_technology(architecture.technology), structures)
    found = dict(_links(architecture, die))
    control = _sequencers(architecture, parts, structures)
    if control.value:
        found[SEQUENCERS] = control
    stated = {part.name for part in architecture.parts() if part.area_mm2 is not None}
    modelled = [table for name, table in parts.items() if name not in stated]
    logic = control.value + sum(table.area_mm2 for table in modelled if table.kind in _LOGIC)
    fill = structures.fill.get(architecture.chip_class)
    if fill is not None and fill.value > 1:
        found[FILL] = SourcedNumber((fill.value - 1) * logic, fill.source)
    return found


def block_mm2(block: FloorplanBlock, areas: Mapping[str, float]) -> float:
    """What the parts of a published block come to; ``areas``: the breakdown."""
    return sum(mm2 for name, mm2 in areas.items() if name in block.parts or WHOLE in block.parts)


def _links(architecture: Architecture, die: DieArea) -> Iterator[tuple[str, SourcedNumber]]:
    counts: dict[str, int] = {}
    for link in architecture.links:
        counts[link.kind] = counts.get(link.kind, 0) + link.lanes
    for kind, lanes in counts.items():
        one = die.structures.link(kind)
        yield f"link {kind}", SourcedNumber(die.interface(one, lanes), die.interface_source(one))


def _sequencers(architecture: Architecture, parts: Mapping[str, PartTable], structures: Structures) -> SourcedNumber:
    """Of arrays and vector units whose area is modelled, and to which no SIMT sub-core issues."""
    share = structures.fixed_function_share
    if any(control.subcores for control in architecture.controls):
        return SourcedNumber(0.0, share.source)
    units = (*architecture.arrays, *architecture.vectors)
    datapath = sum(parts[unit.name].area_mm2 for unit in units if unit.area_mm2 is None)
    return SourcedNumber(share.value * datapath, share.source)
