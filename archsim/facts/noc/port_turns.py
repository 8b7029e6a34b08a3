"""Which port of a memory that cores share a message goes through: ports take turns, a message long each."""

from __future__ import annotations

from archsim.base.arrays import IntArray


def turn(block: int, ports: int) -> int:
    """Whose turn a block is: the sum of its number's digits in base ``ports``, so that strides of a power of it do not
    meet at one port."""
    number = 0
    while block and ports > 1:
        block, digit = divmod(block, ports)
        number += digit
    return number % ports


def turns(blocks: IntArray, ports: int) -> IntArray:
    """The same of many blocks, none below 0: (n,) as they are given."""
    left, number = blocks.copy(), blocks * 0
    while ports > 1 and left.any():
        number += left % ports
        left //= ports
    return number % ports
