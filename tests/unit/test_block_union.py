"""Blocks in as few as can be leave the same places free."""

from __future__ import annotations

import random

from mapper.allocate.placement import Block, lowest_fit, united


def test_blocks_that_meet_or_touch_are_one() -> None:
    blocks = [Block(40, 8, 0, 0), Block(0, 16, 0, 0), Block(16, 4, 0, 0), Block(2, 3, 0, 0), Block(0, 16, 0, 0)]
    assert united(blocks) == [Block(0, 20, 0, 0), Block(40, 8, 0, 0)]
    assert united([]) == []


def test_what_fits_lies_where_it_lay() -> None:
    draw = random.Random(7)
    for _ in range(500):
        blocks = [Block(draw.randrange(400), draw.randint(1, 60), 0, 0) for _ in range(draw.randint(0, 12))]
        size, align = draw.randint(1, 50), draw.choice([1, 2, 8, 64])
        assert lowest_fit(united(blocks), size, 0, 0, align) == lowest_fit(blocks, size, 0, 0, align)
