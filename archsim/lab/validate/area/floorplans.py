"""Published floorplans of the package's chips beside what their files come to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from archsim.energy.chip import tables_for
from archsim.energy.die import block_mm2
from archsim.spec.load import load, names

DIE = "die"  # the name of the block that is the whole die


@dataclass(frozen=True, slots=True)
class BlockRow:
    """A block of a floorplan: published and predicted mm2."""

    chip: str
    block: str
    published: float
    predicted: float


def blocks() -> Iterator[BlockRow]:
    """The blocks of every chip that has a floorplan."""
    for name in names():
        chip = load(name)
        if chip.floorplan:
            areas = tables_for(chip).area_breakdown_mm2()
            for title, block in chip.floorplan.items():
                yield BlockRow(name, title, block.area_mm2, block_mm2(block, areas))
