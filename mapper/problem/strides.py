"""Strides of dense blocks, and of blocks whose rows are padded."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple


class Padding(NamedTuple):
    """``pad_bytes`` are left free behind each row: the axes from ``row_axis`` on; 0 bytes: none are."""

    row_axis: int = 0
    pad_bytes: int = 0


DENSE = Padding()


def padding(sizes: Sequence[int], element_bytes: int, wanted_bytes: int) -> Padding:
    """Padding of blocks of at most ``sizes``: behind the innermost axis that has more than one position.

    In whole elements, and only where there is more than one row.
    """
    long = [axis for axis, size in enumerate(sizes) if size > 1]
    if len(long) < 2 or not wanted_bytes:
        return DENSE
    return Padding(long[-1], -(-wanted_bytes // element_bytes) * element_bytes)


def row_major(sizes: Sequence[int], element_bytes: int, padded: Padding = DENSE) -> tuple[int, ...]:
    """Byte strides of a row-major block."""
    strides: list[int] = []
    step = element_bytes
    for axis in reversed(range(len(sizes))):
        strides.append(step)
        step *= sizes[axis]
        if axis == padded.row_axis:
            step += padded.pad_bytes
    return tuple(reversed(strides))


def block_bytes(sizes: Sequence[int], element_bytes: int, padded: Padding = DENSE) -> int:
    """Bytes of a row-major block, with the padding behind its last row."""
    return prod(sizes) * element_bytes + prod(sizes[: padded.row_axis]) * padded.pad_bytes
