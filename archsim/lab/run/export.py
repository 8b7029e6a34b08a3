"""The tables of a run in other programs' formats: CSV, Excel, Parquet; to publish as LaTeX and Markdown.

All are made from the summary alone: figures, causes, waits by layer, energy by part, layers. Raw tables have base units
and say them in ``attrs['units']``; published ones have one unit a column, in its head.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from archsim.base.plain import visible
from archsim.base.writable import write_all
from archsim.ir.causes import CAUSES
from archsim.ir.result import Summary, single_layers
from archsim.lab.kit import tabular
from archsim.lab.kit.options import scalars
from archsim.lab.sweep.publish import alignment, column
from archsim.report.kit.causes import cause, in_order
from archsim.report.kit.number_format import NONE
from archsim.report.kit.quantity import COUNT, SHARE, bare, unit_of
from archsim.report.kit.table import MARKDOWN
from archsim.report.kit.table_markdown import table as markdown_table
from archsim.report.kit.table_notebook import columns
from archsim.report.run import layer_layout, layouts
from archsim.report.run.headline import headline, title
from archsim.report.run.summary import load
from archsim.report.run.tables import UNITS, flat, layer_table

RunTables = Mapping[str, pd.DataFrame]  # name -> rows, in the order in which they are shown

ENERGY_UNITS = {"energy_j": "J", "share": COUNT, "area_mm2": "mm2"}
CAUSE_UNITS = {"slots": "MAC", "share": COUNT, "cycles": "cycles"}
CRITICAL, WAITED = "critical path", "arrays waited"


def raw(summary: Summary) -> RunTables:
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


def published(summary: Summary) -> RunTables:
    """``figures`` as they stand first on the page, ``causes``, ``energy`` and ``layers`` as text."""
    causes = _causes(summary).drop(columns="key").rename(columns={"cycles": "worth"})
    return {
        "figures": pd.DataFrame(columns(layouts.figures(headline(summary)), MARKDOWN)),
        "causes": _texts(causes, {"slots": "MAC", "share": SHARE, "worth": "cycles"}),
        "energy": _texts(_energy(summary), {**ENERGY_UNITS, "share": SHARE}),
        "layers": pd.DataFrame(columns(layer_layout.layers(summary), MARKDOWN)),
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
    for layer in single_layers(summary):
        name = layer["name"]
        rows += [(name, CRITICAL, key, "", cycles) for key, cycles in critical.get(name, {}).items() if cycles]
        waits = ((key.partition("."), cycles) for key, cycles in layer["stalls"].items() if cycles)
        rows += [(name, WAITED, CAUSES.bound_of[key], operand, cycles) for (key, _, operand), cycles in waits]
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


def _texts(rows: pd.DataFrame, units: Mapping[str, str]) -> pd.DataFrame:
    """Numbers with one unit a column, in its head; a dash where there is no figure."""
    made = pd.DataFrame(index=rows.index)
    for name in rows.columns:
        head, texts = column(bare(name), rows[name].tolist(), units.get(name))
        made[visible(head)] = [NONE if text == "None" else visible(text) for text in texts]
    return made


ExportedFiles = Mapping[str, str | bytes]  # name -> content

LONG = "layers"  # in LaTeX a longtable, which goes on over pages


def _csv(summary: Summary) -> ExportedFiles:
    return {f"{name}.csv": tabular.csv(rows) for name, rows in raw(summary).items()}


def _parquet(summary: Summary) -> ExportedFiles:
    tables = dict(raw(summary))
    tables["figures"] = tables["figures"].astype({"figure": float})
    return {f"{name}.parquet": tabular.parquet(rows) for name, rows in tables.items()}


def _xlsx(summary: Summary) -> ExportedFiles:
    """A sheet for each table, and the units of their columns."""
    tables = raw(summary)
    units = [(name, column, unit) for name, rows in tables.items() for column, unit in rows.attrs["units"].items()]
    sheets = {**tables, "units": pd.DataFrame(units, columns=["table", "column", "unit"])}
    return {"tables.xlsx": tabular.workbook(sheets)}


def _tex(summary: Summary) -> ExportedFiles:
    """Tabulars for booktabs, the layers a longtable, all text escaped."""
    parts = [f"% {visible(title(summary))}"]
    parts += [f"% {name}\n{_latex(name, rows)}" for name, rows in published(summary).items()]
    return {"tables.tex": "\n".join(parts)}


def _latex(name: str, rows: pd.DataFrame) -> str:
    style = rows.style.format(escape="latex").format_index(escape="latex", axis="columns").hide(axis="index")
    kind = "longtable" if name == LONG else None
    text: str = style.to_latex(hrules=True, column_format=alignment(rows), environment=kind)
    return text


def _md(summary: Summary) -> ExportedFiles:
    parts = [f"## {name}\n\n{_pipes(rows)}" for name, rows in published(summary).items()]
    return {"tables.md": "\n\n".join(parts) + "\n"}


def _pipes(rows: pd.DataFrame) -> str:
    cells = [[str(text) for text in row] for row in rows.itertuples(index=False, name=None)]
    return markdown_table([*rows.columns], alignment(rows), cells)


FORMATS: Mapping[str, Callable[[Summary], ExportedFiles]] = {
    "csv": _csv,
    "xlsx": _xlsx,
    "tex": _tex,
    "md": _md,
    "parquet": _parquet,
}


def export(folder: Path, name: str) -> list[Path]:
    """Write one of ``FORMATS`` of the run in ``folder`` into it, all of its files or none; returns their paths.

    Raises ConfigError where that cannot be done.
    """
    return write_all(folder, FORMATS[name](load(folder)))
