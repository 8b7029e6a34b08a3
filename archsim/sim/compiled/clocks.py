"""Edges of clocks (``archsim.sim.clock``) in 64-bit integers: so many picoseconds have so many edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.base.jit import njit
from archsim.sim.compiled import layout as k
from archsim.sim.compiled.exact import Exact, plus, ratio, times_mod, whole


@njit
def edge(m: Any, clock: int, cycle: int) -> int:
    """Time in ps of edge ``cycle``."""
    row = m[k.CLOCKS_AT] + clock * k.CLOCK_WIDTH
    ps, edges = m[row], m[row + 1]
    return int(cycle // edges * ps + cycle % edges * ps // edges)


@njit
def cycle_at(m: Any, clock: int, time_ps: int) -> int:
    """Number of the first edge at or after ``time_ps``."""
    row = m[k.CLOCKS_AT] + clock * k.CLOCK_WIDTH
    ps, edges = m[row], m[row + 1]
    return int(time_ps // ps * edges - (-(time_ps % ps * edges) // ps))


@njit
def position(m: Any, r: Any, clock: int, time_ps: int) -> Exact:
    """``time_ps`` in cycles: whole on an edge, rational between edges."""
    cycle = cycle_at(m, clock, time_ps)
    if edge(m, clock, cycle) == time_ps:
        return whole(cycle)
    row = m[k.CLOCKS_AT] + clock * k.CLOCK_WIDTH
    ps, edges = m[row], m[row + 1]
    full, rest = time_ps // ps * edges, time_ps % ps * edges
    below, part = full + rest // ps, rest % ps
    high, low = ratio(whole(part), whole(ps))
    found = plus(whole(below), (high, low, np.uint64(0)))
    return found[0], found[1], times_mod(np.uint64(time_ps), r[m[k.CLOCK_NUMBERS] + clock])
