"""Strides of dense blocks."""

from __future__ import annotations


def row_major(sizes: tuple[int, ...], element_bytes: int) -> tuple[int, ...]:
    """Byte strides of a dense row-major block."""
    strides: list[int] = []
    step = element_bytes
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
