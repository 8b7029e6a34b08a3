"""The tables of a run, each laid out once: what columns there are, in which units and order, and where it is shown.

``tables`` gives them all by name. The terminal, report.md, report.html and notebooks render these and lay out nothing
themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from archsim.ir.causes import CAUSES
from archsim.ir.result import Summary, single_layers
from archsim.report.kit.assumptions import estimated_table, sourced_table
from archsim.report.kit.causes import bound_label, cause, in_order, label, mended_by
from archsim.report.kit.number_format import NONE, count, percent, share_of, shorten
from archsim.report.kit.promises import promises_table
from archsim.report.kit.table import (
    EVERYWHERE,
    MARKDOWN,
    NOTEBOOK,
    NOTHING,
    PAGES,
    TERMINAL,
    BarCell,
    ReportTable,
    TableCell,
    TableColumn,
)
from archsim.report.run import headline as figures_of_run
from archsim.report.run.dram_rows import dram_table, parts_with_rows
from archsim.report.run.headline import bound_of
from archsim.report.run.layer_layout import layers, parts
from archsim.report.run.noc_rows import array_count, by_kind, links_table
from archsim.report.run.role_rows import roles_table
from archsim.report.run.run_sentences import operand_stalls
from archsim.report.run.silicon_tables import floorplan, states

OPERANDS = 12
PLACES = 3  # layers that are named beside a cause


def tables(summary: Summary) -> dict[str, ReportTable]:
    """Every table of a run by its name, in the order of the report; those without rows are left out."""
    sources = summary["details"].get("sources", {})
    made = {
        "headline": figures(figures_of_run.headline(summary)),
        "bottlenecks": bottlenecks(summary),
        "why": what_would_help(summary),
        "waterfall": waterfall(summary),
        "units": units(summary),
        "operands": operands(summary),
        "groups": groups(summary),
        "predicted": predicted(summary),
        **{f"dram {name}": dram_table(name, part) for name, part in parts_with_rows(summary).items()},
        "roles": roles_table(summary),
        **({"links": links_table(summary["details"]["noc"])} if "noc" in summary["details"] else {}),
        "energy": energy(summary),
        "states": states(summary),
        "area": area(summary),
        "floorplan": floorplan(summary),
        "layers": layers(summary),
        "parts": parts(summary),
        "estimated": estimated_table(sources),
        "sourced": sourced_table(sources),
        "promises": promises_table(),
        "provenance": provenance(summary),
    }
    return {name: table for name, table in made.items() if table}


def figures(rows: Sequence[tuple[str, str, str]]) -> ReportTable:
    """The figures that stand first; pages show them as cards, a terminal two in a line."""
    columns = (TableColumn("figure", "word"), TableColumn("value"), TableColumn("remark", "text"))
    return ReportTable("Headline", columns, rows, media=EVERYWHERE)


def waterfall(summary: Summary) -> ReportTable:
    """Where the slots of the MACs went: causes in their order, the useful ones last."""
    slots_of, cycles = summary["mac_breakdown"], summary["cycles_total"]
    slots = level = sum(slots_of.values())
    whole = slots or 1
    rows = []
    for key in [*(key for key in in_order([*slots_of]) if key != "useful" and slots_of[key]), "useful"]:
        size = slots_of.get(key, 0)
        level -= size
        bar = BarCell(level / whole, (level + size) / whole, cause(key).colour)
        rows.append((label(key), bar, size, size, size * cycles / whole))
    columns = (
        TableColumn("MAC slots", "word"),
        TableColumn("", "bar"),
        TableColumn("share", show=lambda size: percent(size, slots)),
        TableColumn("slots", show=count, media=(MARKDOWN, NOTEBOOK)),
        TableColumn("cycles' worth", show=lambda worth: count(round(worth))),
    )
    total = ("all", NOTHING, slots, slots, cycles)
    return ReportTable("MAC waterfall", columns, rows, total=total, media=(TERMINAL, MARKDOWN))


def units(summary: Summary) -> ReportTable:
    """Cycles of each unit by cause; on a chip of many cores of each kind of engine."""
    found = summary["time_breakdown"]
    if "noc" in summary["details"]:
        found = {bar.name: bar.parts for bar in by_kind(found)}
    causes = in_order(sorted({key for row in found.values() for key, cycles in row.items() if cycles}))
    columns = [
        TableColumn("unit", "name"),
        *(TableColumn(cause(key).label, unit="cycles", show=count) for key in causes),
    ]
    rows = [(unit, *(row.get(key, 0) for key in causes)) for unit, row in found.items()]
    return ReportTable("By unit", columns, rows, media=(MARKDOWN,))


def bottlenecks(summary: Summary) -> ReportTable:
    """A row for each cause on the critical path, the longest first; none where the summary does not have the path.

    Without arbitration a run gains at most a cause's cycles where the cause is taken away.
    """
    places: dict[str, list[tuple[int, str]]] = {}
    for layer, causes in summary["details"].get("critical", {}).items():
        for key, cycles in causes.items():
            places.setdefault(key, []).append((cycles, layer))
    totals = {key: sum(cycles for cycles, _ in found) for key, found in places.items()}
    order = sorted(totals, key=lambda key: (-totals[key], key))
    rows = [(rank, _named(key), totals[key], totals[key], _largest(places[key])) for rank, key in enumerate(order, 1)]
    columns = (
        TableColumn("rank"),
        TableColumn("cause", "word"),
        TableColumn("cycles", show=count),
        TableColumn("of the run", show=share_of(summary["cycles_total"])),
        TableColumn("layers with most of them", "text"),
    )
    note = (
        "These are the causes along the critical path, whose cycles sum to the run's. A run without one of them would "
        "gain at most its cycles."
    )
    return ReportTable("What bounds the run", columns, rows, note, media=PAGES, named=1)


def _named(key: str) -> TableCell:
    """A cause on the critical path; who points at it reads what it means, and which parts of the chip can mend it."""
    said = CAUSES.meaning(key) if CAUSES.get(key) else ""
    parts = mended_by(key)
    tip = f"{said}; keys of {parts} can mend it" if parts else said
    return TableCell(bound_label(key), colour=cause(key).colour, tip=tip)


def _largest(places: list[tuple[int, str]]) -> str:
    """The layers with the most cycles, and these."""
    most = sorted(places, key=lambda place: (-place[0], place[1]))[:PLACES]
    return ", ".join(f"{shorten(layer, 30)} {count(size)}" for size, layer in most if size)


def operands(summary: Summary) -> ReportTable:
    """Waiting of the arrays by cause and operand, longest first, each with the layers that wait longest."""
    rows = []
    for key, cycles in list(operand_stalls(summary).items())[:OPERANDS]:
        waits = [(layer["stalls"][key], layer["name"]) for layer in single_layers(summary) if layer["stalls"].get(key)]
        name = TableCell(cause(key).label, colour=cause(key).colour)
        rows.append((name, key.partition(".")[2] or NONE, cycles, cycles, _largest(waits)))
    columns = (
        TableColumn("cause", "word"),
        TableColumn("operand", "word"),
        TableColumn("cycles", show=count),
        TableColumn("of the run", show=share_of(summary["cycles_total"] * array_count(summary))),
        TableColumn("layers that wait longest", "text"),
    )
    note = "Waiting of the arrays, summed over layers, and the layers that wait longest for it."
    return ReportTable("By cause and operand", columns, rows, note, media=PAGES)


def predicted(summary: Summary) -> ReportTable:
    """Of a refined run each layer: predicted, simulated alone (where chosen so) and in the run, and the proof."""
    spans = {layer["name"]: layer["cycles_total"] for layer in single_layers(summary)}
    found = summary["details"].get("predicted", {}) if "refinement" in summary["details"] else {}
    rows = [
        (
            name,
            row["bound_cycles"],
            row["alone_cycles"],
            percent(_over(row), row["bound_cycles"]),
            spans.get(name, 0),
            row["proof"],
        )
        for name, row in found.items()
    ]
    columns = (
        TableColumn("layer", "name"),
        TableColumn("predicted", unit="cycles", show=count),
        TableColumn("simulated alone", unit="cycles", show=count),
        TableColumn("above"),
        TableColumn("span in the run", unit="cycles", show=count),
        TableColumn("search", "text"),
    )
    return ReportTable("Predicted and simulated", columns, rows, refinement(summary), media=PAGES)


def groups(summary: Summary) -> ReportTable:
    """Layers that ran together: their loops over passes, and what lay between them."""
    spent = {layer["name"]: layer["cycles_critical"] for layer in single_layers(summary)}
    rows = [
        (
            group["name"],
            len(group["layers"]),
            ", ".join(f"{dim.rpartition('.')[2]} by {tile}" for dim, tile in group["loops"].items()),
            ", ".join(f"{each['tensor']} {count(each['rows'])}" for each in group["windows"]),
            sum(spent.get(layer, 0) for layer in group["layers"]),
        )
        for group in summary["details"].get("groups", ())
    ]
    columns = (
        TableColumn("group", "name"),
        TableColumn("layers", show=count),
        TableColumn("passes over", "text"),
        TableColumn("windows, with positions held", "text", rank=1),
        TableColumn("critical", unit="cycles", show=count),
    )
    note = "Layers of a group share passes; what they make for one another stays on chip, in windows."
    return ReportTable("Layers that ran together", columns, rows, note, media=EVERYWHERE)


def _over(row: Mapping[str, Any]) -> int | None:
    return None if row["alone_cycles"] is None else row["alone_cycles"] - row["bound_cycles"]


def refinement(summary: Summary) -> str:
    """A sentence on what refining gained, '' without it."""
    found = summary["details"].get("refinement")
    if not found:
        return ""
    text = (
        f"Refined over up to {count(found['candidates'])} mappings a layer: {count(found['refined_cycles'])} cycles, "
        f"{count(found['analytic_cycles'])} with the analytic choice."
    )
    return text if found["kept"] == "refined" else f"{text} Layers overlap so that the analytic choice is kept."


def what_would_help(summary: Summary) -> ReportTable:
    """The changes that were simulated again, the largest gain first; what could not be simulated says why below."""
    found = by_gain(summary["details"].get("why", []))
    rows = [
        (
            row["name"],
            ", ".join(f"{key}={value}" for key, value in row["keys"].items()),
            row["cycles_total"],
            row["gain_cycles"],
            row["gain_percent"],
            row["area_mm2"],
            gain_per_mm2(row),
            row["power_mw"],
        )
        for row in found
    ]
    columns = (
        TableColumn("change of the chip", "name"),
        TableColumn("keys", "text", code=True, media=PAGES),
        TableColumn("cycles", show=count),
        TableColumn("gain", unit="cycles", show=_signed("+,")),
        TableColumn("gain", show=_signed("+.1f", " %")),
        TableColumn("area", unit="mm\N{SUPERSCRIPT TWO}", show=_signed("+.3f"), rank=1),
        TableColumn("gain per area", unit="%/mm\N{SUPERSCRIPT TWO}", media=PAGES),
        TableColumn("power", unit="mW", show=_signed("+.1f"), rank=1),
    )
    note = (
        "Each change of the chip is made alone, and the model is mapped and simulated again; the largest gain stands "
        "first. The gain is in cycles of the chip as it is."
    )
    failed = [f"{row['name']}: {row['reason']}" for row in found if row["cycles_total"] is None]
    return ReportTable("What would help", columns, rows, note, below=(*failed, *remarks_on(found)))


def _signed(form: str, unit: str = "") -> Callable[[float | None], str]:
    """How a difference is shown: with its sign, a dash where nothing is known."""
    return lambda value: NONE if value is None else f"{value:{form}}{unit}"


def by_gain(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Re-simulated changes of the chip, the largest gain first; those that could not be simulated last."""
    known = [row for row in rows if row["gain_cycles"] is not None]
    failed = [row for row in rows if row["gain_cycles"] is None]
    return [*sorted(known, key=lambda row: (-row["gain_cycles"], row["name"])), *failed]


def gain_per_mm2(row: Mapping[str, Any]) -> str:
    """Percent of the run's time gained for each mm2 that a change costs; a dash where it costs or gains none."""
    if row["gain_percent"] is None or not row["area_mm2"] or row["area_mm2"] <= 0 or row["gain_percent"] <= 0:
        return NONE
    return f"{row['gain_percent'] / row['area_mm2']:.3g}"


def remarks_on(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the figures of what-ifs leave out: each remark once, behind the names of all that have it."""
    names: dict[str, list[str]] = {}
    for row in rows:
        for remark in filter(None, row.get("remark", "").split("; ")):
            names.setdefault(remark, []).append(row["name"])
    return [f"{', '.join(having)}: {remark}." for remark, having in names.items()]


def energy(summary: Summary) -> ReportTable:
    """Energy by part, the largest first."""
    whole = summary["energy_j"]
    columns = (
        TableColumn("part", "name"),
        TableColumn("energy", unit="J", show=lambda joules: f"{joules:.4e}"),
        TableColumn("share", show=share_of(whole)),
    )
    rows = [(name, joules, joules) for name, joules in _largest_first(summary["energy_breakdown_j"])]
    return ReportTable("Energy by part", columns, rows, total=("all", whole, whole), media=(MARKDOWN,))


def area(summary: Summary) -> ReportTable:
    """Area by part, the largest first."""
    areas = summary["details"].get("area_breakdown_mm2", {})
    bound = bound_of(summary, "area_mm2")
    columns = (
        TableColumn("part", "name"),
        TableColumn(
            f"area ({bound})" if bound else "area",
            unit="mm\N{SUPERSCRIPT TWO}",
            show=lambda mm2: f"{mm2:.4g}" if mm2 else "no area model",
        ),
        TableColumn("share", show=share_of(sum(areas.values()))),
    )
    rows = [(name, mm2, mm2) for name, mm2 in _largest_first(areas)]
    return ReportTable("Area by part", columns, rows, media=(MARKDOWN,))


def _largest_first(parts: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(parts.items(), key=lambda item: (-item[1], item[0]))


def provenance(summary: Summary) -> ReportTable:
    """What the run was made of and with, but for its warnings, which stand further up."""
    found = {key: value for key, value in summary["provenance"].items() if key != "warnings"}
    rows = [
        (key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for key, value in found.items()
    ]
    columns = (TableColumn("key", "word"), TableColumn("value", "prose", code=True))
    return ReportTable("Provenance", columns, rows, media=PAGES, dense=True)
