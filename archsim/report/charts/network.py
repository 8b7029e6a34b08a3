"""A network as a map: routers at their places, each direction of a link coloured by how busy it was."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, hypot, sqrt
from typing import Any

from archsim.report.kit import svg
from archsim.report.kit.number_format import count, percent
from archsim.report.run.noc_rows import share, taken, where

RAMP = ("#E4E9EE", "#FBD9A6", "#F6AE5A", "#E2711D", "#B5381A", "#6E1423")  # none, up to a fifth of the busiest, ...
WIDTH, MARGIN = 760.0, 40.0
LEAST, MOST = 44.0, 120.0  # between routers

CurvePoint = tuple[float, float]


def network(noc: Mapping[str, Any]) -> str:
    """``noc``: as ``details.noc`` of the summary."""
    grid = _grid(noc)
    rows, columns = (1 + max((place[axis] for place in grid), default=0) for axis in (0, 1))
    fits = (svg.WIDTH - 2 * MARGIN) / max(columns - 1, 1)
    pitch = min(fits, max(LEAST, min(MOST, WIDTH / max(columns, 1))))
    left = max(MARGIN, (svg.WIDTH - pitch * (columns - 1)) / 2)
    at = [(left + pitch * place[1], MARGIN + pitch * place[0]) for place in grid]
    size = min(26.0, pitch * 0.42)
    most = _busiest(noc)
    drawn = [_link(noc, at, link, each, pitch, most) for link, each in zip(noc["links"], taken(noc), strict=True)]
    drawn += [_router(noc, router, point, size) for router, point in enumerate(at)]
    return svg.picture(2 * MARGIN + pitch * (rows - 1), f"Links of {noc['name']} by load", drawn)


def legend(noc: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """(colour, label, what it means): fifths of the share of the cycles for which the busiest link took flits."""
    most, steps = _busiest(noc), len(RAMP) - 1
    meaning = "share of the cycles in which the link took a flit"
    found = [(RAMP[step], f"to {percent(most * step / steps, digits=1)}", meaning) for step in range(1, len(RAMP))]
    return ((RAMP[0], "unused", "no flit passed"), *(found if most else ()))


def _busiest(noc: Mapping[str, Any]) -> float:
    return max((share(cycles, noc["cycles"]) for cycles in taken(noc)), default=0.0)


def _grid(noc: Mapping[str, Any]) -> list[tuple[int, int]]:
    """(row, column) of each router: its first coordinate across, its second down, further ones side by side; without
    coordinates in rows of a square.
    """
    places, routers = noc["places"], noc["routers"]
    if not places:
        side = max(1, ceil(sqrt(routers)))
        return [divmod(router, side) for router in range(routers)]
    if len(places[0]) == 1:
        return [(0, place[0]) for place in places]
    wide = 2 + max(place[0] for place in places)
    deeper: dict[tuple[int, ...], int] = {}
    for place in places:
        deeper.setdefault(tuple(place[2:]), len(deeper))
    return [(place[1], place[0] + wide * deeper[tuple(place[2:])]) for place in places]


def _link(
    noc: Mapping[str, Any], at: list[CurvePoint], link: tuple[int, int, int], cycles: float, pitch: float, most: float
) -> str:
    """One direction, beside the other one; those between far routers are bent."""
    source, target, flits = link
    (x1, y1), (x2, y2) = at[source], at[target]
    length = hypot(x2 - x1, y2 - y1) or 1.0
    side_x, side_y = -(y2 - y1) / length, (x2 - x1) / length
    bend = 0.0 if length < 1.5 * pitch else 0.35 * pitch
    x1, y1, x2, y2 = x1 + 5 * side_x, y1 + 5 * side_y, x2 + 5 * side_x, y2 + 5 * side_y
    middle = ((x1 + x2) / 2 + bend * side_x, (y1 + y2) / 2 + bend * side_y)
    busy = share(cycles, noc["cycles"])
    tip = f"{where(noc, source)} to {where(noc, target)}: {count(flits)} flits, {percent(cycles, noc['cycles'])} busy"
    path = f"M {x1:.1f} {y1:.1f} Q {middle[0]:.1f} {middle[1]:.1f} {x2:.1f} {y2:.1f}"
    return svg.tag("path", svg.title(tip), d=path, fill="none", stroke=_colour(busy, most), stroke_width=7)


def _colour(busy: float, most: float) -> str:
    steps = len(RAMP) - 1
    return RAMP[min(steps, ceil(steps * busy / most))] if busy > 0 else RAMP[0]


def _router(noc: Mapping[str, Any], router: int, point: CurvePoint, size: float) -> str:
    """A square with the number of its core, dark where a memory above has a port."""
    here = [node for node in noc["nodes"] if node["router"] == router]
    port = any(not node["name"].startswith("core") for node in here)
    names = "; ".join(
        f"{node['name']} sent {count(node['sent_flits'])}, got {count(node['received_flits'])} flits" for node in here
    )
    x, y = point
    tip = ": ".join(filter(None, (where(noc, router), names)))
    square = svg.rect(
        x - size / 2, y - size / 2, size, size, "#3A4754" if port else "#FFFFFF", tip,
        stroke="#3A4754", stroke_width=1.2, rx=3,
    )  # fmt: skip
    cores = [node["name"].removeprefix("core[").removesuffix("]") for node in here if node["name"].startswith("core")]
    colour = "#FFFFFF" if port else "#1C2530"
    label = svg.text(x, y + 4, cores[0] if len(cores) == 1 else "", "t num", "middle", style=f"fill:{colour}")
    return square + label
