"""What runs were asked: model, chip, options, version; by which of these they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.ir.result import Summary

HASH_DIGITS = 12
_LABELS = {
    "workload.name": "model",
    "workload.layers": "layers",
    "workload.macs": "MACs",
    "workload.parameters": "parameters",
    "workload.weight_bytes": "weight bytes",
    "architecture.name": "chip",
    "architecture.clock_hz": "clock, Hz",
    "architecture.peak_macs_per_s": "peak, MAC/s",
    "provenance.archsim_version": "archsim",
    "provenance.model_sha256": "model's file (sha256)",
    "provenance.chip_sha256": "chip's file (sha256)",
    "provenance.options.traces_sha256": "rows of traces (sha256)",
    "provenance.extensions_sha256": "plugins and tables (sha256)",
    "provenance.seed": "seed",
    "provenance.repeat": "repeat",
}
_PREFIXES = {"provenance.options.set.": "", "provenance.options.": "option ", "provenance.fidelity.": "fidelity of "}


def question(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """``{key, label, values}`` for everything that is not equal in all runs, None where a run does not say it."""
    asked = [_flat(summary) for summary in summaries]
    keys = dict.fromkeys(key for each in asked for key in each)
    rows = [{"key": key, "label": _label(key), "values": [each.get(key) for each in asked]} for key in keys]
    return [row for row in rows if any(value != row["values"][0] for value in row["values"][1:])]


def _flat(summary: Summary) -> dict[str, Any]:
    """Dotted key -> text or number; hashes shortened."""
    found: dict[str, Any] = {}
    for section in ("workload", "architecture", "provenance"):
        for key, value in summary[section].items():
            if key not in ("warnings",):
                _collect(f"{section}.{key}", value, found)
    return found


def _collect(key: str, value: Any, found: dict[str, Any]) -> None:
    if isinstance(value, Mapping):
        for name, item in value.items():
            _collect(f"{key}.{name}", item, found)
    elif value is not None:
        text = str(value) if isinstance(value, list | tuple) else value
        found[key] = text[:HASH_DIGITS] if key.endswith("_sha256") else text


def _label(key: str) -> str:
    if key in _LABELS:
        return _LABELS[key]
    for prefix, word in _PREFIXES.items():
        if key.startswith(prefix):
            return word + key.removeprefix(prefix)
    return key.partition(".")[2]
