"""Patterns of transfers: what decides at which rate the exact DRAM model serves one."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from archsim.memory.dram.interface import BurstAsker, RowList, Transfer


class RowListKind(NamedTuple):
    """What lists of rows have in common that are taken to be alike."""

    bursts: int  # of 8 rows
    setup_cycles: int
    engine_hz: int


class TransferPattern(NamedTuple):
    """What decides the rate of a transfer. ``follows``: it goes on where another one has ended.

    ``outstanding``: as of a Transfer; ``kind``: of a list of rows, of which the first one met stands for all;
    ``asked``: requests and clock of its askers; ``apart_bytes``: those of a crowd that begin together lie so far from
    one another (0: anywhere).
    """

    write: bool
    offset: int
    run_bytes: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    follows: bool = False
    outstanding: int | None = None
    kind: RowListKind | None = None
    asked: tuple[tuple[int, int], ...] = ()
    apart_bytes: int = 0

    @property
    def is_paced(self) -> bool:
        """Whether its engine may leave the memory idle."""
        return self.outstanding is not None or self.kind is not None or bool(self.asked)


def first_of(pattern: TransferPattern, most_bursts: int, burst_bytes: int) -> Transfer:
    """The first bursts of a pattern, about ``most_bursts``, near address 0."""
    run_bytes = min(pattern.run_bytes, most_bursts * burst_bytes)
    room = max(1, most_bursts * burst_bytes // max(burst_bytes, run_bytes))
    extents: list[int] = []
    for extent in reversed(pattern.extents):
        extents.insert(0, min(extent, room))
        room = max(1, room // extents[0])
    lowest = sum(min(0, (n - 1) * s) for n, s in zip(extents, pattern.strides, strict=True))
    address = pattern.offset - lowest // burst_bytes * burst_bytes
    region = address, run_bytes, tuple(extents), pattern.strides
    return Transfer(0, pattern.write, *region, pattern.outstanding, askers=askers_of(pattern, 0))


def askers_of(pattern: TransferPattern, number: int) -> tuple[BurstAsker, ...]:
    """Askers like those of a pattern's transfers, whom only the ``number``-th transfer has."""
    return tuple(BurstAsker((f"asker {n}", number), *asked) for n, asked in enumerate(pattern.asked))


def reach(transfer: Transfer) -> int:
    """Beyond the last byte that is touched."""
    if transfer.rows is not None:
        return int((transfer.rows.addresses + transfer.rows.sizes).max())
    steps = zip(transfer.extents, transfer.strides, strict=True)
    return transfer.address + transfer.run_bytes + sum(abs(extent * stride) for extent, stride in steps)


def rows_sha256(rows: RowList) -> str:
    """Hash of all that a list of rows says."""
    found = hashlib.sha256(repr((rows.count, rows.setup_cycles, rows.engine_hz)).encode())
    for listed in (rows.addresses, rows.sizes, rows.row):
        found.update(repr(listed.tolist()).encode())
    return found.hexdigest()
