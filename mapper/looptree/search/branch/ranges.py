"""Between which sizes the tiles of a dim lie: what its loops, its spread and the room of memories leave. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.kernels import allocating
from mapper.looptree.search.branch.costing import LARGEST
from mapper.looptree.search.branch.keys import FIT
from mapper.looptree.search.branch.plan import MOVING
from mapper.looptree.search.branch.tilings import ANY, count_loops, is_temporal, spread_below, temporal_from


@allocating
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


@allocating
def tighten(loops: Any, extent: int, shares: Any, kind: int, tiles: Any) -> bool:
    """Narrow ranges to tiles that have one above and one below; whether any are left.

    An axis cuts the largest tile into as many parts as it is spread to.
    """
    depth = count_loops(loops)
    if kind != ANY:
        for i in range(depth):
            if tiles[0, i] > tiles[1, i]:
                return False
        return True
    least, most = extent, extent
    for i in range(depth):
        share = 0 if is_temporal(loops[i]) else shares[loops[i]]
        if share:
            tiles[0, i] = max(tiles[0, i], -(-least // share))
            most = most if share == 1 else -(-most // (share - 1)) - 1
        elif loops[i] == MOVING:
            most -= 1
        tiles[1, i] = min(tiles[1, i], most)
        least, most = tiles[0, i], tiles[1, i]
        if least > most:
            return False
    for i in range(depth - 1, -1, -1):
        share = 0 if is_temporal(loops[i]) else shares[loops[i]]
        least = tiles[0, i] + (loops[i] == MOVING)
        most = extent
        if share:
            least, most = max(least, (share - 1) * least + 1), share * tiles[1, i]
        if i == 0:
            return bool(least <= extent <= most)
        tiles[0, i - 1], tiles[1, i - 1] = max(tiles[0, i - 1], least), min(tiles[1, i - 1], most)
        if tiles[0, i - 1] > tiles[1, i - 1]:
            return False
    return bool(extent == 1)


@allocating
def known_loops(loops: Any, tiles: Any) -> int:
    """How many of the outermost loops have one tile that is left."""
    depth, known = count_loops(loops), 0
    while known < depth and tiles[0, known] == tiles[1, known]:
        known += 1
    return known
