"""A run as tables for other programs, from its summary alone: figures, causes, waits by layer, energy by part, layers.

Raw tables have base units and say them in ``attrs['units']``; published ones have one unit a column, in its head.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from archsim.base.plain import visible
from archsim.lab.options import scalars
from archsim.lab.sweep.publish import column
from archsim.report.causes import cause, in_order
from archsim.report.format import NONE
from archsim.report.headline import headline, title
from archsim.report.layer_columns import LAYER_COLUMNS, layer_rows
from archsim.report.quantity import COUNT, SHARE, bare, unit_of
from archsim.report.tables import UNITS, flat, layer_table

Summary = Mapping[str, Any]
Tables = Mapping[str, pd.DataFrame]  # name -> rows, in the order in which they are shown

ENERGY_UNITS = {"energy_j": "J", "share": COUNT, "area_mm2": "mm2"}
CAUSE_UNITS = {"slots": "MAC", "share": COUNT, "cycles": "cycles"}
CRITICAL, WAITED = "critical path", "arrays waited"


def raw(summary: Summary) -> Tables:
    """``figures`` (key, figure, unit), ``causes`` (of the MAC slots), ``layer_causes`` (cycles on the critical path,
    and cycles that arrays waited, by operand), ``energy`` (by part, with its area), ``layers`` (as of layers.csv).

    ``attrs`` of each: ``run``, ``units`` of its columns, and of all of them the headline ``figures`` with
    ``figure_units``.
    """
    figures = pd.DataFrame(list(_figures(summary)), columns=["key", "figure", "unit"], dtype=object)
    tables = {
        "figures": (figures, {}),
        "causes": (_causes(summary), CAUSE_UNITS),
        "layer_causes": (_layer_causes(summary), {"cycles": "cycles"}),
        "energy": (_energy(summary), ENERGY_UNITS),
        "layers": (_layers(summary), UNITS),
    }
    common: dict[Hashable, Any] = {
        "run": title(summary),
        "figures": dict(zip(figures["key"], figures["figure"], strict=True)),
        "figure_units": dict(zip(figures["key"], figures["unit"], strict=True)),
    }
    for rows, units in tables.values():
        rows.attrs = {**common, "units": {name: unit for name, unit in units.items() if name in rows.columns}}
    return {name: rows for name, (rows, _) in tables.items()}


def published(summary: Summary) -> Tables:
    """``figures`` as they stand first on the page, ``causes``, ``energy`` and ``layers`` as text."""
    figures = pd.DataFrame(headline(summary), columns=["figure", "value", "remark"]).map(visible)
    causes = _causes(summary).drop(columns="key").rename(columns={"cycles": "worth"})
    return {
        "figures": figures,
        "causes": _texts(causes, {"slots": "MAC", "share": SHARE, "worth": "cycles"}),
        "energy": _texts(_energy(summary), {**ENERGY_UNITS, "share": SHARE}),
        "layers": _published_layers(summary),
    }


def _figures(summary: Summary) -> Iterator[tuple[str, float | None, str]]:
    """Every number of the summary that has no row of its own in another table."""
    for key, number in scalars(summary).items():
        unit = unit_of(key)
        if key.partition(".")[0] not in ("mac_breakdown", "energy_breakdown_j"):
            yield key, number, COUNT if unit in (SHARE, None) else str(unit)


def _causes(summary: Summary) -> pd.DataFrame:
    """The causes of MAC slots in their order; ``cycles``: that share of the run's time."""
    slots = summary["mac_breakdown"]
    whole = sum(slots.values())
    cycles = summary["cycles_total"]
    shares = {key: count / whole if whole else 0.0 for key, count in slots.items()}
    rows = [(key, cause(key).label, slots[key], shares[key], shares[key] * cycles) for key in in_order([*slots])]
    return pd.DataFrame(rows, columns=["key", "cause", "slots", "share", "cycles"])


def _layer_causes(summary: Summary) -> pd.DataFrame:
    critical = summary["details"].get("critical", {})
    rows = []
    for layer in summary["layers"]:
        name = layer["name"]
        rows += [(name, CRITICAL, key, "", cycles) for key, cycles in critical.get(name, {}).items() if cycles]
        waits = ((key.partition("."), cycles) for key, cycles in layer["stalls"].items() if cycles)
        rows += [(name, WAITED, key.removeprefix("stall_"), operand, cycles) for (key, _, operand), cycles in waits]
    return pd.DataFrame(rows, columns=["layer", "split", "cause", "operand", "cycles"])


def _energy(summary: Summary) -> pd.DataFrame:
    """Parts with energy or area, the largest consumer first."""
    joules, areas = summary["energy_breakdown_j"], summary["details"].get("area_breakdown_mm2", {})
    parts = sorted({*joules, *areas}, key=lambda part: (-joules.get(part, 0.0), part))
    whole = sum(joules.values()) or 1.0
    rows = [(part, joules.get(part, 0.0), joules.get(part, 0.0) / whole, areas.get(part)) for part in parts]
    return pd.DataFrame(rows, columns=["part", "energy_j", "share", "area_mm2"])


def _layers(summary: Summary) -> pd.DataFrame:
    """As in layers.csv: lists are one cell; whole numbers stay whole where a row has none."""
    rows = [{key: _one(value) for key, value in row.items()} for row in layer_table(summary)]
    made = pd.DataFrame(rows)
    whole = [
        name for name in map(str, made.columns) if all(row[name] is None or type(row[name]) is int for row in rows)
    ]
    return made.astype(dict.fromkeys(whole, "Int64"))


def _one(value: Any) -> Any:
    return flat(value) if isinstance(value, Mapping | list | tuple) else value


def _published_layers(summary: Summary) -> pd.DataFrame:
    rows = [[visible(row[key]) for key in LAYER_COLUMNS.values()] for row in layer_rows(summary)]
    return pd.DataFrame(rows, columns=[*LAYER_COLUMNS])


def _texts(rows: pd.DataFrame, units: Mapping[str, str]) -> pd.DataFrame:
    """Numbers with one unit a column, in its head; a dash where there is no figure."""
    made = pd.DataFrame(index=rows.index)
    for name in rows.columns:
        head, texts = column(bare(name), rows[name].tolist(), units.get(name))
        made[visible(head)] = [NONE if text == "None" else visible(text) for text in texts]
    return made
