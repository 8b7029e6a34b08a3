"""Cutting what a move touches in parts."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from archsim.ir.footprint import ByteFootprint
from archsim.memory.move_routes import TransferPart, cut


def starts(outer: tuple[tuple[int, int], ...]) -> list[int]:
    return [
        sum(step * stride for step, (_, stride) in zip(steps, outer, strict=True))
        for steps in product(*(range(extent) for extent, _ in outer))
    ]


def walked(offset: int, run: int, outer: tuple[tuple[int, int], ...]) -> list[int]:
    return [offset + start + byte for start in starts(outer) for byte in range(run)]


@given(
    st.integers(1, 40),
    st.lists(st.tuples(st.integers(2, 5), st.integers(1, 300)), max_size=3),
    st.integers(1, 60),
)
def test_parts_are_all_bytes_in_order(run: int, outer: list[tuple[int, int]], most: int) -> None:
    """One after the other the parts walk the same bytes as the whole, none longer than it may be."""
    axes = tuple(outer)
    parts = cut(ByteFootprint(7, run, axes), most)
    assert [byte for part in parts for byte in walked(part.offset, part.run_bytes, part.outer)] == walked(0, run, axes)
    assert all(0 < part.size_bytes <= most for part in parts)


def test_long_runs_are_cut_from_their_start() -> None:
    assert cut(ByteFootprint(0, 10, ((2, 100),)), 4) == tuple(
        TransferPart(start + at, size) for start in (0, 100) for at, size in ((0, 4), (4, 4), (8, 2))
    )


def test_short_runs_go_together_inner_extents_first() -> None:
    """Rows of 8 bytes, 3 of them in a plane, 5 planes; two planes fit, then no stretch of them is split."""
    touched = ByteFootprint(0, 8, ((5, 1000), (3, 10)))
    assert cut(touched, 50) == (
        TransferPart(0, 8, ((2, 1000), (3, 10))),
        TransferPart(2000, 8, ((2, 1000), (3, 10))),
        TransferPart(4000, 8, ((3, 10),)),
    )
    assert cut(touched, 16)[:3] == (
        TransferPart(0, 8, ((2, 10),)),
        TransferPart(20, 8),
        TransferPart(1000, 8, ((2, 10),)),
    )
    assert cut(ByteFootprint(0, 0, ()), 16) == ()
