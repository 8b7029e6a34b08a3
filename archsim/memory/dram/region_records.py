"""Regions as the compiled code walks them: strided without a loop of one trip or a contiguous inner one; rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from archsim.base.arrays import IntArray
from archsim.base.errors import SimulationError
from archsim.memory.dram.compiled import records as t
from archsim.memory.dram.compiled.records import ASKERS, NEVER, NONE, REQUEST_WORDS, RUN
from archsim.memory.dram.interface import MAX_OUTER_EXTENTS, RowList, Transfer, useful_bytes

MOST_ASKERS = 2  # of a transfer: an engine, and the port through which it asks
KEPT = 1024  # regions, wherever they start


def folded(transfer: Transfer, capacity_bytes: int) -> tuple[int, tuple[int, ...], tuple[int, ...], int]:
    """Run bytes, MAX_OUTER_EXTENTS extents and strides, and the useful bytes of a transfer.

    Raises SimulationError when it is malformed or leaves the memory.
    """
    _check_shape(transfer)
    if transfer.rows is not None:
        _check_rows(transfer, transfer.rows, capacity_bytes)
        return 0, (1,) * MAX_OUTER_EXTENTS, (0,) * MAX_OUTER_EXTENTS, useful_bytes(transfer)
    run_bytes, extents, strides, useful, below, above = _at_0(transfer.run_bytes, transfer.extents, transfer.strides)
    low, high = transfer.address - below, transfer.address + above
    if useful and (low < 0 or high > capacity_bytes):
        raise SimulationError(f"DRAM: {transfer} touches [{low}, {high}) of {capacity_bytes} B")
    return run_bytes, extents, strides, useful


def region_at_0(transfer: Transfer) -> tuple[int, tuple[int, ...], tuple[int, ...], int, int, int]:
    """``folded`` of a region that starts at address 0, and the bytes that it reaches below and above.

    Raises SimulationError when it is malformed.
    """
    _check_shape(transfer)
    return _at_0(transfer.run_bytes, transfer.extents, transfer.strides)


def shape_words(transfer: Transfer, burst_bytes: int, askers: Sequence[int]) -> IntArray:
    """What transfers of one shape have in common, wherever they begin, as the words of a Transfer.

    ``askers``: the first words of those of the transfer. Raises SimulationError when it is malformed.
    """
    run_bytes, extents, strides, useful, below, above = region_at_0(transfer)
    most = transfer.outstanding or 0
    if not useful or most >= most_bursts(transfer, useful, burst_bytes):
        most = 0
    fewest = -(-(useful if _is_disjoint(run_bytes, extents, strides) else run_bytes) // burst_bytes)
    return _words(
        {"write": transfer.write, "run_bytes": run_bytes, "extent": extents[-1], "stride": strides[-1]},
        {
            "outer_extents": extents[:-1],
            "outer_strides": strides[:-1],
            "below": below,
            "above": above,
            "fewest": fewest,
        },
        {"most": most, "total": NEVER if most else 0, "words": REQUEST_WORDS * most, "runs": NONE, "useful": useful},
        _asked(askers if useful else ()),
    )


def listed_words(
    transfer: Transfer, rows: RowList, capacity_bytes: int, burst_bytes: int, askers: Sequence[int]
) -> IntArray:
    """The words of a transfer of ``rows``, then address, bytes and row of each run, then the bursts of each row.

    Raises SimulationError when it is malformed or leaves the memory.
    """
    _check_shape(transfer)
    _check_rows(transfer, rows, capacity_bytes)
    runs, useful = len(rows.addresses), int(rows.sizes.sum())
    most = min(transfer.outstanding or rows.count, rows.count)
    first = _words(
        {"write": transfer.write, "extent": runs, "outer_extents": 1, "setup": rows.setup_cycles},
        {"most": most, "total": rows.count, "words": REQUEST_WORDS * most + RUN * runs + rows.count},
        {"engine_hz": rows.engine_hz, "useful": useful, "above": capacity_bytes},
        _asked(askers if useful else ()),
    )
    listed = np.column_stack((rows.addresses, rows.sizes, rows.row)).reshape(-1)
    return np.concatenate((first, listed, bursts_of_rows(rows, burst_bytes)))


def _is_disjoint(run_bytes: int, extents: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether it is certain that a region has each of its bytes once: every loop steps over all that is inside it."""
    reach = run_bytes
    for stride, extent in sorted((abs(stride), extent) for extent, stride in zip(extents, strides, strict=True)):
        if extent > 1 and stride < reach:
            return False
        reach += (extent - 1) * stride
    return True


def _asked(askers: Sequence[int]) -> dict[str, Any]:
    """What says who asks: bursts are counted for askers alone, and where the transfer begins."""
    return {"bursts": NONE if askers else 0, "askers": [*askers, *[NONE] * (ASKERS - len(askers))]}


def _words(*fields: dict[str, Any]) -> IntArray:
    found = np.zeros(1, t.TRANSFER)
    found["first_beat"], found["following"], found["ends_before"] = NEVER, NONE, NONE
    for named in fields:
        for name, value in named.items():
            found[name] = value
    return found.view(np.int64)


@lru_cache(maxsize=KEPT)
def _at_0(
    run_bytes: int, extents: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[int, tuple[int, ...], tuple[int, ...], int, int, int]:
    useful = above = run_bytes
    below = 0
    loops: list[tuple[int, int]] = []
    for extent, stride in zip(reversed(extents), reversed(strides), strict=True):
        useful *= extent
        reach = (extent - 1) * stride
        below, above = below + max(0, -reach), above + max(0, reach)
        if stride == run_bytes and not loops:
            run_bytes *= extent
        elif extent != 1:
            loops.append((extent, stride))
    if useful == 0:
        return 0, (1,) * MAX_OUTER_EXTENTS, (0,) * MAX_OUTER_EXTENTS, 0, 0, 0
    loops += [(1, 0)] * (MAX_OUTER_EXTENTS - len(loops))
    folded_extents, folded_strides = zip(*reversed(loops), strict=True)
    return run_bytes, folded_extents, folded_strides, useful, below, above


def _check_shape(transfer: Transfer) -> None:
    loops = len(transfer.extents)
    if loops != len(transfer.strides) or loops > MAX_OUTER_EXTENTS:
        raise SimulationError(f"DRAM: malformed {transfer}; allowed up to {MAX_OUTER_EXTENTS} extents, a stride each")
    if transfer.outstanding is not None and transfer.outstanding < 1:
        raise SimulationError(f"DRAM: transfer {transfer.id} with {transfer.outstanding} outstanding; allowed >= 1")
    askers = transfer.askers
    if len(askers) > MOST_ASKERS or askers and any(asker.requests < 1 or asker.hz < 1 for asker in askers):
        raise SimulationError(f"DRAM: transfer {transfer.id} asked for by {transfer.askers}; allowed 2, each >= 1")
    if transfer.run_bytes < 0 or loops and min(transfer.extents) < 0:
        raise SimulationError(f"DRAM: malformed {transfer}; allowed run_bytes >= 0, extents >= 0")


def _check_rows(transfer: Transfer, rows: RowList, capacity_bytes: int) -> None:
    runs = len(rows.addresses)
    if not runs == len(rows.sizes) == len(rows.row) or rows.count < 1 or rows.engine_hz < 1 or rows.setup_cycles < 0:
        raise SimulationError(f"DRAM: malformed rows of transfer {transfer.id}")
    if not runs:
        return
    if rows.sizes.min() < 1 or rows.row[0] < 0 or rows.row[-1] >= rows.count or (np.diff(rows.row) < 0).any():
        raise SimulationError(f"DRAM: malformed rows of transfer {transfer.id}")
    low, high = int(rows.addresses.min()), int((rows.addresses + rows.sizes).max())
    if low < 0 or high > capacity_bytes:
        raise SimulationError(f"DRAM: rows of transfer {transfer.id} touch [{low}, {high}) of {capacity_bytes} B")


def bursts_of_rows(rows: RowList, burst_bytes: int) -> IntArray:
    """Bursts of each row; the last one of a run is not moved again as the first one of the row's next run."""
    first, last = rows.addresses // burst_bytes, (rows.addresses + rows.sizes - 1) // burst_bytes
    bursts = last - first + 1
    bursts[1:] -= (first[1:] == last[:-1]) & (rows.row[1:] == rows.row[:-1])
    total = np.zeros(rows.count, np.int64)
    np.add.at(total, rows.row, bursts)
    return total


def most_bursts(transfer: Transfer, useful: int, burst_bytes: int) -> int:
    """A strided region of ``useful`` bytes has no more bursts than this."""
    return useful // burst_bytes + 2 * (useful // max(1, transfer.run_bytes))


def bursts_touched(
    address: int, run_bytes: int, extents: tuple[int, ...], strides: tuple[int, ...], burst_bytes: int
) -> int:
    """Bursts of a folded region, the last of one run not repeated as the first of the next."""
    from archsim.memory.dram.compiled.regions import count  # the compiler is slow to import: only now

    spread, transfer, cursor = np.zeros(1, t.SPREAD), np.zeros(1, t.TRANSFER), np.zeros(1, t.CURSOR)
    spread["channels"], spread["burst_bits"] = 1, burst_bytes.bit_length() - 1
    transfer["address"], transfer["run_bytes"] = address, run_bytes
    transfer["extent"], transfer["stride"] = extents[-1], strides[-1]
    transfer["outer_extents"], transfer["outer_strides"] = extents[:-1], strides[:-1]
    transfer["runs"] = NONE
    return int(count(spread, np.zeros(0, np.int64), transfer, cursor))
