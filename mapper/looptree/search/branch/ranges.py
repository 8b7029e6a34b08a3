"""Between which sizes the tiles of a dim lie: what its loops, its spread and the room of memories leave. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.base.jit import inlined, njit
from mapper.looptree.search.branch.costing import LARGEST
from mapper.looptree.search.branch.keys import FIT
from mapper.looptree.search.branch.plan import MOVING
from mapper.looptree.search.branch.tilings import ANY, count_loops, is_temporal, spread_below, temporal_from


@njit
def ranges(
    factors: Any, limits: Any, columns: int, d: int, loops: Any, extent: int, shares: Any, kind: int, tiles: Any
) -> bool:
    """Fill ``tiles`` (2, loops): least and most tile below each loop of dim ``d`` of a group; whether any are left."""
    depth = count_loops(loops)
    lanes, temporal = spread_below(loops, shares, 0), temporal_from(loops, 0)
    if -(-extent // lanes) > 1 and temporal == 0:
        return False
    for i in range(depth):
        below = spread_below(loops, shares, i + 1)
        later = temporal_from(loops, i + 1)
        if temporal == later:
            tiles[0, i] = -(-extent // (lanes // below))
        else:
            tiles[0, i] = 1 if kind == ANY else min(extent, below)
        tiles[1, i] = extent if later else min(extent, below)
    for c in range(columns):
        place = factors[c, 2 + 4 * d]
        if factors[c, 1 + 4 * d] == LARGEST and place and limits[c] < np.inf:
            tiles[1, place - 1] = min(tiles[1, place - 1], int(limits[c] * FIT))
    return tighten(loops, extent, shares, kind, tiles)


@njit
def tighten(loops: Any, extent: int, shares: Any, kind: int, tiles: Any) -> bool:
    """Narrow ranges to tiles that have one above and one below; whether any are left.

    An axis cuts the largest tile into as many parts as it is spread to. Tiles that divide others are not narrowed.
    """
    depth = count_loops(loops)
    left = True
    if kind == ANY:
        left = _inwards(loops, depth, extent, shares, tiles) and _outwards(loops, depth, extent, shares, tiles)
    for i in range(depth):
        left &= tiles[0, i] <= tiles[1, i]
    return bool(left)


@inlined
def _inwards(loops: Any, depth: int, extent: int, shares: Any, tiles: Any) -> bool:
    """Narrow each range by the one above it; whether none is empty."""
    least, most, left = extent, extent, True
    for i in range(depth):
        if not is_temporal(loops[i]):
            share = shares[loops[i]]
            tiles[0, i] = max(tiles[0, i], -(-least // share))
            most = most if share == 1 else -(-most // (share - 1)) - 1
        elif loops[i] == MOVING:
            most -= 1
        tiles[1, i] = min(tiles[1, i], most)
        least, most = tiles[0, i], tiles[1, i]
        left &= least <= most
    return left


@inlined
def _outwards(loops: Any, depth: int, extent: int, shares: Any, tiles: Any) -> bool:
    """Narrow each range by the one below it; whether the outermost ones are about the extent."""
    least, most = 1, extent
    for i in range(depth - 1, -1, -1):
        least, most = tiles[0, i] + (loops[i] == MOVING), extent
        if not is_temporal(loops[i]):
            share = shares[loops[i]]
            least, most = max(least, (share - 1) * least + 1), share * tiles[1, i]
        if i:
            tiles[0, i - 1], tiles[1, i - 1] = max(tiles[0, i - 1], least), min(tiles[1, i - 1], most)
    return bool(least <= extent <= most and (depth > 0 or extent == 1))


@njit
def known_loops(loops: Any, tiles: Any) -> int:
    """How many of the outermost loops have one tile that is left."""
    depth, known = count_loops(loops), 0
    while known < depth and tiles[0, known] == tiles[1, known]:
        known += 1
    return known
