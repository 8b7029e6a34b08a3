"""Which keys each row of queries sees, where that is a band: causal, from some older keys on, perhaps within a window.

Nodes between the product that makes scores and the one that reads their shares state it as attribute ``visible``, of
the last two axes of what they put out (rows, keys); the product that reads shares states it as ``visible_a``, of its
first operand. ``(past, window)``: row s sees keys t <= s + past and, with a window, t > s + past - window.
Layers have it as bounds (``archsim.ir.workload.Bound``): what lies outside is never computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from archsim.ir.graph import Array, GraphNode
from archsim.ir.workload import Axis, Bound
from archsim.ops.kit.access import LogicalAccess

VISIBLE = "visible"
VISIBLE_A = "visible_a"


class Band(NamedTuple):
    """Row s sees keys t with s + past - window < t <= s + past; ``window``: 0 for all keys before."""

    past: int
    window: int = 0

    def mask(self, rows: int, keys: int) -> Array:
        """Whether a row sees a key: (rows, keys)."""
        seen = np.tri(rows, keys, self.past, dtype=bool)
        if self.window:
            seen &= ~np.tri(rows, keys, self.past - self.window, dtype=bool)
        return seen

    def is_all(self, rows: int, keys: int) -> bool:
        """Whether every row sees every key."""
        return self.past >= keys - 1 and (not self.window or self.past + rows - self.window <= 0)


def band_of(node: GraphNode, key: str = VISIBLE) -> Band | None:
    """The band that a node states, None where every row sees every key."""
    stated = node.integers(key, ())
    if not stated:
        return None
    if len(stated) != 2 or min(stated) < 0:
        node.fail(f"{key} {list(stated)}; allowed the number of older keys and a window, 0 for none")
    return Band(*stated)


def bounds_of(node: GraphNode, reads: tuple[LogicalAccess, ...], write: LogicalAccess) -> tuple[Bound, ...]:
    """The bounds of a layer of a node, over its dims before any is cut."""
    shares = [(VISIBLE_A, read) for read in reads if read.operand == "a"]
    found: list[Bound] = []
    for key, access in ((VISIBLE, write), *shares):
        band = band_of(node, key)
        if band is not None:
            found += _bounds(band, *access.index[-2:])
    return tuple(found)


def _bounds(band: Band, row: Axis, key: Axis) -> list[Bound]:
    before = Axis((*row.terms, *((dim, -step) for dim, step in key.terms)), band.past + row.offset - key.offset)
    if not band.window:
        return [Bound(before)]
    near = Axis(tuple((dim, -step) for dim, step in before.terms), band.window - 1 - before.offset)
    return [Bound(before), Bound(near)]


def hidden(node: GraphNode, data: Array, value: float) -> Array:
    """``data`` with ``value`` where a row does not see a key, along its last two axes."""
    band = band_of(node)
    return data if band is None else np.where(band.mask(*data.shape[-2:]), data, value)
