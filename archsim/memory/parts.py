"""Cutting strided bytes in parts, in the order in which a move goes through them.

A contiguous run that is longer than a part is cut from its start on, the last piece is what is left. Shorter runs go
together, as many as fit: whole inner extents first, then a stretch of the next one. So every part is strided bytes too,
and parts never hold bytes of two steps of an outer extent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from archsim.ir.footprint import Footprint


class Part(NamedTuple):
    """``run_bytes`` contiguous bytes over ``outer`` ((extent, stride), outermost first).

    ``offset``: of its first byte, from the first one of all parts.
    """

    offset: int
    run_bytes: int
    outer: tuple[tuple[int, int], ...] = ()

    @property
    def size_bytes(self) -> int:
        """All of its bytes."""
        return self.run_bytes * prod(extent for extent, _ in self.outer)


def cut(touched: Footprint, most_bytes: int) -> tuple[Part, ...]:
    """``touched`` in parts of at most ``most_bytes`` each, in order; none of nothing."""
    if not touched.size_bytes:
        return ()
    run = touched.run_bytes
    if run > most_bytes:
        pieces = [(at, min(most_bytes, run - at)) for at in range(0, run, most_bytes)]
        return tuple(Part(start + at, size) for start in _starts(touched.outer) for at, size in pieces)
    outer, block = list(touched.outer), run
    inner: list[tuple[int, int]] = []
    while outer and block * outer[-1][0] <= most_bytes:
        inner.insert(0, outer.pop())
        block *= inner[0][0]
    if not outer:
        return (Part(0, run, tuple(inner)),)
    extent, stride = outer.pop()
    most = most_bytes // block
    stretches = [(at * stride, min(most, extent - at)) for at in range(0, extent, most)]
    return tuple(
        Part(start + at, run, (*(((size, stride),) if size > 1 else ()), *inner))
        for start in _starts(outer)
        for at, size in stretches
    )


def _starts(outer: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Offsets of the steps of nested extents, in order."""
    if not outer:
        yield 0
        return
    (extent, stride), *rest = outer
    for step in range(extent):
        for start in _starts(rest):
            yield step * stride + start
