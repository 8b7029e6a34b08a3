"""The layer table of a page: what its columns mean, and its last row.

Two bases stand side by side and must not be mixed. A layer's span runs from its first command to its last; layers
overlap, so in its span a layer may share the arrays, wait behind others, or be loaded ahead: a small use of the span is
no loss by itself. The critical path has no overlaps: its cycles sum to the run's, and what bounds a layer is the cause
of most of its cycles there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from archsim.report.kit.number_format import NONE, count, percent, si
from archsim.report.run.layer_rows import Row, layer_row

NOTE = (
    "A layer's span is from its first command to its last; spans overlap, so the use of a span is small where others "
    "run in it, and is no loss by itself. Cycles on the critical path sum to the run's; a layer is bound by the cause "
    "of most of its own, whose share stands beside it; where it has none, by that of most of its arrays' time. "
    "Energy and DRAM bytes are all that the layer caused."
)


class ColumnHead(NamedTuple):
    """A column: its name, what it means, whether it holds numbers, is searched by the filter, begins a group."""

    name: str
    meaning: str = ""
    number: bool = False
    find: bool = False
    first: bool = False


HEADS = (
    ColumnHead("layer", find=True),
    ColumnHead("operator", find=True),
    ColumnHead("MACs", "multiply-accumulates of the model", number=True),
    ColumnHead("start", "cycle in which its first command starts", number=True, first=True),
    ColumnHead("span", "cycles from its first command to its last; spans overlap", number=True),
    ColumnHead(
        "use", "MACs on arrays over what all arrays could do in the span, others' time in it included", number=True
    ),
    ColumnHead("longest wait", "what its arrays waited for longest", find=True),
    ColumnHead(
        "cycles", "its cycles on the critical path; those of all rows sum to the run's", number=True, first=True
    ),
    ColumnHead("of the run", "share of the run's cycles", number=True),
    ColumnHead("bound by", "the cause of most of its cycles on the critical path", find=True),
    ColumnHead("share", "how much of its cycles on the critical path that cause is", number=True),
    ColumnHead("energy", "", number=True, first=True),
    ColumnHead("read", "bytes read from DRAM", number=True),
    ColumnHead("write", "bytes written to DRAM", number=True),
    ColumnHead("remarks", first=True),
)


# Of the table in words: head -> key of the row.
LAYER_COLUMNS = {
    "layer": "name",
    "operator": "op",
    "MACs": "macs_text",
    "span": "span_text",
    "use in span": "use_text",
    "longest wait": "wait",
    "critical": "critical_text",
    "of the run": "share",
    "bound by": "bound",
    "share of critical": "bound_share_text",
    "energy": "energy_text",
    "remarks": "remarks",
}


def layer_rows(summary: Mapping[str, Any]) -> list[Row]:
    """The rows of all layers, in the order of the summary."""
    critical = summary["details"].get("critical", {})
    return [layer_row(layer, summary["cycles_total"], critical.get(layer["name"])) for layer in summary["layers"]]


def totals(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of the columns that can be summed, as text, and the run's cycles."""
    layers: Sequence[Mapping[str, Any]] = summary["layers"]
    cycles = sum(layer["cycles_critical"] for layer in layers)
    sums = {key: sum(layer[key] for layer in layers) for key in ("macs", "dram_read_bytes", "dram_write_bytes")}
    energy_j = sum(layer["energy_j"] for layer in layers)
    return {
        "macs": si(sums["macs"], "", 3) if sums["macs"] else NONE,
        "critical": count(cycles),
        "share": percent(cycles, summary["cycles_total"]),
        "energy": si(energy_j, "J", 3) if energy_j else NONE,
        "read": si(sums["dram_read_bytes"], "B", 3) if sums["dram_read_bytes"] else NONE,
        "write": si(sums["dram_write_bytes"], "B", 3) if sums["dram_write_bytes"] else NONE,
        "cycles": summary["cycles_total"],
    }
