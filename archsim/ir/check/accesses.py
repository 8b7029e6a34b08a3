"""What one queue reads or writes of a tensor or ring, as bounding byte intervals in its order.

A ring is seen as an endless **tape**: slot after slot, each ``slot_bytes`` long, beginning ``retain`` bytes before the
end of the previous one where its taker is flagged ``retains``. Tape byte t lies at ring byte t mod (slots x
slot_bytes). So a halo is the same tape bytes for both slots, and a byte is reused when the tape has gone once around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archsim.base.errors import ProgramError
from archsim.ir.check.declarations import describe
from archsim.ir.check.ledger import Ledger
from archsim.ir.program import Region, Ring, Tensor
from archsim.ir.unroll import Step

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Accesses:
    """Reads, or writes, of one store by one queue, in order: command ``index``, bytes [``low``, ``high``), operand.

    Bytes are tensor bytes or tape bytes; ``region`` numbers into ``Store.regions``.
    """

    queue: int
    index: IntArray
    low: IntArray
    high: IntArray
    region: IntArray

    def pick(self, keep: NDArray[np.bool_]) -> Accesses:
        """Those where ``keep`` holds."""
        return Accesses(self.queue, self.index[keep], self.low[keep], self.high[keep], self.region[keep])


@dataclass(frozen=True, slots=True)
class Store:
    """One tensor or ring and who reads and writes it, by queue.

    ``scatters``: what may be written, but need not be: the rows of a table.
    """

    item: Tensor | Ring
    ledger: Ledger
    regions: Sequence[Region]
    reads: Sequence[Accesses]
    writes: Sequence[Accesses]
    scatters: Sequence[Accesses]

    @property
    def changes(self) -> list[Accesses]:
        """All that writes or may write."""
        return [*self.writes, *self.scatters]

    def step(self, accesses: Accesses, at: int) -> Step:
        """The concrete command of access number ``at``."""
        return self.ledger.steps[accesses.queue][int(accesses.index[at])]

    def who(self, accesses: Accesses, at: int) -> str:
        """Command with loop indices and queue of access number ``at``, for messages."""
        return f"{self.step(accesses, at).where} of {self.ledger.name(accesses.queue)}"

    def bytes_text(self, low: int, high: int) -> str:
        """``bytes [0, 64) of tensor 'x'``; for rings the slot number and its own bytes."""
        if isinstance(self.item, Tensor):
            return f"bytes [{low}, {high}) of {describe(self.item)}"
        starts = slot_starts(self.item, self.ledger)
        slot = max(int(np.searchsorted(starts, low, side="right")) - 1, 0)
        start = int(starts[slot])
        return f"bytes [{low - start}, {high - start}) of slot {slot} of {describe(self.item)}"


def slot_starts(ring: Ring, ledger: Ledger) -> IntArray:
    """Tape byte at which each slot begins, in the order in which the writer takes them."""
    writer = ledger.steps[ledger.numbers[ring.writer]]
    claims = ledger.slots(ledger.numbers[ring.writer], ring)[0]
    retains = np.isin(claims, writer.retaining)
    if ring.retain and claims and retains[0]:
        raise ProgramError(
            f"{writer[claims[0]].where} of {ring.writer} takes the first slot of {describe(ring)} and is flagged "
            "'retains'; there is nothing to retain yet"
        )
    return np.concatenate(([0], np.cumsum(ring.slot_bytes - ring.retain * retains[1:])))
