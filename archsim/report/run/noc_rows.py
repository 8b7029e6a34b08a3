"""What the pages say of a network and of its cores: the links' load, and who waited for whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.ir.activity import NocStats
from archsim.ir.causes import CAUSES
from archsim.report.charts.stacked import StackedBar
from archsim.report.kit.number_format import count, percent
from archsim.report.kit.table import PAGES, Medium, ReportTable, TableColumn
from archsim.report.run.details import NetworkDetails

BUSIEST = 5


def network(stats: NocStats) -> NetworkDetails:
    """``details.noc`` of the summary: routers at their places, links with their flits, nodes with theirs."""
    ports = {node: part for part, nodes in stats.ports.items() for node in nodes}
    found: NetworkDetails = {
        "name": stats.name,
        "cycles": stats.cycles,
        "routers": stats.routers,
        "places": [list(place) for place in stats.places],
        "links": [list(link) for link in stats.links],
        "nodes": [
            {
                "name": f"{ports[node]} port" if node in ports else f"core[{node}]",
                "router": router,
                "sent_flits": stats.node_in[node],
                "received_flits": stats.node_out[node],
            }
            for node, router in enumerate(stats.node_routers)
        ],
    }
    if stats.router_levels:
        found["levels"] = list(stats.levels)
        found["router_levels"] = list(stats.router_levels)
        found["within"] = [[list(place) for place in places] for places in stats.within]
    if stats.periods:
        found["periods"] = list(stats.periods)
    return found


def taken(noc: Mapping[str, Any]) -> list[float]:
    """Cycles for which flits took each link: one for each, or the link's own."""
    flits = [link[2] for link in noc["links"]]
    periods = noc.get("periods")
    return flits if periods is None else [count * period for count, period in zip(flits, periods, strict=True)]


def share(cycles: float, total: int) -> float:
    """Of all cycles, those for which flits took a link."""
    return min(1.0, cycles / total) if total else 0.0


def links_table(noc: Mapping[str, Any], title: str = "Busiest links", media: tuple[Medium, ...] = PAGES) -> ReportTable:
    """The links that flits took the longest, ties by their routers."""
    cycles = noc["cycles"]
    links = [(busy, *link) for busy, link in zip(taken(noc), noc["links"], strict=True)]
    order = sorted(links, key=lambda link: (-link[0], link[1], link[2]))[:BUSIEST]
    rows = [
        (f"{where(noc, source)} \u2192 {where(noc, target)}", flits, flits, busy)
        for busy, source, target, flits in order
        if flits
    ]
    columns = (
        TableColumn("link", "name"),
        TableColumn("flits", show=count),
        TableColumn("load", unit="flits/cycle", show=lambda flits: f"{flits / cycles if cycles else 0.0:.3f}"),
        TableColumn("of the cycles", show=lambda busy: percent(busy, cycles), meaning="for which flits took the link"),
    )
    return ReportTable(title, columns, rows, media=media)


def where(noc: Mapping[str, Any], router: int) -> str:
    """A router by its place, or by its number; of nested networks with the one that it belongs to."""
    if "levels" not in noc:
        return _at(noc["places"][router]) if noc["places"] else f"router {router}"
    names = noc["levels"][noc["router_levels"][router] :]
    return " of ".join(f"{name} {_at(place)}" for name, place in zip(names, noc["within"][router], strict=True))


def _at(place: Sequence[int]) -> str:
    return f"[{', '.join(map(str, place))}]"


def sentence(noc: Mapping[str, Any]) -> str:
    """How much of the network was in use."""
    links, cycles, busy = noc["links"], noc["cycles"], taken(noc)
    total, most = sum(link[2] for link in links), max(busy, default=0)
    return (
        f"{count(total)} flits on {len(links)} links in {count(cycles)} cycles of the network: "
        f"{percent(sum(busy), cycles * len(links))} of their cycles, {percent(most, cycles)} on the busiest."
    )


def core_bars(breakdown: Mapping[str, Mapping[str, int]]) -> list[StackedBar]:
    """A row for each core's computing engines: what they did, waited for, and how long they were done."""
    cores: dict[str, dict[str, int]] = {}
    for unit in array_units(breakdown):
        sums = cores.setdefault(unit.rpartition(".")[0], dict.fromkeys(CAUSES.time, 0))
        for cause, cycles in breakdown[unit].items():
            sums[cause] += cycles
    return [StackedBar(core, causes, _note(causes)) for core, causes in sorted(cores.items(), key=_number)]


def array_units(breakdown: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Rows of the time breakdown that are arrays: engines of a core that neither move data nor are vector units."""
    places = ((unit, *unit.rpartition(".")[::2]) for unit in breakdown)
    return [unit for unit, core, kind in places if core and not kind.startswith(("load", "store", "vector", "dma"))]


def array_count(summary: Mapping[str, Any]) -> int:
    """Cores whose arrays' waits are summed in a summary; 1 without a network."""
    return max(1, len(core_bars(summary["time_breakdown"]))) if "noc" in summary["details"] else 1


def by_kind(breakdown: Mapping[str, Mapping[str, int]]) -> list[StackedBar]:
    """A row for each kind of engine, its instances in all cores together; the note says in how much of it they work."""
    kinds: dict[str, dict[str, int]] = {}
    counts: dict[str, int] = {}
    for unit, causes in breakdown.items():
        kind = unit.rpartition(".")[2]
        counts[kind] = counts.get(kind, 0) + 1
        sums = kinds.setdefault(kind, {})
        for cause, cycles in causes.items():
            sums[cause] = sums.get(cause, 0) + cycles
    return [
        StackedBar(f"{kind}, {counts[kind]} cores" if counts[kind] > 1 else kind, causes, _worked(causes))
        for kind, causes in kinds.items()
    ]


def _worked(causes: Mapping[str, int]) -> str:
    return percent(_sum(causes, CAUSES.worked), sum(causes.values()))


def _note(causes: Mapping[str, int]) -> str:
    """busy, waiting, done."""
    total = sum(causes.values())
    done, busy = _sum(causes, CAUSES.done), _sum(causes, CAUSES.worked)
    return " \u00b7 ".join(percent(part, total) for part in (busy, total - busy - done, done))


def _sum(causes: Mapping[str, int], keys: Sequence[str]) -> int:
    return sum(causes.get(key, 0) for key in keys)


def _number(entry: tuple[str, Any]) -> int:
    return int(entry[0].removeprefix("core[").removesuffix("]"))
