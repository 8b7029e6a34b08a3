"""The tables of a network that ran alone, each laid out once: latency against load, and the busiest links."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from archsim.report.kit.number_format import NONE, count
from archsim.report.kit.table import HTML, MARKDOWN, NOTEBOOK, REPORTS, BarCell, ReportTable, TableCell, TableColumn
from archsim.report.run.noc_rows import links_table

CURVE_NOTE = (
    "Load is in flits per node and cycle, offered and accepted. The line is the mean latency, the dots are the 99th "
    "percentile. An upright line marks the load at which the busiest link would be full, dashed ones the loads at "
    "which the network is not stable."
)
LOAD = "flits/node/cycle"
_PAGED = (MARKDOWN, HTML, NOTEBOOK)  # a terminal gives the room to the bars
_GRIDS = ("mesh", "torus", "ring")  # topologies whose routers stand at the coordinates of their shape
_LATENCIES = ("mean", "p50", "p99", "max")

Found = Mapping[str, Any]


def is_grid(found: Found, dimensions: int) -> bool:
    """Whether the routers stand on a grid of so many dimensions."""
    return found["topology"] in _GRIDS and len(found["shape"]) == dimensions


def tables(found: Found) -> dict[str, ReportTable]:
    """The tables of a result of ``archsim noc`` by name; those without rows are left out."""
    made = {} if "trace" in found else {"curve": curve_table(found)}
    if found["links"]:
        made["links"] = busiest_links(found)
    return {name: table for name, table in made.items() if table}


def curve_table(found: Found) -> ReportTable:
    """Accepted load and latency at each offered load; at loads that are not stable latency grows without end."""
    points = found["points"]
    top = max((point["latency_cycles"]["mean"] for point in points if point["stable"]), default=1.0)
    cycles = partial(TableColumn, unit="cycles")
    columns = (
        TableColumn("rate", unit=LOAD, show=lambda rate: f"{rate:.4g}", meaning="what was offered"),
        TableColumn("accepted", unit=LOAD, show=lambda rate: f"{rate:.4f}"),
        TableColumn("stable", "word", media=_PAGED, show=lambda stable: "yes" if stable else "no"),
        cycles("mean", show=lambda mean: f"{mean:.1f}"),
        cycles("p50", show=count, media=_PAGED),
        cycles("p99", show=count),
        cycles("max", show=count),
        TableColumn("busiest link", unit="flits/cycle", show=lambda load: f"{load:.3f}", media=_PAGED),
        TableColumn("", "bar"),
    )
    rates = [f"{point['rate']:.4g}" for point in points if not point["stable"]]
    below = ["The latency of a packet is counted from its making to the arrival of its last flit."]
    below += [f"not stable: latency grows without end at {', '.join(rates)}"] if rates else []
    return ReportTable(
        "Latency against load", columns, [_point(point, top) for point in points], CURVE_NOTE, below=below
    )


def _point(point: Found, top: float) -> tuple[Any, ...]:
    latency, stable = point["latency_cycles"], point["stable"]
    return (
        point["rate"],
        point["accepted_flits_per_node_cycle"],
        stable,
        *(latency.get(key) if stable else TableCell(None, NONE) for key in _LATENCIES),
        point.get("hottest_link_flits_per_cycle", 0.0),
        BarCell(0, latency["mean"] / top if stable else 0),
    )


def busiest_links(found: Found) -> ReportTable:
    """The links that flits took the longest."""
    at = f" at {found['links_at_rate']:g} flits per node and cycle" if "links_at_rate" in found else ""
    return links_table(as_network(found), f"Busiest links{at}", REPORTS)


def as_network(found: Found) -> dict[str, Any]:
    """The network as the map and the table of a chip's network take it: flits of each link over the cycles."""
    cycles = found["cycles"] if "trace" in found else _shown_point(found)["cycles"]
    links = [[link["from"], link["to"], round(link["flits_per_cycle"] * cycles)] for link in found["links"]]
    places = [_place(router, found["shape"]) for router in range(found["routers"])]
    on_grid = found["topology"] in _GRIDS
    return {
        "name": found["topology"],
        "cycles": cycles,
        "routers": found["routers"],
        "places": places if on_grid else [],
        "links": links,
        "nodes": [],
    }


def _shown_point(found: Found) -> Found:
    shown: Found = next(point for point in found["points"] if point["rate"] == found["links_at_rate"])
    return shown


def _place(router: int, shape: list[int]) -> list[int]:
    """Coordinates of a router, the first dimension the fastest."""
    found = []
    for size in shape:
        router, at = divmod(router, size)
        found.append(at)
    return found
