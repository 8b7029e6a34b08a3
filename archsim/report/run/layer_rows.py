"""The rows of the tables on a page, as text with the number to sort by beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report.kit.causes import bound_colour, bound_label, cause, waiting
from archsim.report.kit.number_format import NONE, count, percent, shorten, si
from archsim.report.run.bottlenecks import by_gain, gain_per_mm2
from archsim.report.run.noc_rows import array_count
from archsim.report.run.run_sentences import operand_stalls

Row = dict[str, Any]


def layer_row(layer: Mapping[str, Any], total: int, critical: Mapping[str, int] | None = None) -> Row:
    """One layer of a run of ``total`` cycles: every number as text, and raw under the plain key for sorting.

    ``critical``: its causes on the critical path -> cycles, None where the summary does not say.
    """
    free = not layer["cycles_critical"] and not layer["cycles_total"]
    aside = not free and not layer["cycles_critical"]
    most = (critical or {}).get(layer["bound_by"])
    bound = None if free or aside or most is None else most / layer["cycles_critical"]
    longest, cycles = longest_wait(layer)
    return {
        "name": layer["name"],
        "op": layer["op"],
        "free": free,
        "macs": layer["macs"],
        "macs_text": si(layer["macs"], "", 3) if layer["macs"] else NONE,
        "start": layer["cycles_start"],
        "start_text": NONE if free else count(layer["cycles_start"]),
        "span": layer["cycles_total"],
        "span_text": NONE if free else count(layer["cycles_total"]),
        "critical": layer["cycles_critical"],
        "critical_text": NONE if free else count(layer["cycles_critical"]),
        "share": NONE if free else percent(layer["cycles_critical"], total),
        "use": layer["utilization"],
        "use_text": percent(layer["utilization"]) if layer["macs"] and not off_arrays(layer) else NONE,
        "use_tip": "use is of the arrays, which did none of its MACs" if off_arrays(layer) else "",
        "bound": "" if free else bound_label(layer["bound_by"]),
        "bound_aside": aside,
        "bound_tip": "no cycle on the critical path: of its arrays' time" if aside else "",
        "bound_share": bound or 0.0,
        "bound_share_text": percent(bound),
        "colour": bound_colour(layer["bound_by"]),
        "energy": layer["energy_j"],
        "energy_text": si(layer["energy_j"], "J", 3) if layer["energy_j"] else NONE,
        "read": layer["dram_read_bytes"],
        "read_text": si(layer["dram_read_bytes"], "B", 3) if layer["dram_read_bytes"] else NONE,
        "write": layer["dram_write_bytes"],
        "write_text": si(layer["dram_write_bytes"], "B", 3) if layer["dram_write_bytes"] else NONE,
        "wait": longest,
        "wait_tip": f"{count(cycles)} cycles" if longest else "",
        "remarks": remarks(layer),
    }


def off_arrays(layer: Mapping[str, Any]) -> bool:
    """Whether a layer has MACs of which the arrays did none: a vector unit did them, or the host."""
    return bool(layer["macs"]) and not layer["utilization"]


def longest_wait(layer: Mapping[str, Any]) -> tuple[str, int]:
    """The largest stall of the layer, as ``('DRAM (weights)', 12345)`` cycles; ``('', 0)`` without stalls."""
    stalls = sorted(
        ((cycles, key) for key, cycles in layer["stalls"].items() if cycles),
        key=lambda row: (-row[0], row[1]),
    )
    return (waiting(stalls[0][1]), stalls[0][0]) if stalls else ("", 0)


def remarks(layer: Mapping[str, Any]) -> str:
    """What was fused into the layer, what it is a view of, whether the host ran it."""
    notes = []
    if layer["view_of"]:
        notes.append(f"view of {layer['view_of']}")
    if layer["fused_with"]:
        notes.append("with " + shorten(", ".join(_fused(layer)), 60))
    if layer["on_host"]:
        notes.append("on the host")
    elif off_arrays(layer):
        notes.append("MACs on a vector unit")
    return "; ".join(notes)


def _fused(layer: Mapping[str, Any]) -> list[str]:
    """Names of what was fused, without the shape that they have in common with the layer's."""
    shape = re.search(r"_[0-9]+(x[0-9]+)*$", layer["name"])
    return [name.removesuffix(shape[0]) if shape else name for name in layer["fused_with"]]


def operand_rows(summary: Mapping[str, Any], most: int = 12) -> list[Row]:
    """Waiting by cause and operand, longest first, each with the three layers that wait longest."""
    rows, arrays = [], array_count(summary)
    for key, cycles in list(operand_stalls(summary).items())[:most]:
        waits = sorted(
            ((layer["stalls"][key], layer["name"]) for layer in summary["layers"] if layer["stalls"].get(key)),
            key=lambda row: (-row[0], row[1]),
        )
        rows.append(
            {
                "label": cause(key).label,
                "operand": key.partition(".")[2] or NONE,
                "colour": cause(key).colour,
                "cycles": count(cycles),
                "share": percent(cycles, summary["cycles_total"] * arrays),
                "layers": ", ".join(f"{shorten(name, 30)} {count(size)}" for size, name in waits[:3]),
            }
        )
    return rows


def refined_rows(summary: Mapping[str, Any]) -> list[Row]:
    """Of a refined run each layer: predicted, simulated alone (where chosen so) and in the run, and the proof."""
    spans = {layer["name"]: layer["cycles_total"] for layer in summary["layers"]}
    return [
        {
            "name": name,
            "bound": count(row["bound_cycles"]),
            "alone": NONE if row["alone_cycles"] is None else count(row["alone_cycles"]),
            "over": percent(_over(row), row["bound_cycles"]),
            "span": count(spans.get(name, 0)),
            "proof": row["proof"],
        }
        for name, row in summary["details"].get("predicted", {}).items()
        if "refinement" in summary["details"]
    ]


def _over(row: Mapping[str, Any]) -> int | None:
    return None if row["alone_cycles"] is None else row["alone_cycles"] - row["bound_cycles"]


def refinement(summary: Mapping[str, Any]) -> str:
    """A sentence on what refining gained, '' without it."""
    found = summary["details"].get("refinement")
    if not found:
        return ""
    text = (
        f"Refined over up to {count(found['candidates'])} mappings a layer: {count(found['refined_cycles'])} cycles, "
        f"{count(found['analytic_cycles'])} with the analytic choice."
    )
    return text if found["kept"] == "refined" else f"{text} Layers overlap so that the analytic choice is kept."


def why_rows(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The what-ifs, the largest gain first: cycles and percent, differences of area and power with their sign."""
    return [
        {
            "name": row["name"],
            "change": ", ".join(f"{key}={value}" for key, value in row["keys"].items()),
            "cycles": row["reason"] if row["cycles_total"] is None else count(row["cycles_total"]),
            "gain": NONE if row["gain_cycles"] is None else f"{row['gain_cycles']:+,}",
            "percent": NONE if row["gain_percent"] is None else f"{row['gain_percent']:+.1f} %",
            "area": NONE if row["area_mm2"] is None else f"{row['area_mm2']:+.3f}",
            "per_mm2": gain_per_mm2(row),
            "power": NONE if row["power_mw"] is None else f"{row['power_mw']:+.1f}",
        }
        for row in by_gain(rows)
    ]


def why_notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the figures of what-ifs leave out: each remark once, behind the names of all that have it."""
    names: dict[str, list[str]] = {}
    for row in by_gain(rows):
        for remark in filter(None, row.get("remark", "").split("; ")):
            names.setdefault(remark, []).append(row["name"])
    return [f"{', '.join(having)}: {remark}." for remark, having in names.items()]
