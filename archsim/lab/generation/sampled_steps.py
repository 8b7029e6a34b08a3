"""Which of many steps are run, and what the others take: a line between those that were.

A step behind one row more takes a little longer, and the next as much again. So the first and the last are run, then
those in the middle of each two, until the line between the two meets what the one in their middle took; the others lie
on the lines between neighbours that were run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

TOLERANCE = Fraction(1, 100)  # of what a step takes

Figures = Sequence[Fraction]


@dataclass(frozen=True)
class SampledSteps:
    """Figures of the steps that were run, by number, the first and the last of all among them.

    ``worst``: the largest share by which a line that is believed missed what the step in its middle took.
    """

    found: Mapping[int, Figures]
    worst: Fraction

    def total(self) -> list[Fraction]:
        """The figures of all steps, added up."""
        known = sorted(self.found)
        total = list(self.found[known[0]])
        for first, last in pairwise(known):  # the mean of both ends, but for the first that was counted
            ends = zip(self.found[first], self.found[last], strict=True)
            means = [(a + b) * Fraction(last - first, 2) + (b - a) / 2 for a, b in ends]
            total = [whole + part for whole, part in zip(total, means, strict=True)]
        return total


def sampled(count: int, figures: Callable[[int], Figures]) -> SampledSteps:
    """Of ``count`` steps (1 or more) as many as it takes; ``figures``: what a step takes, none of them negative."""
    found = {step: figures(step) for step in dict.fromkeys((0, count - 1))}
    open_, worst = [(0, count - 1)], Fraction(0)
    while open_:
        first, last = open_.pop()
        middle = (first + last) // 2
        if middle == first:
            continue
        found[middle] = figures(middle)
        missed = _missed(_between(found, first, last, middle), found[middle])
        if missed <= TOLERANCE:
            worst = max(worst, missed)
        else:
            open_ += [(middle, last), (first, middle)]
    return SampledSteps(found, worst)


def _between(found: Mapping[int, Figures], first: int, last: int, step: int) -> list[Fraction]:
    """What the line between two steps says of a third."""
    share = Fraction(step - first, last - first) if last > first else Fraction(0)
    return [a + (b - a) * share for a, b in zip(found[first], found[last], strict=True)]


def _missed(line: Figures, true: Figures) -> Fraction:
    """The largest share by which a line misses a figure."""
    return max(abs(a - b) / b if b else Fraction(a != b) for a, b in zip(line, true, strict=True))
