"""What a DMA engine adds up: elements of moves, gathers and scatters that combine with what their destination has."""

from __future__ import annotations

from archsim.ir.activity import combining
from archsim.ir.program import Region
from archsim.ir.unroll import Step
from archsim.sim.stores import OperandStores
from archsim.sim.tally import TallyEntry
from archsim.spec.architecture import Dma


def combined(dma: Dma, stores: OperandStores, step: Step, target: Region, size_bytes: int) -> list[TallyEntry]:
    """Operations on ``size_bytes`` that a command writes to ``target``: one an element where it combines, else none."""
    if not step.command.combine:
        return []
    return [TallyEntry(dma.name, combining(stores.dtype(step, target)), size_bytes // target.element_bytes)]
