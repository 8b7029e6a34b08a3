"""The DRAM side of a move."""

from __future__ import annotations

from dataclasses import dataclass

from archsim.ir.footprint import ByteFootprint
from archsim.memory.cache import TableCache
from archsim.memory.offchip import OffChip, TransferShape


@dataclass(frozen=True, slots=True)
class DramSide:
    """Bytes of a move in a DRAM, of the ``operand`` of this number among what the command reads, then writes.

    ``shift``: from the region's own offset to the first byte that is ``touched``; ``cache``: in front of the tensor's
    role.
    """

    dram: OffChip
    operand: int
    shift: int
    touched: ByteFootprint
    shape: TransferShape
    cache: TableCache | None

    def part(self, touched: ByteFootprint) -> TransferShape:
        """The transfer of a part of it."""
        return self.dram.shape(touched, write=self.shape.write, outstanding=self.shape.outstanding)

    @property
    def size_bytes(self) -> int:
        """Bytes touched."""
        return self.touched.size_bytes

    @property
    def reach(self) -> int:
        """Bytes from the first one to the end of the last run."""
        return self.touched.run_bytes + sum((extent - 1) * stride for extent, stride in self.touched.outer)

    @property
    def drops(self) -> bool:
        """Whether it goes past a cache, which forgets what is written."""
        return self.cache is not None and self.shape.write

    def drop(self, address: int) -> None:
        """Forget the cache's lines that a write from ``address`` on goes past."""
        if self.cache is not None and self.shape.write:
            self.cache.drop(self.dram.name, address, address + self.reach)
