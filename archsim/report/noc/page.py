"""report.html, report.md and the tables of a network that ran alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from archsim.report.charts.curve import curve
from archsim.report.charts.network import network
from archsim.report.kit.number_format import count
from archsim.report.kit.part_page import PageSection, ResultKind, ResultPage, csv_text
from archsim.report.kit.svg import both
from archsim.report.noc import terminal
from archsim.report.run.noc_rows import busiest

CURVE, LINKS = "curve.csv", "links.csv"
_GRIDS = ("mesh", "torus", "ring")
_LATENCIES = ("mean", "p50", "p99", "max")
_COLUMNS = ("rate", "accepted", "stable", "mean", "p50", "p99", "most", "busiest link")

Found = Mapping[str, Any]


def _page(found: Found) -> ResultPage:
    """The page of a result of ``archsim noc``, of a curve or of a trace."""
    sections, tables = [], {}
    if "trace" not in found:
        sections, tables = [_curve(found)], {CURVE: _curve_csv(found)}
    if found["links"]:
        sections.append(_links(found))
        tables[LINKS] = csv_text(tuple(found["links"][0]), [[*link.values()] for link in found["links"]])
    return ResultPage(
        _title(found), tuple(terminal.setting(found)), tuple(terminal.says(found)), tuple(sections), tables
    )


KIND = ResultKind("noc.json", terminal.SCHEMA, _page)


def _title(found: Found) -> str:
    shape = "x".join(str(size) for size in found["shape"])
    return f"{found['topology']} {shape}, {found.get('trace') or found['traffic']}"


def _curve(found: Found) -> PageSection:
    rows = []
    for point in found["points"]:
        told = [f"{point['latency_cycles']['mean']:.1f}", *(count(point["latency_cycles"][k]) for k in _LATENCIES[1:])]
        shown = told if point["stable"] else [""] * len(told)
        rows.append(
            (
                f"{point['rate']:g}", f"{point['accepted_flits_per_node_cycle']:.4f}",
                "yes" if point["stable"] else "no", *shown, f"{point['hottest_link_flits_per_cycle']:.3f}",
            )
        )  # fmt: skip
    note = (
        "Flits per node and cycle, offered and accepted; latency in cycles from the making of a packet to its last "
        "flit's arrival: the line is the mean, dots are the 99th percentile. Upright lines: the load at which the "
        "busiest link would be full, and dashed the loads at which the network is not stable."
    )
    return PageSection("Latency against load", note, (both(partial(curve, found)),), _COLUMNS, "rrlrrrrr", tuple(rows))


def _curve_csv(found: Found) -> str:
    heads = (
        "rate", "stable", "accepted_flits_per_node_cycle", *(f"latency_{key}_cycles" for key in _LATENCIES),
        "hottest_link_flits_per_cycle", "packets", "cycles", "flit_hops",
    )  # fmt: skip
    rows = [
        [
            point["rate"], point["stable"], point["accepted_flits_per_node_cycle"],
            *(point["latency_cycles"][key] for key in _LATENCIES),
            point["hottest_link_flits_per_cycle"], point["packets"], point["cycles"], point["flit_hops"],
        ]
        for point in found["points"]
    ]  # fmt: skip
    return csv_text(heads, rows)


def _links(found: Found) -> PageSection:
    """A map where the routers have places, and the busiest links."""
    drawn = _drawn(found)
    at = f" at {found['links_at_rate']:g} flits per node and cycle" if "links_at_rate" in found else ""
    charts = (network(drawn),) if drawn["places"] else ()
    rows = tuple((row["link"], row["flits"], row["share"]) for row in busiest(drawn))
    return PageSection("Links", f"The load of each link{at}.", charts, ("link", "flits", "of the cycles"), "lrr", rows)


def _drawn(found: Found) -> dict[str, Any]:
    """The network as the map of a chip's network takes it: flits of each link over the cycles."""
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
