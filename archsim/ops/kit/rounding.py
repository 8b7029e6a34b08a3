"""How far a computed element may lie from the true one because every number on the way to it is rounded.

A family's ``rounding`` says what is added up on the way to each element of its result, in magnitude, and how many
roundings lie on the way. With unit roundoff u (half the distance from 1 to the next number) the result is off by at
most

    u * roundings * magnitude

for sums in any order: n roundings of partial sums, none of which exceeds the sum of the magnitudes (Higham, "Accuracy
and Stability of Numerical Algorithms", 2nd edition, SIAM 2002, section 4.2). Roundings of long sums do not all fall the
same way: of n independent ones of mean zero, each at most u, the sum stays within c * sqrt(n) * u with probability
1 - 2 exp(-c * c / 2) (Hoeffding; Higham and Mary, "A new approach to probabilistic rounding error analysis", SIAM J.
Sci. Comput. 41(5), 2019). With c = 8 an element falls outside once in 4e13 times, so ``growth`` takes the lesser.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from archsim.ir.graph import Array, GraphNode

CERTAINTY = 8.0  # c above: the probability of an element outside is 2 exp(-32) = 2.5e-14
EPILOGUE = 4  # roundings of a folded scale, of a bias, of the drain's scale and of the result itself
FUNCTION = 16  # roundings that a compiled exponential, root or polynomial stands for: runtimes stay within a few


@dataclass(frozen=True, slots=True)
class Sums:
    """``magnitude``: what is added up for each element, in magnitude; ``roundings`` on the way to it.

    ``is_linear``: the magnitude is the result itself on magnitudes, so what operands are off by passes through it.
    """

    magnitude: Array
    roundings: float
    is_linear: bool = False


Rounding = Callable[..., Sums]  # (node, *arrays) -> of the first result


def growth(terms: int) -> float:
    """Roundings that a sum of ``terms`` numbers may come to, in any order: see the head of this file."""
    return min(float(terms), CERTAINTY * sqrt(terms))


def moved(node: GraphNode, *operands: Array | None) -> Sums:
    """Of operators that move elements, select or compare: nothing is rounded."""
    return Sums(np.zeros(()), 0.0)


def unknown(results: tuple[Array, ...], operands: tuple[Array | None, ...]) -> Sums:
    """Of operators that do not say: every element could be a sum of all there is, of the largest magnitude."""
    present = [*(operand for operand in operands if operand is not None), *results]
    largest = max((float(np.max(np.abs(array), initial=0.0)) for array in present), default=0.0)
    terms = max((array.size for array in present), default=1)
    return Sums(np.asarray(largest), growth(terms) + FUNCTION)
