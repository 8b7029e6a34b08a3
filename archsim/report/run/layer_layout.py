"""The table of layers of a run, laid out once for the terminal, report.md, report.html and notebooks.

In it two bases stand side by side and must not be mixed. A layer's span runs from its first command to its last. Layers
overlap, so in its span a layer may share the arrays, wait behind others, or be loaded ahead: a small use of the span is
no loss by itself. The critical path has no overlaps: its cycles sum to the run's, and what bounds a layer is the cause
of most of its cycles there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from archsim.ir.result import Summary
from archsim.report.kit.causes import bound_colour, bound_label, waiting
from archsim.report.kit.number_format import NONE, count, percent, share_of, shorten, si
from archsim.report.kit.table import (
    HTML,
    MARKDOWN,
    NOTEBOOK,
    NOTHING,
    TERMINAL,
    ReportTable,
    ShortForm,
    TableCell,
    TableColumn,
)

SLOWEST = 10  # layers on a terminal
LAYERS_NOTE = (
    "A layer's span is from its first command to its last; spans overlap, so the use of a span is small where others "
    "run in it, and is no loss by itself. Cycles on the critical path sum to the run's; a layer is bound by the cause "
    "of most of its own, whose share stands beside it; where it has none, by that of most of its arrays' time. "
    "Energy and DRAM bytes are all that the layer caused."
)
PARTS_NOTE = "The layers of attentions, gated blocks and mixtures of experts, whose rows above are sums over these."
SPAN, CRITICAL, CAUSED = "over its own span", "on the critical path", "all that it caused"
_WIDE = (HTML, NOTEBOOK)  # media with room for every column


def layers(summary: Summary) -> ReportTable:
    """Every layer: what it is, its span, its part of the critical path, what it caused. A terminal has the slowest."""
    found, critical = summary["layers"], summary["details"].get("critical", {})
    rows = [_layer(layer, critical_causes(layer, critical)) for layer in found]
    return ReportTable(
        "Layers",
        _layer_columns(summary["cycles_total"]),
        rows,
        LAYERS_NOTE,
        _layer_total(found),
        short=ShortForm({TERMINAL: SLOWEST}, by=_CRITICAL_AT, words="the slowest"),
        dim=frozenset(at for at, layer in enumerate(found) if is_free(layer)),
        key="layer-table",
        sortable=True,
        search="name, operator, cause",
        dense=True,
        broad=True,
    )


def parts(summary: Summary) -> ReportTable:
    """The layers that composites are made of."""
    critical = summary["details"].get("critical", {})
    found = [part for row in summary["layers"] for part in row.get("parts", ())]
    return ReportTable(
        "Parts of composites",
        _layer_columns(summary["cycles_total"]),
        [_layer(layer, critical.get(layer["name"])) for layer in found],
        PARTS_NOTE,
        _layer_total(found) if found else None,
        media=(MARKDOWN, *_WIDE),
        dim=frozenset(at for at, layer in enumerate(found) if is_free(layer)),
        key="part-table",
        sortable=True,
        search="name, operator, cause",
        dense=True,
        broad=True,
    )


def _layer_columns(cycles: int) -> tuple[TableColumn, ...]:
    moved = partial(TableColumn, show=_or_dash("B"), total="si", base="B", media=_WIDE, group=CAUSED)
    return (
        TableColumn("layer", "name", find=True),
        TableColumn("operator", "word", find=True, rank=3),
        TableColumn(
            "MACs", show=_or_dash(""), total="si", media=(MARKDOWN, *_WIDE), meaning="multiply-accumulates of the model"
        ),
        TableColumn(
            "start",
            unit="cycle",
            show=count,
            media=_WIDE,
            group=SPAN,
            meaning="cycle in which its first command starts",
        ),
        TableColumn(
            "span",
            unit="cycles",
            show=count,
            media=(MARKDOWN, *_WIDE),
            group=SPAN,
            meaning="cycles from its first command to its last; spans overlap",
        ),
        TableColumn(
            "use in span",
            show=percent,
            rank=1,
            group=SPAN,
            meaning="MACs on arrays over what all arrays could do in the span, others' time in it included",
        ),
        TableColumn(
            "longest wait", "phrase", find=True, rank=2, group=SPAN, meaning="what its arrays waited for longest"
        ),
        TableColumn(
            "critical",
            unit="cycles",
            show=count,
            total="count",
            group=CRITICAL,
            meaning="its cycles on the critical path; those of all rows sum to the run's",
        ),
        TableColumn(
            "of the run",
            show=share_of(cycles),
            total="share",
            whole=cycles,
            group=CRITICAL,
            meaning="share of the run's cycles",
        ),
        TableColumn(
            "bound by",
            "word",
            find=True,
            group=CRITICAL,
            meaning="the cause of most of its cycles on the critical path",
        ),
        TableColumn(
            "share of critical",
            show=percent,
            media=(MARKDOWN, *_WIDE),
            group=CRITICAL,
            meaning="how much of its cycles on the critical path that cause is",
        ),
        TableColumn(
            "energy",
            show=_or_dash("J"),
            total="si",
            base="J",
            media=(MARKDOWN, *_WIDE),
            group=CAUSED,
            meaning="joules of everything that the layer caused",
        ),  # fmt: skip
        moved("read", meaning="bytes read from DRAM"),
        moved("written", meaning="bytes written to DRAM"),
        TableColumn("remarks", "text", media=(MARKDOWN, *_WIDE)),
    )


_CRITICAL_AT = 7  # the column of ``_layer_columns``


def _or_dash(unit: str) -> Callable[[float], str]:
    """How an amount is shown: three digits, a dash where there is none."""
    return lambda value: si(value, unit, 3) if value else NONE


def _layer(layer: Mapping[str, Any], causes: Mapping[str, int] | None) -> tuple[Any, ...]:
    """``causes``: of its cycles on the critical path, None where the summary does not say."""
    free = is_free(layer)
    longest, waited = longest_wait(layer)
    return (
        layer["name"],
        layer["op"],
        layer["macs"],
        *(TableCell(layer[key], NONE if free else None) for key in ("cycles_start", "cycles_total")),
        _use(layer),
        TableCell(longest, tip=f"{count(waited)} cycles" if longest else ""),
        *(TableCell(layer["cycles_critical"], NONE if free else None) for _ in range(2)),
        _bound(layer),
        TableCell(share := bound_share(layer, causes) or 0.0, None if share else NONE),
        layer["energy_j"],
        layer["dram_read_bytes"],
        layer["dram_write_bytes"],
        remarks(layer),
    )


def _use(layer: Mapping[str, Any]) -> TableCell:
    used = bool(layer["macs"]) and not off_arrays(layer)
    tip = "the use is that of the arrays, which did none of its MACs" if off_arrays(layer) else ""
    return TableCell(layer["utilization"], None if used else NONE, tip=tip)


def _bound(layer: Mapping[str, Any]) -> TableCell:
    if is_free(layer):
        return NOTHING
    aside = not layer["cycles_critical"]
    tip = "no cycle on the critical path: the cause of most of its arrays' time" if aside else ""
    return TableCell(bound_label(layer["bound_by"]), colour=bound_colour(layer["bound_by"]), tip=tip, aside=aside)


def _layer_total(found: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    sums = {
        key: sum(layer[key] for layer in found)
        for key in ("macs", "cycles_critical", "energy_j", "dram_read_bytes", "dram_write_bytes")
    }
    cycles = sums["cycles_critical"]
    return (
        f"sum of all {len(found)} rows", NOTHING, sums["macs"], NOTHING, NOTHING, NOTHING, NOTHING, cycles, cycles,
        NOTHING, NOTHING, sums["energy_j"], sums["dram_read_bytes"], sums["dram_write_bytes"], NOTHING,
    )  # fmt: skip


def critical_causes(layer: Mapping[str, Any], critical: Mapping[str, Mapping[str, int]]) -> Mapping[str, int] | None:
    """The causes of a layer's cycles on the critical path, of a composite those of its parts; None where not known."""
    if "parts" not in layer:
        return critical.get(layer["name"])
    total: Counter[str] = Counter()
    for part in layer["parts"]:
        total.update(critical.get(part["name"], {}))
    return total


def is_free(layer: Mapping[str, Any]) -> bool:
    """Whether a layer takes no time at all, as a view of another's output does."""
    return not layer["cycles_critical"] and not layer["cycles_total"]


def bound_share(layer: Mapping[str, Any], causes: Mapping[str, int] | None) -> float | None:
    """How much of a layer's cycles on the critical path the cause is that bounds it; None where that is not known."""
    most = (causes or {}).get(layer["bound_by"])
    return None if most is None or not layer["cycles_critical"] else float(most / layer["cycles_critical"])


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
    if layer.get("parts"):
        notes.append(f"{sum(not part['view_of'] for part in layer['parts'])} parts")
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
