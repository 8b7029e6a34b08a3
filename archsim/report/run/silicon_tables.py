"""Tables of what a chip draws by what it does, and of published blocks of its die beside what their parts come to."""

from __future__ import annotations

from archsim.ir.result import Summary
from archsim.report.kit.number_format import percent
from archsim.report.kit.table import ReportTable, TableColumn

_STATES = {
    "idle_j": "whatever it does (leakage, or by its idle class; DRAM at rest)",
    "waiting_j": "more, while a kernel is on the chip",
    "actions_j": "what is done",
}


def states(summary: Summary) -> ReportTable:
    """Energy and watts by state; no rows where a result has none."""
    found = (summary.get("power") or {}).get("states") or {}
    whole, seconds = summary["energy_j"], summary["latency_s"]
    columns = (
        TableColumn("drawn", "prose"),
        TableColumn("energy", unit="J", show=lambda joules: f"{joules:.4e}"),
        TableColumn("average", unit="W", show=lambda watts: f"{watts:.4g}"),
        TableColumn("share", show=lambda joules: percent(joules, whole)),
    )
    rows = [
        (said, found[key], found[key] / seconds if seconds else 0.0, found[key])
        for key, said in _STATES.items()
        if key in found
    ]
    return ReportTable("Energy by state", columns, rows)


def floorplan(summary: Summary) -> ReportTable:
    """Published blocks of the die with what the chip file's parts in them come to; no rows where the file has none."""
    columns = (
        TableColumn("block", "name"),
        TableColumn("published", unit="mm\N{SUPERSCRIPT TWO}", show=lambda mm2: f"{mm2:,.4g}"),
        TableColumn("predicted", unit="mm\N{SUPERSCRIPT TWO}", show=lambda mm2: f"{mm2:,.4g}"),
        TableColumn("published / predicted", show=lambda factor: f"{factor:.2f}" if factor else "no area"),
    )
    rows = [
        (name, block["published_mm2"], block["predicted_mm2"], _ratio(block["published_mm2"], block["predicted_mm2"]))
        for name, block in summary["details"].get("floorplan", {}).items()
    ]
    return ReportTable("Published blocks of the die", columns, rows)


def _ratio(published: float, predicted: float) -> float:
    return published / predicted if predicted else 0.0
