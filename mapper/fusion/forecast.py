"""What a group is expected to take: its members work beside one another, so the busiest engine of all sets the pace.

In each pass every member does a part of its work. What the busiest resource has to do in all members together is the
time of the passes; before its first and behind its last one, the other members' passes stand in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mapper.cost.grid_cost import Costs
from mapper.given.priced import CELL


class GroupForecast(NamedTuple):
    """Cycles of a group, and the part of each member: by its work on the busiest resource."""

    cycles: float
    parts: tuple[float, ...]


def forecast(members: Sequence[Costs], passes: int, begins: int = 1) -> GroupForecast:
    """Of members in ``passes`` passes each, which begin anew so many times."""
    work = [{name: float(each.flat[CELL]) for name, each in costs.work.items()} for costs in members]
    names = {name for each in work for name in each}
    sums = {name: sum(each.get(name, 0.0) for each in work) for name in sorted(names)}
    busiest = max(sums, key=lambda name: sums[name])
    busy = [max(of.values(), default=0.0) for of in work]
    ways = max(float(costs.cycles.flat[CELL]) - own for costs, own in zip(members, busy, strict=True))
    cycles = sums[busiest] + begins * max(0.0, (sum(busy) - sums[busiest]) / passes) + max(0.0, ways)
    shares = [of.get(busiest, 0.0) for of in work]
    return GroupForecast(cycles, tuple(cycles * share / (sum(shares) or 1.0) for share in shares))
