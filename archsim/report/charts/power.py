"""Power over time, stacked by part, above the time axis of the run; its area is the energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from archsim.report.charts.time_axis import LEFT, RIGHT, place
from archsim.report.kit import svg
from archsim.report.kit.number_format import si

PLOT, HEAD = 150.0, 26.0
HEIGHT = PLOT + HEAD + 8
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#7A6BA8", "#8A8D3C")
REST = "#9AA3AD"

PowerWindows = Mapping[str, Sequence[float]]  # part -> joules in equal windows of the run


def colours(parts: Sequence[str]) -> dict[str, str]:
    """A colour for each part, in their order; grey for those beyond the palette."""
    return {part: COLOURS[at] if at < len(COLOURS) else REST for at, part in enumerate(parts)}


def largest_first(windows: PowerWindows) -> list[str]:
    """Parts by energy."""
    return sorted(windows, key=lambda part: (-sum(windows[part]), part))


def peak(windows: PowerWindows) -> tuple[int, float]:
    """The window of most energy, and its joules."""
    totals = [sum(spent) for spent in zip(*windows.values(), strict=True)]
    most = max(range(len(totals)), key=totals.__getitem__)
    return most, totals[most]


def power(windows: PowerWindows, y: float, latency_s: float, average_w: float) -> str:
    """The chart with its top at ``y``: a column for each window, the average as a dashed line."""
    parts, count = largest_first(windows), len(next(iter(windows.values())))
    width_s = latency_s / count
    top = max(peak(windows)[1] / width_s, average_w)
    base, scale = y + HEAD + PLOT, PLOT / top
    drawn = [_grid(top, base, scale)]
    levels = [0.0] * count
    fills = colours(parts)
    for part in parts:
        above = [low + spent / width_s for low, spent in zip(levels, windows[part], strict=True)]
        drawn.append(_band(levels, above, base, scale, fills[part]))
        levels = above
    for index in range(count):
        x, end = place(index * width_s, latency_s), place((index + 1) * width_s, latency_s)
        tip = _tip(windows, parts, index, width_s)
        drawn.append(svg.rect(x, y + HEAD, end - x, PLOT, "transparent", tip))
    mean = base - average_w * scale
    return (
        "".join(drawn)
        + svg.line(LEFT, mean, RIGHT, mean, css="mean")
        + svg.text(LEFT - 10, y + 16, "power", "t dim", "end")
        + svg.text(RIGHT, y + 16, f"dashed: average {si(average_w, 'W')}", "t dim", "end")
    )


def _grid(top: float, base: float, scale: float) -> str:
    drawn = []
    for watts in svg.ticks(top, 4):
        y = base - watts * scale
        drawn += [svg.line(LEFT, y, RIGHT, y), svg.text(LEFT - 10, y + 4, si(watts, "W", 3), "t num dim", "end")]
    return "".join(drawn)


def _band(low: Sequence[float], high: Sequence[float], base: float, scale: float, colour: str) -> str:
    """One part between what is below it and that with it."""
    count = len(low)
    edges = [LEFT + (RIGHT - LEFT) * index / count for index in range(count + 1)]
    path = [f"{edges[i + d]:.1f} {base - level * scale:.1f}" for i, level in enumerate(high) for d in (0, 1)]
    back = [f"{edges[i + d]:.1f} {base - low[i] * scale:.1f}" for i in reversed(range(count)) for d in (1, 0)]
    return svg.tag("path", d=f"M {' L '.join([*path, *back])} Z", fill=colour)


def _tip(windows: PowerWindows, parts: Sequence[str], index: int, width_s: float) -> str:
    watts = {part: windows[part][index] / width_s for part in parts}
    shares = ", ".join(f"{part} {si(level, 'W', 3)}" for part, level in watts.items() if level)
    start, end = si(index * width_s, "s", 3), si((index + 1) * width_s, "s", 3)
    return f"{start} to {end}: {si(sum(watts.values()), 'W', 3)} ({shares})"
