"""A network on its own as JSON, as a few lines and as a plot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from archsim.report.charts.curve import IDEAL, STABLE, UNSTABLE
from archsim.report.kit import table_terminal
from archsim.report.noc import layouts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCHEMA = "archsim.noc/1"


def to_json(found: Mapping[str, Any]) -> str:
    """The JSON text without a closing newline."""
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False)


def to_table(found: Mapping[str, Any], width: int | None = None) -> str:
    """The network, its latency against load or that of a trace, and its busiest links; tables of ``width`` columns at
    most."""
    made = layouts.tables(found)
    lines = [*setting(found), *says(found)]
    return "\n".join([*lines, *(line for table in made.values() for line in table_terminal.text(table, width))])


def _network(found: Mapping[str, Any]) -> list[str]:
    router = found["router"]
    shape = "x".join(str(size) for size in found["shape"])
    delay = found["link_delay_cycles"]
    text = (
        f"{found['topology']} {shape}: {found['nodes']} nodes, {found['routers']} routers, {found['link_count']} links"
    )
    if delay:
        text += f" of {delay} cycle{'s' * (delay != 1)}"
    return [
        text,
        f"routers with {router['vcs']} virtual channels of {router['vc_buffer']} flits, routing {found['routing']}, "
        f"fidelity {found['fidelity']}",
    ]


def setting(found: Mapping[str, Any]) -> list[str]:
    """The network, and the traffic that was offered to it."""
    return _network(found) if "trace" in found else [*_network(found), _offered(found)]


def says(found: Mapping[str, Any]) -> list[str]:
    """What came of it, in sentences."""
    if "trace" in found:
        return _trace(found)
    return [_alone(found), _stable(found)]


def _offered(found: Mapping[str, Any]) -> str:
    flits = found["packet_flits"]
    return f"traffic {found['traffic']}, packets of {flits} flit{'s' * (flits != 1)}, seed {found['seed']}"


def _alone(found: Mapping[str, Any]) -> str:
    return (
        f"lone packets take {found['zero_load_cycles']:.1f} cycles; the busiest link would be full at "
        f"{found['ideal_rate']:.3f} flits per node and cycle"
    )


def _stable(found: Mapping[str, Any]) -> str:
    last = found["last_stable_rate"]
    most = f"{found['accepted_most']:.3f} flits per node and cycle at most"
    return f"stable up to {last:g}, accepted {most}" if last else f"never stable, accepted {most}"


def _trace(found: Mapping[str, Any]) -> list[str]:
    latency = found["latency_cycles"]
    several = f", {found['multicasts']:,} of them to several nodes" if found["multicasts"] else ""
    return [
        f"{found['trace']}: {found['packets']:,} packets{several}, {found['flits']:,} flits, "
        f"{found['cycles']:,} cycles",
        f"latency in cycles: mean {latency['mean']:.1f}, p50 {latency['p50']}, p99 {latency['p99']}, "
        f"max {latency['max']}; {found['queued_cycles_mean']:.1f} of the mean in the queue of the source",
    ]


def figure(found: Mapping[str, Any]) -> Figure:
    """Latency against offered load, and on a grid of two dimensions the load of each link at the last stable rate."""
    from matplotlib.figure import Figure

    grid = layouts.is_grid(found, dimensions=2)
    drawn = Figure(figsize=(11.0 if grid else 6.5, 4.5), layout="constrained")
    axes = drawn.subplots(1, 2 if grid else 1, squeeze=False)[0]
    _draw_curve(axes[0], found)
    if grid:
        _draw_links(axes[1], found)
    return drawn


def _draw_curve(axes: Axes, found: Mapping[str, Any]) -> None:
    stable = [point for point in found["points"] if point["stable"]]
    rates = [point["rate"] for point in stable]
    axes.plot(rates, [point["latency_cycles"]["mean"] for point in stable], "o-", color=STABLE, label="mean")
    axes.plot(rates, [point["latency_cycles"]["p99"] for point in stable], ":", color=STABLE, label="99 of 100")
    for point in found["points"]:
        if not point["stable"]:
            axes.axvline(point["rate"], color=UNSTABLE, linestyle="--", linewidth=1, label="not stable")
    axes.axhline(found["zero_load_cycles"], color=IDEAL, linewidth=0.8)
    axes.text(0.01, found["zero_load_cycles"], "lone packets ", fontsize=8, va="bottom", color=IDEAL)
    axes.axvline(found["ideal_rate"], color=IDEAL, linewidth=0.8, label="busiest link full")
    axes.set_xlim(0, 1.05 * max(found["ideal_rate"], *(point["rate"] for point in found["points"])))
    axes.set_ylim(0, None)
    axes.set_xlabel("offered load, flits per node and cycle")
    axes.set_ylabel("latency of a packet, cycles")
    axes.set_title(_title(found), loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    _bare(axes)


def _draw_links(axes: Axes, found: Mapping[str, Any]) -> None:
    from matplotlib.collections import LineCollection

    columns = found["shape"][0]
    lines, loads = [], []
    for link in found["links"]:
        start, end = (_place(router, columns) for router in (link["from"], link["to"]))
        if abs(start[0] - end[0]) + abs(start[1] - end[1]) > 1:  # of a ring's end: a stub outwards
            end = tuple(a - 0.4 * ((b > a) - (b < a)) for a, b in zip(start, end, strict=True))
        lines.append(_beside(start, end))
        loads.append(link["flits_per_cycle"])
    drawn = LineCollection(lines, array=loads, cmap="viridis", linewidths=3)
    drawn.set_clim(0, max([*loads, 1e-9]))
    axes.add_collection(drawn)
    places = [_place(router, columns) for router in range(found["routers"])]
    axes.scatter([x for x, _ in places], [y for _, y in places], color="#30363D", s=22, zorder=3)
    axes.set_aspect("equal")
    axes.margins(0.12)
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(f"flits per cycle of each link at {found['links_at_rate']:g}", loc="left", fontsize=10)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.figure.colorbar(drawn, ax=axes, shrink=0.8)


def _place(router: int, columns: int) -> tuple[float, ...]:
    return float(router % columns), float(router // columns)


def _beside(start: Sequence[float], end: Sequence[float]) -> list[tuple[float, float]]:
    """Each direction on its own side of the line between two routers."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    aside = (-0.07 * dy / length, 0.07 * dx / length)
    inset = (0.12 * dx / length, 0.12 * dy / length)
    return [
        (start[0] + aside[0] + inset[0], start[1] + aside[1] + inset[1]),
        (end[0] + aside[0] - inset[0], end[1] + aside[1] - inset[1]),
    ]


def _title(found: Mapping[str, Any]) -> str:
    shape = "x".join(str(size) for size in found["shape"])
    flits = found["packet_flits"]
    return f"{found['topology']} {shape}, {found['traffic']}, {flits} flit{'s' * (flits != 1)}, {found['fidelity']}"


def _bare(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
