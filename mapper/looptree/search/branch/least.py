"""The least that any tiling of a group can contribute to a column, from its loops alone. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.kernels import allocating
from mapper.looptree.search.branch.costing import COUNT, LARGEST, ONE
from mapper.looptree.search.branch.plan import PLAIN, RATIO, WINDOW
from mapper.looptree.search.branch.tilings import (
    ANY,
    DIVISORS,
    count_loops,
    footprint,
    is_temporal,
    spread_below,
    temporal_from,
)


@allocating
def least_of(
    factors: Any, columns: int, loops: Any, extents: Any, shares: Any, kind: int, spans: bool, found: Any
) -> None:
    """Fill ``found`` (columns) with lower bounds; infinite where an option leaves a dim without a loop for its rest."""
    for d in range(2):
        rounds = -(-extents[d] // spread_below(loops[d], shares[d], 0))
        if rounds > 1 and temporal_from(loops[d], 0) == 0:
            found[:columns] = np.inf
            return
    for c in range(columns):
        factor = factors[c]
        if factor[0] == RATIO:
            found[c] = max(1.0, found[factor[1]] / _most(factors[factor[2]], loops, extents, shares, kind))
            continue
        part1, part2 = factor[1:5], factor[5:9]
        low1 = _part(part1, loops[0], extents[0], shares[0], kind, factor[0] == WINDOW)
        low2 = _part(part2, loops[1], extents[1], shares[1], kind, factor[0] == WINDOW)
        over = _chosen(loops[0], shares[0], part1[3]) * _chosen(loops[1], shares[1], part2[3])
        if factor[0] == PLAIN:
            found[c] = low1 * low2 / over
        else:
            found[c] = _window(low1, low2, factor, spans) / over


@allocating
def _chosen(loops: Any, shares: Any, chosen: int) -> int:
    product, i = 1, 0
    while chosen >> i:
        if (chosen >> i) & 1 and not is_temporal(loops[i]):
            product *= shares[loops[i]]
        i += 1
    return product


@allocating
def _part(part: Any, loops: Any, extent: int, shares: Any, kind: int, window: bool) -> int:
    figure, first, collapsed = part[0], part[1], part[2]
    if figure == ONE:
        return 1
    below = spread_below(loops, shares, first)
    if figure == LARGEST:
        if temporal_from(loops, 0) > temporal_from(loops, first):
            return 1 if kind == ANY else min(extent, below)
        above = spread_below(loops, shares, 0) // below
        return -(-extent // above)
    once = _chosen(loops, shares, collapsed)
    if window or figure != COUNT:
        return -(-extent // once)
    apart = _apart(loops, shares, first, collapsed, kind)
    if temporal_from(loops, first) or _repeats(loops, first, collapsed):
        return apart
    return max(apart, -(-extent // (below * once)))


@allocating
def _apart(loops: Any, shares: Any, first: int, collapsed: int, kind: int) -> int:
    """Fewest iterations of the axes among the first loops; of imperfect tiles the last may be cut no further."""
    least = 1
    for i in range(first - 1, -1, -1):
        if not is_temporal(loops[i]) and not (collapsed >> i) & 1:
            share = shares[loops[i]]
            least = least * share if kind == DIVISORS else (share - 1) * least + 1
    return least


@allocating
def _most(factor: Any, loops: Any, extents: Any, shares: Any, kind: int) -> float:
    """The most of a factor that is subtracted, in which no temporal loop repeats anything."""
    most = 1.0
    for d in range(2):
        figure, first, collapsed, over = factor[1 + 4 * d : 5 + 4 * d]
        if figure == COUNT:
            most *= _apart(loops[d], shares[d], first, collapsed, DIVISORS)
        elif figure != ONE:
            most *= extents[d] // _chosen(loops[d], shares[d], collapsed) if kind == DIVISORS else extents[d]
        most /= _chosen(loops[d], shares[d], over)
    return most


@allocating
def _repeats(loops: Any, first: int, collapsed: int) -> bool:
    """Whether a temporal loop above is collapsed."""
    repeats = False
    for i in range(min(first, count_loops(loops))):
        repeats |= is_temporal(loops[i]) and (collapsed >> i) & 1 == 1
    return repeats


@allocating
def _window(low1: int, low2: int, factor: Any, spans: bool) -> float:
    """Of a sum over tiles, which is linear in the number of tiles of each dim: the least of the extreme numbers."""
    far, near = factor[9], factor[10]
    whole = footprint(low1, low2, far, near, spans)
    if LARGEST in (factor[1], factor[5]):
        return whole
    apart = min(low1 * footprint(1, low2, far, near, spans), low2 * footprint(low1, 1, far, near, spans))
    return min(whole, apart, low1 * low2)
