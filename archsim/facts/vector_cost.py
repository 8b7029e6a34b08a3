"""Cycles of a vector unit: one formula for compiler and machine.

A vector unit takes ``lanes`` elements per cycle and pass. A command of n elements makes ceil(n / lanes) groups; each
group costs its plain passes plus the cycles of the slow functions (exp, divide, sqrt, ...) that it needs.

    cycles = startup + ceil(ceil(elements / lanes) * (passes + slow_cycles))
"""

from __future__ import annotations

from fractions import Fraction


def vector_cycles(elements: int, lanes: int, passes: int, slow_cycles: Fraction, startup: int) -> int:
    """Cycles of one command, or of each of an array of them; ``slow_cycles`` = cycles of its slow functions per group
    of lanes."""
    groups, each = -(-elements // lanes), passes + slow_cycles
    return startup - -groups * each.numerator // each.denominator
