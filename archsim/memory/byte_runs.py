"""Runs of rows: the contiguous bytes that a gather or scatter moves in DRAM."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from archsim.base.arrays import IntArray
from archsim.ir.footprint import ByteFootprint


class ByteRuns(NamedTuple):
    """Contiguous bytes of rows, in order, and which row they are of."""

    write: bool
    address: IntArray
    size_bytes: IntArray
    row: IntArray


def dense(addresses: IntArray, row: ByteFootprint, *, write: bool) -> ByteRuns:
    """The runs of rows at ``addresses``, each touching ``row`` from there on."""
    starts = addresses[:, None]
    for extent, stride in row.outer:
        starts = np.add.outer(starts, stride * np.arange(extent, dtype=np.int64)).reshape(len(addresses), -1)
    runs = starts.ravel()
    number = np.repeat(np.arange(len(addresses), dtype=np.int64), starts.shape[1])
    return ByteRuns(write, runs, np.full(len(runs), row.run_bytes, dtype=np.int64), number)


def stretches(rows: IntArray, lines: IntArray, line_bytes: int) -> ByteRuns:
    """Reads of ``lines``, neighbouring ones of a row together."""
    breaks = np.flatnonzero((np.diff(rows) != 0) | (np.diff(lines) != 1)) + 1
    starts = np.concatenate(([0], breaks))[: len(lines)].astype(np.int64)
    ends = np.concatenate((starts[1:], [len(lines)]))[: len(starts)].astype(np.int64)
    return ByteRuns(False, lines[starts] * line_bytes, (ends - starts) * line_bytes, rows[starts])
