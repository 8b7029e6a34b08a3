"""Cycles of a vector unit: one formula for compiler and machine.

A vector unit takes ``lanes`` elements per cycle and pass. A command of n elements makes ceil(n / lanes) groups; each
group costs its plain passes plus the cycles of the slow functions (exp, divide, sqrt, ...) that it needs, divided by
the share of the unit's rate that the platform's kernels reach with its functions.

    cycles = startup + ceil(ceil(elements / lanes) * (passes + slow cycles) / share)
"""

from __future__ import annotations

from fractions import Fraction


def vector_cycles(elements: int, lanes: int, each: Fraction, startup: int) -> int:
    """Cycles of one command, or of each of an array of them; ``each``: those of a group of lanes."""
    groups = -(-elements // lanes)
    return startup - -groups * each.numerator // each.denominator
