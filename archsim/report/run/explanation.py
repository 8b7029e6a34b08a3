"""An explanation of one layer's mapping, from its JSON form: a table for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from archsim.report.kit.number_format import NONE, count, percent
from archsim.report.kit.text_grid import BarCell, GridCell, GridColumn, TextGrid

ExplanationSummary = Mapping[str, Any]  # archsim.explain/1
UNITS = {"energy": " pJ", "cycles x energy": " cycles pJ"}

_RESOURCES = (
    GridColumn("resource, cycles", "name"),
    GridColumn("chosen"),
    GridColumn("", "bar"),
    GridColumn("runner-up"),
)
_TOTALS = (GridColumn("", "name"), GridColumn("chosen"), GridColumn("runner-up"))
_IF = (
    GridColumn("if", "name"), GridColumn("cycles"), GridColumn("change"),
    GridColumn("memory energy", rank=1), GridColumn("change", rank=1),
    GridColumn("then bounded by", "text"),
)  # fmt: skip


def to_json(told: ExplanationSummary) -> str:
    """JSON text."""
    return json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)


def to_table(told: ExplanationSummary, width: int | None = None) -> str:
    """What bounds the layer, the runner-up beside it, and the layer on larger chips; tables of ``width`` columns at
    most."""
    chosen, second = told["chosen"], told["runner_up"]
    lines = [
        f"{told['layer']} ({told['op']}) on {chosen['unit']} of {told['chip']}, by {told['objective']}",
        f"bounded by: {chosen['bounded_by']}, {count(chosen['cycles'])} cycles (analytic)",
        "",
        TextGrid(_RESOURCES, [*_resources(chosen, second)]).text(width),
        "",
        TextGrid(_TOTALS, [*_totals(chosen, second)]).text(width),
        "",
        *_nests(chosen, second),
        "",
        _lost(told),
        _least(told),
        "",
        TextGrid(_IF, [*_doubled(told)]).text(width),
        *[f"{row['name']}: {row['reason']}" for row in told["doubled"] if row["cycles"] is None],
    ]
    return "\n".join(lines)


def _resources(chosen: ExplanationSummary, second: ExplanationSummary | None) -> Iterator[Sequence[GridCell]]:
    """The largest first."""
    other = second["resources"] if second is not None else {}
    for name, cycles in sorted(chosen["resources"].items(), key=lambda item: (-item[1], item[0])):
        bar = BarCell(0, cycles / chosen["cycles"] if chosen["cycles"] else 0)
        yield name, count(round(cycles)), bar, count(round(other[name])) if name in other else NONE


def _totals(chosen: ExplanationSummary, second: ExplanationSummary | None) -> Iterator[Sequence[str]]:
    for key, label in (("cycles", "cycles"), ("energy_pj", "energy of memory accesses, pJ"), ("commands", "commands"),
                       ("held_bytes", "bytes held")):  # fmt: skip
        yield label, count(round(chosen[key])), NONE if second is None else count(round(second[key]))


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
        text = f"{node['keep']}:{node['slots']}" + ("~" if "reserve_at" in node else "")
        if node["in"] == memory:
            words[-1] = f"{words[-1][:-1]} {text}]"
        else:
            memory = node["in"]
            words.append(f"{memory} [{text}]")
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
    text = (
        f"The runner-up lost by {lost['figure']}: {lost['runner_up']:,.0f}{unit} to {lost['chosen']:,.0f}{unit}, {more}"
    )
    second = told["runner_up"]["bounded_by"]
    alike = f"; {' and '.join(told['alike'])} count as alike" if told["alike"] else ""
    return f"{text} more{alike}; it is bounded by {second}."


def _least(told: ExplanationSummary) -> str:
    """What no LoopTree undercuts, and how far above it the chosen mapping is."""
    found = told["least"]
    if "reason" in found:
        return f"What the least of any LoopTree would be is not known: {found['reason']}."
    texts = []
    for key, unit in (("cycles", "cycles"), ("energy_pj", "pJ")):
        bound = found[key]
        proof = "" if bound["proven"] else "search ended early, "
        texts.append(f"{bound['figure']:,.0f} {unit} ({proof}chosen: {bound['chosen_above_percent']:+.1f} %)")
    aside = f", constraints on {', '.join(found['constraints_aside'])} aside" if found["constraints_aside"] else ""
    return f"Any LoopTree of it takes at least {' and '.join(texts)}{aside}."


def _doubled(told: ExplanationSummary) -> Iterator[Sequence[str]]:
    cycles, energy = told["chosen"]["cycles"], told["chosen"]["energy_pj"]
    for row in told["doubled"]:
        if row["cycles"] is None:
            yield row["name"], NONE, "", NONE, "", ""
            continue
        yield (
            row["name"], count(row["cycles"]), _change(row["cycles"], cycles),
            f"{count(round(row['energy_pj']))} pJ", _change(row["energy_pj"], energy), row["bounded_by"],
        )  # fmt: skip


def _change(now: float, before: float) -> str:
    return f"{100 * (now - before) / before:+.1f} %" if before else NONE
