"""report.html, report.md and the tables of a network that ran alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from archsim.report.charts.curve import curve
from archsim.report.charts.network import network
from archsim.report.kit.part_page import PageSection, ResultKind, ResultPage, csv_text
from archsim.report.kit.svg import both
from archsim.report.noc import layouts, terminal

CURVE, LINKS = "curve.csv", "links.csv"
_LATENCIES = ("mean", "p50", "p99", "max")

Found = Mapping[str, Any]


def _page(found: Found) -> ResultPage:
    """The page of a result of ``archsim noc``, of a curve or of a trace."""
    made, files = layouts.tables(found), {}
    sections = [PageSection(table, _charts(name, found)) for name, table in made.items()]
    if "trace" not in found:
        files[CURVE] = _curve_csv(found)
    if found["links"]:
        files[LINKS] = csv_text(tuple(found["links"][0]), [[*link.values()] for link in found["links"]])
    return ResultPage(
        _title(found), tuple(terminal.setting(found)), tuple(terminal.says(found)), tuple(sections), files
    )


def _charts(name: str, found: Found) -> tuple[str, ...]:
    """The curve; a map of the links where the routers have places."""
    if name == "curve":
        return (both(partial(curve, found)),)
    drawn = layouts.as_network(found)
    return (network(drawn),) if drawn["places"] else ()


KIND = ResultKind("noc.json", terminal.SCHEMA, _page)


def _title(found: Found) -> str:
    shape = "x".join(str(size) for size in found["shape"])
    return f"{found['topology']} {shape}, {found.get('trace') or found['traffic']}"


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
