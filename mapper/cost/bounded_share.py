"""What bounds leave of a layer's work and traffic, cut by cut: the search's grid is a product over groups of dims, and
the share that trimmed tiles have is one more factor of it.

A trim follows from the tiles of other dims, which are mostly those of one group; of trims that follow from several
groups the tiles of each are taken by themselves, which never leaves less than there is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from mapper.problem.bounded import Trims, is_mutual, joint_share, share, trims
from mapper.problem.cuts import Cut
from mapper.problem.operands import OUT, OperandPlan
from mapper.problem.problem import GROUPS, Problem

Reals = NDArray[np.float64]
NOTHING_LEFT_OUT = np.ones(())


def work_share(problem: Problem, cuts: Mapping[str, list[Cut]], outputs: bool = False) -> Reals:
    """Of the work of the units, on all points or on the ``outputs`` alone, of the core that has most of it."""
    found = trims(problem.layer, _spread(problem))
    if outputs:
        found = tuple(trim for trim in found if trim.dim in problem.operand(OUT).dims)
    return _over_cuts(found, problem, cuts, GROUPS, apart=True) if found else NOTHING_LEFT_OUT


def moved_share(problem: Problem, plan: OperandPlan, cuts: Mapping[str, list[Cut]], above: Collection[str]) -> Reals:
    """Of the tiles of an operand that is kept below the loops of the groups ``above``."""
    found = moved_trims(problem, plan)
    return (
        _over_cuts(found, problem, cuts, [group for group in GROUPS if group in above]) if found else NOTHING_LEFT_OUT
    )


def moved_trims(problem: Problem, plan: OperandPlan) -> Trims:
    """What bounds leave out of an operand's tiles, of all cores together."""
    spread = _spread(problem)
    own = (trim for trim in trims(problem.layer, spread) if trim.dim in plan.dims)
    return tuple(trim.whole(spread - plan.dims, problem.layer.dims) for trim in own)


def _spread(problem: Problem) -> frozenset[str]:
    return frozenset(dim for dim, _ in problem.spread.loops) if problem.spread is not None else frozenset()


def _over_cuts(
    found: Trims, problem: Problem, cuts: Mapping[str, list[Cut]], groups: Collection[str], apart: bool = False
) -> Reals:
    """Shaped to broadcast over the grid; ``apart``: of the core that has most left, else of all together."""
    whole, share_of = problem.layer.dims, np.ones((1,) * len(GROUPS))
    reach = problem.dims if apart else whole
    if is_mutual(found):
        return _over_pairs(found, problem, cuts, groups)
    for axis, group in enumerate(GROUPS):
        names = frozenset(problem.groups[group])
        own = tuple(trim for trim in found if names.intersection(trim.others)) if group in groups else ()
        own = tuple(trim.whole(frozenset(trim.others) - names, whole) for trim in own)
        if own:
            each = [share(own, whole, cut.tiles, reach) for cut in cuts[group]]
            share_of = share_of * np.array(each).reshape([-1 if n == axis else 1 for n in range(len(GROUPS))])
    return share_of


def _over_pairs(found: Trims, problem: Problem, cuts: Mapping[str, list[Cut]], groups: Collection[str]) -> Reals:
    """The same of dims that trim one another, as rows and keys do within a window: over the cuts of all their groups
    together."""
    tied = {dim for trim in found for dim in (trim.dim, *trim.others)}
    own = [group for group in GROUPS if group in groups and tied.intersection(problem.groups[group])]
    shape = [len(cuts[group]) if group in own else 1 for group in GROUPS]
    shares = np.ones(shape)
    for place in np.ndindex(*shape):
        tiles: dict[str, int] = {}
        for at, group in zip(place, GROUPS, strict=True):
            tiles |= cuts[group][at].tiles if group in own else {}
        shares[place] = joint_share(found, problem.layer.dims, {dim: tiles[dim] for dim in tied & tiles.keys()})
    return shares
