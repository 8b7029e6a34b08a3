"""report.md: the tables of the page as GitHub-flavoured Markdown, for pull requests and notes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from archsim.base.plain import code
from archsim.base.plain import markdown as escaped
from archsim.report.kit.assumptions import estimated
from archsim.report.kit.causes import cause, in_order, label
from archsim.report.kit.number_format import count, percent
from archsim.report.kit.promises import HEADINGS, PROMISES
from archsim.report.run.bottlenecks import ranked
from archsim.report.run.chip_parts import power_sentence
from archsim.report.run.dram_rows import parts_with_rows, sentence, table_rows
from archsim.report.run.headline import bound_of, headline, setting, title
from archsim.report.run.layer_columns import LAYER_COLUMNS, NOTE, layer_rows
from archsim.report.run.layer_rows import operand_rows, refined_rows, refinement, why_notes, why_rows
from archsim.report.run.noc_rows import by_kind
from archsim.report.run.run_sentences import sentences

Alignment = str  # one letter per column: l or r


def render(summary: Mapping[str, Any]) -> str:
    """The report as Markdown text with a closing newline."""
    blocks = [
        f"# {escaped(title(summary))}",
        "  \n".join(escaped(line) for line in setting(summary)),
        _headline(summary),
        bullets(sentences(summary)),
    ]
    blocks += [*_warnings(summary), *_bottlenecks(summary), *_why(summary)]
    blocks += [
        "## MAC waterfall",
        _waterfall(summary),
        "## Where the time went",
        _units(summary),
        _operands(summary),
    ]
    blocks += _refined(summary)
    blocks += _drams(summary)
    blocks += [
        "## Energy",
        _energy(summary),
        escaped(power_sentence(summary)),
        _area(summary),
        "## Layers",
        _layers(summary),
        "## Assumptions",
        _assumptions(summary),
    ]
    blocks += [
        '### What "cycle-level" promises',
        table(HEADINGS, "llll", PROMISES),
        "## Provenance",
        _provenance(summary),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def table(headings: Sequence[str], alignment: Alignment, rows: Sequence[Sequence[str]]) -> str:
    """A pipe table; ``alignment`` has one letter per column, ``r`` for numbers. What its cells hold is text."""
    return pipes([escaped(cell) for cell in headings], alignment, [[escaped(cell) for cell in row] for row in rows])


def pipes(headings: Sequence[str], alignment: Alignment, rows: Sequence[Sequence[str]]) -> str:
    """As ``table``, of cells that are Markdown already, such as links."""
    rule = ["---:" if letter == "r" else "---" for letter in alignment]
    return "\n".join("| " + " | ".join(line) + " |" for line in [headings, rule, *rows])


def _headline(summary: Mapping[str, Any]) -> str:
    return table(("", "", ""), "lrl", headline(summary))


def bullets(texts: Sequence[str]) -> str:
    """A list, one line for each text."""
    return "\n".join(f"- {escaped(text)}" for text in texts)


def _warnings(summary: Mapping[str, Any]) -> list[str]:
    warnings = summary["provenance"].get("warnings", [])
    return ["## Warnings", bullets(warnings)] if warnings else []


def _waterfall(summary: Mapping[str, Any]) -> str:
    parts = summary["mac_breakdown"]
    slots = sum(parts.values())
    rows = [(label(key), percent(parts[key], slots), count(parts[key])) for key in in_order([*parts]) if parts[key]]
    return table(("MAC slots", "share", "slots"), "lrr", [*rows, ("all", "100.0 %", count(slots))])


def _units(summary: Mapping[str, Any]) -> str:
    units = summary["time_breakdown"]
    if "noc" in summary["details"]:
        units = {bar.name: bar.parts for bar in by_kind(units)}
    causes = in_order(sorted({key for row in units.values() for key, cycles in row.items() if cycles}))
    rows = [(unit, *(count(row.get(key, 0)) for key in causes)) for unit, row in units.items()]
    return table(("cycles", *(cause(key).label for key in causes)), "l" + "r" * len(causes), rows)


def _operands(summary: Mapping[str, Any]) -> str:
    keys = ("label", "operand", "cycles", "share", "layers")
    rows = [[row[key] for key in keys] for row in operand_rows(summary)]
    return (
        table(("cause", "operand", "cycles", "of the run", "layers that wait longest"), "llrrl", rows) if rows else ""
    )


def _why(summary: Mapping[str, Any]) -> list[str]:
    rows = why_rows(summary["details"].get("why", []))
    keys = ("name", "change", "cycles", "gain", "percent", "area", "per_mm2", "power")
    headings = ("change", "keys", "cycles", "gain, cycles", "gain", "area, mm2", "% per mm2", "power, mW")
    if not rows:
        return []
    found = table(headings, "llrrrrrr", [[row[key] for key in keys] for row in rows])
    return ["## What would help", found, *map(escaped, why_notes(summary["details"]["why"]))]


def _bottlenecks(summary: Mapping[str, Any]) -> list[str]:
    keys = ("rank", "name", "cycles", "share", "layers")
    headings = ("rank", "cause", "cycles", "of the run", "layers with most of them")
    rows = [[row[key] for key in keys] for row in ranked(summary)]
    return ["## Bottlenecks", table(headings, "rlrrl", rows)] if rows else []


def _refined(summary: Mapping[str, Any]) -> list[str]:
    if not refinement(summary):
        return []
    keys = ("name", "bound", "alone", "over", "span", "proof")
    headings = ("layer", "predicted, cycles", "simulated alone", "above", "span in the run", "search")
    rows = [[row[key] for key in keys] for row in refined_rows(summary)]
    return ["## Predicted and simulated", escaped(refinement(summary)), table(headings, "lrrrrl", rows)]


def _drams(summary: Mapping[str, Any]) -> list[str]:
    headings = ("from", "read", "written", "row hits", "conflicts")
    blocks = [
        f"{escaped(sentence(name, part))}\n\n{table(headings, 'rrrrr', table_rows(part))}"
        for name, part in parts_with_rows(summary).items()
    ]
    return ["## DRAM over time", *blocks] if blocks else []


def _energy(summary: Mapping[str, Any]) -> str:
    whole = summary["energy_j"]
    parts = sorted(summary["energy_breakdown_j"].items(), key=lambda item: (-item[1], item[0]))
    rows = [(name, f"{joules:.4e}", percent(joules, whole)) for name, joules in parts]
    return table(("part", "energy, J", "share"), "lrr", [*rows, ("all", f"{whole:.4e}", "100.0 %")])


def _area(summary: Mapping[str, Any]) -> str:
    areas = summary["details"].get("area_breakdown_mm2", {})
    whole = sum(areas.values())
    parts = sorted(areas.items(), key=lambda item: (-item[1], item[0]))
    rows = [(name, f"{mm2:.4g}" if mm2 else "no area model", percent(mm2, whole)) for name, mm2 in parts]
    bound = bound_of(summary, "area_mm2")
    head = f"area, mm2{f' ({bound})' if bound else ''}"
    return table(("part", head, "share"), "lrr", rows) if rows else ""


def _layers(summary: Mapping[str, Any]) -> str:
    rows = [[row[key] for key in LAYER_COLUMNS.values()] for row in layer_rows(summary)]
    return f"{escaped(NOTE)}\n\n" + table([*LAYER_COLUMNS], "llrrrlrrlrrl", rows)


def _assumptions(summary: Mapping[str, Any]) -> str:
    sources = summary["details"].get("sources", {})
    lacking = [f"- not modelled: {escaped(text)}" for text in summary["details"].get("not_modelled", [])]
    guessed = [f"- {code(keys)}: {escaped(text)}" for keys, text in estimated(sources)]
    return "\n".join([*lacking, *(guessed or ["Every figure used has a published source."])])


def _provenance(summary: Mapping[str, Any]) -> str:
    rows = [
        (key, json.dumps(value, ensure_ascii=False))
        for key, value in summary["provenance"].items()
        if key != "warnings"
    ]
    return table(("", ""), "ll", [(key, value.strip('"')) for key, value in rows])
