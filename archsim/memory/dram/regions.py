"""Strided regions in the form that the kernel walks: no loop of one trip, no contiguous inner loop."""

from __future__ import annotations

import numpy as np

from archsim.errors import SimulationError
from archsim.memory.dram.interface import MAX_OUTER_EXTENTS, Transfer


def folded(transfer: Transfer, capacity_bytes: int) -> tuple[int, tuple[int, ...], tuple[int, ...], int]:
    """Run bytes, MAX_OUTER_EXTENTS extents and strides, and the useful bytes of a transfer.

    Raises SimulationError when it is malformed or leaves the memory.
    """
    _check_shape(transfer)
    run_bytes = useful = transfer.run_bytes
    low = high = transfer.address
    loops: list[tuple[int, int]] = []
    for extent, stride in zip(reversed(transfer.extents), reversed(transfer.strides), strict=True):
        useful *= extent
        reach = (extent - 1) * stride
        low, high = low + min(0, reach), high + max(0, reach)
        if stride == run_bytes and not loops:
            run_bytes *= extent
        elif extent != 1:
            loops.append((extent, stride))
    if useful == 0:
        return 0, (1,) * MAX_OUTER_EXTENTS, (0,) * MAX_OUTER_EXTENTS, 0
    if low < 0 or high + transfer.run_bytes > capacity_bytes:
        raise SimulationError(f"DRAM: {transfer} touches [{low}, {high + transfer.run_bytes}) of {capacity_bytes} B")
    loops += [(1, 0)] * (MAX_OUTER_EXTENTS - len(loops))
    extents, strides = zip(*reversed(loops), strict=True)
    return run_bytes, extents, strides, useful


def _check_shape(transfer: Transfer) -> None:
    loops = len(transfer.extents)
    if loops != len(transfer.strides) or loops > MAX_OUTER_EXTENTS:
        raise SimulationError(f"DRAM: malformed {transfer}; allowed up to {MAX_OUTER_EXTENTS} extents, a stride each")
    if transfer.run_bytes < 0 or min(transfer.extents, default=0) < 0:
        raise SimulationError(f"DRAM: malformed {transfer}; allowed run_bytes >= 0, extents >= 0")


def bursts_touched(
    address: int, run_bytes: int, extents: tuple[int, ...], strides: tuple[int, ...], burst_bytes: int
) -> int:
    """Bursts of a folded region, the last of one run not repeated as the first of the next."""
    from archsim.memory.dram.kernel import transfers as t
    from archsim.memory.dram.kernel.regions import count  # the compiler is slow to import: only now

    spread, transfer, cursor = np.zeros(1, t.SPREAD), np.zeros(1, t.TRANSFER), np.zeros(1, t.CURSOR)
    spread["channels"], spread["burst_bits"] = 1, burst_bytes.bit_length() - 1
    transfer["address"], transfer["run_bytes"] = address, run_bytes
    transfer["extent"], transfer["stride"] = extents[-1], strides[-1]
    transfer["outer_extents"], transfer["outer_strides"] = extents[:-1], strides[:-1]
    return int(count(spread[0], transfer[0], cursor[0]))
