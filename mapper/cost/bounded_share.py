"""What bounds leave of a layer's work and traffic, cut by cut: the search's grid is a product over groups of dims, and
the share that trimmed tiles have is one more factor of it.

A trim follows from the tiles of other dims, which are mostly those of one group; of trims that follow from several
groups the tiles of each are taken by themselves, which never leaves less than there is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from mapper.problem.bounded import Trims, share, trims
from mapper.problem.cuts import Cut
from mapper.problem.operands import OUT, OperandPlan
from mapper.problem.problem import GROUPS, Problem

Reals = NDArray[np.float64]
NOTHING_LEFT_OUT = np.ones(())


def work_share(problem: Problem, cuts: Mapping[str, list[Cut]], outputs: bool = False) -> Reals:
    """Of the work of the units, on all points or on the ``outputs`` alone, of the core that has most of it."""
    found = trims(problem.layer)
    if outputs:
        found = tuple(trim for trim in found if trim.dim in problem.operand(OUT).dims)
    return _over_cuts(found, problem, cuts, GROUPS, apart=True) if found else NOTHING_LEFT_OUT


def moved_share(problem: Problem, plan: OperandPlan, cuts: Mapping[str, list[Cut]], above: Collection[str]) -> Reals:
    """Of the tiles of an operand that is kept below the loops of the groups ``above``."""
    found = tuple(trim for trim in trims(problem.layer) if trim.dim in plan.dims)
    if not found:
        return NOTHING_LEFT_OUT
    apart = frozenset(dim for dim, _ in problem.spread.loops) if problem.spread is not None else frozenset[str]()
    found = tuple(trim.whole(apart - plan.dims, problem.layer.dims) for trim in found)
    return _over_cuts(found, problem, cuts, [group for group in GROUPS if group in above])


def _over_cuts(
    found: Trims, problem: Problem, cuts: Mapping[str, list[Cut]], groups: Collection[str], apart: bool = False
) -> Reals:
    """Shaped to broadcast over the grid; ``apart``: of the core that has most left, else of all together."""
    whole, share_of = problem.layer.dims, np.ones((1,) * len(GROUPS))
    reach = problem.dims if apart else whole
    for axis, group in enumerate(GROUPS):
        names = frozenset(problem.groups[group])
        own = tuple(trim for trim in found if names.intersection(trim.others)) if group in groups else ()
        own = tuple(trim.whole(frozenset(trim.others) - names, whole) for trim in own)
        if own:
            each = [share(own, whole, cut.tiles, reach) for cut in cuts[group]]
            share_of = share_of * np.array(each).reshape([-1 if n == axis else 1 for n in range(len(GROUPS))])
    return share_of
