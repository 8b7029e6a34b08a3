"""Fan-outs that lie side by side and reuse alike are one to the costs: only how far each dim is spread in all matters.

Two such axes are searched as one, unless their order matters; which spreads can be split over the two is checked, and
the loops are split at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from archsim.base.jit import entry, njit
from archsim.ir.mapping import Keep, Loop, MapNode
from mapper.looptree.hierarchy import Axis, Memory
from mapper.looptree.nest import Nest
from mapper.looptree.search.branch.rows import fill
from mapper.looptree.search.branch.whole import order_matters
from mapper.looptree.search.space import Space

Pairs = Mapping[str, tuple[Axis, Axis]]  # by the name of the axis that stands for both


def joined(space: Space) -> tuple[Space, Pairs]:
    """The space with pairs of like axes as one each."""
    parts: list[Memory | Axis] = []
    pairs: dict[str, tuple[Axis, Axis]] = {}
    for part in space.hierarchy.parts:
        last = parts[-1] if parts else None
        if isinstance(part, Axis) and isinstance(last, Axis) and last.name not in pairs and _alike(space, last, part):
            name = f"{last.name} x {part.name}"
            pairs[name] = (last, part)
            parts[-1] = replace(last, name=name, fanout=last.fanout * part.fanout)
        else:
            parts.append(part)
    allowed = {**space.axis_dims, **{name: frozenset(space.spread[pair[0].name]) for name, pair in pairs.items()}}
    hierarchy = replace(space.hierarchy, parts=tuple(parts))
    return replace(space, hierarchy=hierarchy, axis_dims=allowed), pairs


def _alike(space: Space, first: Axis, second: Axis) -> bool:
    return (
        first.may_reuse == second.may_reuse
        and space.spread[first.name] == space.spread[second.name]
        and not first.most_used
        and not second.most_used
        and not order_matters(space, first.name, second.name)
    )


@entry
@njit
def splits(shares: Any, first: int, second: int, exact: bool, parts: Any, taken: Any) -> bool:
    """Whether spreads of dims can be split over fan-outs of ``first`` and ``second``; ``parts``: over the first.

    ``exact``: every instance that is used has a share, else the last may have none. ``taken`` (2, dims + 1): instances
    of the two that the dims before take.
    """
    at, used, rest = 0, taken[0], taken[1]
    used[0] = rest[0] = 1
    fill(parts, 0)
    while at >= 0:
        if at == shares.size:
            return True
        part = parts[at] + 1
        while part <= shares[at] and (
            (exact and shares[at] % part) or used[at] * part > first or rest[at] * -(-shares[at] // part) > second
        ):
            part += 1
        if part > shares[at]:
            parts[at] = 0
            at -= 1
            continue
        parts[at] = part
        used[at + 1], rest[at + 1] = used[at] * part, rest[at] * -(-shares[at] // part)
        at += 1
    return False


def apart(nest: Nest, pairs: Pairs, exact: bool) -> Nest:
    """The LoopTree with every loop of a joined axis as loops of the two."""
    split = {at: loops for name, pair in pairs.items() for at, loops in _split(nest, name, pair, exact)}
    places, total = [], 0
    for at in range(len(nest.nodes) + 1):
        places.append(total)
        total += len(split[at]) if at in split else 1
    nodes: list[MapNode] = []
    for at, node in enumerate(nest.nodes):
        if at in split:
            nodes += split[at]
        else:
            nodes.append(replace(node, reserve_at=places[node.reserve_at]) if isinstance(node, Keep) else node)
    return Nest(nest.einsum, tuple(nodes))


def _split(nest: Nest, name: str, pair: tuple[Axis, Axis], exact: bool) -> Iterator[tuple[int, list[MapNode]]]:
    loops = [(at, loop) for at, loop in nest.loops if loop.axis == name]
    shares = np.array([nest.trips(at) for at, _ in loops], np.int64)
    parts, taken = np.empty_like(shares), np.empty((2, len(shares) + 1), np.int64)
    assert splits(shares, pair[0].fanout, pair[1].fanout, exact, parts, taken)
    for (at, loop), share, part in zip(loops, shares.tolist(), parts.tolist(), strict=True):
        rest = -(-share // part)
        both = [(loop.tile * rest, pair[0], part), (loop.tile, pair[1], rest)]
        yield at, [Loop(loop.dim, tile, axis.name) for tile, axis, trips in both if trips > 1]
