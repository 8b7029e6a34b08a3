"""An explanation of one layer's mapping, from its JSON form: a table for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from archsim.report.kit.number_format import NONE, count, counted, percent
from archsim.report.kit.table import TERMINAL, BarCell, ReportTable, TableColumn
from archsim.report.kit.table_terminal import text

ExplanationSummary = Mapping[str, Any]  # archsim.explain/1
UNITS = {"energy": " pJ", "cycles x energy": " cycles pJ"}
KEPT = "A run may keep another choice, where simulating both shows that it is better: `map` tells which."


def to_json(told: ExplanationSummary) -> str:
    """JSON text."""
    return json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)


def tables(told: ExplanationSummary) -> dict[str, ReportTable]:
    """The tables of an explanation by name, each laid out once: resources, totals, the layer on larger chips, its group
    where there is something to tell of it."""
    chosen, second = told["chosen"], told["runner_up"]
    made = {"resources": resources(chosen, second), "totals": totals(chosen, second), "doubled": doubled(told)}
    return made if told["group"] is None else {**made, "group": grouped(told["group"])}


def resources(chosen: ExplanationSummary, second: ExplanationSummary | None) -> ReportTable:
    """How long the layer needs each resource at least, the longest first."""
    other = second["resources"] if second is not None else {}
    whole = chosen["cycles"]
    rows = [
        (name, cycles, BarCell(0, cycles / whole if whole else 0), other.get(name))
        for name, cycles in sorted(chosen["resources"].items(), key=lambda item: (-item[1], item[0]))
    ]
    columns = (
        TableColumn("resource", "name"),
        TableColumn("chosen", unit="cycles", show=_rounded),
        TableColumn("", "bar"),
        TableColumn("runner-up", unit="cycles", show=_rounded),
    )
    return ReportTable("Resources", columns, rows, media=(TERMINAL,))


def totals(chosen: ExplanationSummary, second: ExplanationSummary | None) -> ReportTable:
    """The figures by which mappings are chosen."""
    names = {
        "cycles": "cycles",
        "energy_pj": "energy of accesses and operations, pJ",
        "commands": "commands",
        "held_bytes": "bytes held",
    }
    rows = [(label, chosen[key], None if second is None else second[key]) for key, label in names.items()]
    columns = (TableColumn("figure", "name"), *(TableColumn(name, show=_rounded) for name in ("chosen", "runner-up")))
    return ReportTable("Totals", columns, rows, media=(TERMINAL,))


def doubled(told: ExplanationSummary) -> ReportTable:
    """The layer mapped onto the chip with each part enlarged; what could not be mapped says why below."""
    cycles, energy = told["chosen"]["cycles"], told["chosen"]["energy_pj"]
    rows = [
        (
            row["name"],
            row["cycles"],
            row["cycles"],
            row.get("energy_pj"),
            row.get("energy_pj"),
            row.get("bounded_by", ""),
        )
        for row in told["doubled"]
    ]
    columns = (
        TableColumn("if", "name"),
        TableColumn("cycles", show=count),
        TableColumn("change", show=partial(_change, before=cycles)),
        TableColumn("energy", unit="pJ", show=_rounded, rank=1),
        TableColumn("change", show=partial(_change, before=energy), rank=1),
        TableColumn("then bounded by", "text"),
    )
    failed = [f"{row['name']}: {row['reason']}" for row in told["doubled"] if row["cycles"] is None]
    return ReportTable("What would help", columns, rows, below=failed, media=(TERMINAL,))


def grouped(group: ExplanationSummary) -> ReportTable:
    """The group of a layer as it is, cut, one by one, and with a neighbour more; why others are not in it is below."""
    own = group["together"]
    rows = [("as it is", own, own)]
    rows += [(f"cut behind {cut['behind']}", cut, own) for cut in group["cuts"]]
    if len(group["layers"]) > 1:
        rows.append(("one by one", group["apart"], own))
    below = []
    for each in group["beside"]:
        if "reason" in each:
            below.append(f"{each['layer']} is not in it, since {each['reason']}.")
        else:
            rows += [
                (f"{each['layer']} beside it", each["apart"], each["apart"]),
                (f"{each['layer']} in it", each["together"], each["apart"]),
            ]
        if each["group"]:
            first, last = each["group"]
            below.append(f"{each['layer']} is in another group, {first} to {last}; both are chosen for what all spare.")
    columns = (
        TableColumn("if", "name"),
        TableColumn("cycles", show=_rounded),
        TableColumn("change", "text"),
        TableColumn("energy", unit="pJ", show=_rounded, rank=1),
        TableColumn("change", "text", rank=1),
    )
    cells = [
        (
            name,
            now["cycles"],
            _change(now["cycles"], before["cycles"]),
            now["energy_pj"],
            _change(now["energy_pj"], before["energy_pj"]),
        )
        for name, now, before in rows
    ]
    return ReportTable(_heading(group), columns, cells, below=(*below, _larger(group), KEPT), media=(TERMINAL,))


def _heading(group: ExplanationSummary) -> str:
    layers = group["layers"]
    if len(layers) == 1:
        return f"By its forecasts the search runs {layers[0]} by itself"
    loops = " and ".join(f"{dim} in tiles of {tile}" for dim, tile in group["loops"].items())
    return (
        f"By its forecasts the search runs {counted(len(layers), 'layer')} together, {layers[0]} to {layers[-1]}: "
        f"passes over {loops}"
    )


def _larger(group: ExplanationSummary) -> str:
    memory, layers = group["larger"]["memory"], group["larger"]["layers"]
    where = f"With {memory} twice as large"
    if layers == group["layers"]:
        return f"{where} it would be the same."
    if len(layers) == 1:
        return f"{where} {layers[0]} would run by itself."
    return f"{where} {layers[0]} to {layers[-1]} would run together, {counted(len(layers), 'layer')}."


def _rounded(value: float | None) -> str:
    return count(None if value is None else round(value))


def to_table(told: ExplanationSummary, width: int | None = None) -> str:
    """What bounds the layer, the runner-up beside it, and the layer on larger chips; tables of ``width`` columns at
    most."""
    chosen, second, made = told["chosen"], told["runner_up"], tables(told)
    lines = [
        f"{told['layer']} ({told['op']}) on {chosen['unit']} of {told['chip']}, by {told['objective']}",
        f"bounded by: {chosen['bounded_by']}, {count(chosen['cycles'])} cycles (analytic)",
        *text(made["resources"], width),
        *text(made["totals"], width),
        "",
        *_nests(chosen, second),
        "",
        _lost(told),
        _least(told),
        *text(made["doubled"], width),
    ]
    if "group" in made:
        lines += text(made["group"], width)
    return "\n".join(lines)


def _nests(chosen: ExplanationSummary, second: ExplanationSummary | None) -> Iterator[str]:
    yield f"chosen:     {_nest(chosen)}"
    if second is not None:
        yield f"runner-up:  {_nest(second)}"


def _nest(found: ExplanationSummary) -> str:
    """``for p in 16 l1 [a:2 out:2] for k in 8 l1 [b:2]``: loops with tiles, and what is kept below them where."""
    words = list[str]()
    memory = ""
    for node in found["nodes"]:
        if "loop" in node:
            words.append(f"for {node['loop']} in {node['tile']}" + (f" over {node['axis']}" if "axis" in node else ""))
            memory = ""
            continue
        kept = f"{node['keep']}:{node['slots']}" + ("~" if "reserve_at" in node else "")
        if node["in"] == memory:
            words[-1] = f"{words[-1][:-1]} {kept}]"
        else:
            memory = node["in"]
            words.append(f"{memory} [{kept}]")
    added = found["adding"]
    end = f"; partial sums of {added['cores']} cores added by {added['collective']}" if added else ""
    return f"{' '.join(words)} on {found['unit']}{end}"


def _lost(told: ExplanationSummary) -> str:
    lost = told["lost_by"]
    if told["runner_up"] is None:
        return "There is no other legal mapping in the space."
    if lost is None:
        return "The runner-up ties in every figure; the chosen mapping comes first in order."
    unit = UNITS.get(lost["figure"], "")
    more = percent(lost["runner_up"] - lost["chosen"], lost["chosen"]) if lost["chosen"] else NONE
    said = (
        f"The runner-up lost by {lost['figure']}: {lost['runner_up']:,.0f}{unit} to {lost['chosen']:,.0f}{unit}, {more}"
    )
    second = told["runner_up"]["bounded_by"]
    alike = f"; {' and '.join(told['alike'])} count as alike" if told["alike"] else ""
    return f"{said} more{alike}; it is bounded by {second}."


def _least(told: ExplanationSummary) -> str:
    """What no LoopTree undercuts, and how far above it the chosen mapping is."""
    found = told["least"]
    if "reason" in found:
        return f"What the least of any LoopTree would be is not known: {found['reason']}."
    texts = []
    for key, unit in (("cycles", "cycles"), ("energy_pj", "pJ of accesses")):
        bound = found[key]
        proof = "" if bound["proven"] else "search ended early, "
        texts.append(f"{bound['figure']:,.0f} {unit} ({proof}chosen: {bound['chosen_above_percent']:+.1f} %)")
    aside = f", constraints on {', '.join(found['constraints_aside'])} aside" if found["constraints_aside"] else ""
    return f"Any LoopTree of it takes at least {' and '.join(texts)}{aside}."


def _change(now: float | None, before: float) -> str:
    return NONE if now is None or not before else f"{100 * (now - before) / before:+.1f} %"
