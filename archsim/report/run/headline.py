"""The numbers that stand first on every page and in the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from archsim.ir.figure_table import FIGURES, SAMPLE, ResultFigure
from archsim.report.kit.number_format import counted, percent, si
from archsim.report.kit.quantity import shown

_USUAL = {"set": {}, "on_unsupported": "error"}  # what a title need not repeat
USED = "utilization_dtype"
_DOT = " \N{MIDDLE DOT} "

HeadlineFigure = tuple[str, str, str]  # name, figure with unit, remark


def title(summary: Mapping[str, Any]) -> str:
    """``resnet50 on edge_npu``."""
    return f"{summary['workload']['name']} on {summary['architecture']['name']}"


def setting(summary: Mapping[str, Any]) -> tuple[str, str]:
    """Under the title: size of the model, clock and peak of the chip; then the options of the run."""
    workload, chip = summary["workload"], summary["architecture"]
    options = summary["provenance"].get("options", {})
    chosen = [_option(key, value) for key, value in options.items() if value != _USUAL.get(key)]
    size = si(workload["weight_bytes"], "B")
    model = f"{counted(workload['layers'], 'layer')}, {si(workload['macs'], 'MAC')}, {size} of weights"
    machine = f"{si(chip['clock_hz'], 'Hz')}, peak {si(chip['peak_macs_per_s'], 'MAC/s')}"
    return f"{model}{_DOT}{machine}", _DOT.join(chosen)


def formats(dtypes: Mapping[str, str]) -> str:
    """What formats numbers have, in words."""
    return f"{dtypes['weights']} weights, {dtypes['inputs']} inputs, {dtypes['accumulate']} sums"


def _option(key: str, value: Any) -> str:
    if key == "dtypes":
        return formats(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    return f"{key} {value}"


def headline(summary: Mapping[str, Any]) -> list[HeadlineFigure]:
    """The figures that the table of figures has in the headline, in its order: of a batch also those of a sample, use
    of the best peak where the formats used have another."""
    rows = (row for row in FIGURES.shown if _is_shown(row, summary))
    return [(row.short or row.label, _text(row, summary), _remark(row, summary)) for row in rows]


def _is_shown(row: ResultFigure, summary: Mapping[str, Any]) -> bool:
    if row.section == SAMPLE:
        return bool(samples(summary)["samples"] > 1)
    if row.key == "utilization":
        return bool(_used(summary) != summary["utilization"])
    if row.key == USED or not row.stored:
        return True
    return row.name in (summary.get(row.section) or {} if row.section else summary)  # which older ones need not have


def _text(row: ResultFigure, summary: Mapping[str, Any]) -> str:
    return shown(row.key, _used(summary) if row.key == USED else row.of(summary))


def _remark(row: ResultFigure, summary: Mapping[str, Any]) -> str:
    """What stands beside a figure: worked out here for some, else as its row says."""
    said = _REMARKS[row.key](summary) if row.key in _REMARKS else _filled(row.remark, summary)
    bound = "" if band_of(summary, row.key) else bound_of(summary, row.key)
    return said if bound in said else ", ".join(filter(None, (bound, said)))


def _filled(remark: str, summary: Mapping[str, Any]) -> str:
    """A remark with the figures whose keys stand in braces; cycles are whole there."""

    def told(found: re.Match[str]) -> str:
        row = FIGURES[found[1]]
        value = row.of(summary)
        return shown(row.key, round(value) if row.unit == "cycles" and value is not None else value)

    return re.sub(r"\{([^}]+)\}", told, remark)


def samples(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """``per_sample``, with one sample where the summary does not say."""
    return summary.get("per_sample") or {"samples": 1, "time_s": summary["latency_s"], "energy_j": summary["energy_j"]}


def bound_of(summary: Mapping[str, Any], key: str) -> str:
    """``lower bound`` where a figure leaves out what the real chip has, ``''`` where nothing is said of it."""
    word = summary.get("bounds", {}).get(key, "")
    return f"{word} bound" if word == "lower" else word


def _used(summary: Mapping[str, Any]) -> float | None:
    """Use of the peak of the formats used; of the best peak in a summary that does not have the other."""
    found: float | None = summary.get(USED, summary["utilization"])
    return found


def _use_of_used(summary: Mapping[str, Any]) -> str:
    if _used(summary) == summary["utilization"]:
        return _use_of_best(summary)
    return f"of {si(summary['details'].get('peak_dtype_macs_per_s'), 'MAC/s')} as used"


def _use_of_best(summary: Mapping[str, Any]) -> str:
    return f"of {si(summary['architecture']['peak_macs_per_s'], 'MAC/s')}"


def band_of(summary: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """Between which figures a chip of its class lies (``low``, ``high``), by how many published ``cases``; None where
    that is not known."""
    found: Mapping[str, Any] | None = (summary.get("bands") or {}).get(key)
    return found


def _peak_power(summary: Mapping[str, Any]) -> str:
    found, peak = band_of(summary, "power_avg_w"), f"peak {si(summary['power_peak_w'], 'W', 3)}"
    if not found:
        return peak
    return f"{si(found['low'], 'W', 3)} .. {si(found['high'], 'W', 3)}; {found['cases']} points, {peak}"


def _of_peak(summary: Mapping[str, Any]) -> str:
    dram = summary["dram"]
    if not dram["peak_bytes_per_s"]:
        return "of unlimited bandwidth"
    busiest = busiest_memory(dram)
    peak = summary["details"].get("dram", {}).get(busiest, {}).get("peak_bytes_per_s")
    if busiest and peak:
        return f"{percent(dram['bandwidth_utilization'])} of {busiest}'s {si(peak, 'B/s')}"
    return f"{percent(dram['bandwidth_utilization'])} of {si(dram['peak_bytes_per_s'], 'B/s')}"


def busiest_memory(dram: Mapping[str, Any]) -> str:
    """The DRAM with the largest share of its bandwidth in use; ``''`` where there is one at most."""
    memories = dram.get("memories", {})
    if len(memories) < 2:
        return ""
    return str(min(memories, key=lambda name: (-memories[name]["bandwidth_utilization"], name)))


def _areas(summary: Mapping[str, Any]) -> str:
    if summary["area_mm2"] is None:
        return "a part has no figure"
    found = band_of(summary, "area_mm2")
    if found:
        return f"{found['low']:.3g} .. {found['high']:.3g}; {found['cases']} dies"
    return bound_of(summary, "area_mm2") or "parts with a figure"


# Remarks that are more than other figures: key of the figure -> what is said of a summary.
_REMARKS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    USED: _use_of_used,
    "utilization": _use_of_best,
    "dram_bytes": _of_peak,
    "power_avg_w": _peak_power,
    "area_mm2": _areas,
}
