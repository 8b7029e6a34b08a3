"""The table of layers: the columns of the summary's ``layers``, and those that ``details`` has by layer."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any, get_type_hints

from archsim.base.plain import cell
from archsim.ir.keys import RATIO, TABLE, TEXT, ResultKey
from archsim.ir.result import LayerResult
from archsim.ir.result_parts import Predicted

_WITHOUT = {RATIO: "1", TEXT: "", TABLE: ""}  # how keys without a unit are said in a table


def _units() -> dict[str, str]:
    """As the keys of a layer, and of what was predicted for it, state them; columns without one are names."""
    found = {}
    for owner in (LayerResult, Predicted):
        for name, hint in get_type_hints(owner, include_extras=True).items():
            said = next(item for item in hint.__metadata__ if isinstance(item, ResultKey))
            found[name] = _WITHOUT.get(said.unit, said.unit)
    return {name: unit for name, unit in found.items() if unit}


UNITS = {**_units(), "row_hit_rate": "1"}  # column -> what a bare number in it is in


def layer_table(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row per layer; ``composite``: that it is part of, '' for none; ``row_hit_rate``: share of its DRAM bursts that
    found their row open, None without bursts; ``bound_cycles``: the analytic bound of its mapping; ``alone_cycles``:
    simulated by itself for that choice, or None.
    """
    rates, predicted = summary["details"].get("row_hit_rate", {}), summary["details"].get("predicted", {})
    return [
        {
            **{key: value for key, value in layer.items() if key != "parts"},
            "composite": composite,
            "row_hit_rate": rates.get(layer["name"]),
            **{key: predicted.get(layer["name"], {}).get(key) for key in ("bound_cycles", "alone_cycles")},
        }
        for row in summary["layers"]
        for composite, layer in [(row["name"], part) for part in row.get("parts", ())] or [("", row)]
    ]


def layers_csv(summary: Mapping[str, Any]) -> str:
    """The table as CSV text (RFC 4180 quoting, newlines); lists are one cell, ``stalls`` as
    ``cause.operand=cycles`` pairs."""
    out = io.StringIO()
    rows = layer_table(summary)
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else ["name"], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: cell(flat(value)) for key, value in row.items()})
    return out.getvalue()


def flat(value: Any) -> Any:
    """A value as one cell: ``cause=cycles`` pairs, lists and nothing as text."""
    if isinstance(value, Mapping):
        return ";".join(f"{key}={item}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ";".join(str(item) for item in value)
    return "" if value is None else value
